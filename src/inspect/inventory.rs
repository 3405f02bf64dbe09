//! Pieces by kind, script and length, and pieces with unusual texts.
//!
//! Only pieces for text (normal pieces and user-defined symbols) have a script and a length.
//!
//! The script of a piece is the script of its letters: characters of the scripts Common, Inherited
//! and Unknown (digits, punctuation, marks) are ignored, and a piece without letters is `Common`. A
//! piece of several scripts is `Mixed`, a piece that is not UTF-8 is `Malformed`.
//!
//! | piece | script | length |
//! |---|---|---|
//! | `▁the` | Latin | 4 |
//! | `▁2024` | Common | 5 |
//! | `漢かな` | Mixed (Han and Hiragana) | 3 |

use std::cmp::Reverse;
use std::collections::BTreeMap;

use memchr::memmem;
use unicode_script::{Script as CurrentScript, UnicodeScript as _};

use super::{is_byte_level, pieces_for_text, pieces_of_kind};
use crate::base::{WHITESPACE_MARK_STR, char_length};
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::Tokenizer;

/// The number of entries of [`Inspection::longest`](super::Inspection::longest).
const LONGEST_PIECES: usize = 10;

/// The number of pieces of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct KindCount {
    /// The kind.
    pub kind: PieceKind,
    /// How many pieces are of this kind.
    pub pieces: u64,
}

/// The number of pieces of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ScriptCount {
    /// The name of the script in Unicode, such as `Latin`; `Mixed` for several scripts, `Malformed`
    /// for text that is not UTF-8.
    pub script: &'static str,
    /// How many pieces are of this script.
    pub pieces: u64,
}

/// The number of pieces of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LengthCount {
    /// The length in characters, whitespace marks included.
    pub characters: u64,
    /// How many pieces have this length.
    pub pieces: u64,
}

/// Pieces for text whose texts often cause problems; each list is sorted by id. In byte-level
/// vocabularies, the first and the last list are empty: spaces and marks are usual there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnusualPieces {
    /// Pieces that contain a space (U+0020), not a whitespace mark.
    pub with_space: Vec<PieceId>,
    /// Pieces that contain a NUL.
    pub with_nul: Vec<PieceId>,
    /// Pieces that contain another control character (C0 or C1).
    pub with_control_character: Vec<PieceId>,
    /// Pieces that are not UTF-8.
    pub not_utf8: Vec<PieceId>,
    /// User-defined symbols that contain a whitespace mark.
    pub symbols_with_mark: Vec<PieceId>,
}

impl UnusualPieces {
    /// Finds the pieces.
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let mut found = Self::default();
        for piece in pieces_for_text(tokenizer) {
            found.add(piece.id, piece.kind, &piece.text);
        }
        // Spaces are what marks are for other models, and marks are characters as any.
        if is_byte_level(tokenizer) {
            found.with_space.clear();
            found.symbols_with_mark.clear();
        }
        found
    }

    /// Adds a piece to the lists it belongs to.
    fn add(&mut self, id: PieceId, kind: PieceKind, text: &[u8]) {
        if text.contains(&b' ') {
            self.with_space.push(id);
        }
        if text.contains(&0) {
            self.with_nul.push(id);
        }
        match std::str::from_utf8(text) {
            Err(_) => self.not_utf8.push(id),
            Ok(text) if text.chars().any(|c| c.is_control() && c != '\0') => {
                self.with_control_character.push(id);
            }
            Ok(_) => {}
        }
        let mark = WHITESPACE_MARK_STR.as_bytes();
        if kind == PieceKind::UserDefined && memmem::find(text, mark).is_some() {
            self.symbols_with_mark.push(id);
        }
    }
}

/// The number of pieces of each kind.
pub(super) fn count_kinds(tokenizer: &Tokenizer) -> Vec<KindCount> {
    let count = |kind| KindCount {
        kind,
        pieces: pieces_of_kind(tokenizer, kind).count() as u64,
    };
    PieceKind::ALL.map(count).to_vec()
}

