//! What the scripts of the HTML report need to know about a model, as JSON.
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

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::inspect::json;
use crate::inspect::report::{InspectReport, InspectedVocabulary};
use crate::io::{CliError, CliResult};
use spiece::PieceKind;
use spiece::inspect::UnreachablePiece;

/// The unreachable pieces that are listed. Usual models have fewer than 1,000; the limit bounds the
/// file.
const MAX_UNREACHABLE: usize = 5_000;
/// The winners that are listed for each of them.
const MAX_WINNERS: usize = 12;

/// A model.
#[derive(Serialize)]
pub(super) struct ModelData<'r> {
    report: json::InspectJson<'r>,
    pieces: Vec<PieceText<'r>>,
    scores: String,
    kinds: Vec<usize>,
    charsmap: String,
    unreachable: Vec<Vec<u64>>,
    unreachable_count: usize,
}

/// A text, or its bytes if it is not UTF-8.
#[derive(Serialize)]
#[serde(untagged)]
enum PieceText<'r> {
    Text(&'r str),
    Bytes(&'r [u8]),
}

impl<'r> ModelData<'r> {
    pub(super) fn new(report: &'r InspectReport<'_>) -> CliResult<Self> {
        let InspectedVocabulary::Model(model) = report.vocabulary else {
            return Err(CliError::Error(format!(
                "{}: --format=html needs a SentencePiece model, since its page encodes as they do; use --format=text or json for \
                 a byte-level vocabulary",
                report.visible_name()
            )));
        };
        let scores = model.pieces().flat_map(|piece| piece.score.to_le_bytes());
        let scores: Vec<u8> = scores.collect();
        let kinds: Vec<PieceKind> = model.pieces().map(|piece| piece.kind).collect();
        let runs = kinds.chunk_by(PieceKind::eq);
        let unreachable = &report.inspection.unreachable;
        let texts = model
            .pieces()
            .map(|piece| match str::from_utf8(piece.text) {
                Ok(text) => PieceText::Text(text),
                Err(_) => PieceText::Bytes(piece.text),
            });
        Ok(Self {
            report: json::InspectJson::new(report, false),
            pieces: texts.collect(),
            scores: BASE64_STANDARD.encode(scores),
            kinds: runs
                .flat_map(|run| [kind_number(run[0]), run.len()])
                .collect(),
            charsmap: BASE64_STANDARD.encode(model.normalizer_spec().precompiled_charsmap()),
            unreachable: (unreachable.iter().take(MAX_UNREACHABLE))
                .map(unreachable_numbers)
                .collect(),
            unreachable_count: unreachable.len(),
        })
    }
}

/// The position of a kind in [`PieceKind::ALL`].
fn kind_number(kind: PieceKind) -> usize {
    let before = PieceKind::ALL.iter().take_while(|other| **other != kind);
    before.count()
}

/// An unreachable piece with the first ids that win.
fn unreachable_numbers(piece: &UnreachablePiece) -> Vec<u64> {
    let winner = piece.winner.iter().take(MAX_WINNERS);
    let winner = winner.map(|id| u64::from(id.get()));
    let id = u64::from(piece.id.get());
    let first = [id, u64::from(piece.is_close), piece.winner.len() as u64];
    first.into_iter().chain(winner).collect()
}
