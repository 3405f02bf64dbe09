//! Which pieces a text uses.
//!
//! A [`PieceUsage`] has for each piece how often the text gives it, and for BPE models with unused
//! pieces which pieces its merges make. In other BPE models the made pieces follow from the given
//! ones (locality), so that the fast encoder suffices.

use crate::adapt::pieces::has_unused_pieces;
use crate::encode::bpe::Tracer;
use crate::model::ModelError;
use crate::model::{Model, ModelType};
use crate::piece::PieceId;
use crate::tokenizer::{Encoder, Tokenizer};

/// How often a text uses the pieces of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PieceUsage {
    counts: Vec<u64>,
    /// Pieces that merges made, in BPE models with unused pieces; else empty.
    made: Vec<bool>,
    lines: u64,
    tokens: u64,
}

impl PieceUsage {
    /// The usage by no text.
    pub fn none(model: &Model) -> Self {
        Self::of_size(model.len())
    }

    /// The usage of so many ids by no text.
    fn of_size(size: usize) -> Self {
        Self {
            counts: vec![0; size],
            made: Vec::new(),
            lines: 0,
            tokens: 0,
        }
    }

    /// How often the text gave a piece; 0 for an id that the model does not have.
    pub fn count(&self, id: PieceId) -> u64 {
        self.counts.get(id.index()).copied().unwrap_or(0)
    }

    /// The number of lines.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Adds the usage by another text.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        let len = self.made.len().max(other.made.len());
        self.made.resize(len, false);
        for (made, also) in self.made.iter_mut().zip(&other.made) {
            *made |= also;
        }
        self.lines += other.lines;
        self.tokens += other.tokens;
    }

    /// Counts the tokens of a line.
    fn add_line(&mut self, ids: &[PieceId]) {
        self.lines += 1;
        self.tokens += ids.len() as u64;
        for id in ids {
            if let Some(count) = self.counts.get_mut(id.index()) {
                *count += 1;
            }
        }
    }

    /// The number of tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The number of pieces of the model.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether a piece was given, or recorded as made.
    pub(super) fn is_used(&self, index: usize) -> bool {
        self.counts[index] > 0 || self.made.get(index).copied().unwrap_or(false)
    }

    /// The count of a piece, by index.
    pub(super) fn count_at(&self, index: usize) -> u64 {
        self.counts[index]
    }
}

/// Counts the pieces of lines.
///
/// ```
/// use spiece::adapt::UsageCounter;
/// use spiece::Tokenizer;
///
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut counter = UsageCounter::new(&tokenizer)?;
/// counter.add("the right, the left");
/// let the = tokenizer.piece_to_id("\u{2581}the").unwrap();
/// assert_eq!(counter.finish().count(the), 2);
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug)]
pub struct UsageCounter<'t> {
    encoder: Encoder<'t>,
    tracer: Option<Tracer<'t>>,
    usage: PieceUsage,
}

impl<'t> UsageCounter<'t> {
    /// A counter without lines.
    ///
    /// # Errors
    /// The user-defined symbols do not fit a trie; models that load do not have this error.
    pub fn new(tokenizer: &'t Tokenizer) -> Result<Self, ModelError> {
        let mut usage = PieceUsage::of_size(tokenizer.vocab_size());
        let mut tracer = None;
        // Unused pieces are made, but not given. Byte-level vocabularies have none.
        if let Some(model) = tokenizer.model()
            && model.model_type() == ModelType::Bpe
            && has_unused_pieces(model)
        {
            usage.made = vec![false; model.len()];
            tracer = Some(Tracer::new(model)?);
        }
        Ok(UsageCounter {
            encoder: tokenizer.encoder(),
            tracer,
            usage,
        })
    }

    /// Adds a line.
    pub fn add(&mut self, line: impl AsRef<[u8]>) {
        let line = line.as_ref();
        self.usage.add_line(self.encoder.encode(line));
        if let Some(tracer) = &self.tracer {
            let trace = tracer.trace(self.encoder.normalize(line));
            for (id, _) in trace.merges {
                self.usage.made[id.index()] = true;
            }
        }
    }

    /// What was counted.
    pub fn finish(self) -> PieceUsage {
        self.usage
    }
}
