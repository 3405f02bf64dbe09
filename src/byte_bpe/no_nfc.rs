//! In place of [`nfc`](super::nfc) without the feature `nfc`: no text is ever changed, since a
//! vocabulary that needs the form is refused.

use std::ops::Range;

/// There is none.
pub(super) enum NfcText {}

pub(super) fn to_nfc(_raw: &[u8]) -> Option<NfcText> {
    None
}

impl NfcText {
    pub(super) fn text(&self) -> &[u8] {
        match *self {}
    }

    pub(super) fn origin(&self, _range: Range<usize>) -> Range<usize> {
        match *self {}
    }
}
