//! The pieces that do not depend on the corpus: special, control, user-defined and byte pieces.
//!
//! `<unk>`, `<s>`, `</s>` and `<pad>` have the ids that the options give them. The other pieces
//! take the lowest free ids: control symbols first, then user-defined symbols, then the 256 byte
//! pieces. A symbol with the text of a special piece gets no id of its own but changes the kind of
//! that piece. [`TrainOptions::symbol_ids`] gives symbols and byte pieces other ids than the lowest free ones.
//!
//! For example, `unk_id=1`, `bos_id=3`, `eos_id=-1`, `control_symbols=a,<s>,b` and
//! `user_defined_symbols=c` give:
//!
//! | id | text | kind | reason |
//! |---|---|---|---|
//! | 0 | `a` | control | lowest free id |
//! | 1 | `<unk>` | unknown | `unk_id` |
//! | 2 | `b` | control | next free id |
//! | 3 | `<s>` | control | `bos_id`; named as a control symbol, so it stays one |
//! | 4 | `c` | user-defined | next free id |

use std::collections::{BTreeMap, HashSet};

use crate::base::WHITESPACE_MARK;
use crate::model::{Model, ModelType};
use crate::piece::PieceKind;
use crate::train::OptionError;
use crate::train::options::{SpecialPiece, TrainOptions, conflict};

/// Meta pieces by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetaPieces {
    by_id: BTreeMap<usize, MetaPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct MetaPiece {
    text: String,
    kind: PieceKind,
}

impl MetaPieces {
    /// # Errors
    /// An id that is too high or used twice, a text that is used twice, or no unknown piece without
    /// `byte_fallback`.
    pub(crate) fn new(options: &TrainOptions) -> Result<Self, OptionError> {
        let mut pieces = Self::with_roles(options)?;
        pieces.add_symbols(options)?;
        pieces.check_texts()?;
        Ok(pieces)
    }

    /// The pieces with the ids that the options give to roles.
    fn with_roles(options: &TrainOptions) -> Result<Self, OptionError> {
        let mut by_id: BTreeMap<usize, MetaPiece> = BTreeMap::new();
        let mut has_unknown = false;
        let names = ["unk_id", "bos_id", "eos_id", "pad_id"];
        for (option, special) in names.into_iter().zip(roles(options)) {
            let Some(id) = special.id else { continue };
            if id >= options.vocab_size {
                let problem = format!("{id} is no id in a vocabulary of {}", options.vocab_size);
                return Err(conflict(option, &problem, "lower it, or use -1 for none"));
            }
            if let Some(other) = by_id.get(&(id as usize)) {
                let problem = format!("{id} is the id of {} already", other.text);
                let remedy = "give every special piece its own id, or -1 for none";
                return Err(conflict(option, &problem, remedy));
            }
            // The text of the unknown piece makes a piece the unknown one, whatever its role.
            let kind = match (special.text == options.unk.text, has_unknown) {
                (false, _) => PieceKind::Control,
                (true, false) => PieceKind::Unknown,
                (true, true) => {
                    let problem =
                        format!("{} is already the text of the unknown piece", special.text);
                    let remedy = "give the two pieces different texts";
                    return Err(conflict(option, &problem, remedy));
                }
            };
            has_unknown |= kind == PieceKind::Unknown;
            let text = special.text.clone();
            by_id.insert(id as usize, MetaPiece { text, kind });
        }
        if !has_unknown && !options.byte_fallback {
            return Err(conflict(
                "unk_id",
                "without an unknown piece, characters outside the vocabulary have no id",
                "give it an id, or add byte_fallback",
            ));
        }
        Ok(Self { by_id })
    }

    /// Adds control pieces, user-defined symbols and byte pieces at the lowest free ids. Those with
    /// the text of a role keep its id.
    fn add_symbols(&mut self, options: &TrainOptions) -> Result<(), OptionError> {
        // In a word model, whose words begin with a whitespace mark, each user-defined symbol is
        // followed by a copy that begins with one.
        let mut user_defined = Vec::new();
        for text in &options.user_defined_symbols {
            user_defined.push(text.clone());
            if options.model_type == ModelType::Word && !text.starts_with(WHITESPACE_MARK) {
                user_defined.push(format!("{WHITESPACE_MARK}{text}"));
            }
        }
        let bytes: Vec<String> = (0..=u8::MAX).map(byte_piece).collect();
        let bytes: &[String] = if options.byte_fallback { &bytes } else { &[] };
        let groups: [(_, &[String], _); 3] = [
            (
                "control_symbols",
                &options.control_symbols,
                PieceKind::Control,
            ),
            (
                "user_defined_symbols",
                &user_defined,
                PieceKind::UserDefined,
            ),
            ("byte_fallback", bytes, PieceKind::Byte),
        ];
        let mut symbols = HashSet::new();
        // Those whose ids are not given. The ids that are given have to be taken before.
        let mut others = Vec::new();
        for (option, texts, kind) in groups {
            for text in texts {
                if !symbols.insert(text) {
                    let problem = "is named twice; name each symbol once";
                    return Err(piece_error(option, text, problem));
                }
                if *text == options.unk.text {
                    let problem = "is the text of the unknown piece; remove it from the list";
                    return Err(piece_error(option, text, problem));
                }
                let role = roles(options).into_iter().find(|role| role.text == *text);
                let id = role.and_then(|role| role.id);
                if let Some(special) = id.and_then(|id| self.by_id.get_mut(&(id as usize))) {
                    special.kind = kind;
                    continue;
                }
                let text = text.clone();
                let piece = MetaPiece { text, kind };
                match options.symbol_ids.get(&piece.text) {
                    None => others.push(piece),
                    Some(id) => self.add_with_id(*id, piece, options.vocab_size)?,
                }
            }
        }
        let mut next_id = 0;
        for piece in others {
            while self.by_id.contains_key(&next_id) {
                next_id += 1;
            }
            self.by_id.insert(next_id, piece);
        }
        Ok(())
    }

