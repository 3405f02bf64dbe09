//! Characters of three bytes, as the merger sees them: Chinese, Japanese, Korean and other scripts.
//!
//! Merging such a text byte by byte makes its characters first, over and over. The tables here have
//! what a character is merged to by itself, so that a part of a pretoken that is one character is
//! not merged at all, and a part of several characters is merged from characters instead of bytes.
//!
//! **One character.** Its three bytes have two pairs. The better one is merged first; what is left
//! is one pair, which merges if the character is a token. So four look-ups are its tokens.
//!
//! **Several characters.** Let w be a text of characters of three bytes, each of which is a *unit*:
//! it is merged to one token by itself, and no merge on the way there has a higher rank than a
//! token that contains the whole character. And let no token that has a part of a character occur
//! in w across a border of characters. Then merging the units of w gives the tokens of w.
//!
//! Proof. Call a merge outer if its token crosses a border. Then this token consists of whole
//! characters. So do its two operands: if they met inside of a character, the one that crosses a
//! border would have a part of that character. All other merges are inside of a character and
//! depend on its bytes alone. So the run on bytes is an interleaving of the runs inside of the
//! characters with outer merges; let the first of these have been chosen by the run on units too.
//! When the run on bytes chooses another outer merge, of rank r, all pairs of the run on units that
//! it does not have contain a character that is not complete. The next merge in that character is a
//! candidate, so its rank is above r, and so is the rank of the pair by definition of a unit. All
//! other pairs are candidates of both runs, so the run on units chooses the same merge. When the
//! run on bytes ends, all characters are complete, and both have the same candidates: none. ∎
//!
//! Example: in cl100k, 日 and 本 are units, and 日本 is a token with a higher rank than both. For 参
//! this is not so: a token of several characters has a lower rank; it is made from parts of
//! characters.
//!
//! Memory: 280 KiB.

use super::byte_cuts::ByteCuts;
use super::lookup::symbol_table::NO_SYMBOL;
use crate::piece::{PieceId, PieceTable};

/// The characters of three bytes; see the [module page](self).
#[derive(Debug)]
pub(super) struct WideCharacters {
    /// The tokens of the first two bytes of characters.
    starts: Vec<u32>,
    /// The tokens of the last two bytes of characters.
    ends: Vec<u32>,
    /// The tokens of characters, or [`NO_SYMBOL`], or [`NO_UNIT`].
    tokens: Vec<u32>,
    /// Where no token has a part of a character and something beside it.
    borders: ByteCuts,
}

/// A character that is a token, but no unit.
const NO_UNIT: u32 = NO_SYMBOL - 1;

impl WideCharacters {
    pub(super) fn new(tokens: &PieceTable) -> Self {
        let texts = || (0..).zip((0..tokens.len()).map(|symbol| tokens.text(symbol)));
        let mut found = Self {
            starts: vec![NO_SYMBOL; 1 << (4 + 6)],
            ends: vec![NO_SYMBOL; 1 << (6 + 6)],
            tokens: vec![NO_SYMBOL; 1 << (4 + 6 + 6)],
            borders: ByteCuts::of(std::iter::empty()),
        };
        for (symbol, text) in texts() {
            match *text {
                [lead @ 0xE0..=0xEF, second @ 0x80..=0xBF] => {
                    found.starts[start_index(lead, second)] = symbol;
                }
                [second @ 0x80..=0xBF, third @ 0x80..=0xBF] => {
                    found.ends[end_index(second, third)] = symbol;
                }
                [lead, second, third] => {
                    if let Some(index) = index_of([lead, second, third]) {
                        found.tokens[index] = symbol;
                    }
                }
                _ => {}
            }
        }
        let mut with_parts = Vec::new();
        for (symbol, text) in texts().filter(|(_, text)| text.len() > 1 && !text[0].is_ascii()) {
            let part_before = text.iter().take_while(|byte| !is_lead(**byte)).count();
            let (characters, part) = text[part_before..].as_chunks::<3>();
            if part_before + part.len() > 0 {
                with_parts.push(text);
                continue;
            }
            for character in characters {
                found.remove_late_unit(*character, symbol);
            }
        }
        found.borders = ByteCuts::of(with_parts.into_iter());
        found
    }

