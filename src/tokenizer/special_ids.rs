//! The ids of pieces with a special role, looked up once when a tokenizer is made.
//!
//! The rules are those of the reference: an empty name in the file means the default name, and the
//! piece must have the right kind.

use crate::encode::vocabulary::{NO_UNKNOWN, Vocabulary};
use crate::model::Model;
use crate::model::validate::byte_of_piece;
use crate::piece::{PieceId, PieceKind};
#[cfg(feature = "formats")]
use crate::pipeline::Pipeline;

/// The special pieces that a model may have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SpecialIds {
    pub(super) unk: Option<PieceId>,
    pub(super) bos: Option<PieceId>,
    pub(super) eos: Option<PieceId>,
    pub(super) pad: Option<PieceId>,
}

impl SpecialIds {
    pub(super) fn new(model: &Model) -> Self {
        let spec = model.trainer_spec();
        Self {
            unk: unknown_id(model),
            bos: control_id(model, name_or(spec.bos_piece(), "<s>")),
            eos: control_id(model, name_or(spec.eos_piece(), "</s>")),
            pad: control_id(model, name_or(spec.pad_piece(), "<pad>")),
        }
    }
}

#[cfg(feature = "formats")]
impl SpecialIds {
    /// The template says which tokens are around a text, and the model which one stands for what it
    /// does not know. What they do not say, `model`, which has the same ids, says by its names.
    pub(super) fn of_pipeline(pipeline: &Pipeline, model: Option<&Model>) -> Self {
        let ends = pipeline.text_ends();
        let named = model.map(Self::new).unwrap_or_default();
        let first = |ids: &[u32]| ids.first().copied().map(PieceId::new);
        Self {
            unk: pipeline.model().unknown().map(PieceId::new),
            bos: first(&ends.before).or(named.bos),
            eos: first(&ends.after).or(named.eos),
            // The file names a token for padding only with its other settings of padding.
            pad: named.pad,
        }
    }
}

fn name_or<'n>(name: &'n [u8], default: &'static str) -> &'n [u8] {
    if name.is_empty() {
        default.as_bytes()
    } else {
        name
    }
}

fn control_id(model: &Model, name: &[u8]) -> Option<PieceId> {
    let id = model.piece_to_id(name)?;
    let piece = model.piece(id)?;
    (piece.kind == PieceKind::Control).then_some(id)
}

/// The unknown piece, unless its name belongs to another piece. The reference maps any name that is
/// not a piece to the unknown piece.
fn unknown_id(model: &Model) -> Option<PieceId> {
    let unknown = Vocabulary::new(model, true).unknown();
    let name = name_or(model.trainer_spec().unk_piece(), "<unk>");
    let is_its_name = model.piece_to_id(name).is_none_or(|found| found == unknown);
    (unknown != NO_UNKNOWN && is_its_name).then_some(unknown)
}

/// The byte piece of each byte, in models with byte fallback. Loading checks that such models have
/// all 256.
pub(super) fn byte_ids(model: &Model) -> Option<Box<[PieceId; 256]>> {
    if !model.trainer_spec().byte_fallback() {
        return None;
    }
    let mut ids = Box::new([NO_UNKNOWN; 256]);
    let pieces = model.table();
    for id in pieces.ids_of(PieceKind::Byte) {
        if let Some(byte) = byte_of_piece(pieces.text(id)) {
            ids[usize::from(byte)] = PieceId::from_index(id);
        }
    }
    Some(ids)
}
