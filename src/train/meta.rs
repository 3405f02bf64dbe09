//! The pieces that do not depend on the corpus: special, control, user-defined and byte pieces.
//!
//! In: the options. Out: a map from ids to texts and kinds.
//!
//! `<unk>`, `<s>`, `</s>` and `<pad>` have the ids that the options give them. The other pieces
//! take the lowest free ids: control symbols first, then user-defined symbols, then the 256 byte
//! pieces. A symbol with the text of a special piece gets no id of its own but changes the kind of
//! that piece.
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
//!
//! Cost: O(n log n) for n meta pieces.

use std::collections::{BTreeMap, HashSet};

use crate::error::OptionError;
use crate::model::{Model, ModelType, Piece};
use crate::piece::PieceKind;
use crate::text::WHITESPACE_MARK;
use crate::train::options::TrainOptions;

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

impl MetaPiece {
    fn new(text: &str, kind: PieceKind) -> Self {
        let text = text.to_owned();
        Self { text, kind }
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn is_unknown(&self) -> bool {
        self.kind == PieceKind::Unknown
    }

    fn is_byte(&self) -> bool {
        self.kind == PieceKind::Byte
    }
}

/// A special piece as the options give it.
#[derive(Clone, Copy)]
struct SpecialEntry<'o> {
    /// The option of the id.
    option: &'static str,
    id: Option<usize>,
    text: &'o str,
}

impl SpecialEntry<'_> {
    fn conflict(&self, problem: String, remedy: &'static str) -> OptionError {
        OptionError::Conflict {
            option: self.option,
            problem,
            remedy,
        }
    }
}

/// Symbols of one kind, with the option that names them.
struct SymbolGroup<'o> {
    option: &'static str,
    texts: &'o [String],
    kind: PieceKind,
}

impl SymbolGroup<'_> {
    /// Refuses a symbol that was named before (`is_new` is false) or that is the unknown piece.
    fn check(&self, text: &str, is_new: bool, options: &TrainOptions) -> Result<(), OptionError> {
        let problem = if !is_new {
            "is named twice; name each symbol once"
        } else if text == options.unk.text {
            "is the text of the unknown piece; remove it from the list"
        } else {
            return Ok(());
        };
        Err(piece_error(self.option, text, problem))
    }
}

/// The user-defined symbols. In a word model, whose words begin with a whitespace mark, each symbol
/// is followed by a copy that begins with one.
fn user_defined_symbols(options: &TrainOptions) -> Vec<String> {
    let mut symbols = Vec::new();
    for text in &options.user_defined_symbols {
        symbols.push(text.clone());
        if options.model_type == ModelType::Word && !text.starts_with(WHITESPACE_MARK) {
            symbols.push(format!("{WHITESPACE_MARK}{text}"));
        }
    }
    symbols
}

/// The symbols in the order in which they get ids; `bytes` are the byte pieces.
fn symbol_groups<'o>(
    options: &'o TrainOptions,
    user_defined: &'o [String],
    bytes: &'o [String],
) -> [SymbolGroup<'o>; 3] {
    let groups = [
        (
            "control_symbols",
            options.control_symbols.as_slice(),
            PieceKind::Control,
        ),
        ("user_defined_symbols", user_defined, PieceKind::UserDefined),
        ("byte_fallback", bytes, PieceKind::Byte),
    ];
    groups.map(|(option, texts, kind)| SymbolGroup {
        option,
        texts,
        kind,
    })
}

