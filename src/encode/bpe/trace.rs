//! BPE with a record of the merges that are executed, for conversion and pruning.
//!
//! Texts are merged by [`HeapMerge`], as whole texts are encoded.
//!
//! Example: the pieces `he` 0, `▁t` 1, `re` 2, `▁the` 3 (by merge rank). The text `▁there` has the
//! merges `he` = `h` `e`, `▁t` = `▁` `t`, `re` = `r` `e`, `▁the` = `▁t` `he`; `▁the` and `re`
//! remain.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::lookup::symbol_table::{NO_SYMBOL, SymbolMerge, SymbolTable};
use super::lookup::token_merges::MergeSource;
use super::score_ranks::score_ranks;
use super::strategies::heap_merge::{HeapMerge, MergeObserver};
use crate::base::char_length;
use crate::encode::vocabulary::Vocabulary;
use crate::model::Model;
use crate::model::ModelError;
use crate::piece::{PieceId, PieceTable};
use crate::trie::prefix::PrefixTrie;

/// Two adjacent parts of a text.
pub(crate) type Halves = [Range<usize>; 2];

/// The merges of a text, in their order, and what remains.
#[derive(Debug, Default)]
pub(crate) struct MergeTrace {
    /// Each executed merge: the piece that it made, and the parts of the text that it joined.
    pub(crate) merges: Vec<(PieceId, Halves)>,
    /// The starts of the symbols that remain.
    pub(crate) starts: Vec<usize>,
    heap: HeapMerge,
    /// The starts of the characters and user-defined symbols of the text, and its length.
    nodes: Vec<usize>,
    /// For each of them, whether it was joined to the one before.
    is_joined: Vec<bool>,
}

impl MergeTrace {
    /// The parts that the last merge joined, if all of the text became one piece.
    #[cfg(feature = "formats")]
    pub(crate) fn last_halves(&self) -> Option<&Halves> {
        let (_, halves) = self.merges.last()?;
        (self.starts.len() == 1).then_some(halves)
    }
}

/// Merges normalized texts and records the merges.
#[derive(Debug)]
pub(crate) struct Tracer<'m> {
    pieces: &'m PieceTable,
    symbols: SymbolTable,
    chars: HashMap<&'m [u8], u32, FixedState>,
    user_defined: PrefixTrie,
}

impl<'m> Tracer<'m> {
    /// A tracer for a BPE model.
    pub(crate) fn new(model: &'m Model) -> Result<Self, ModelError> {
        let vocabulary = Vocabulary::new(model, true);
        let pieces = model.table();
        let ranks = score_ranks(&vocabulary, vocabulary.mergeable());
        let mut symbols = SymbolTable::new(vocabulary.hashes(), ranks);
        let mut chars = HashMap::default();
        for id in vocabulary.mergeable() {
            let mut rest = pieces.text(id as usize);
            while !rest.is_empty() {
                let (char, others) = rest.split_at(char_length(rest));
                chars
                    .entry(char)
                    .or_insert_with(|| symbols.add_char(pieces, char));
                rest = others;
            }
        }
        let user_defined =
            PrefixTrie::with_values(vocabulary.symbols()).map_err(|_| ModelError::TrieTooLarge)?;
        Ok(Tracer {
            pieces,
            symbols,
            chars,
            user_defined,
        })
    }

    /// The merge rank of a piece that takes part in merges: 0 for the best score, equal for equal
    /// scores.
    #[cfg(feature = "formats")]
    pub(crate) fn rank(&self, piece: PieceId) -> u32 {
        self.symbols.rank(piece.get())
    }

    /// The merges of a normalized text.
    pub(crate) fn trace(&self, text: &[u8]) -> MergeTrace {
        let mut trace = MergeTrace::default();
        self.trace_into(text, &mut trace);
        trace
    }

    /// The same, in buffers that are reused.
    pub(crate) fn trace_into(&self, text: &[u8], trace: &mut MergeTrace) {
        let MergeTrace {
            merges,
            starts,
            heap,
            nodes,
            is_joined,
        } = trace;
        merges.clear();
        nodes.clear();
        heap.symbols.clear();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let user_defined = self.user_defined.longest_with_value(rest);
            let length = user_defined.map_or(char_length(rest), |(length, _)| length);
            // A user-defined symbol never merges, nor does a character that is in no piece.
            let symbol = match user_defined {
                Some(_) => NO_SYMBOL,
                None => *self.chars.get(&rest[..length]).unwrap_or(&NO_SYMBOL),
            };
            nodes.push(at);
            heap.symbols.push(symbol);
            at += length;
        }
        is_joined.clear();
        is_joined.resize(nodes.len(), false);
        nodes.push(text.len());
        let mut recorder = MergeRecorder {
            nodes,
            merges,
            is_joined,
        };
        heap.merge(&mut &*self, &mut recorder);
        starts.clear();
        let remaining = nodes.iter().zip(is_joined).filter(|(_, joined)| !**joined);
        starts.extend(remaining.map(|(start, _)| *start));
    }

    /// The ids of the pieces of the halves of a piece's last merge, with `None` for a character
    /// that is no piece; `None` if no merge makes the piece.
    #[cfg(feature = "train")]
    pub(crate) fn last_merge(&self, text: &[u8]) -> Option<[Option<PieceId>; 2]> {
        let trace = self.trace(text);
        let [left, right] = trace.last_halves()?.clone();
        Some([left, right].map(|half| {
            let id = self.symbols.find_text(self.pieces, &text[half])?;
            Some(PieceId::new(id))
        }))
    }
}

