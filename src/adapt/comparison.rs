//! Lines of text before and after a change of a model.

use super::id_map::IdMap;
use crate::tokenizer::{Encoder, Tokenizer};

/// What a [`LineComparison`] has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineCounts {
    /// Lines that were encoded with both models.
    pub lines: u64,
    /// Lines that have the same pieces in both models.
    pub equal: u64,
    /// Tokens of all lines with the model before the change.
    pub tokens_before: u64,
    /// Tokens of all lines with the changed model.
    pub tokens_after: u64,
}

impl LineCounts {
    /// Adds the counts of other lines.
    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.equal += other.equal;
        self.tokens_before += other.tokens_before;
        self.tokens_after += other.tokens_after;
    }
}

/// Encodes lines with a model and with a changed copy of it, and counts those with the same pieces.
///
/// ```
/// use spiece::adapt::{EditStep, LineComparison};
/// use spiece::{Model, PieceKind, Tokenizer};
///
/// let model = Model::open("testdata/golden/llama2.model")?;
/// let text = b"right".to_vec();
/// let edited = model.apply_edits(&[EditStep::Add { text, kind: PieceKind::UserDefined }])?;
/// let [old, new] = [&model, edited.model()].map(|model| Tokenizer::new(model.clone()));
/// let mut comparison = LineComparison::new(edited.ids(), &old, &new);
/// comparison.add("the right to life");
/// comparison.add("and to liberty");
/// let counts = comparison.finish();
/// assert_eq!((counts.lines, counts.equal), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LineComparison<'t> {
    ids: &'t IdMap,
    old: Encoder<'t>,
    new: Encoder<'t>,
    counts: LineCounts,
}

impl<'t> LineComparison<'t> {
    /// A comparison of two models whose ids correspond as `ids` says.
    pub fn new(ids: &'t IdMap, old: &'t Tokenizer, new: &'t Tokenizer) -> Self {
        LineComparison {
            ids,
            old: old.encoder(),
            new: new.encoder(),
            counts: LineCounts::default(),
        }
    }

    /// Encodes a line. Returns whether it has the same pieces in both models.
    pub fn add(&mut self, line: impl AsRef<[u8]>) -> bool {
        let line = line.as_ref();
        let old = self.old.encode(line);
        let new = self.new.encode(line);
        let is_equal = self.ids.maps(old, new);
        self.counts.lines += 1;
        self.counts.equal += u64::from(is_equal);
        self.counts.tokens_before += old.len() as u64;
        self.counts.tokens_after += new.len() as u64;
        is_equal
    }

    /// What was counted.
    pub fn finish(self) -> LineCounts {
        self.counts
    }
}
