//! Unigram: of all ways to cut a part into pieces, the one with the largest sum of scores.
//!
//! The library tokenizers adds scores as numbers of 64 bits, from the left; of equal sums the first
//! one counts, that of the longest last piece. A character that is no piece is unknown; it has the
//! lowest score of all pieces less 10. Adjacent unknown characters are one token: that of their text,
//! if there is one; otherwise those of their bytes, if there are all and the model falls back to
//! them; otherwise the unknown one.

use std::ops::Range;

use super::{ModelToken, ModelVocabulary, NoUnknownToken};
use crate::trie::TrieTooLarge;
use crate::trie::texts::{ByteTrie, without_nul};

/// What an unknown character costs.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Pieces with scores.
#[derive(Debug)]
pub struct UnigramModel {
    vocabulary: ModelVocabulary,
    /// By id.
    scores: Vec<f64>,
    pieces: ByteTrie,
    unknown: Option<u32>,
    unknown_score: f64,
    byte_fallback: bool,
    /// The tokens of bytes.
    bytes: Box<[Option<u32>; 256]>,
}

/// The best way to a position.
#[derive(Debug, Clone, Copy)]
struct Node {
    score: f64,
    /// Where the last piece begins; that of [`UNREACHED`] if no way leads here.
    begin: usize,
    /// The id of the last piece; that of unknown text, too.
    id: u32,
}

const UNREACHED: Node = Node {
    score: 0.0,
    begin: usize::MAX,
    id: 0,
};

impl Node {
    #[inline(always)]
    fn is_improved_by(&self, score: f64) -> bool {
        self.begin == UNREACHED.begin || score > self.score
    }
}

/// Buffers for a part.
#[derive(Debug, Default)]
pub(super) struct UnigramState {
    nodes: Vec<Node>,
    /// From right to left.
    pieces: Vec<FoundPiece>,
}

/// A piece of a part, or unknown text, which has no id.
#[derive(Debug)]
struct FoundPiece {
    range: Range<usize>,
    id: Option<u32>,
}

impl UnigramModel {
    /// `scores` are those of the ids of the vocabulary, from 0.
    pub(crate) fn new(
        vocabulary: ModelVocabulary,
        scores: Vec<f64>,
        unknown: Option<u32>,
        byte_fallback: bool,
    ) -> Result<Self, TrieTooLarge> {
        let byte = |byte: usize| vocabulary.id(&format!("<0x{byte:02X}>"));
        let lowest =
            scores.iter().copied().fold(
                f64::INFINITY,
                |lowest, score| {
                    if score < lowest { score } else { lowest }
                },
            );
        Ok(Self {
            pieces: ByteTrie::new(vocabulary.tokens())?,
            bytes: Box::new(std::array::from_fn(byte)),
            unknown_score: lowest - UNKNOWN_PENALTY,
            vocabulary,
            scores,
            unknown,
            byte_fallback,
        })
    }

    /// The tokens with their ids.
    pub fn vocabulary(&self) -> &ModelVocabulary {
        &self.vocabulary
    }

    /// The scores, by id.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Whether unknown text becomes tokens of its bytes, such as `<0x0A>`.
    pub fn has_byte_fallback(&self) -> bool {
        self.byte_fallback
    }

    pub(crate) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    pub(super) fn encode(
        &self,
        part: &str,
        state: &mut UnigramState,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        self.find_best(part, state)?;
        let UnigramState { nodes, pieces } = state;
        pieces.clear();
        let mut end = part.len();
        while end > 0 {
            let Node { begin, id, .. } = nodes[end];
            let id = Some(id).filter(|id| Some(*id) != self.unknown);
            match pieces.last_mut() {
                Some(FoundPiece { range, id: None }) if id.is_none() => range.start = begin,
                _ => pieces.push(FoundPiece {
                    range: begin..end,
                    id,
                }),
            }
            end = begin;
        }
        while let Some(piece) = pieces.pop() {
            match piece.id {
                Some(id) => out.push(ModelToken::new(id, piece.range)),
                None => self.push_unknown(part, piece.range, out)?,
            }
        }
        Ok(())
    }

    /// The sum of the scores of the best pieces of a part.
    pub(super) fn best_score(
        &self,
        part: &str,
        state: &mut UnigramState,
    ) -> Result<f64, NoUnknownToken> {
        self.find_best(part, state)?;
        Ok(state.nodes[part.len()].score)
    }

    /// The largest score without its sign, that of unknown characters included.
    pub(in crate::pipeline) fn largest_score(&self) -> f64 {
        let scores = self.scores.iter().chain([&self.unknown_score]);
        scores.fold(0.0, |largest, score| score.abs().max(largest))
    }

    /// The best way to each position.
    fn find_best(&self, part: &str, state: &mut UnigramState) -> Result<(), NoUnknownToken> {
        let nodes = &mut state.nodes;
        nodes.clear();
        nodes.resize(part.len() + 1, UNREACHED);
        let text = without_nul(part.as_bytes());
        for (begin, c) in part.char_indices() {
            let before = nodes[begin].score;
            let width = c.len_utf8();
            let mut is_known = false;
            for (length, id) in self.pieces.prefixes(&text[begin..]) {
                let score = self.scores.get(id as usize).copied().unwrap_or_default();
                let score = score + before;
                let node = &mut nodes[begin + length];
                if node.is_improved_by(score) {
                    *node = Node { score, begin, id };
                }
                is_known |= length == width;
            }
            if !is_known {
                let node = &mut nodes[begin + width];
                let score = self.unknown_score + before;
                if node.is_improved_by(score) {
                    let id = self.unknown.ok_or(NoUnknownToken)?;
                    *node = Node { score, begin, id };
                }
            }
        }
        Ok(())
    }

    /// The tokens of unknown text.
    fn push_unknown(
        &self,
        part: &str,
        range: Range<usize>,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        let text = &part[range.clone()];
        if let Some(id) = self.vocabulary.id(text) {
            out.push(ModelToken::new(id, range));
            return Ok(());
        }
        let bytes = text.bytes().map(|byte| self.bytes[usize::from(byte)]);
        if self.byte_fallback && bytes.clone().all(|id| id.is_some()) {
            out.extend(bytes.flatten().map(|id| ModelToken::new(id, range.clone())));
            return Ok(());
        }
        out.push(ModelToken {
            id: self.unknown.ok_or(NoUnknownToken)?,
            range,
            shows_part: true,
        });
        Ok(())
    }
}