/// The text of the piece for a byte.
pub(crate) fn byte_piece(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

fn byte_pieces(options: &TrainOptions) -> Vec<String> {
    if options.byte_fallback {
        (0..=u8::MAX).map(byte_piece).collect()
    } else {
        Vec::new()
    }
}

fn missing_unknown() -> OptionError {
    let problem = "without an unknown piece, characters outside the vocabulary have no id";
    OptionError::Conflict {
        option: "unk_id",
        problem: problem.to_owned(),
        remedy: "give it an id, or add byte_fallback",
    }
}

fn piece_error(option: &'static str, piece: &str, problem: &'static str) -> OptionError {
    OptionError::Piece {
        option,
        piece: piece.to_owned(),
        problem,
    }
}

impl MetaPieces {
    /// # Errors
    /// An id that is too high or used twice, a text that is used twice, or no unknown piece without
    /// `byte_fallback`.
    pub(crate) fn new(options: &TrainOptions) -> Result<Self, OptionError> {
        let mut pieces = Self {
            by_id: BTreeMap::new(),
        };
        for special in special_pieces(options) {
            pieces.add_special(options, special)?;
        }
        pieces.check_unknown(options.byte_fallback)?;
        pieces.add_symbols(options)?;
        pieces.check_texts()?;
        Ok(pieces)
    }

    /// The texts of all pieces but byte pieces.
    pub(crate) fn texts_without_bytes(&self) -> impl Iterator<Item = &str> {
        self.by_id
            .values()
            .filter(|piece| !piece.is_byte())
            .map(MetaPiece::text)
    }

    /// The pieces of a model that merging does not make: all but normal and unused ones.
    pub(crate) fn of_model(model: &Model) -> Self {
        let pieces = model.pieces().filter(is_meta);
        Self {
            by_id: pieces.filter_map(meta_piece).collect(),
        }
    }

    fn has_unknown(&self) -> bool {
        self.unknown().is_some()
    }

    /// The id and the text of the unknown piece.
    pub(crate) fn unknown(&self) -> Option<(usize, &str)> {
        let mut pieces = self.by_id.iter();
        pieces
            .find(|(_, piece)| piece.is_unknown())
            .map(id_and_text)
    }

    /// Whether there are byte pieces.
    pub(crate) fn has_bytes(&self) -> bool {
        self.by_id.values().any(MetaPiece::is_byte)
    }

    fn check_unknown(&self, byte_fallback: bool) -> Result<(), OptionError> {
        if self.has_unknown() || byte_fallback {
            Ok(())
        } else {
            Err(missing_unknown())
        }
    }

    fn add_special(
        &mut self,
        options: &TrainOptions,
        special: SpecialEntry<'_>,
    ) -> Result<(), OptionError> {
        let Some(id) = special.id else { return Ok(()) };
        self.check_id(options, &special, id)?;
        let kind = self.special_kind(options, &special)?;
        self.by_id.insert(id, MetaPiece::new(special.text, kind));
        Ok(())
    }

    fn check_id(
        &self,
        options: &TrainOptions,
        special: &SpecialEntry<'_>,
        id: usize,
    ) -> Result<(), OptionError> {
        if id >= options.vocab_size as usize {
            return Err(special.conflict(
                format!("{id} is no id in a vocabulary of {}", options.vocab_size),
                "lower it, or use -1 for none",
            ));
        }
        match self.by_id.get(&id) {
            None => Ok(()),
            Some(other) => Err(special.conflict(
                format!("{id} is the id of {} already", other.text),
                "give every special piece its own id, or -1 for none",
            )),
        }
    }

    /// The kind of a special piece: unknown if it has the text of the unknown piece, of which there
    /// must be only one; otherwise control.
    fn special_kind(
        &self,
        options: &TrainOptions,
        special: &SpecialEntry<'_>,
    ) -> Result<PieceKind, OptionError> {
        if special.text != options.unk.text {
            return Ok(PieceKind::Control);
        }
        if self.has_unknown() {
            return Err(special.conflict(
                format!("{} is already the text of the unknown piece", special.text),
                "give the two pieces different texts",
            ));
        }
        Ok(PieceKind::Unknown)
    }

    fn add_symbols(&mut self, options: &TrainOptions) -> Result<(), OptionError> {
        let bytes = byte_pieces(options);
        let user_defined = user_defined_symbols(options);
        let mut symbols = HashSet::new();
        let mut next_id = 0;
        for group in &symbol_groups(options, &user_defined, &bytes) {
            for text in group.texts {
                let is_new = symbols.insert(text.as_str());
                group.check(text, is_new, options)?;
                self.add_symbol(options, text, group.kind, &mut next_id);
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
        if let Some(special_kind) = self.special_with_text(options, text) {
            *special_kind = kind;
            return;
        }
        while self.by_id.contains_key(next_id) {
            *next_id += 1;
        }
        self.by_id.insert(*next_id, MetaPiece::new(text, kind));
    }

    /// The kind of the special piece with this text, except the unknown piece, whose kind never
    /// changes.
    fn special_with_text(&mut self, options: &TrainOptions, text: &str) -> Option<&mut PieceKind> {
        let [_unknown, others @ ..] = special_pieces(options);
        let same_text = others
            .iter()
            .find(|special| special.text == text && special.id.is_some())?;
        let piece = self.by_id.get_mut(&same_text.id?)?;
        Some(&mut piece.kind)
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
            return Err(piece_error(option_of(*kind), text, problem));
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: usize) -> Option<(&str, PieceKind)> {
        let piece = self.by_id.get(&id)?;
        Some((piece.text(), piece.kind))
    }

    /// The first piece with this id or a higher one.
    pub(crate) fn next_from(&self, id: usize) -> Option<(usize, &str)> {
        self.by_id.range(id..).next().map(id_and_text)
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.by_id.values().map(MetaPiece::text)
    }
}

/// Whether pieces of this kind are not made by merging.
fn is_meta(piece: &Piece<'_>) -> bool {
    !matches!(piece.kind, PieceKind::Normal | PieceKind::Unused)
}

/// The id and the meta piece of a piece; `None` if its text is not UTF-8, since it then never
/// occurs in text.
fn meta_piece(piece: Piece<'_>) -> Option<(usize, MetaPiece)> {
    let text = std::str::from_utf8(piece.text).ok()?;
    Some((piece.id.index(), MetaPiece::new(text, piece.kind)))
}

fn id_and_text<'p>((id, piece): (&usize, &'p MetaPiece)) -> (usize, &'p str) {
    (*id, piece.text())
}

/// The option to name in an error about a piece of this kind.
fn option_of(kind: PieceKind) -> &'static str {
    match kind {
        PieceKind::UserDefined => "user_defined_symbols",
        _ => "control_symbols",
    }
}

/// The special pieces, the unknown piece first.
fn special_pieces(options: &TrainOptions) -> [SpecialEntry<'_>; 4] {
    let pieces = [
        ("unk_id", &options.unk),
        ("bos_id", &options.bos),
        ("eos_id", &options.eos),
        ("pad_id", &options.pad),
    ];
    pieces.map(|(option, piece)| SpecialEntry {
        option,
        id: piece.id.map(|id| id as usize),
        text: piece.text.as_str(),
    })
}

#[cfg(test)]
mod tests;
