//! The merges of a BPE model that any text executes: at most one pair for each piece.
//!
//! The *last merge* of a piece is the pair of symbols whose merge gives the piece. A piece that no
//! text is ever merged to has none.
//!
//! # Why one pair
//! The merges within the span of a token are the merges of the token's own text (locality, see
//! `docs/design/ADAPTING.md`). So whenever text is merged to a piece, the merge that makes it is the last merge in
//! encoding the text of the piece alone. SentencePiece considers every pair whose joined text is a
//! piece, but for each piece it executes only this pair.
//!
//! Example: the pieces `ab` (score -1), `bc` (-2), `abc` (-3) and their characters. The text `abc`
//! is merged to `ab c` and then to `abc`: the last merge of `abc` is `ab c`. The pair `a bc` is
//! never merged.

use crate::base::is_char;
use crate::encode::bpe::{MergeTrace, Tracer};
use crate::model::ModelError;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};

/// How text is merged to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formation {
    /// It is a single character or a meta piece.
    NotMerged,
    /// Its last merge joins its first `split` bytes and the rest.
    Merged {
        /// The length of the left symbol in bytes.
        split: usize,
    },
    /// No text is ever merged to it.
    Unreachable,
}

impl Formation {
    /// The length in bytes of the left symbol of the last merge.
    fn split(self) -> Option<usize> {
        match self {
            Self::Merged { split } => Some(split),
            _ => None,
        }
    }
}

/// The formation of every piece, and the rank of its score.
#[derive(Debug)]
pub(crate) struct MergeTable {
    formations: Vec<Formation>,
    ranks: Vec<u32>,
}

impl MergeTable {
    /// The merges of a BPE model.
    pub(crate) fn new(model: &Model) -> Result<Self, ModelError> {
        let tracer = Tracer::new(model)?;
        let mut trace = MergeTrace::default();
        let formation = |piece: Piece<'_>| {
            let is_merged = matches!(piece.kind, PieceKind::Normal | PieceKind::Unused);
            if !is_merged || is_char(piece.text) {
                return Formation::NotMerged;
            }
            tracer.trace_into(piece.text, &mut trace);
            match trace.last_halves() {
                Some([left, _]) => Formation::Merged { split: left.end },
                None => Formation::Unreachable,
            }
        };
        Ok(Self {
            formations: model.pieces().map(formation).collect(),
            ranks: model.pieces().map(|piece| tracer.rank(piece.id)).collect(),
        })
    }

    /// The formation of a piece.
    pub(crate) fn formation(&self, id: PieceId) -> Formation {
        self.formations[id.index()]
    }

    /// The rank of the score of a piece that takes part in merges: 0 for the best score, equal for
    /// equal scores.
    pub(crate) fn rank(&self, id: PieceId) -> u32 {
        self.ranks[id.index()]
    }

    /// The pieces that text is merged to, with the lengths of their left symbols, by id.
    pub(crate) fn merged(&self) -> impl Iterator<Item = (PieceId, usize)> {
        let ids = (0..).map(PieceId::new);
        ids.zip(&self.formations)
            .filter_map(|(id, formation)| Some((id, formation.split()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelType, Tokenizer};

    fn model(pieces: &[(&str, f32, PieceKind)]) -> Model {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for (text, score, kind) in pieces {
            builder.piece(text, *score, *kind);
        }
        builder.build().unwrap()
    }

    fn normal(text: &str, score: f32) -> (&str, f32, PieceKind) {
        (text, score, PieceKind::Normal)
    }

    #[test]
    fn the_example_of_the_module_page() {
        let pieces = [
            normal("ab", -1.0),
            normal("bc", -2.0),
            normal("abc", -3.0),
            normal("a", -4.0),
            normal("b", -5.0),
            normal("c", -6.0),
        ];
        let table = MergeTable::new(&model(&pieces)).unwrap();
        let merged: Vec<(u32, usize)> = table
            .merged()
            .map(|(id, split)| (id.get(), split))
            .collect();
        assert_eq!(merged, [(1, 1), (2, 1), (3, 2)]);
        assert_eq!(table.formation(PieceId::new(4)), Formation::NotMerged);
    }

    #[test]
    fn pieces_that_lose_are_unreachable_and_symbols_do_not_merge() {
        let pieces = [
            normal("ab", -1.0),
            normal("bc", -2.0),
            normal("abcd", -3.0),
            normal("xy", -4.0),
            ("x", 0.0, PieceKind::UserDefined),
        ];
        let table = MergeTable::new(&model(&pieces)).unwrap();
        assert_eq!(table.formation(PieceId::new(3)), Formation::Unreachable);
        assert_eq!(table.formation(PieceId::new(4)), Formation::Unreachable);
    }

    /// The encoder is the oracle: a piece is merged if and only if its text gives the piece.
    #[test]
    fn formations_agree_with_the_encoder() {
        let root = env!("CARGO_MANIFEST_DIR");
        let model = Model::open(format!("{root}/testdata/golden/llama2.model")).unwrap();
        let table = MergeTable::new(&model).unwrap();
        let tokenizer = Tokenizer::new(model.edit().set_add_dummy_prefix(false).finish().unwrap());
        let normal = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::Normal);
        for piece in normal.filter(|piece| std::str::from_utf8(piece.text).is_ok()) {
            let text = String::from_utf8_lossy(piece.text).replace('\u{2581}', " ");
            let is_given = tokenizer.encode(&text) == [piece.id];
            let is_reachable = table.formation(piece.id) != Formation::Unreachable;
            assert_eq!(is_given, is_reachable, "{piece:?}");
        }
    }
}
