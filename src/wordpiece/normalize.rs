//! The normalizer of BERT, in one pass.
//!
//! tokenizers has four passes: control characters are removed and white space becomes spaces;
//! spaces are put around Chinese characters; the text is decomposed (form D) and nonspacing marks
//! are removed; letters become lower case. None of them looks at more than one character but the
//! decomposition, which sorts marks by their combining classes. So each character goes through all
//! four, and marks wait until a character that is no mark ends their run.
//!
//! **Origins.** The first character of a decomposition takes the place of the next character of the
//! text, the others belong to the one before: sorting moves characters, not the places. In `é` +
//! U+0323 (`e` U+0323 U+0301 when decomposed and sorted), U+0323 and U+0301 both come from the
//! second character. All other passes keep the origin of a character.
//!
//! Example: `ÀB` becomes `ab` with the origins 0..2 and 2..3.

use std::ops::Range;

use super::classes::{ASSIGNED, CHINESE, MARK, REMOVED, SPACE, class, first_char};

/// What is done to a text before it is cut into words: the component `BertNormalizer` of
/// tokenizers. The default is that of uncased BERT models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BertNormalizer {
    /// Whether control characters are removed and all white space becomes spaces.
    pub clean_text: bool,
    /// Whether each Chinese character is a word.
    pub handle_chinese_chars: bool,
    /// Whether accents are removed, which needs the feature `nfc`; `None` for the same as
    /// `lowercase`.
    pub strip_accents: Option<bool>,
    /// Whether letters become lower case.
    pub lowercase: bool,
}

impl Default for BertNormalizer {
    fn default() -> Self {
        Self {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: None,
            lowercase: true,
        }
    }
}

impl BertNormalizer {
    /// No change at all.
    pub const NONE: Self = Self {
        clean_text: false,
        handle_chinese_chars: false,
        strip_accents: None,
        lowercase: false,
    };

    /// The default for models that tell upper and lower case.
    pub const CASED: Self = Self {
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: None,
        lowercase: false,
    };

    /// Whether accents are removed.
    pub(crate) fn strips_accents(&self) -> bool {
        self.strip_accents.unwrap_or(self.lowercase)
    }

    /// Replaces `out` by the normalized text.
    pub(super) fn normalize(&self, raw: &[u8], out: &mut NormalizedText) {
        out.clear();
        let mut at = 0;
        while at < raw.len() {
            let (c, width) = first_char(&raw[at..]);
            let origin = at..at + width;
            at += width;
            let class = class(c);
            if self.clean_text && class & REMOVED != 0 {
                continue;
            }
            let is_space = self.clean_text && class & SPACE != 0;
            let c = if is_space { ' ' } else { c };
            if self.handle_chinese_chars && class & CHINESE != 0 {
                self.push(' ', origin.clone(), out);
                self.push(c, origin.clone(), out);
                self.push(' ', origin, out);
            } else {
                self.push(c, origin, out);
            }
        }
        self.end_run(out);
    }

    /// The last two passes, for the next character.
    fn push(&self, c: char, origin: Range<usize>, out: &mut NormalizedText) {
        if !self.strips_accents() {
            out.origin = origin;
            return self.push_lower(c, out);
        }
        if c.is_ascii() || class(c) & ASSIGNED == 0 {
            self.end_run(out);
            out.origin = origin;
            return self.push_lower(c, out);
        }
        let mut origin = Some(origin);
        decompose(c, |part| {
            // Parts of decompositions are no newer than the whole.
            let order = combining_class(part);
            if order == 0 {
                self.end_run(out);
                if let Some(origin) = origin.take() {
                    out.origin = origin;
                }
                self.push_lower(part, out);
            } else {
                out.run.push((order, part, origin.take()));
            }
        });
    }

    /// Writes the marks that wait, sorted.
    fn end_run(&self, out: &mut NormalizedText) {
        if out.run.is_empty() {
            return;
        }
        let mut run = std::mem::take(&mut out.run);
        let mut origins: Vec<Range<usize>> = run
            .iter()
            .filter_map(|(.., origin)| origin.clone())
            .collect();
        let mut origins = origins.drain(..);
        run.sort_by_key(|(order, ..)| *order);
        for (_, part, origin) in run.drain(..) {
            if origin.is_some()
                && let Some(next) = origins.next()
            {
                out.origin = next;
            }
            self.push_lower(part, out);
        }
        drop(origins);
        out.run = run;
    }

    /// Writes a character, in lower case if it has to be, unless it is a mark to be removed.
    fn push_lower(&self, c: char, out: &mut NormalizedText) {
        if c.is_ascii() {
            return out.push(if self.lowercase {
                c.to_ascii_lowercase()
            } else {
                c
            });
        }
        if self.strips_accents() && class(c) & MARK != 0 {
            return;
        }
        match self.lowercase {
            true => lower_case(c, |lower| out.push(lower)),
            false => out.push(c),
        }
    }
}

/// A normalized text, with the origin of each byte.
#[derive(Debug, Default)]
pub(super) struct NormalizedText {
    pub(super) text: Vec<u8>,
    /// Where the origin of each byte begins, and where it ends.
    starts: Vec<usize>,
    ends: Vec<usize>,
    /// The origin of the character that was written last.
    origin: Range<usize>,
    /// Marks that may have to be sorted: combining class, character, and the origin of those that
    /// are the first of a decomposition.
    run: Vec<(u8, char, Option<Range<usize>>)>,
}

impl NormalizedText {
    fn clear(&mut self) {
        self.text.clear();
        self.starts.clear();
        self.ends.clear();
    }

    fn push(&mut self, c: char) {
        let width = c.len_utf8();
        self.text
            .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.starts.extend((0..width).map(|_| self.origin.start));
        self.ends.extend((0..width).map(|_| self.origin.end));
    }

    /// The range of the raw text that a range of the normalized one, which is not empty, comes
    /// from.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        self.starts[range.start]..self.ends[range.end - 1]
    }

    /// Where the origin of each byte begins.
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }
}

/// Passes the lower case of a character in Unicode 17.0, whatever version the standard library has:
/// from 16.0 on it has the letters of 16.0.
pub(super) fn lower_case(c: char, mut on_char: impl FnMut(char)) {
    let moved = |distance| char::from_u32(u32::from(c) + distance);
    let new = match c {
        '\u{A7CE}' | '\u{A7D2}' | '\u{A7D4}' => moved(1),
        '\u{16EA0}'..='\u{16EB8}' => moved(27),
        _ => None,
    };
    match new {
        Some(lower) => on_char(lower),
        None => c.to_lowercase().for_each(on_char),
    }
}

/// Passes the canonical decomposition of a character.
#[cfg(feature = "nfc")]
fn decompose(c: char, on_char: impl FnMut(char)) {
    unicode_normalization::char::decompose_canonical(c, on_char);
}

#[cfg(feature = "nfc")]
fn combining_class(c: char) -> u8 {
    unicode_normalization::char::canonical_combining_class(c)
}

/// Not called: without the feature `nfc`, vocabularies that need decompositions are refused.
#[cfg(not(feature = "nfc"))]
fn decompose(c: char, mut on_char: impl FnMut(char)) {
    on_char(c);
}

#[cfg(not(feature = "nfc"))]
fn combining_class(_: char) -> u8 {
    0
}
