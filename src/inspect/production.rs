//! Pieces whose texts the normalizer never produces.
//!
//! A normal piece or user-defined symbol is never produced if its text occurs in no normalized
//! text. Three steps find out, or leave it undecided; the first one decides nearly all pieces:
//!
//! 1. *Witness.* The text of the piece, alone and between other characters, is normalized. If the
//!    result contains the text, the piece is produced.
//! 2. *Cover.* Normalized text is a sequence of *parts*: the target of a rule, a user-defined
//!    symbol, an unchanged character, U+FFFD, or the whitespace mark of a space or of the dummy
//!    prefix. A piece that is produced is covered by such parts: it lies inside one part, or it
//!    begins with the end of a part, continues with whole parts, and ends with the start of a part.
//!    If there is no cover, the piece is never produced. This is certain: the cover ignores that a
//!    longer rule could match across two parts, so it finds too many texts rather than too few.
//! 3. *Witness again.* The sources of the cover, joined, are normalized. If the result contains the
//!    text, the piece is produced; if not, the piece remains undecided.
//!
//! # Example
//! With the rules of NFKC the piece `½` has no cover: a rule replaces `½`, and no part contains it.
//! The piece `⁄2` has one: `⁄` (U+2044) is left unchanged. With a rule `A` -> `B` and a rule `B` ->
//! `C` the piece `B` is not its own witness, but the cover has the source `A`, whose normalized
//! text is `B`.
//!
//! # Limits
//! A malicious model can have rules whose targets are as long as its file. So a witness is not
//! tried if its normalized form could be longer than [`MAX_WITNESS_BYTES`]. Step 2 is skipped for
//! pieces of more than [`MAX_PIECE_BYTES`] and for charsmaps whose rules cannot be listed (cyclic
//! or too many). No step is done once the work for all pieces together has exceeded [`MAX_WORK`].
//! Such pieces remain undecided too. Typical models are far below these limits.
//!
//! # Cost
//! Step 1 is linear in the texts. For steps 2 and 3 the targets of all rules are sorted once; a
//! piece of n bytes takes O(n²) binary searches and one search through all targets.

mod parts;

use std::ops::Range;

use memchr::memmem;

use self::parts::PartTable;
use super::pieces_for_text;
use crate::base::decode_char;
use crate::normalize::Normalizer;
use crate::piece::PieceId;
use crate::tokenizer::{ModelTables, Tokenizer};

/// Longer pieces are not covered.
const MAX_PIECE_BYTES: usize = 512;
/// The maximum work for all pieces together, in bytes that are searched: a few seconds.
const MAX_WORK: u64 = 1 << 32;
/// The work of a binary search, in the same unit.
const LOOKUP_WORK: u64 = 64;
/// A witness is tried only if its normalized form cannot be longer, whatever the rules turn it
/// into.
const MAX_WITNESS_BYTES: usize = 1 << 24;
/// The texts before and after that of a witness.
const CONTEXTS: [(&str, &str); 4] = [("a", "a"), ("", ""), (" ", " a"), ("漢", "漢")];

/// The pieces that the normalizer does not seem to produce.
#[derive(Debug, Default)]
pub(super) struct Unproduced {
    /// Pieces that it certainly never produces.
    pub(super) never: Vec<PieceId>,
    /// Pieces that remain undecided.
    pub(super) undecided: Vec<PieceId>,
}

/// Whether the normalizer produces a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Production {
    Produced,
    Never,
    Undecided,
}

/// Finds the pieces that the normalizer does not produce.
pub(super) fn find_unproduced(tokenizer: &Tokenizer, tables: &ModelTables) -> Unproduced {
    let mut search = ProductionSearch::new(tables);
    let mut found = Unproduced::default();
    for piece in pieces_for_text(tokenizer) {
        match search.production_of(&piece.text) {
            Production::Produced => {}
            Production::Never => found.never.push(piece.id),
            Production::Undecided => found.undecided.push(piece.id),
        }
    }
    found
}

