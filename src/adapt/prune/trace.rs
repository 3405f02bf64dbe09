//! BPE with a record of the merges that are executed.
//!
//! Input: a normalized text. Output: a [`MergeTrace`]: the ids, and for each merge that was
//! executed the piece it made and the two texts it joined. This is a second encoder, written to be
//! read: symbols are ranges of the text, and candidates wait in a heap. `encode/bpe.rs` has the
//! definition and the fast encoder; tests compare the two.
//!
//! Example: the pieces `he` 0, `▁t` 1, `re` 2, `▁the` 3 (by merge rank). The text `▁there` has the
//! merges `he` = `h` `e`, `▁t` = `▁` `t`, `re` = `r` `e`, `▁the` = `▁t` `he`, and the ids of `▁the`
//! and `re`.
//!
//! Cost: n log n for n characters, with a hash of the joined text for each candidate.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use crate::encode::vocabulary::Vocabulary;
use crate::error::ModelError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::char_length;
use crate::trie::prefix::PrefixTrie;

/// Levels of splitting after which an unused piece is an id, as in the fast encoder.
const MAX_SPLIT_DEPTH: u32 = 100;

/// Two adjacent parts of a text.
type Halves = [Range<usize>; 2];

/// The merges of a text, in their order, and its ids.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct MergeTrace {
    /// Each executed merge: the piece that it made, and the parts of the text that it joined.
    pub(crate) merges: Vec<(PieceId, Halves)>,
    /// The ids, one unknown id for each unknown character.
    pub(crate) ids: Vec<PieceId>,
}

/// Encodes normalized texts and records merges.
#[derive(Debug)]
pub(crate) struct Tracer<'m> {
    vocabulary: Vocabulary<'m>,
    ids: HashMap<&'m [u8], usize, FxBuildHasher>,
    user_defined: PrefixTrie,
    /// The length of the longest piece in bytes; longer texts are not looked up.
    longest_piece: usize,
}

/// Two adjacent symbols whose joined text is a piece. The greatest candidate has the best score,
/// the leftmost among equal scores.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TraceCandidate {
    score: ScoreOrder,
    begin: Reverse<usize>,
    middle: usize,
    end: usize,
    id: usize,
}

/// A score in the total order of IEEE 754, which is that of the encoder.
#[derive(Debug, Clone, Copy)]
struct ScoreOrder(f32);

impl PartialEq for ScoreOrder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ScoreOrder {}

impl PartialOrd for ScoreOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScoreOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for TraceCandidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl TraceCandidate {
    /// The parts of the text that the merge joins.
    fn halves(&self) -> Halves {
        [self.begin.0..self.middle, self.middle..self.end]
    }
}

impl Ord for TraceCandidate {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.score, self.begin).cmp(&(other.score, other.begin))
    }
}

/// A symbol of the text that is merged.
#[derive(Debug, Clone, Copy)]
struct TraceSymbol {
    begin: usize,
    end: usize,
    is_user_defined: bool,
    /// The indexes of the neighbours in the list; an index past its end for none.
    previous: usize,
    next: usize,
    /// False once it was joined to the one before.
    is_alive: bool,
}

impl TraceSymbol {
    /// The part of the text that it is.
    fn span(&self) -> Range<usize> {
        self.begin..self.end
    }
}

/// A text whose symbols merge.
struct TraceRun<'t, 'm> {
    tracer: &'t Tracer<'m>,
    text: &'t [u8],
    symbols: Vec<TraceSymbol>,
    /// The symbol that begins at a position.
    at: HashMap<usize, usize, FxBuildHasher>,
    candidates: BinaryHeap<TraceCandidate>,
    /// The halves of unused pieces when they were considered last.
    unused_halves: HashMap<usize, Halves, FxBuildHasher>,
    trace: MergeTrace,
}

