//! Random edits of real models, and the edits that undo them.

use arbitrary::{Result, Unstructured};
use spiece::model::PieceEntry;
use spiece::{Model, ModelEditor, PieceId, PieceKind};

/// An edit that undoes another one.
enum Undo {
    Remove(PieceId),
    Insert(PieceId, PieceEntry),
    Move(PieceId, PieceId),
    Text(PieceId, Vec<u8>),
    Score(PieceId, f32),
    Kind(PieceId, PieceKind),
    AddDummyPrefix(bool),
    VocabSize(Option<i32>),
}

impl Undo {
    fn apply(self, editor: &mut ModelEditor) {
        let is_done = match self {
            Self::Remove(id) => editor.remove_piece(id).is_some(),
            Self::Insert(id, piece) => {
                editor.insert_piece(id, piece);
                true
            }
            Self::Move(from, to) => editor.move_piece(from, to),
            Self::Text(id, text) => editor.rename_piece(id, text),
            Self::Score(id, score) => editor.set_score(id, score),
            Self::Kind(id, kind) => editor.set_kind(id, kind),
            Self::AddDummyPrefix(add) => {
                editor.set_add_dummy_prefix(add);
                true
            }
            Self::VocabSize(size) => {
                editor.trainer_spec_mut().vocab_size = size;
                true
            }
        };
        assert!(is_done, "an edit that cannot be undone");
    }
}

/// Applies one random edit.
fn edit(input: &mut Unstructured<'_>, model: &Model, editor: &mut ModelEditor) -> Result<Undo> {
    let choice = input.int_in_range(0..=8)?;
    let at = any_id(input, editor)?;
    let Some(was) = editor.piece(at) else {
        return add(input, editor);
    };
    Ok(match choice {
        0 => add(input, editor)?,
        1 => {
            editor.insert_piece(at, any_piece(input)?);
            Undo::Remove(at)
        }
        2 => Undo::Insert(at, editor.remove_piece(at).expect("the piece was found")),
        3 => {
            let to = any_id(input, editor)?;
            assert!(editor.move_piece(at, to));
            Undo::Move(to, at)
        }
        4 => {
            editor.rename_piece(at, any_text(input)?);
            Undo::Text(at, was.text().to_vec())
        }
        5 => {
            editor.set_score(at, input.arbitrary()?);
            Undo::Score(at, was.score())
        }
        6 => {
            editor.set_kind(at, *input.choose(&PieceKind::ALL)?);
            Undo::Kind(at, was.kind())
        }
        7 => {
            editor.set_add_dummy_prefix(input.arbitrary()?);
            Undo::AddDummyPrefix(model.normalizer_spec().add_dummy_prefix())
        }
        _ => {
            let size = &mut editor.trainer_spec_mut().vocab_size;
            Undo::VocabSize(std::mem::replace(size, input.arbitrary()?))
        }
    })
}

fn add(input: &mut Unstructured<'_>, editor: &mut ModelEditor) -> Result<Undo> {
    let text = any_text(input)?;
    let kind = *input.choose(&PieceKind::ALL)?;
    Ok(Undo::Remove(editor.add_piece(
        text,
        input.arbitrary()?,
        kind,
    )))
}

/// The id of a piece; 0 if there are none.
fn any_id(input: &mut Unstructured<'_>, editor: &ModelEditor) -> Result<PieceId> {
    let last = u32::try_from(editor.len().saturating_sub(1)).expect("ids are u32");
    Ok(PieceId::new(input.int_in_range(0..=last)?))
}

fn any_piece(input: &mut Unstructured<'_>) -> Result<PieceEntry> {
    let text = any_text(input)?;
    let kind = *input.choose(&PieceKind::ALL)?;
    Ok(PieceEntry::new(text, input.arbitrary()?, kind))
}

fn any_text(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = input.int_in_range(0..=6)?;
    Ok(input.bytes(length.min(input.len()))?.to_vec())
}

/// Edits a model until the input ends, and undoes the edits in the reverse order. An edited model
/// is refused or loads again from its bytes; at the end the bytes are those of the beginning.
pub fn check(input: &mut Unstructured<'_>, file: &[u8]) -> Result<()> {
    const MAX_EDITS: usize = 40;
    let model = Model::from_bytes(file).expect("a golden file");
    let mut editor = model.edit();
    let mut undo = Vec::new();
    while !input.is_empty() && undo.len() < MAX_EDITS {
        undo.push(edit(input, &model, &mut editor)?);
    }
    if let Ok(edited) = editor.finish() {
        assert_eq!(edited.len(), editor.len());
        let again = Model::from_bytes(&edited.to_bytes()).expect("an edited model loads");
        super::checks::assert_same(&edited, &again);
    }
    for edit in undo.into_iter().rev() {
        edit.apply(&mut editor);
    }
    let restored = editor.finish().expect("the original was valid").to_bytes();
    assert!(restored == file, "undone edits changed the file");
    Ok(())
}