/// The state of the search: buffers, and the parts once they are needed.
struct ProductionSearch<'t> {
    tables: &'t ModelTables,
    /// The raw text of a witness.
    raw: Vec<u8>,
    /// The normalized text of a witness.
    normalized: Vec<u8>,
    /// Targets and user-defined symbols; the inner `None` if the rules cannot be listed.
    parts: Option<Option<PartTable>>,
    /// The work that may still be done.
    budget: u64,
    /// The largest possible ratio of the length of a normalized text to that of its raw text.
    greatest_growth: usize,
}

impl<'t> ProductionSearch<'t> {
    /// A search in the normalizer of a tokenizer.
    fn new(tables: &'t ModelTables) -> Self {
        Self {
            tables,
            raw: Vec::new(),
            normalized: Vec::new(),
            parts: None,
            budget: MAX_WORK,
            greatest_growth: greatest_growth(tables.normalizer()),
        }
    }

    /// Whether the normalizer produces `text`.
    fn production_of(&mut self, text: &[u8]) -> Production {
        if self.is_witness(text, text) {
            return Production::Produced;
        }
        if text.len() > MAX_PIECE_BYTES {
            return Production::Undecided;
        }
        let parts = self.parts.take();
        let parts = parts.unwrap_or_else(|| PartTable::new(self.tables));
        let production = match &parts {
            Some(parts) => self.covered_production(parts, text),
            None => Production::Undecided,
        };
        self.parts = Some(parts);
        production
    }

    /// Steps 2 and 3.
    fn covered_production(&mut self, parts: &PartTable, text: &[u8]) -> Production {
        let cover = Cover {
            parts,
            normalizer: self.tables.normalizer(),
            text,
        };
        if !self.spend(cover.work()) {
            return Production::Undecided;
        }
        let raw = match cover.raw_text() {
            Some(raw) => raw,
            // No parts cover the text: it is inside of one part, or nowhere.
            None if !self.spend(parts.joined.len() as u64) => return Production::Undecided,
            None => match parts.source_containing(text) {
                Some(raw) => raw.to_vec(),
                None => return Production::Never,
            },
        };
        if self.is_witness(&raw, text) {
            Production::Produced
        } else {
            Production::Undecided
        }
    }

    /// Takes `work` from the budget; false if too little is left.
    fn spend(&mut self, work: u64) -> bool {
        let rest = self.budget.checked_sub(work);
        self.budget = rest.unwrap_or(0);
        rest.is_some()
    }

    /// Whether the normalized form of `raw`, alone or between other characters, contains `text`.
    /// False is not certain.
    fn is_witness(&mut self, raw: &[u8], text: &[u8]) -> bool {
        CONTEXTS.iter().any(|(before, after)| {
            self.raw.clear();
            self.raw.extend_from_slice(before.as_bytes());
            self.raw.extend_from_slice(raw);
            self.raw.extend_from_slice(after.as_bytes());
            if self.raw.len().saturating_mul(self.greatest_growth) > MAX_WITNESS_BYTES {
                return false;
            }
            let normalizer = self.tables.normalizer();
            normalizer.normalize(&self.raw, &mut self.normalized);
            let work = self.raw.len() + self.normalized.len();
            self.spend(work as u64) && memmem::find(&self.normalized, text).is_some()
        })
    }
}

/// The largest possible ratio of the length of a normalized text to that of its raw text: the bytes
/// of the longest target, each of which may be a space that becomes a mark.
fn greatest_growth(normalizer: &Normalizer) -> usize {
    let targets = normalizer.charsmap();
    let longest = targets.map_or(1, |charsmap| charsmap.longest_target());
    longest.max(1).saturating_mul(normalizer.mark().len())
}

/// The search for a cover of a text.
struct Cover<'c> {
    parts: &'c PartTable,
    normalizer: &'c Normalizer,
    text: &'c [u8],
}