impl<'m> Tracer<'m> {
    /// A tracer for a BPE model.
    ///
    /// # Errors
    /// The user-defined symbols do not fit a double array; models that load do not have this error.
    pub(crate) fn new(model: &'m Model) -> Result<Self, ModelError> {
        let vocabulary = Vocabulary::new(model, true);
        let ids = (0..vocabulary.len()).filter(|id| vocabulary.is_from_text(*id));
        let ids: HashMap<&[u8], usize, _> = ids.map(|id| (vocabulary.text(id), id)).collect();
        let user_defined =
            PrefixTrie::with_values(vocabulary.symbols()).map_err(|_| ModelError::TrieTooLarge)?;
        Ok(Tracer {
            vocabulary,
            longest_piece: ids.keys().map(|text| text.len()).max().unwrap_or(0),
            ids,
            user_defined,
        })
    }

    /// The merges and the ids of a normalized text.
    pub(crate) fn trace(&self, text: &[u8]) -> MergeTrace {
        let mut run = TraceRun {
            tracer: self,
            text,
            symbols: Vec::new(),
            at: HashMap::default(),
            candidates: BinaryHeap::new(),
            unused_halves: HashMap::default(),
            trace: MergeTrace::default(),
        };
        run.split();
        run.merge();
        run.collect_ids();
        run.trace
    }

    /// The ids of the pieces of the halves of a piece's last merge, with `None` for a character
    /// that is no piece; `None` if no merge makes the piece.
    pub(crate) fn last_merge(&self, text: &[u8]) -> Option<[Option<PieceId>; 2]> {
        let trace = self.trace(text);
        let (_, [left, right]) = trace.merges.last()?;
        let is_whole = left.start == 0 && right.end == text.len();
        is_whole.then(|| [left, right].map(|half| self.text_piece(&text[half.clone()])))
    }

    fn is_unused(&self, id: usize) -> bool {
        self.vocabulary.kind(id) == PieceKind::Unused
    }

    /// The piece for text with this text.
    fn text_piece(&self, text: &[u8]) -> Option<PieceId> {
        self.ids.get(text).map(|id| PieceId::from_index(*id))
    }
}

impl TraceRun<'_, '_> {
    /// Makes a symbol of each character and of each user-defined symbol.
    fn split(&mut self) {
        let mut begin = 0;
        while begin < self.text.len() {
            let rest = &self.text[begin..];
            let user_defined = self.tracer.user_defined.longest_with_value(rest);
            let length = user_defined.map_or(char_length(rest), |(length, _)| length);
            let index = self.symbols.len();
            self.at.insert(begin, index);
            self.symbols.push(TraceSymbol {
                begin,
                end: begin + length,
                is_user_defined: user_defined.is_some(),
                previous: index.wrapping_sub(1),
                next: index + 1,
                is_alive: true,
            });
            begin += length;
        }
    }

    /// Merges until no pair merges.
    fn merge(&mut self) {
        for index in 0..self.symbols.len() {
            self.add_candidate(index);
        }
        while let Some(candidate) = self.candidates.pop() {
            let Some(left) = self.current(&candidate) else {
                continue;
            };
            let right = self.symbols[left].next;
            let id = PieceId::from_index(candidate.id);
            self.trace.merges.push((id, candidate.halves()));
            self.join(left, right);
            let previous = self.symbols[left].previous;
            self.add_candidate(previous);
            self.add_candidate(left);
        }
    }

    /// The left symbol of a candidate, if both of its symbols are as they were.
    fn current(&self, candidate: &TraceCandidate) -> Option<usize> {
        let left = *self.at.get(&candidate.begin.0)?;
        let right = self.symbols.get(self.symbols[left].next)?;
        let is_same = self.symbols[left].is_alive
            && self.symbols[left].end == candidate.middle
            && right.end == candidate.end;
        is_same.then_some(left)
    }

    /// Joins two adjacent symbols.
    fn join(&mut self, left: usize, right: usize) {
        let TraceSymbol { end, next, .. } = self.symbols[right];
        self.symbols[right].is_alive = false;
        self.symbols[left].end = end;
        self.symbols[left].next = next;
        if let Some(next) = self.symbols.get_mut(next) {
            next.previous = left;
        }
    }

