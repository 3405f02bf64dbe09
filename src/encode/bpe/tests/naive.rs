//! BPE as it is defined: look at all pairs, merge the best one, begin again. Texts only; quadratic,
//! obviously correct.

use std::collections::HashMap;

use crate::base::char_length;
use crate::encode::vocabulary::Vocabulary;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::trie::prefix::PrefixTrie;

/// Merges the two neighbours whose joined text has the best score, the leftmost of equal scores,
/// until no two neighbours have a score.
pub(crate) fn merge_best_pairs(
    symbols: &mut Vec<Vec<u8>>,
    score: impl Fn(&[Vec<u8>]) -> Option<f32>,
) {
    loop {
        let pairs = symbols.windows(2).enumerate();
        let scored = pairs.filter_map(|(at, pair)| Some((score(pair)?, at)));
        // Of equal values the last one is the greatest, which is the first one backwards.
        let best = scored.collect::<Vec<_>>().into_iter().rev();
        let Some((_, at)) = best.max_by(|(a, _), (b, _)| a.total_cmp(b)) else {
            return;
        };
        let joined = symbols[at..at + 2].concat();
        symbols.splice(at..at + 2, [joined]);
    }
}

/// Encodes by the definition. Unused pieces are not supported.
pub(super) struct NaiveEncoder<'m> {
    vocabulary: Vocabulary<'m>,
    ids: HashMap<&'m [u8], usize>,
    user_defined: PrefixTrie,
}

impl<'m> NaiveEncoder<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let vocabulary = Vocabulary::new(model, true);
        let ids = (0..vocabulary.len()).filter(|id| vocabulary.is_from_text(*id));
        NaiveEncoder {
            vocabulary,
            ids: ids.map(|id| (vocabulary.text(id), id)).collect(),
            user_defined: PrefixTrie::with_values(vocabulary.symbols()).expect("few symbols"),
        }
    }

    /// The ids of a normalized text.
    pub(super) fn encode(&self, text: &[u8]) -> Vec<PieceId> {
        // Characters and user-defined symbols. No merge gives the text of such a symbol: it would
        // have been found where the text begins.
        let mut symbols = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let length = self.user_defined_length(rest).unwrap_or(char_length(rest));
            let (symbol, after) = rest.split_at(length);
            symbols.push(symbol.to_vec());
            rest = after;
        }
        merge_best_pairs(&mut symbols, |pair| {
            if pair
                .iter()
                .any(|text| self.user_defined_length(text) == Some(text.len()))
            {
                return None;
            }
            let id = self.ids.get(&pair.concat()[..])?;
            Some(self.vocabulary.score(*id))
        });
        let id_of = |text: &Vec<u8>| match self.ids.get(&text[..]) {
            Some(id) => PieceId::from_index(*id),
            None => self.vocabulary.unknown(),
        };
        symbols.iter().map(id_of).collect()
    }

    /// The length of the longest user-defined symbol at the start of a text.
    fn user_defined_length(&self, text: &[u8]) -> Option<usize> {
        let found = self.user_defined.longest_with_value(text);
        found.map(|(length, _)| length)
    }
}

/// Assembles the bytes of a BPE model: the fields of the protobuf messages `ModelProto`,
/// `SentencePiece` and `TrainerSpec` that matter.
#[derive(Default)]
pub(super) struct ModelBytes(Vec<u8>);

impl ModelBytes {
    /// Adds a piece.
    pub(super) fn add(&mut self, text: &str, score: f32, kind: PieceKind) {
        let position = PieceKind::ALL
            .iter()
            .position(|known| *known == kind)
            .unwrap();
        let kind = u8::try_from(position + 1).unwrap();
        let mut piece = vec![0x0A, u8::try_from(text.len()).unwrap()];
        piece.extend(text.as_bytes());
        piece.push(0x15);
        piece.extend(score.to_le_bytes());
        piece.extend([0x18, kind]);
        self.0.extend([0x0A, u8::try_from(piece.len()).unwrap()]);
        self.0.extend(piece);
    }

    /// The model.
    pub(super) fn build(mut self) -> Model {
        // Field 2, a `TrainerSpec` with `model_type` BPE.
        self.0.extend([0x12, 2, 0x18, 2]);
        Model::from_bytes(&self.0).unwrap()
    }
}
