//! Edits against prost, against their inverses, and on strange files.

use proptest::prelude::*;

use super::*;

/// A model with an unknown field everywhere, fields in a strange order, and long varints.
const STRANGE: &[u8] = b"\
    \xc2\x3e\x01x\
    \x0a\x10\x18\x02\x0a\x05<unk>\x15\0\0\0\0\x78\x01\
    \x12\x02\x18\x02\
    \x8a\x00\x89\x00\x0a\x02ab\x15\0\0\x80\xbf\
    \x12\x08\xc2\x3e\x01y\x20\x83\x80\x00\
    \x0a\x08\x0a\x01a\x15\0\0\0\xc0\
    \xa3\x06\x08\x01\xa4\x06";

fn golden(name: &str) -> Vec<u8> {
    let root = env!("CARGO_MANIFEST_DIR");
    std::fs::read(format!("{root}/testdata/golden/{name}.model")).unwrap()
}

fn id(number: u32) -> PieceId {
    PieceId::new(number)
}

fn strange() -> Model {
    Model::from_bytes(STRANGE).unwrap()
}

#[test]
fn an_editor_without_edits_gives_the_same_bytes() {
    let mut files: Vec<Vec<u8>> = ["llama2", "nfkc", "symbols", "rule_files", "hostile"]
        .into_iter()
        .map(golden)
        .collect();
    files.push(STRANGE.to_vec());
    for file in files {
        let model = Model::from_bytes(&file).unwrap();
        assert!(model.edit().finish().unwrap().to_bytes() == file);
    }
}

/// All models of the folder that the environment variable SPIECE_MODELS names.
#[test]
#[ignore = "needs a folder of models: set SPIECE_MODELS"]
fn edits_of_all_models_of_the_zoo_have_inverses() {
    let zoo =
        std::env::var("SPIECE_MODELS").expect("set SPIECE_MODELS to a folder of .model files");
    let mut models = 0;
    for entry in std::fs::read_dir(zoo).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "model")
        {
            continue;
        }
        let Ok(model) = Model::open(&path) else {
            continue;
        };
        models += 1;
        let bytes = model.to_bytes();
        let mut editor = model.edit();
        assert!(editor.finish().unwrap().to_bytes() == bytes, "{path:?}");
        let last = id(u32::try_from(model.len() - 1).unwrap());
        let added = editor.add_piece("\u{1}new piece\u{1}", -5.0, PieceKind::Control);
        let was = editor.piece(last).unwrap();
        editor.set_score(last, was.score() - 1.0);
        let prefix = model.normalizer_spec().add_dummy_prefix();
        editor.set_add_dummy_prefix(!prefix);
        let edited = editor.finish().unwrap();
        assert_eq!(edited.len(), model.len() + 1, "{path:?}");
        let mut back = edited.edit();
        back.remove_piece(added).unwrap();
        back.set_score(last, was.score());
        let back = back.finish().unwrap();
        assert_eq!(back.len(), model.len());
        editor.remove_piece(added).unwrap();
        editor.set_score(last, was.score());
        editor.set_add_dummy_prefix(prefix);
        assert!(editor.finish().unwrap().to_bytes() == bytes, "{path:?}");
    }
    assert!(models > 0, "no models in SPIECE_MODELS");
}

#[test]
fn the_worked_example_of_the_module_page() {
    const BEFORE: &[u8] = b"\
        \x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\
        \x0a\x0a\x0a\x03\xe2\x96\x81\x15\0\0\x80\xbf\
        \x12\x04\x18\x02\x20\x02";
    const AFTER: &[u8] = b"\
        \x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\
        \x0a\x0a\x0a\x03\xe2\x96\x81\x15\0\0\xc0\xbf\
        \x0a\x08\x0a\x01a\x15\0\0\0\xc0\
        \x12\x04\x18\x02\x20\x03";
    let mut editor = Model::from_bytes(BEFORE).unwrap().edit();
    editor.add_piece("a", -2.0, PieceKind::Normal);
    editor.set_score(id(1), -1.5);
    assert_eq!(editor.finish().unwrap().to_bytes(), AFTER);
}

