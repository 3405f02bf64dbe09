//! Which pieces a text uses.
//!
//! Input: a tokenizer and lines of text. Output: a [`PieceUsage`]: for each piece how often the
//! text gives it, and for BPE models with unused pieces which pieces its merges make. In other BPE
//! models the made pieces follow from the given ones (locality), so that the fast encoder suffices.
//! The usage also has what a check of all lines needs to know (see `record`).
//!
//! Cost: one encoding of the text; with unused pieces, a slow trace of it. Memory: 9 bytes for each
//! piece, and with kept ids 4 for each token.

use super::line_ids::LineIds;
use super::record::{TextRecord, TextRecorder};
use crate::adapt::pieces::has_unused_pieces;
use crate::encode::bpe::Tracer;
use crate::error::ModelError;
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
    record: TextRecord,
    /// Of all lines, or of fewer.
    line_ids: LineIds,
}

impl PieceUsage {
    /// The usage by no text.
    pub fn none(model: &Model) -> Self {
        Self {
            counts: vec![0; model.len()],
            made: Vec::new(),
            lines: 0,
            tokens: 0,
            record: TextRecord::empty(model),
            line_ids: LineIds::default(),
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
        self.add_made(&other.made);
        self.lines += other.lines;
        self.tokens += other.tokens;
        self.record.add(&other.record);
        self.line_ids.append(&other.line_ids);
    }

    /// Adds the pieces that another text made.
    fn add_made(&mut self, other: &[bool]) {
        let len = self.made.len().max(other.len());
        self.made.resize(len, false);
        for (made, also) in self.made.iter_mut().zip(other) {
            *made |= also;
        }
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

    /// What a check of all lines needs to know.
    pub(super) fn record(&self) -> &TextRecord {
        &self.record
    }

    /// The ids of all lines, if they were kept.
    pub(super) fn line_ids(&self) -> Option<&LineIds> {
        Some(&self.line_ids).filter(|line_ids| line_ids.len() as u64 == self.lines)
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
/// use spiece::{Tokenizer, UsageCounter};
///
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut counter = UsageCounter::new(&tokenizer)?;
/// counter.add("the right, the left");
/// let the = tokenizer.piece_to_id("\u{2581}the").unwrap();
/// assert_eq!(counter.finish().count(the), 2);
/// # Ok::<(), spiece::ModelError>(())
/// ```
#[derive(Debug)]
pub struct UsageCounter<'t> {
    encoder: Encoder<'t>,
    tracer: Option<Tracer<'t>>,
    recorder: TextRecorder,
    keeps_line_ids: bool,
    usage: PieceUsage,
}

impl<'t> UsageCounter<'t> {
    /// A counter without lines.
    ///
    /// # Errors
    /// The user-defined symbols do not fit a double array; models that load do not have this error.
    pub fn new(tokenizer: &'t Tokenizer) -> Result<Self, ModelError> {
        let model = tokenizer.model();
        let mut usage = PieceUsage::none(model);
        let mut tracer = None;
        if needs_trace(model) {
            usage.made = vec![false; model.len()];
            tracer = Some(Tracer::new(model)?);
        }
        Ok(UsageCounter {
            encoder: tokenizer.encoder(),
            tracer,
            recorder: TextRecorder::new(model, usage.record),
            keeps_line_ids: false,
            usage,
        })
    }

    /// Keeps the ids of the lines that are added from now on, up to 16 million ids (64 MiB). Then
    /// [`check_usage`](super::PrunedModel::check_usage) can decide for
    /// [`PruneGoal::Size`](super::PruneGoal::Size), too.
    pub fn keep_line_ids(&mut self) {
        self.keeps_line_ids = true;
    }

    /// Adds a line.
    pub fn add(&mut self, line: impl AsRef<[u8]>) {
        let line = line.as_ref();
        let ids = self.encoder.encode(line);
        self.usage.add_line(ids);
        if self.keeps_line_ids {
            self.usage.line_ids.push(ids);
        }
        if !self.recorder.add(ids) {
            let bytes = self.encoder.normalize(line).len();
            self.recorder.add_characters(bytes as u64);
        }
        self.note_made(line);
    }

    /// Notes the pieces that merges of a line make, if that is needed.
    fn note_made(&mut self, line: &[u8]) {
        if let Some(tracer) = &self.tracer {
            let trace = tracer.trace(self.encoder.normalize(line));
            for (id, _) in trace.merges {
                self.usage.made[id.index()] = true;
            }
        }
    }

    /// What was counted.
    pub fn finish(mut self) -> PieceUsage {
        self.usage.record = self.recorder.finish();
        self.usage
    }
}

/// Whether the made pieces do not follow from the given ones: unused pieces are made, but not
/// given.
fn needs_trace(model: &Model) -> bool {
    model.model_type() == ModelType::Bpe && has_unused_pieces(model)
}
