//! Which ids the new pieces of an extension get.
//!
//! Learning begins with the *base*, in which the pieces to reuse have lost their texts and special
//! pieces were added.
//!
//! Example: a model of 100 pieces of which 3 and 5 are reused, one control piece to add, 4 pieces
//! to learn, a multiple of 8. The control piece gets 100; the learned pieces get 3, 5, 101 and 102;
//! `<reserved_0>` gets 103.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZeroUsize;

use super::{ExtendOptions, IdMap};
use crate::adapt::error::ExtendError;
use crate::adapt::pieces::pieces_of_kind;
use crate::base::lossy_string;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};

/// The largest multiple that the size can be filled up to. Tables of embeddings have sizes that are
/// multiples of 64 or 128.
const MAX_MULTIPLE: usize = 1 << 16;

/// The pieces to reuse, ascending.
pub(super) fn reusable(model: &Model, options: &ExtendOptions) -> BTreeSet<PieceId> {
    options
        .reuse
        .iter()
        .copied()
        .filter(|id| id.index() < model.len())
        .collect()
}

/// The model before learning: pieces to reuse have texts that no text contains, and special pieces
/// are added.
pub(super) fn base_model(model: &Model, options: &ExtendOptions) -> Result<Model, ExtendError> {
    check_multiple(options.multiple_of)?;
    for id in &options.reuse {
        check_reusable(model, *id)?;
    }
    let reused = reusable(model, options);
    if reused.is_empty() && special_pieces(options).next().is_none() {
        return Ok(model.clone());
    }
    let mut texts = texts(model);
    let mut editor = model.edit();
    let reused_texts = new_texts("reused", &texts, reused.len());
    for (id, text) in reused.into_iter().zip(reused_texts) {
        editor.set_kind(id, PieceKind::Control);
        editor.rename_piece(id, &text);
        texts.insert(text.into_bytes());
    }
    let mut added = HashMap::new();
    for (text, kind) in special_pieces(options) {
        if !texts.insert(text.as_bytes().to_vec()) {
            let old = model.piece_to_id(text).and_then(|id| model.piece(id));
            return Err(ExtendError::PieceExists {
                piece: text.to_owned(),
                // Otherwise it is one of the reused pieces, which are control pieces now.
                kind: old
                    .map(|old| old.kind)
                    .or(added.get(text).copied())
                    .unwrap_or(PieceKind::Control),
            });
        }
        added.insert(text, kind);
        editor.add_piece(text, 0.0, kind);
    }
    Ok(editor.finish()?)
}

/// Fails if the vocabulary would be filled up to a multiple that is too large to be useful.
pub(super) fn check_multiple(multiple_of: Option<NonZeroUsize>) -> Result<(), ExtendError> {
    match multiple_of.map(NonZeroUsize::get) {
        Some(multiple) if multiple > MAX_MULTIPLE => Err(ExtendError::Multiple {
            multiple,
            largest: MAX_MULTIPLE,
        }),
        _ => Ok(()),
    }
}

/// The special pieces to add, in the order of their ids.
fn special_pieces(options: &ExtendOptions) -> impl Iterator<Item = (&str, PieceKind)> {
    let control = options
        .control
        .iter()
        .map(|text| (&**text, PieceKind::Control));
    let symbols = options.user_defined.iter();
    control.chain(symbols.map(|text| (&**text, PieceKind::UserDefined)))
}

/// The texts of all pieces.
pub(super) fn texts(model: &Model) -> HashSet<Vec<u8>> {
    model.pieces().map(|piece| piece.text.to_vec()).collect()
}

/// The first `count` texts `<name_i>` that are not in `texts`.
fn new_texts(name: &str, texts: &HashSet<Vec<u8>>, count: usize) -> Vec<String> {
    let candidates = (0_usize..).map(|index| format!("<{name}_{index}>"));
    let new = candidates.filter(|text| !texts.contains(text.as_bytes()));
    new.take(count).collect()
}

/// Fails for models with user-defined symbols that can be found inside a character: text around
/// them is no sequence of characters.
pub(super) fn check_symbols(base: &Model) -> Result<(), ExtendError> {
    let mut symbols = pieces_of_kind(base, PieceKind::UserDefined);
    match symbols.find(|piece| str::from_utf8(piece.text).is_err()) {
        Some(symbol) => Err(ExtendError::PartOfCharacter {
            id: symbol.id,
            piece: lossy_string(symbol.text),
        }),
        None => Ok(()),
    }
}

/// Fails for pieces of other kinds, and for those that the trainer spec names as special.
fn check_reusable(model: &Model, id: PieceId) -> Result<(), ExtendError> {
    use PieceKind::{Control, Unused, UserDefined};
    let piece = model.piece(id);
    let has_kind = |piece: Piece<'_>| matches!(piece.kind, Control | Unused | UserDefined);
    let spec = model.trainer_spec();
    let special = [spec.unk_id(), spec.bos_id(), spec.eos_id(), spec.pad_id()];
    let is_special = i32::try_from(id.get()).is_ok_and(|id| special.contains(&id));
    if piece.is_some_and(has_kind) && !is_special {
        return Ok(());
    }
    Err(ExtendError::NotReusable {
        id,
        piece: piece.map_or_else(String::new, |piece| lossy_string(piece.text)),
    })
}

/// The ids of learned pieces and the texts of the padding.
pub(super) struct IdSlots {
    learned: Vec<PieceId>,
    padding: Vec<String>,
    /// The number of ids without the padding, which follows.
    unpadded: usize,
    /// Ids of old pieces that are reused, so that the old pieces no longer have them.
    reused: BTreeSet<PieceId>,
}

impl IdSlots {
    /// The ids of `learned` pieces, the first of which take the `reused` ones, in a base of this
    /// length with these texts.
    pub(super) fn new(
        (base_len, texts): (usize, &HashSet<Vec<u8>>),
        reused: BTreeSet<PieceId>,
        learned: usize,
        multiple_of: Option<NonZeroUsize>,
    ) -> Self {
        let new = (base_len..).map(PieceId::from_index);
        let learned: Vec<PieceId> = reused.iter().copied().chain(new).take(learned).collect();
        let last = learned.iter().map(|id| id.index() + 1).max();
        let size = last.unwrap_or(0).max(base_len);
        let multiple = multiple_of.map_or(1, usize::from);
        let padding = size.checked_next_multiple_of(multiple).unwrap_or(size) - size;
        Self {
            padding: new_texts("reserved", texts, padding),
            unpadded: size,
            learned,
            reused,
        }
    }

    /// Whether there is nothing to add.
    pub(super) fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.padding.is_empty()
    }

    /// The ids of the learned pieces, in the order of learning.
    pub(super) fn learned(&self) -> impl Iterator<Item = PieceId> {
        self.learned.iter().copied()
    }

    /// The texts of the padding, and their ids.
    pub(super) fn padding(&self) -> impl Iterator<Item = (&str, PieceId)> {
        let ids = (self.unpadded..).map(PieceId::from_index);
        self.padding.iter().map(String::as_str).zip(ids)
    }

    /// The old id of each new one.
    pub(super) fn id_map(&self, old_len: usize, new_len: usize) -> IdMap {
        let ids = (0..new_len).map(PieceId::from_index);
        let is_old = |id: &PieceId| id.index() < old_len && !self.reused.contains(id);
        IdMap::from_old_ids(old_len, ids.map(|id| Some(id).filter(is_old)).collect())
    }
}
