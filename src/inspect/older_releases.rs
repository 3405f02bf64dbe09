//! Why SentencePiece 0.2.2 and older refuse a model that 0.2.3 and spiece load.
//!
//! Found by loading models with the wheels of 0.1.99, 0.2.0, 0.2.1 and 0.2.2: their other rules for
//! models are those of 0.2.3, or fewer.

use std::fmt;

use crate::base::lossy_string;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::Tokenizer;

/// Why SentencePiece 0.2.2 and older refuse a model; from [`Model::older_release_problems`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OlderReleaseProblem {
    /// The model has byte fallback and no unknown piece, as with `unk_id=-1` in training.
    NoUnknownPiece,
    /// A piece is a single NUL. 0.2.2 refuses the model, and older releases can crash.
    NulPiece {
        /// The id of the first such piece.
        id: PieceId,
    },
    /// The file has self-tests, texts with the pieces that they must give, and gives other pieces.
    /// 0.2.3 ignores self-tests.
    SelfTest {
        /// The number of self-tests that fail.
        failed: usize,
        /// The text of the first one that fails.
        text: String,
    },
}

impl fmt::Display for OlderReleaseProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentencePiece 0.2.2 and older cannot load the model: ")?;
        match self {
            Self::NoUnknownPiece => {
                f.write_str("it has no unknown piece; load it with 0.2.3, or add one")
            }
            Self::NulPiece { id } => write!(
                f,
                "piece {id} is a NUL; load it with 0.2.3, or rename the piece"
            ),
            Self::SelfTest { failed, text } => write!(
                f,
                "{failed} of its self-tests give other pieces than they should, first {:?}; load it with 0.2.3",
                text.chars().take(40).collect::<String>()
            ),
        }
    }
}

impl Model {
    /// Why SentencePiece 0.2.2 and older refuse the model; empty if they load it.
    ///
    /// ```
    /// let model = spiece::Model::open("testdata/golden/no_unk.model")?;
    /// let problems = model.older_release_problems();
    /// assert_eq!(problems, [spiece::inspect::OlderReleaseProblem::NoUnknownPiece]);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn older_release_problems(&self) -> Vec<OlderReleaseProblem> {
        let mut problems = Vec::new();
        if self.pieces().all(|piece| piece.kind != PieceKind::Unknown) {
            problems.push(OlderReleaseProblem::NoUnknownPiece);
        }
        if let Some(piece) = self.pieces().find(|piece| piece.text == b"\0") {
            problems.push(OlderReleaseProblem::NulPiece { id: piece.id });
        }
        let tests = self.self_tests();
        if tests.is_empty() {
            return problems;
        }
        let tokenizer = Tokenizer::new(self.clone());
        let mut encoder = tokenizer.encoder();
        let mut failed = tests.iter().filter(|(text, expected)| {
            let tokens = encoder.tokens(text);
            let pieces: Vec<&[u8]> = tokens.iter().map(|token| token.piece()).collect();
            !is_equivalent(self, expected, &pieces.join(&b' '))
        });
        if let Some((text, _)) = failed.next() {
            problems.push(OlderReleaseProblem::SelfTest {
                failed: 1 + failed.count(),
                text: lossy_string(text),
            });
        }
        problems
    }
}

/// Whether a self-test passes: pieces, joined by spaces, are as expected, or have the same score in
/// a unigram model.
fn is_equivalent(model: &Model, expected: &[u8], given: &[u8]) -> bool {
    if expected == given {
        return true;
    }
    let normal = || {
        let pieces = model.pieces();
        pieces.filter(|piece| piece.kind == PieceKind::Normal)
    };
    let lowest = normal().fold(f32::MAX, |score, piece| score.min(piece.score));
    // The reference begins with the smallest positive number.
    let highest = normal().fold(f32::MIN_POSITIVE, |score, piece| score.max(piece.score));
    let score = |pieces: &[u8]| -> f32 {
        let pieces = pieces.split(|byte| *byte == b' ');
        pieces
            .map(|text| {
                let piece = model.piece_to_id(text).and_then(|id| model.piece(id));
                match piece.filter(|piece| piece.kind != PieceKind::Unknown) {
                    None => lowest - 10.0,
                    Some(piece) if piece.kind == PieceKind::UserDefined => {
                        text.len() as f32 * highest - 0.1
                    }
                    Some(piece) => piece.score,
                }
            })
            .sum()
    };
    model.model_type() == ModelType::Unigram && (score(expected) - score(given)).abs() <= 1e-7
}
