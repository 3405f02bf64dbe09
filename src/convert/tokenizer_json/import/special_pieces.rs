//! The special pieces of a `tokenizer.json`: which control pieces begin, end and pad texts.
//!
//! Input: the entries of the vocabulary. Output: the ids and texts of these pieces in the trainer
//! spec. The file does not name them, so control pieces with usual texts are taken, such as `<s>`
//! or `[CLS]` for the beginning of a sentence. Cost: constant.

use super::entries::VocabularyEntries;
use crate::model::TrainerSpec;
use crate::piece::{PieceId, PieceKind};

/// Records the ids and texts of the special pieces.
pub(super) fn record_special_pieces(spec: &mut TrainerSpec, entries: &VocabularyEntries) {
    let bos = UsualControlPiece::find(entries, &["<s>", "<bos>", "<|startoftext|>", "[CLS]"]);
    let eos = UsualControlPiece::find(entries, &["</s>", "<eos>", "<|endoftext|>", "[SEP]"]);
    let pad = UsualControlPiece::find(entries, &["<pad>", "[PAD]"]);
    spec.bos_id = Some(id_in_spec(bos));
    spec.eos_id = Some(id_in_spec(eos));
    spec.pad_id = Some(id_in_spec(pad));
    spec.bos_piece = bos.map(UsualControlPiece::bytes);
    spec.eos_piece = eos.map(UsualControlPiece::bytes);
    spec.pad_piece = pad.map(UsualControlPiece::bytes);
}

/// A control piece with one of the usual texts.
#[derive(Debug, Clone, Copy)]
struct UsualControlPiece {
    text: &'static str,
    id: PieceId,
}

impl UsualControlPiece {
    /// The first of these texts that is a piece, if that is a control piece.
    fn find(entries: &VocabularyEntries, texts: &[&'static str]) -> Option<Self> {
        let mut found = texts.iter().filter_map(|text| Self::new(entries, text));
        let first = found.next()?;
        let kind = entries.added_kind(first.id.index());
        (kind == Some(PieceKind::Control)).then_some(first)
    }

    fn new(entries: &VocabularyEntries, text: &'static str) -> Option<Self> {
        let id = entries.id(text)?;
        Some(Self { text, id })
    }

    fn bytes(self) -> Vec<u8> {
        self.text.as_bytes().to_vec()
    }
}

/// The id as the spec has it: -1 for none.
fn id_in_spec(piece: Option<UsualControlPiece>) -> i32 {
    let id = piece.and_then(|piece| i32::try_from(piece.id.get()).ok());
    id.unwrap_or(-1)
}
