//! The special pieces of a `tokenizer.json`: which control pieces begin, end and pad texts.

use super::entries::VocabularyEntries;
use crate::model::TrainerSpec;
use crate::piece::PieceKind;

/// Records the ids and texts of the special pieces. The file does not name them, so control pieces
/// with usual texts are taken; -1 for those that it lacks.
pub(super) fn record_special_pieces(spec: &mut TrainerSpec, entries: &VocabularyEntries<'_>) {
    let find = |texts: &[&str]| {
        let mut found = texts
            .iter()
            .filter_map(|text| Some((*text, entries.id(text)?)));
        let (text, id) = found.next()?;
        let is_control = entries.added_kind(id.index()) == Some(PieceKind::Control);
        let id = i32::try_from(id.get()).ok()?;
        is_control.then(|| (id, text.as_bytes().to_vec()))
    };
    let bos = find(&["<s>", "<bos>", "<|startoftext|>", "[CLS]"]);
    let eos = find(&["</s>", "<eos>", "<|endoftext|>", "[SEP]"]);
    let pad = find(&["<pad>", "[PAD]"]);
    spec.bos_id = Some(bos.as_ref().map_or(-1, |(id, _)| *id));
    spec.eos_id = Some(eos.as_ref().map_or(-1, |(id, _)| *id));
    spec.pad_id = Some(pad.as_ref().map_or(-1, |(id, _)| *id));
    spec.bos_piece = bos.map(|(_, text)| text);
    spec.eos_piece = eos.map(|(_, text)| text);
    spec.pad_piece = pad.map(|(_, text)| text);
}