impl MergeSource for &Tracer<'_> {
    fn merge_of(&mut self, left: u32, right: u32) -> SymbolMerge {
        self.symbols.merge_of(self.pieces, [left, right])
    }
}

/// Records merges.
struct MergeRecorder<'r> {
    nodes: &'r [usize],
    merges: &'r mut Vec<(PieceId, Halves)>,
    is_joined: &'r mut [bool],
}

impl MergeObserver for MergeRecorder<'_> {
    fn on_merge(&mut self, symbol: u32, _parts: [u32; 2], [left, right, end]: [usize; 3]) {
        self.is_joined[right] = true;
        let [begin, middle, end] = [left, right, end].map(|node| self.nodes[node]);
        let halves = [begin..middle, middle..end];
        self.merges.push((PieceId::new(symbol), halves));
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;
    use crate::PieceKind;
    use crate::tokenizer::{NormalizedEncoder, Tokenizer};

    fn golden(name: &str) -> Model {
        let root = env!("CARGO_MANIFEST_DIR");
        Model::open(format!("{root}/testdata/{name}.model")).unwrap()
    }

    #[test]
    fn what_remains_are_the_pieces_of_the_encoder() {
        for name in [
            "golden/llama2",
            "golden/symbols",
            "golden/repeats",
            "run/bpe_equal",
            "run/bpe_scores",
            "run/bpe_symbols",
        ] {
            let model = golden(name);
            let tracer = Tracer::new(&model).unwrap();
            let tokenizer = Tokenizer::new(model.clone());
            let mut encoder = NormalizedEncoder::new(tokenizer.model_tables().unwrap());
            let texts: Vec<Vec<u8>> = model
                .pieces()
                .map(|piece| piece.text.to_vec())
                .chain(["\u{2581}", "zz", "\u{1f600}", "e"].map(|text| text.as_bytes().to_vec()))
                .collect();
            let text = proptest::collection::vec(proptest::sample::select(texts), 0..30);
            let encoder = std::cell::RefCell::new(&mut encoder);
            let is_given = |id: &PieceId| model.table().kind(id.index()).is_given_for_text();
            let unknown = model.unknown_piece().unwrap_or(PieceId::new(u32::MAX));
            proptest::proptest!(proptest::prelude::ProptestConfig::with_cases(60), |(text in text)| {
                let text = text.concat();
                let trace = tracer.trace(&text);
                let ends = trace.starts.iter().skip(1).copied().chain([text.len()]);
                let spans = trace.starts.iter().zip(ends);
                let ids: Vec<PieceId> = spans
                    .map(|(start, end)| model.piece_to_id(&text[*start..end]))
                    .map(|id| id.filter(is_given).unwrap_or(unknown))
                    .collect();
                let mut encoder = encoder.borrow_mut();
                proptest::prop_assert_eq!(&ids[..], encoder.encode(&text), "{}", name);
            });
        }
    }

    #[test]
    fn merges_are_recorded_in_their_order() {
        let mut builder = Model::builder();
        builder.model_type(crate::ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for (rank, text) in [(0.0, "he"), (1.0, "▁t"), (2.0, "re"), (3.0, "▁the")] {
            builder.piece(text, -rank, PieceKind::Normal);
        }
        let model = builder.build().unwrap();
        let tracer = Tracer::new(&model).unwrap();
        let trace = tracer.trace("▁there".as_bytes());
        let made: Vec<u32> = trace.merges.iter().map(|(id, _)| id.get()).collect();
        assert_eq!(made, [1, 2, 3, 4]);
        assert_eq!(trace.merges[3].1, [0..4, 4..6]);
        assert_eq!(trace.starts, [0, 6]);
        let [left, right] = tracer.last_merge("▁the".as_bytes()).unwrap();
        assert_eq!(
            [left, right],
            [Some(PieceId::new(2)), Some(PieceId::new(1))]
        );
        assert_eq!(tracer.last_merge(b"he"), Some([None, None]));
        assert_eq!(tracer.last_merge(b"hex"), None);
    }
}
