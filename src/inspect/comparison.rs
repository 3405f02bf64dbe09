//! Two models on the same text.
//!
//! Input: two tokenizers and lines of text. Output: a [`Comparison`]: which pieces both have and
//! under which ids, on how many lines both give the same ids, and which boundaries between tokens
//! only one of them has.
//!
//! A *boundary* is a position inside a line, in bytes of the line, at which a token ends. Byte
//! pieces of one character end together. If all boundaries of model B are boundaries of model A,
//! then B joins tokens of A and never splits one: the extension of a vocabulary guarantees this.
//!
//! Example: A encodes `the cats` as `the` ` c` `ats`, and B as `the` ` cat` `s`. The boundary 3 is
//! shared, 5 is only in A and 7 only in B.
//!
//! Cost: one encoding with spans by each model; one hash lookup for each piece.

use std::cmp::{Ordering, Reverse};

use super::text_counter::excerpt;
use super::top_list::TopList;
use crate::model::{Model, Piece};
use crate::piece::PieceId;
use crate::tokenizer::{Encoder, Token, Tokenizer};

/// The number of lines in [`Comparison::worst_lines`].
const MAX_LINES: usize = 20;
/// The number of entries in [`VocabularyComparison::first_changes`].
const MAX_CHANGES: usize = 20;

/// The vocabularies of two models, A and B.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VocabularyComparison {
    /// The pieces of A.
    pub pieces_a: u64,
    /// The pieces of B.
    pub pieces_b: u64,
    /// The pieces of A for which B has a piece with the same text and kind.
    pub shared: u64,
    /// Shared pieces whose ids differ.
    pub changed_ids: u64,
    /// Shared pieces whose scores differ.
    pub changed_scores: u64,
    /// The first pieces whose ids differ, by their ids in A.
    pub first_changes: Vec<IdChange>,
}

/// A piece that has different ids in two models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdChange {
    /// The id in A.
    pub a: PieceId,
    /// The id in B.
    pub b: PieceId,
}

/// Two models, A and B, on a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// The vocabularies.
    pub vocabulary: VocabularyComparison,
    /// The number of lines.
    pub lines: u64,
    /// The lines with the same ids.
    pub equal_lines: u64,
    /// The bytes of the lines, without line ends.
    pub bytes: u64,
    /// The tokens of A.
    pub tokens_a: u64,
    /// The tokens of B.
    pub tokens_b: u64,
    /// The lines on which A has fewer tokens.
    pub shorter_a: u64,
    /// The lines on which B has fewer tokens.
    pub shorter_b: u64,
    /// Boundaries of both.
    pub shared_boundaries: u64,
    /// Boundaries of A only.
    pub only_a: u64,
    /// Boundaries of B only.
    pub only_b: u64,
    /// The lines with a boundary of A only.
    pub lines_only_a: u64,
    /// The lines with a boundary of B only.
    pub lines_only_b: u64,
    /// The lines whose numbers of tokens differ most, largest difference first.
    pub worst_lines: Vec<DifferentLine>,
}

impl Comparison {
    /// Whether both models give the same ids on all lines.
    pub fn has_equal_ids(&self) -> bool {
        self.equal_lines == self.lines
    }
}

/// A line that two models encode differently.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferentLine {
    /// The number that the line was added with.
    pub number: u64,
    /// The tokens of A.
    pub tokens_a: u64,
    /// The tokens of B.
    pub tokens_b: u64,
    /// The line, or its first 200 bytes.
    pub text: Vec<u8>,
}

impl DifferentLine {
    /// Largest difference first, then in the order of the lines.
    fn rank(&self) -> (Reverse<u64>, u64) {
        let difference = self.tokens_a.abs_diff(self.tokens_b);
        (Reverse(difference), self.number)
    }
}

impl Ord for DifferentLine {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for DifferentLine {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl VocabularyComparison {
    /// Compares two vocabularies. Cost: a hash lookup for each piece of A.
    pub fn new(a: &Model, b: &Model) -> Self {
        let mut found = Self {
            pieces_a: a.len() as u64,
            pieces_b: b.len() as u64,
            ..Self::default()
        };
        for piece in a.pieces() {
            if let Some(same) = same_piece(b, &piece) {
                found.add_shared(&piece, &same);
            }
        }
        found
    }

    /// Counts a piece of A and the piece of B that has its text and kind.
    fn add_shared(&mut self, a: &Piece<'_>, b: &Piece<'_>) {
        self.shared += 1;
        self.changed_scores += u64::from(a.score.to_bits() != b.score.to_bits());
        if a.id != b.id {
            self.add_change(IdChange { a: a.id, b: b.id });
        }
    }

    /// Counts a piece with different ids.
    fn add_change(&mut self, change: IdChange) {
        self.changed_ids += 1;
        if self.first_changes.len() < MAX_CHANGES {
            self.first_changes.push(change);
        }
    }
}

/// Compares two models line by line. Counters of several threads are merged.
///
/// ```
/// use spiece::Tokenizer;
/// use spiece::inspect::ComparisonCounter;
///
/// let a = Tokenizer::open("testdata/golden/llama2.model")?;
/// let b = Tokenizer::open("testdata/golden/spm_default.model")?;
/// let mut counter = ComparisonCounter::new(&a, &b);
/// counter.add_line(1, b"the right to life");
/// let comparison = counter.finish();
/// assert_eq!(comparison.lines, 1);
/// assert!(!comparison.has_equal_ids());
/// # Ok::<(), spiece::ModelError>(())
/// ```
#[derive(Debug)]
pub struct ComparisonCounter<'t> {
    a: SideEncoder<'t>,
    b: SideEncoder<'t>,
    comparison: Comparison,
    worst: TopList<DifferentLine>,
}

/// One side of a comparison.
#[derive(Debug)]
struct SideEncoder<'t> {
    encoder: Encoder<'t>,
    ids: Vec<PieceId>,
    /// The boundaries of the line, ascending.
    boundaries: Vec<usize>,
}

