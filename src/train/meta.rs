//! The pieces that are there whatever the text: special, control, user-defined and byte pieces.
//!
//! `<unk>`, `<s>`, `</s>` and `<pad>` have the ids that the options give them; the others take the lowest
//! ids that are free, control symbols first, then user-defined symbols, then the 256 bytes. A symbol with
//! the text of a special piece does not get an id of its own but changes that piece's kind.

use std::collections::{BTreeMap, HashSet};

use crate::error::OptionError;
use crate::piece::PieceKind;
use crate::train::options::TrainOptions;

/// Meta pieces by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetaPieces {
    by_id: BTreeMap<usize, (String, PieceKind)>,
}

/// The text of the piece for a byte.
pub(crate) fn byte_piece(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

impl MetaPieces {
    /// # Errors
    /// An id that is too high or taken, a text that is there twice, no unknown piece where one is needed.
    pub(crate) fn new(options: &TrainOptions) -> Result<MetaPieces, OptionError> {
        let mut pieces = MetaPieces {
            by_id: BTreeMap::new(),
        };
        for (option, id, text) in special_pieces(options) {
            pieces.add_special(options, option, id, text)?;
        }
        let has_unknown = pieces
            .by_id
            .values()
            .any(|(_, kind)| *kind == PieceKind::Unknown);
        if !has_unknown && !options.byte_fallback {
            return Err(OptionError::Conflict {
                option: "unk_id",
                problem: "without an unknown piece, characters outside the vocabulary have no id"
                    .to_owned(),
                remedy: "give it an id, or add byte_fallback",
            });
        }
        pieces.add_symbols(options)?;
        pieces.check_texts()?;
        Ok(pieces)
    }

    fn add_special(
        &mut self,
        options: &TrainOptions,
        option: &'static str,
        id: Option<usize>,
        text: &str,
    ) -> Result<(), OptionError> {
        let Some(id) = id else { return Ok(()) };
        let refuse = |problem: String, remedy| {
            Err(OptionError::Conflict {
                option,
                problem,
                remedy,
            })
        };
        if id >= options.vocab_size as usize {
            return refuse(
                format!("{id} is no id in a vocabulary of {}", options.vocab_size),
                "lower it, or use -1 for none",
            );
        }
        if let Some((other, _)) = self.by_id.get(&id) {
            return refuse(
                format!("{id} is the id of {other} already"),
                "give every special piece its own id, or -1 for none",
            );
        }
        let is_unknown = text == options.unk.text;
        if is_unknown
            && self
                .by_id
                .values()
                .any(|(_, kind)| *kind == PieceKind::Unknown)
        {
            return refuse(
                format!("{text} is there already, as the unknown piece"),
                "give the two pieces different texts",
            );
        }
        let kind = if is_unknown {
            PieceKind::Unknown
        } else {
            PieceKind::Control
        };
        self.by_id.insert(id, (text.to_owned(), kind));
        Ok(())
    }

    fn add_symbols(&mut self, options: &TrainOptions) -> Result<(), OptionError> {
        let bytes: Vec<String> = if options.byte_fallback {
            (0..=u8::MAX).map(byte_piece).collect()
        } else {
            Vec::new()
        };
        let groups = [
            (
                "control_symbols",
                &options.control_symbols,
                PieceKind::Control,
            ),
            (
                "user_defined_symbols",
                &options.user_defined_symbols,
                PieceKind::UserDefined,
            ),
            ("byte_fallback", &bytes, PieceKind::Byte),
        ];
        let mut symbols = HashSet::new();
        let mut next_id = 0;
        for (option, texts, kind) in groups {
            for text in texts {
                let refuse = |problem| OptionError::Piece {
                    option,
                    piece: text.clone(),
                    problem,
                };
                if !symbols.insert(text.as_str()) {
                    return Err(refuse("is there already; name each symbol once"));
                }
                if *text == options.unk.text {
                    return Err(refuse("is the unknown piece; a symbol cannot be that, too"));
                }
                self.add_symbol(options, text, kind, &mut next_id);
            }
        }
        Ok(())
    }

    fn add_symbol(
        &mut self,
        options: &TrainOptions,
        text: &str,
        kind: PieceKind,
        next_id: &mut usize,
    ) {
        let same_text = special_pieces(options)
            .into_iter()
            .skip(1)
            .find(|(_, id, special)| *special == text && id.is_some());
        let special = same_text.and_then(|(_, id, _)| self.by_id.get_mut(&id?));
        if let Some((_, special_kind)) = special {
            *special_kind = kind;
            return;
        }
        while self.by_id.contains_key(next_id) {
            *next_id += 1;
        }
        self.by_id.insert(*next_id, (text.to_owned(), kind));
    }

    fn check_texts(&self) -> Result<(), OptionError> {
        let mut texts = HashSet::new();
        for (text, kind) in self.by_id.values() {
            let option = if *kind == PieceKind::UserDefined {
                "user_defined_symbols"
            } else {
                "control_symbols"
            };
            let refuse = |problem| {
                Err(OptionError::Piece {
                    option,
                    piece: text.clone(),
                    problem,
                })
            };
            if text.is_empty() {
                return refuse("is empty; take it out of the list");
            }
            if text.contains('\0') {
                return refuse("has a NUL in it; take that out");
            }
            if !texts.insert(text) {
                return refuse("is there twice; give every piece its own text");
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: usize) -> Option<(&str, PieceKind)> {
        self.by_id
            .get(&id)
            .map(|(text, kind)| (text.as_str(), *kind))
    }

    /// The first piece with this id or a higher one.
    pub(crate) fn next_from(&self, id: usize) -> Option<(usize, &str)> {
        self.by_id
            .range(id..)
            .next()
            .map(|(id, (text, _))| (*id, text.as_str()))
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.by_id.values().map(|(text, _)| text.as_str())
    }
}

/// The special pieces: the option of the id, the id, the text.
fn special_pieces(options: &TrainOptions) -> [(&'static str, Option<usize>, &str); 4] {
    let pieces = [
        ("unk_id", &options.unk),
        ("bos_id", &options.bos),
        ("eos_id", &options.eos),
        ("pad_id", &options.pad),
    ];
    pieces.map(|(option, piece)| {
        let id = piece.id.map(|id| id as usize);
        (option, id, piece.text.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::flags::TrainFlags;

    fn pieces(settings: &[(&str, &str)]) -> Result<Vec<(usize, String, PieceKind)>, OptionError> {
        let mut flags = TrainFlags::default();
        for (name, value) in settings {
            flags.set(name, value)?;
        }
        let meta = MetaPieces::new(&flags.options()?)?;
        Ok(meta
            .by_id
            .into_iter()
            .map(|(id, (text, kind))| (id, text, kind))
            .collect())
    }

    #[test]
    fn symbols_fill_the_gaps() {
        let found = pieces(&[
            ("unk_id", "1"),
            ("bos_id", "3"),
            ("eos_id", "-1"),
            ("control_symbols", "a,<s>,b"),
            ("user_defined_symbols", "c"),
        ]);
        let expected = [
            (0, "a", PieceKind::Control),
            (1, "<unk>", PieceKind::Unknown),
            (2, "b", PieceKind::Control),
            (3, "<s>", PieceKind::Control),
            (4, "c", PieceKind::UserDefined),
        ];
        assert_eq!(
            found.unwrap(),
            expected.map(|(id, text, kind)| (id, text.to_owned(), kind))
        );
    }

    #[test]
    fn bytes_come_last() {
        let found = pieces(&[
            ("byte_fallback", "1"),
            ("unk_id", "-1"),
            ("user_defined_symbols", "</s>"),
        ])
        .unwrap();
        assert_eq!(found.len(), 258);
        assert_eq!(found[0], (0, "<0x00>".to_owned(), PieceKind::Byte));
        assert_eq!(found[2], (2, "</s>".to_owned(), PieceKind::UserDefined));
        assert_eq!(found[257], (257, "<0xFF>".to_owned(), PieceKind::Byte));
    }

    #[test]
    fn refusals() {
        let cases: &[&[(&str, &str)]] = &[
            &[("unk_id", "-1")],
            &[("unk_id", "8000")],
            &[("bos_id", "0")],
            &[("bos_piece", "<unk>")],
            &[("bos_piece", "</s>")],
            &[("control_symbols", "a,a")],
            &[("control_symbols", "a"), ("user_defined_symbols", "a")],
            &[("control_symbols", "<unk>")],
            &[("control_symbols", "a,,b")],
            &[("user_defined_symbols", "<0x41>"), ("byte_fallback", "1")],
        ];
        for settings in cases {
            assert!(pieces(settings).is_err(), "{settings:?}");
        }
        assert!(pieces(&[("user_defined_symbols", "<0x41>")]).is_ok());
    }
}