/// The step that reached a position of a covered text: its start, and the raw text that produces
/// it.
#[derive(Debug, Clone)]
struct CoverStep {
    from: usize,
    raw: Vec<u8>,
}

impl Cover<'_> {
    /// The work of finding the cover.
    fn work(&self) -> u64 {
        let longest = self.text.len().min(self.parts.longest);
        LOOKUP_WORK * (self.text.len() * longest) as u64
    }

    /// A raw text whose parts cover the text; `None` if no parts do, unless the text lies inside
    /// one part.
    fn raw_text(&self) -> Option<Vec<u8>> {
        let length = self.text.len();
        let mut steps: Vec<Option<CoverStep>> = vec![None; length + 1];
        for at in 0..length {
            if at > 0 && steps[at].is_none() {
                steps[at] = self.first_step(at);
            }
            if at > 0 && steps[at].is_none() {
                continue;
            }
            let last = length.min(at + self.parts.longest);
            for (end, step) in (at + 1..=last).zip(&mut steps[at + 1..=last]) {
                if step.is_none() {
                    *step = self.step(at..end);
                }
            }
        }
        join_steps(&steps)
    }

    /// The step from the start to `end`, by the end of a part.
    fn first_step(&self, end: usize) -> Option<CoverStep> {
        let raw = self.parts.source_ending_with(&self.text[..end])?.into();
        Some(CoverStep { from: 0, raw })
    }

    /// The step over a range of the text by a whole part, or at the end of the text by the start of
    /// a part.
    fn step(&self, range: Range<usize>) -> Option<CoverStep> {
        let from = range.start;
        let raw = self.single_raw(range.clone());
        let raw = raw.or_else(|| self.source(range).map(<[u8]>::to_vec))?;
        Some(CoverStep { from, raw })
    }

    /// The source of the part that is a range of the text, or of one that begins with the end of
    /// the text.
    fn source(&self, range: Range<usize>) -> Option<&[u8]> {
        let part = &self.text[range.clone()];
        let source = self.parts.source_of(part);
        if source.is_some() || range.end < self.text.len() {
            return source;
        }
        self.parts.source_starting_with(part)
    }

    /// The raw text of a part that is one character or a mark; `None` if it is neither, or is
    /// changed.
    fn single_raw(&self, range: Range<usize>) -> Option<Vec<u8>> {
        let part = &self.text[range.clone()];
        if self.is_unchanged_char(part) {
            return Some(part.to_vec());
        }
        if part == "\u{fffd}".as_bytes() {
            return Some(vec![0xFF]);
        }
        if part != self.normalizer.mark() {
            return None;
        }
        self.mark_raw(range)
    }

    /// Whether a part is one character that the normalizer does not change.
    fn is_unchanged_char(&self, part: &[u8]) -> bool {
        let (char, width) = decode_char(part);
        let is_char = char.is_some() && width == part.len() && part != b" ";
        is_char && self.normalizer.next(part) == (part, width)
    }

    /// The raw text of a mark: a space that is not dropped, or nothing for the mark of the dummy
    /// prefix.
    fn mark_raw(&self, mark: Range<usize>) -> Option<Vec<u8>> {
        let options = self.normalizer.options();
        let follows_space = self.text[..mark.start].ends_with(b" ");
        let is_dropped = follows_space && options.remove_extra_whitespaces;
        if !is_dropped && self.normalizer.next(b" ") == (b" ", 1) {
            return Some(b" ".to_vec());
        }
        let is_at_end = mark.start == 0 || mark.end == self.text.len();
        (options.add_dummy_prefix && is_at_end).then(Vec::new)
    }
}

/// The raw text of the steps to the last position, if it was reached.
fn join_steps(steps: &[Option<CoverStep>]) -> Option<Vec<u8>> {
    let mut raws = Vec::new();
    let mut at = steps.len() - 1;
    while at > 0 {
        let step = steps[at].as_ref()?;
        raws.push(step.raw.as_slice());
        at = step.from;
    }
    raws.reverse();
    Some(raws.concat())
}
