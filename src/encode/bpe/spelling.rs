//! How a text is spelled with initial symbols: what the merger has to know about characters, or
//! about bytes.
//!
//! The merger begins with *units*. In models of code points a unit is a character, and
//! [`CharTable`](super::classes::char_table::CharTable) finds its [`Unit`]; in byte-level models
//! every byte is one. Everything else in [`strategies`](super::strategies) and
//! [`lookup`](super::lookup) works on symbols and on texts as bytes, and is the same for both.

use super::lookup::ascii_pairs::AsciiCode;

/// An initial symbol of a text, and what merging needs to know about it.
#[derive(Debug, Clone, Copy)]
pub(in crate::encode::bpe) struct Unit {
    /// The hash of its text.
    pub(in crate::encode::bpe) hash: u64,
    pub(in crate::encode::bpe) symbol: u32,
    /// Its length in bytes.
    pub(in crate::encode::bpe) width: u8,
    pub(in crate::encode::bpe) code: AsciiCode,
}

/// Divides texts into units.
pub(in crate::encode::bpe) trait Spelling {
    /// The unit at the start of `text`, which is not empty, and its length in `text`.
    fn unit_at(&self, text: &[u8]) -> (Unit, usize);

    /// The length of the unit at the start of `text`; 0 if `text` is empty.
    fn unit_length(text: &[u8]) -> usize;

    /// The last border between two units of `text` that is not after `at`.
    fn floor_border(text: &[u8], at: usize) -> usize;

    /// The symbols of the units of `text`.
    fn symbols_of<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = u32> + 't {
        let mut rest = text;
        std::iter::from_fn(move || {
            let (unit, width) = (!rest.is_empty()).then(|| self.unit_at(rest))?;
            rest = &rest[width..];
            Some(unit.symbol)
        })
    }
}
