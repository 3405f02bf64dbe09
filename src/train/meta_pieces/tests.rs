use super::*;
use crate::train::options::TrainFlags;

fn pieces(settings: &[(&str, &str)]) -> Result<Vec<(usize, String, PieceKind)>, OptionError> {
    let mut flags = TrainFlags::default();
    for (name, value) in settings {
        flags.set(name, value)?;
    }
    let meta = MetaPieces::new(&flags.options()?)?;
    Ok(meta
        .by_id
        .into_iter()
        .map(|(id, piece)| (id, piece.text, piece.kind))
        .collect())
}

#[test]
fn symbols_take_the_lowest_free_ids() {
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
fn byte_pieces_follow_all_other_meta_pieces() {
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
fn colliding_ids_and_texts_are_errors() {
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

#[test]
fn ids_of_symbols_are_given_before_the_others_are_counted() {
    let mut options = TrainOptions::default();
    options.user_defined_symbols = ["a", "b", "c"].map(str::to_owned).to_vec();
    options.symbol_ids = [("b", 3), ("c", 7999), ("no symbol", 5)]
        .map(|(text, id)| (text.to_owned(), id))
        .into();
    let meta = MetaPieces::new(&options).unwrap();
    let ids = meta.iter().map(|(id, text, _)| (id, text));
    let expected = [
        (0, "<unk>"),
        (1, "<s>"),
        (2, "</s>"),
        (3, "b"),
        (4, "a"),
        (7999, "c"),
    ];
    assert_eq!(ids.collect::<Vec<_>>(), expected);
    for (text, id) in [("c", 8000), ("a", 3), ("a", 0)] {
        let mut options = options.clone();
        options.symbol_ids.insert(text.to_owned(), id);
        let error = MetaPieces::new(&options).unwrap_err();
        assert!(
            matches!(
                &error,
                OptionError::Conflict {
                    option: "symbol_ids",
                    ..
                }
            ),
            "{text}: {error:?}"
        );
    }
}
