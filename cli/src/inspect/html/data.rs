//! What the scripts of the HTML report need to know about a model, as JSON.
//!
//! Input: the report on a model. Output: an object with these members. Cost: linear in the pieces.
//!
//! | member | value |
//! |---|---|
//! | `report` | the object of `--format=json`, without the unreachable pieces |
//! | `pieces` | list: the text of each piece by id; a list of bytes if the text is not UTF-8 |
//! | `scores` | Base64 of the scores, as 32-bit floats with the lowest byte first |
//! | `kinds` | list: number of a kind in [`PieceKind::ALL`], number of pieces, and so on, in the order of the ids |
//! | `charsmap` | Base64 of the rules of the normalizer; empty if there are none |
//! | `unreachable` | list for each unreachable piece: id, 1 if it is close, number of winners, and the first winners |
//! | `unreachable_count` | number of unreachable pieces, listed or not |
//!
//! Scores are binary because NaN and infinities are no numbers of JSON, and because they are
//! shorter: 5.3 characters for a score of a unigram model instead of nine.

use crate::inspect::json;
use crate::inspect::report::InspectReport;
use crate::json::JsonValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use spiece::inspect::UnreachablePiece;
use spiece::{Model, PieceKind};

/// The unreachable pieces that are listed. Usual models have fewer than 1,000; the limit bounds the
/// file.
const MAX_UNREACHABLE: usize = 5_000;
/// The winners that are listed for each of them.
const MAX_WINNERS: usize = 12;
/// Members of the report that have a shorter form here.
const SHORTENED: [&str; 2] = ["unreachable", "unreachable_details"];

/// The model as an object.
pub(super) fn model_value(report: &InspectReport<'_>) -> JsonValue {
    let model = report.tokenizer.model();
    let mut members = json::members(report);
    members.retain(|(name, _)| !SHORTENED.contains(name));
    let unreachable = &report.inspection.unreachable;
    let listed = unreachable.iter().take(MAX_UNREACHABLE);
    let charsmap = model.normalizer_spec().precompiled_charsmap();
    JsonValue::Object(vec![
        ("report", JsonValue::Object(members)),
        ("pieces", texts(model)),
        ("scores", scores(model)),
        ("kinds", kinds(model)),
        ("charsmap", base64(charsmap)),
        ("unreachable", listed.map(unreachable_value).collect()),
        ("unreachable_count", unreachable.len().into()),
    ])
}

/// The texts of all pieces.
fn texts(model: &Model) -> JsonValue {
    let texts = model.pieces().map(|piece| text_value(piece.text));
    texts.collect()
}

/// A text, or its bytes if it is not UTF-8.
fn text_value(text: &[u8]) -> JsonValue {
    match std::str::from_utf8(text) {
        Ok(text) => JsonValue::from(text),
        Err(_) => JsonValue::list(text.iter().map(|byte| usize::from(*byte))),
    }
}

/// The scores of all pieces.
fn scores(model: &Model) -> JsonValue {
    let bytes = model.pieces().flat_map(|piece| piece.score.to_le_bytes());
    base64(&bytes.collect::<Vec<u8>>())
}

fn base64(bytes: &[u8]) -> JsonValue {
    JsonValue::from(BASE64_STANDARD.encode(bytes).as_str())
}

/// The kinds of all pieces, as runs.
fn kinds(model: &Model) -> JsonValue {
    let kinds: Vec<PieceKind> = model.pieces().map(|piece| piece.kind).collect();
    let runs = kinds.chunk_by(PieceKind::eq);
    JsonValue::list(runs.flat_map(|run| [kind_number(run[0]), run.len()]))
}

/// The position of a kind in [`PieceKind::ALL`].
fn kind_number(kind: PieceKind) -> usize {
    let before = PieceKind::ALL.iter().take_while(|other| **other != kind);
    before.count()
}

/// An unreachable piece with the first ids that win.
fn unreachable_value(piece: &UnreachablePiece) -> JsonValue {
    let winner = piece.winner.iter().take(MAX_WINNERS);
    let mut values: Vec<JsonValue> = vec![
        piece.id.into(),
        usize::from(piece.is_close).into(),
        piece.winner.len().into(),
    ];
    values.extend(winner.map(|id| JsonValue::from(*id)));
    JsonValue::List(values)
}