/// Edits are undone while other edits are in effect.
#[test]
fn removed_pieces_come_back_in_any_order() {
    let mut editor = strange().edit();
    editor.move_piece(id(0), id(2));
    let first = editor.remove_piece(id(0)).unwrap();
    let second = editor.remove_piece(id(0)).unwrap();
    editor.insert_piece(id(0), second);
    editor.insert_piece(id(0), first);
    editor.move_piece(id(2), id(0));
    assert_eq!(editor.finish().unwrap().to_bytes(), STRANGE);
}

/// What was not changed keeps its bytes; a changed message is encoded anew, with its unknown
/// fields.
#[test]
fn unknown_fields_are_kept() {
    let mut editor = strange().edit();
    editor.set_score(id(0), 2.0);
    editor.trainer_spec_mut().vocab_size = Some(9);
    editor.set_remove_extra_whitespaces(false);
    let expected = b"\
        \x0a\x10\x0a\x05<unk>\x15\0\0\0\x40\x18\x02\x78\x01\
        \x8a\x00\x89\x00\x0a\x02ab\x15\0\0\x80\xbf\
        \x0a\x08\x0a\x01a\x15\0\0\0\xc0\
        \x12\x08\x18\x02\x20\x09\xc2\x3e\x01y\
        \x1a\x02\x20\x00\
        \xa3\x06\x08\x01\xa4\x06\
        \xc2\x3e\x01x";
    assert_eq!(editor.finish().unwrap().to_bytes(), expected);
}

#[test]
fn special_ids_and_the_size_follow_the_pieces() {
    let file = golden("llama2");
    let model = Model::from_bytes(&file).unwrap();
    let mut editor = model.edit();
    editor.insert_piece(id(1), PieceEntry::new("<new>", 0.0, PieceKind::Control));
    editor.rename_piece(id(2), "<bos>");
    let edited = editor.finish().unwrap();
    let spec = edited.trainer_spec();
    assert_eq!((spec.unk_id(), spec.bos_id(), spec.eos_id()), (0, 2, 3));
    assert_eq!(spec.bos_piece(), b"<bos>");
    assert_eq!(usize::try_from(spec.vocab_size()), Ok(model.len() + 1));
    assert_eq!(edited.piece_to_id("<bos>"), Some(id(2)));
    editor.remove_piece(id(3));
    assert_eq!(editor.finish().unwrap().trainer_spec().eos_id(), -1);
    let mut back = edited.edit();
    back.remove_piece(id(1)).unwrap();
    back.rename_piece(id(1), "<s>");
    let back = back.finish().unwrap();
    assert_eq!(back.trainer_spec().bos_id(), 1);
    assert_eq!(back.trainer_spec().bos_piece(), b"<s>");
}

#[test]
fn the_rules_for_files_are_checked() {
    let mut editor = strange().edit();
    editor.add_piece("ab", 0.0, PieceKind::Normal);
    let error = editor.finish().unwrap_err();
    assert!(
        matches!(error, ModelError::Piece { id: 3, .. }),
        "{error:?}"
    );
    let mut editor = strange().edit();
    editor.remove_piece(id(0)).unwrap();
    assert!(matches!(editor.finish(), Err(ModelError::NoUnknownPiece)));
    assert!(!editor.set_score(id(7), 0.0));
    assert!(editor.remove_piece(id(7)).is_none());
}

#[test]
fn retaining_pieces_is_removing_the_others() {
    let model = Model::from_bytes(&golden("symbols")).unwrap();
    let mut one_by_one = model.edit();
    for number in (0..20u32).rev().filter(|number| number % 3 == 2) {
        one_by_one.remove_piece(id(number + 5)).unwrap();
    }
    let mut at_once = model.edit();
    at_once.retain_pieces(|id, _| !(5..25).contains(&id.get()) || (id.get() - 5) % 3 != 2);
    let at_once = at_once
        .finish()
        .map(|model| model.to_bytes())
        .map_err(|e| e.to_string());
    let one_by_one = one_by_one
        .finish()
        .map(|model| model.to_bytes())
        .map_err(|e| e.to_string());
    assert!(at_once == one_by_one);
}