    /// Adds a symbol that the options give an id.
    fn add_with_id(
        &mut self,
        id: u32,
        piece: MetaPiece,
        vocab_size: u32,
    ) -> Result<(), OptionError> {
        let remedy = "give it another id, or leave its id out";
        if id >= vocab_size {
            let problem = format!(
                "{} has the id {id}, which is none in a vocabulary of {vocab_size}",
                piece.text
            );
            return Err(conflict("symbol_ids", &problem, remedy));
        }
        if let Some(other) = self.by_id.get(&(id as usize)) {
            let problem = format!(
                "{} has the id {id}, which is that of {} already",
                piece.text, other.text
            );
            return Err(conflict("symbol_ids", &problem, remedy));
        }
        self.by_id.insert(id as usize, piece);
        Ok(())
    }

    fn check_texts(&self) -> Result<(), OptionError> {
        let mut texts = HashSet::new();
        for MetaPiece { text, kind } in self.by_id.values() {
            let problem = if text.is_empty() {
                "is empty; remove it from the list"
            } else if text.contains('\0') {
                "contains a NUL; remove that"
            } else if !texts.insert(text) {
                "is the text of two pieces; give every piece its own text"
            } else {
                continue;
            };
            let option = match kind {
                PieceKind::UserDefined => "user_defined_symbols",
                _ => "control_symbols",
            };
            return Err(piece_error(option, text, problem));
        }
        Ok(())
    }

    /// The pieces of a model that merging does not make: all but normal and unused ones, and those
    /// whose texts are not UTF-8, which never occur in text.
    pub(crate) fn of_model(model: &Model) -> Self {
        let pieces = model.pieces();
        let pieces =
            pieces.filter(|piece| !matches!(piece.kind, PieceKind::Normal | PieceKind::Unused));
        let by_id = pieces.filter_map(|piece| {
            let text = std::str::from_utf8(piece.text).ok()?.to_owned();
            let kind = piece.kind;
            Some((piece.id.index(), MetaPiece { text, kind }))
        });
        Self {
            by_id: by_id.collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: usize) -> Option<(&str, PieceKind)> {
        let piece = self.by_id.get(&id)?;
        Some((&piece.text, piece.kind))
    }

    /// The pieces with their ids, in this order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str, PieceKind)> {
        let pieces = self.by_id.iter();
        pieces.map(|(id, piece)| (*id, piece.text.as_str(), piece.kind))
    }

    /// The id and the text of the unknown piece.
    pub(crate) fn unknown(&self) -> Option<(usize, &str)> {
        let mut pieces = self.by_id.iter();
        let (id, piece) = pieces.find(|(_, piece)| piece.kind == PieceKind::Unknown)?;
        Some((*id, &piece.text))
    }

    /// Whether there are byte pieces.
    pub(crate) fn has_bytes(&self) -> bool {
        let mut pieces = self.by_id.values();
        pieces.any(|piece| piece.kind == PieceKind::Byte)
    }

    /// The first piece with this id or a higher one.
    pub(crate) fn next_from(&self, id: usize) -> Option<(usize, &str)> {
        let (id, piece) = self.by_id.range(id..).next()?;
        Some((*id, &piece.text))
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.by_id.values().map(|piece| piece.text.as_str())
    }

    /// The texts of all pieces but byte pieces.
    pub(crate) fn texts_without_bytes(&self) -> impl Iterator<Item = &str> {
        let pieces = self.by_id.values();
        let pieces = pieces.filter(|piece| piece.kind != PieceKind::Byte);
        pieces.map(|piece| piece.text.as_str())
    }
}

/// The unknown, BOS, EOS and padding pieces, in the order of their ids by default.
fn roles(options: &TrainOptions) -> [&SpecialPiece; 4] {
    [&options.unk, &options.bos, &options.eos, &options.pad]
}

/// The text of the piece for a byte.
pub(crate) fn byte_piece(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

fn piece_error(option: &'static str, piece: &str, problem: &'static str) -> OptionError {
    OptionError::Piece {
        option,
        piece: piece.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests;