impl<'t> SideEncoder<'t> {
    fn new(tokenizer: &'t Tokenizer) -> Self {
        SideEncoder {
            encoder: tokenizer.encoder(),
            ids: Vec::new(),
            boundaries: Vec::new(),
        }
    }

    /// Encodes a line.
    fn encode(&mut self, line: &[u8]) {
        self.ids.clear();
        self.boundaries.clear();
        for Token { id, end, .. } in self.encoder.tokens(line).as_slice() {
            self.ids.push(*id);
            if (1..line.len()).contains(end) {
                self.boundaries.push(*end);
            }
        }
        // The ends of tokens ascend, except where a normalizer moves text; sorting ascending
        // numbers is linear.
        self.boundaries.sort();
        self.boundaries.dedup();
    }

    fn tokens(&self) -> u64 {
        self.ids.len() as u64
    }
}

impl<'t> ComparisonCounter<'t> {
    /// A counter that has seen no line.
    pub fn new(a: &'t Tokenizer, b: &'t Tokenizer) -> Self {
        Self {
            a: SideEncoder::new(a),
            b: SideEncoder::new(b),
            comparison: Comparison::default(),
            worst: TopList::new(MAX_LINES),
        }
    }

    /// Compares one line, which need not be UTF-8. `number` identifies the line in the results.
    pub fn add_line(&mut self, number: u64, line: &[u8]) {
        self.a.encode(line);
        self.b.encode(line);
        let is_equal = self.a.ids == self.b.ids;
        self.comparison.lines += 1;
        self.comparison.equal_lines += u64::from(is_equal);
        self.comparison.bytes += line.len() as u64;
        self.add_tokens();
        self.add_boundaries();
        if !is_equal {
            self.add_worst(number, line);
        }
    }

    /// Counts the tokens of the current line.
    fn add_tokens(&mut self) {
        let tokens_a = self.a.tokens();
        let tokens_b = self.b.tokens();
        let comparison = &mut self.comparison;
        comparison.tokens_a += tokens_a;
        comparison.tokens_b += tokens_b;
        comparison.shorter_a += u64::from(tokens_a < tokens_b);
        comparison.shorter_b += u64::from(tokens_b < tokens_a);
    }

    /// Counts the boundaries of the current line.
    fn add_boundaries(&mut self) {
        let shared = count_shared(&self.a.boundaries, &self.b.boundaries);
        let only_a = self.a.boundaries.len() as u64 - shared;
        let only_b = self.b.boundaries.len() as u64 - shared;
        let comparison = &mut self.comparison;
        comparison.shared_boundaries += shared;
        comparison.only_a += only_a;
        comparison.only_b += only_b;
        comparison.lines_only_a += u64::from(only_a > 0);
        comparison.lines_only_b += u64::from(only_b > 0);
    }

    /// Offers the current line, which differs, to the list of the worst ones.
    fn add_worst(&mut self, number: u64, line: &[u8]) {
        let mut candidate = DifferentLine {
            number,
            tokens_a: self.a.tokens(),
            tokens_b: self.b.tokens(),
            text: Vec::new(),
        };
        if self.worst.bound().is_none_or(|bound| candidate < *bound) {
            candidate.text = excerpt(line).to_vec();
            self.worst.offer(candidate);
        }
    }

    /// Adds the lines of another counter of the same models.
    pub fn merge(&mut self, other: ComparisonCounter<'_>) {
        let own = &mut self.comparison;
        let added = other.comparison;
        own.lines += added.lines;
        own.equal_lines += added.equal_lines;
        own.bytes += added.bytes;
        own.tokens_a += added.tokens_a;
        own.tokens_b += added.tokens_b;
        own.shorter_a += added.shorter_a;
        own.shorter_b += added.shorter_b;
        own.shared_boundaries += added.shared_boundaries;
        own.only_a += added.only_a;
        own.only_b += added.only_b;
        own.lines_only_a += added.lines_only_a;
        own.lines_only_b += added.lines_only_b;
        self.worst.merge(other.worst);
    }

    /// The sums of all lines so far. The vocabularies and the worst lines are empty until
    /// [`finish`](ComparisonCounter::finish).
    pub fn sums(&self) -> &Comparison {
        &self.comparison
    }

    /// The comparison of all lines, with that of the vocabularies.
    pub fn finish(self) -> Comparison {
        let a = self.a.encoder.tokenizer().model();
        let b = self.b.encoder.tokenizer().model();
        Comparison {
            vocabulary: VocabularyComparison::new(a, b),
            worst_lines: self.worst.into_values(),
            ..self.comparison
        }
    }
}

/// The piece of a model with the text and the kind of another piece.
fn same_piece<'m>(model: &'m Model, other: &Piece<'_>) -> Option<Piece<'m>> {
    let ids = model.ids_of_text(other.text).into_iter().flatten();
    let mut pieces = ids.filter_map(|id| model.piece(id));
    pieces.find(|piece| piece.kind == other.kind)
}

/// The number of values that two ascending lists share.
fn count_shared(a: &[usize], b: &[usize]) -> u64 {
    let mut shared = 0;
    let mut rest = b.iter().peekable();
    for number in a {
        while rest.next_if(|other| *other < number).is_some() {}
        shared += u64::from(rest.next_if_eq(&number).is_some());
    }
    shared
}