/// The number of pieces of each script, most frequent first.
pub(super) fn count_scripts(tokenizer: &Tokenizer) -> Vec<ScriptCount> {
    let names = pieces_for_text(tokenizer).map(|piece| script_name(&piece.text));
    let counts = count_each(names).into_iter();
    let counts = counts.map(|(script, pieces)| ScriptCount { script, pieces });
    let mut counts: Vec<ScriptCount> = counts.collect();
    // The sort is stable: equal counts stay in the order of the names.
    counts.sort_by_key(|count| Reverse(count.pieces));
    counts
}

/// The number of occurrences of each value, in the order of the values.
fn count_each<V: Ord>(values: impl Iterator<Item = V>) -> BTreeMap<V, u64> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// The name of the script of the letters of a piece.
fn script_name(text: &[u8]) -> &'static str {
    let Ok(text) = std::str::from_utf8(text) else {
        return "Malformed";
    };
    let mut scripts = text.chars().map(|c| match c {
        'a'..='z' | 'A'..='Z' => CurrentScript::Latin,
        '\0'..='\u{7f}' | '\u{2581}' => CurrentScript::Common,
        _ => c.script(),
    });
    // Characters of these scripts occur together with those of all others.
    let is_letter = |script: &CurrentScript| {
        !matches!(
            script,
            CurrentScript::Common | CurrentScript::Inherited | CurrentScript::Unknown
        )
    };
    let Some(first) = scripts.find(is_letter) else {
        return "Common";
    };
    if scripts.filter(is_letter).all(|script| script == first) {
        first.full_name()
    } else {
        "Mixed"
    }
}

/// The number of pieces of each length, shortest first.
pub(super) fn count_lengths(tokenizer: &Tokenizer) -> Vec<LengthCount> {
    let lengths = pieces_for_text(tokenizer).map(|piece| char_count(&piece.text));
    count_each(lengths)
        .into_iter()
        .map(|(characters, pieces)| LengthCount { characters, pieces })
        .collect()
}

/// The number of characters of a text, as encoders step through it.
fn char_count(text: &[u8]) -> u64 {
    let mut count = 0;
    let mut rest = text;
    while !rest.is_empty() {
        rest = &rest[char_length(rest)..];
        count += 1;
    }
    count
}

/// The longest normal pieces, longest first; of equal lengths the lowest ids.
pub(super) fn longest_pieces(tokenizer: &Tokenizer) -> Vec<PieceId> {
    let normal = pieces_of_kind(tokenizer, PieceKind::Normal);
    let lengths = normal.map(|piece| (Reverse(char_count(&piece.text)), piece.id));
    let mut lengths: Vec<(Reverse<u64>, PieceId)> = lengths.collect();
    lengths.sort();
    lengths.truncate(LONGEST_PIECES);
    lengths.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_a_piece_is_that_of_its_letters() {
        let table = [
            ("▁the", "Latin"),
            ("▁2024", "Common"),
            ("漢字", "Han"),
            ("漢かな", "Mixed"),
            ("é\u{301}", "Latin"),
            ("\u{301}", "Common"),
            ("\u{10ffff}", "Common"),
        ];
        for (text, script) in table {
            assert_eq!(script_name(text.as_bytes()), script, "{text:?}");
        }
        assert_eq!(script_name(b"\xe2\x96"), "Malformed");
    }

    #[test]
    fn control_characters_and_malformed_pieces_are_unusual() {
        let mut found = UnusualPieces::default();
        let pieces: [&[u8]; 6] = [
            b"a b",
            b"\0",
            b"\x1b[2J",
            b"\xff",
            "▁<x>".as_bytes(),
            b"plain",
        ];
        for (number, text) in (0..).zip(pieces) {
            found.add(PieceId::new(number), PieceKind::UserDefined, text);
        }
        let id = |number| vec![PieceId::new(number)];
        let expected = UnusualPieces {
            with_space: id(0),
            with_nul: id(1),
            with_control_character: id(2),
            not_utf8: id(3),
            symbols_with_mark: id(4),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn lengths_count_malformed_bytes_as_the_encoders_do() {
        assert_eq!(char_count("▁aé".as_bytes()), 3);
        assert_eq!(char_count(b"\xe2\x96"), 1);
        assert_eq!(char_count(b""), 0);
    }
}