/// A model message for prost, with everything that a file from training has.
#[derive(Clone, PartialEq, prost::Message)]
struct Canonical {
    #[prost(message, repeated, tag = "1")]
    pieces: Vec<CanonicalPiece>,
    #[prost(bytes = "vec", optional, tag = "2")]
    trainer_spec: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    normalizer_spec: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    denormalizer_spec: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct CanonicalPiece {
    #[prost(bytes = "vec", optional, tag = "1")]
    text: Option<Vec<u8>>,
    #[prost(float, optional, tag = "2")]
    score: Option<f32>,
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
}

#[test]
fn edits_of_a_file_from_training_agree_with_prost() {
    use prost::Message;
    let file = golden("symbols");
    let mut message = Canonical::decode(&file[..]).unwrap();
    let mut editor = Model::from_bytes(&file).unwrap().edit();
    // The last pieces are normal ones.
    let first = message.pieces.len() - 30;
    let at = |number: usize| PieceId::from_index(first + number);
    editor.set_score(at(0), 2.5);
    message.pieces[first].score = Some(2.5);
    editor.set_kind(at(1), PieceKind::Unused);
    message.pieces[first + 1].kind = Some(5);
    editor.rename_piece(at(2), "renamed piece");
    message.pieces[first + 2].text = Some(b"renamed piece".to_vec());
    let removed = editor.remove_piece(at(10)).unwrap();
    let other = message.pieces.remove(first + 10);
    editor.insert_piece(at(20), removed);
    message.pieces.insert(first + 20, other);
    let mut spec = message.normalizer_spec.clone().unwrap();
    editor.denormalizer_spec_mut().add_dummy_prefix = Some(false);
    message.denormalizer_spec = Some(vec![0x18, 0]);
    if let Some(added) = editor.normalizer_spec_mut().encode_case.replace(true) {
        panic!("encode_case was {added}");
    }
    spec.extend([0x38, 1]);
    message.normalizer_spec = Some(spec);
    let edited = editor.finish().unwrap();
    assert!(edited.to_bytes() == message.encode_to_vec());
}

/// An edit, and the one that undoes it.
fn apply_and_undo(editor: &mut ModelEditor, choice: u8, at: u32, score: f32) {
    let length = u32::try_from(editor.len()).unwrap();
    let at = id(at % length);
    let was = editor.piece(at).unwrap();
    match choice % 8 {
        0 => {
            let added = editor.add_piece("a new piece", score, PieceKind::Control);
            editor.remove_piece(added).unwrap();
        }
        1 => {
            editor.insert_piece(at, PieceEntry::new("new", score, PieceKind::Normal));
            editor.remove_piece(at).unwrap();
        }
        2 => {
            let removed = editor.remove_piece(at).unwrap();
            editor.insert_piece(at, removed);
        }
        3 => {
            editor.set_score(at, score);
            editor.set_score(at, was.score());
        }
        4 => {
            editor.rename_piece(at, "another text");
            editor.rename_piece(at, was.text());
        }
        5 => {
            editor.set_kind(at, PieceKind::Unused);
            editor.set_kind(at, was.kind());
        }
        6 => {
            editor.move_piece(at, id(0));
            editor.move_piece(id(0), at);
        }
        _ => {
            let flag = editor.normalizer_spec.original.escape_whitespaces();
            editor.set_escape_whitespaces(!flag);
            editor.set_escape_whitespaces(flag);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_edit_and_its_inverse_give_the_same_bytes(
        edits in prop::collection::vec((any::<u8>(), any::<u32>(), any::<f32>()), 1..6),
        name in prop::sample::select(vec!["exhausted", "symbols", "", ""]),
    ) {
        let file = if name.is_empty() { STRANGE.to_vec() } else { golden(name) };
        let mut editor = Model::from_bytes(&file).unwrap().edit();
        for (choice, at, score) in edits {
            apply_and_undo(&mut editor, choice, at, score);
        }
        prop_assert!(editor.finish().unwrap().to_bytes() == file);
    }
}