    /// Makes a character no unit if it is merged later than the token `symbol`, which contains it.
    fn remove_late_unit(&mut self, character: [u8; 3], symbol: u32) {
        let Some(index) = index_of(character) else {
            return;
        };
        let [lead, second, third] = character;
        let start = self.starts[start_index(lead, second)];
        let end = self.ends[end_index(second, third)];
        let token = self.tokens[index];
        if token != NO_SYMBOL && start.min(end).max(token) > symbol {
            self.tokens[index] = NO_UNIT;
        }
    }

    /// Appends the symbols of a text that is one character. Returns false, and appends nothing, for
    /// other texts.
    #[inline]
    pub(super) fn encode_one(
        &self,
        text: &[u8],
        unit_of: impl Fn(u8) -> u32,
        out: &mut Vec<PieceId>,
    ) -> bool {
        let Ok(character) = <[u8; 3]>::try_from(text) else {
            return false;
        };
        let Some(index) = index_of(character) else {
            return false;
        };
        let [lead, second, third] = character;
        match self.tokens[index] {
            NO_UNIT => return false,
            NO_SYMBOL => {}
            // A unit, so that one of the pairs is a token.
            symbol => {
                out.push(PieceId::new(symbol));
                return true;
            }
        }
        let start = self.starts[start_index(lead, second)];
        let end = self.ends[end_index(second, third)];
        if start == NO_SYMBOL && end == NO_SYMBOL {
            let units = [unit_of(lead), unit_of(second), unit_of(third)];
            out.extend(units.into_iter().map(PieceId::new));
        } else {
            let parts = match start <= end {
                true => [start, unit_of(third)],
                false => [unit_of(lead), end],
            };
            out.extend(parts.into_iter().map(PieceId::new));
        }
        true
    }

    /// Whether merging the characters of `text` gives its tokens, and each of them has a
    /// [`unit`](Self::unit).
    pub(super) fn are_units(&self, text: &[u8]) -> bool {
        let (characters, rest) = text.as_chunks::<3>();
        rest.is_empty()
            && characters.iter().all(|character| {
                index_of(*character).is_some_and(|index| self.tokens[index] < NO_UNIT)
            })
            && (1..characters.len()).all(|at| self.borders.is_cut(text, 3 * at))
    }

    /// The symbols of the characters of a text for which [`are_units`](Self::are_units) holds.
    #[inline]
    pub(super) fn units<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = u32> + 't {
        let characters = text.as_chunks::<3>().0.iter();
        characters
            .map(|character| index_of(*character).map_or(NO_SYMBOL, |index| self.tokens[index]))
    }
}

/// Whether a byte begins a character of three bytes.
fn is_lead(byte: u8) -> bool {
    matches!(byte, 0xE0..=0xEF)
}

/// The number of the first two bytes of a character.
#[inline]
fn start_index(lead: u8, second: u8) -> usize {
    usize::from(lead & 0x0F) << 6 | usize::from(second & 0x3F)
}

/// The number of the last two bytes of a character.
#[inline]
fn end_index(second: u8, third: u8) -> usize {
    usize::from(second & 0x3F) << 6 | usize::from(third & 0x3F)
}

/// The number of a character, unless the bytes are none.
#[inline]
fn index_of([lead, second, third]: [u8; 3]) -> Option<usize> {
    let is_character = is_lead(lead) && second & third & 0xC0 == 0x80 && (second | third) < 0xC0;
    is_character.then(|| start_index(lead, second) << 6 | usize::from(third & 0x3F))
}
