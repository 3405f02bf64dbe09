//! BPE as it is defined: look at all pairs, merge the best one, begin again. Texts only; quadratic,
//! obviously correct.

use std::collections::HashMap;

use crate::base::char_length;
use crate::encode::vocabulary::Vocabulary;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::trie::prefix::PrefixTrie;

/// Encodes by the definition. Unused pieces are not supported.
pub(super) struct NaiveEncoder<'m> {
    vocabulary: Vocabulary<'m>,
    ids: HashMap<&'m [u8], usize>,
    user_defined: PrefixTrie,
}

/// A symbol: its text, and whether it is a user-defined symbol.
type NaiveSymbol = (Vec<u8>, bool);

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
        let mut symbols = self.split(text);
        while let Some(left) = self.best_pair(&symbols) {
            let (right, _) = symbols.remove(left + 1);
            symbols[left].0.extend(right);
        }
        let id_of = |(text, _): &NaiveSymbol| match self.ids.get(&text[..]) {
            Some(id) => PieceId::from_index(*id),
            None => self.vocabulary.unknown(),
        };
        symbols.iter().map(id_of).collect()
    }

    /// The characters and user-defined symbols of a text.
    fn split(&self, text: &[u8]) -> Vec<NaiveSymbol> {
        let mut symbols = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let user_defined = self.user_defined.longest_with_value(rest);
            let length = user_defined.map_or(char_length(rest), |(length, _)| length);
            let (symbol, after) = rest.split_at(length);
            symbols.push((symbol.to_vec(), user_defined.is_some()));
            rest = after;
        }
        symbols
    }

    /// The position of the pair whose piece has the best score; the leftmost of equal scores.
    fn best_pair(&self, symbols: &[NaiveSymbol]) -> Option<usize> {
        let mut best: Option<(f32, usize)> = None;
        for (at, pair) in symbols.windows(2).enumerate() {
            if pair.iter().any(|(_, is_user_defined)| *is_user_defined) {
                continue;
            }
            let joined = [&pair[0].0[..], &pair[1].0].concat();
            let Some(id) = self.ids.get(&joined[..]) else {
                continue;
            };
            let score = self.vocabulary.score(*id);
            if best.is_none_or(|(found, _)| score.total_cmp(&found).is_gt()) {
                best = Some((score, at));
            }
        }
        best.map(|(_, at)| at)
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