    /// Adds the pair of a symbol and the next one, if it merges.
    fn add_candidate(&mut self, index: usize) {
        let Some([left, right]) = self.pair(index) else {
            return;
        };
        let is_too_long = right.end - left.begin > self.tracer.longest_piece;
        if left.is_user_defined || right.is_user_defined || is_too_long {
            return;
        }
        let Some(id) = self.tracer.ids.get(&self.text[left.begin..right.end]) else {
            return;
        };
        if self.tracer.is_unused(*id) {
            let halves = [left.span(), right.span()];
            self.unused_halves.insert(*id, halves);
        }
        self.candidates.push(TraceCandidate {
            score: ScoreOrder(self.tracer.vocabulary.score(*id)),
            begin: Reverse(left.begin),
            middle: left.end,
            end: right.end,
            id: *id,
        });
    }

    /// A symbol and the next one.
    fn pair(&self, at: usize) -> Option<[TraceSymbol; 2]> {
        let left = self.symbols.get(at)?;
        let right = self.symbols.get(left.next)?;
        Some([*left, *right])
    }

    /// Appends the ids of the symbols that remain.
    fn collect_ids(&mut self) {
        let symbols = self.symbols.iter().filter(|symbol| symbol.is_alive);
        let spans: Vec<Range<usize>> = symbols.map(TraceSymbol::span).collect();
        for span in spans {
            self.append_ids(span, 0);
        }
    }

    /// Appends the id of a symbol, or if it is unused, the ids of its halves.
    fn append_ids(&mut self, span: Range<usize>, depth: u32) {
        let unknown = self.tracer.vocabulary.unknown();
        let Some(id) = self.tracer.ids.get(&self.text[span]).copied() else {
            return self.trace.ids.push(unknown);
        };
        let is_unused = self.tracer.is_unused(id);
        if !is_unused || depth > MAX_SPLIT_DEPTH {
            self.trace.ids.push(PieceId::from_index(id));
        } else if let Some([left, right]) = self.unused_halves.get(&id).cloned() {
            self.append_ids(left, depth + 1);
            self.append_ids(right, depth + 1);
        } else {
            self.trace.ids.push(unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::{NormalizedEncoder, Tokenizer};

    fn golden(name: &str) -> Model {
        let root = env!("CARGO_MANIFEST_DIR");
        Model::open(format!("{root}/testdata/{name}.model")).unwrap()
    }

    #[test]
    fn traces_have_the_ids_of_the_encoder() {
        for name in [
            "golden/llama2",
            "golden/symbols",
            "golden/repeats",
            "run/bpe_equal",
            "run/bpe_scores",
            "run/bpe_symbols",
            "run/bpe_unused",
        ] {
            let model = golden(name);
            let tracer = Tracer::new(&model).unwrap();
            let tokenizer = Tokenizer::new(model.clone());
            let mut encoder = NormalizedEncoder::new(&tokenizer);
            let texts: Vec<Vec<u8>> = model
                .pieces()
                .map(|piece| piece.text.to_vec())
                .chain(["\u{2581}", "zz", "\u{1f600}", "e"].map(|text| text.as_bytes().to_vec()))
                .collect();
            let text = proptest::collection::vec(proptest::sample::select(texts), 0..30);
            let encoder = std::cell::RefCell::new(&mut encoder);
            proptest!(ProptestConfig::with_cases(60), |(text in text)| {
                let text = text.concat();
                let mut encoder = encoder.borrow_mut();
                prop_assert_eq!(&tracer.trace(&text).ids[..], encoder.encode(&text), "{}", name);
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
        let [left, right] = tracer.last_merge("▁the".as_bytes()).unwrap();
        assert_eq!(
            [left, right],
            [Some(PieceId::new(2)), Some(PieceId::new(1))]
        );
        assert_eq!(tracer.last_merge(b"he"), Some([None, None]));
        assert_eq!(tracer.last_merge(b"hex"), None);
    }
}
