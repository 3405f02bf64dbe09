//! Two models on the same text.
//!
//! Which pieces both have and under which ids, on how many lines both give the same ids, and which
//! boundaries between tokens only one of them has.
//!
//! A *boundary* is a position inside a line, in bytes of the line, at which a token ends. Byte
//! pieces of one character end together. If all boundaries of model B are boundaries of model A,
//! then B joins tokens of A and never splits one: the extension of a vocabulary guarantees this.
//!
//! Example: A encodes `the cats` as `the` ` c` `ats`, and B as `the` ` cat` `s`. The boundary 3 is
//! shared, 5 is only in A and 7 only in B.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use super::text_counter::excerpt;
use super::top_list::TopList;
use super::{InspectedPiece, pieces};
use crate::piece::PieceId;
use crate::tokenizer::{Encoder, Token, Tokenizer};

/// The number of lines in [`Comparison::worst_lines`].
const MAX_LINES: usize = 20;
/// The number of entries in [`VocabularyComparison::first_changes`].
const MAX_CHANGES: usize = 20;

/// The vocabularies of two models, A and B.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct IdChange {
    /// The text of the piece.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::as_lossy_text"))]
    pub piece: Vec<u8>,
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
    /// The sums of all lines.
    pub sums: ComparisonSums,
    /// The lines whose numbers of tokens differ most, largest difference first.
    pub worst_lines: Vec<DifferentLine>,
}

/// Sums over lines that two models, A and B, encode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ComparisonSums {
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
    pub boundaries_only_a: u64,
    /// Boundaries of B only.
    pub boundaries_only_b: u64,
    /// The lines with a boundary of A only.
    pub lines_with_boundaries_only_a: u64,
    /// The lines with a boundary of B only.
    pub lines_with_boundaries_only_b: u64,
}

impl ComparisonSums {
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
    /// Compares two vocabularies. It takes a hash lookup for each piece of A.
    pub fn new(a: &Tokenizer, b: &Tokenizer) -> Self {
        let mut found = Self {
            pieces_a: pieces(a).count() as u64,
            pieces_b: pieces(b).count() as u64,
            ..Self::default()
        };
        let pieces_b = pieces(b).map(|piece| ((piece.text.clone(), piece.kind), piece));
        let of_b: HashMap<_, InspectedPiece<'_>> = pieces_b.collect();
        for piece in pieces(a) {
            let Some(same) = of_b.get(&(piece.text.clone(), piece.kind)) else {
                continue;
            };
            found.shared += 1;
            found.changed_scores += u64::from(piece.score.to_bits() != same.score.to_bits());
            if piece.id != same.id {
                found.changed_ids += 1;
                if found.first_changes.len() < MAX_CHANGES {
                    found.first_changes.push(IdChange {
                        piece: piece.text.to_vec(),
                        a: piece.id,
                        b: same.id,
                    });
                }
            }
        }
        found
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
/// assert_eq!(comparison.sums.lines, 1);
/// assert!(!comparison.sums.has_equal_ids());
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug)]
pub struct ComparisonCounter<'t> {
    a: SideEncoder<'t>,
    b: SideEncoder<'t>,
    sums: ComparisonSums,
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
}

impl<'t> ComparisonCounter<'t> {
    /// A counter that has seen no line.
    pub fn new(a: &'t Tokenizer, b: &'t Tokenizer) -> Self {
        Self {
            a: SideEncoder::new(a),
            b: SideEncoder::new(b),
            sums: ComparisonSums::default(),
            worst: TopList::new(MAX_LINES),
        }
    }

    /// Compares one line, which need not be UTF-8. `number` identifies the line in the results.
    pub fn add_line(&mut self, number: u64, line: &[u8]) {
        self.a.encode(line);
        self.b.encode(line);
        let is_equal = self.a.ids == self.b.ids;
        let tokens_a = self.a.ids.len() as u64;
        let tokens_b = self.b.ids.len() as u64;
        let shared = count_shared(&self.a.boundaries, &self.b.boundaries);
        let only_a = self.a.boundaries.len() as u64 - shared;
        let only_b = self.b.boundaries.len() as u64 - shared;
        let sums = &mut self.sums;
        sums.lines += 1;
        sums.equal_lines += u64::from(is_equal);
        sums.bytes += line.len() as u64;
        sums.tokens_a += tokens_a;
        sums.tokens_b += tokens_b;
        sums.shorter_a += u64::from(tokens_a < tokens_b);
        sums.shorter_b += u64::from(tokens_b < tokens_a);
        sums.shared_boundaries += shared;
        sums.boundaries_only_a += only_a;
        sums.boundaries_only_b += only_b;
        sums.lines_with_boundaries_only_a += u64::from(only_a > 0);
        sums.lines_with_boundaries_only_b += u64::from(only_b > 0);
        if !is_equal {
            let mut candidate = DifferentLine {
                number,
                tokens_a,
                tokens_b,
                text: Vec::new(),
            };
            // The text is copied only if the line is taken.
            if self.worst.bound().is_none_or(|bound| candidate < *bound) {
                candidate.text = excerpt(line).to_vec();
                self.worst.offer(candidate);
            }
        }
    }

    /// Adds the lines of another counter of the same models.
    pub fn merge(&mut self, other: ComparisonCounter<'_>) {
        let own = &mut self.sums;
        let added = other.sums;
        own.lines += added.lines;
        own.equal_lines += added.equal_lines;
        own.bytes += added.bytes;
        own.tokens_a += added.tokens_a;
        own.tokens_b += added.tokens_b;
        own.shorter_a += added.shorter_a;
        own.shorter_b += added.shorter_b;
        own.shared_boundaries += added.shared_boundaries;
        own.boundaries_only_a += added.boundaries_only_a;
        own.boundaries_only_b += added.boundaries_only_b;
        own.lines_with_boundaries_only_a += added.lines_with_boundaries_only_a;
        own.lines_with_boundaries_only_b += added.lines_with_boundaries_only_b;
        self.worst.merge(other.worst);
    }

    /// The sums of all lines so far.
    pub fn sums(&self) -> &ComparisonSums {
        &self.sums
    }

    /// The comparison of all lines, with that of the vocabularies.
    pub fn finish(self) -> Comparison {
        let a = self.a.encoder.tokenizer();
        let b = self.b.encoder.tokenizer();
        Comparison {
            vocabulary: VocabularyComparison::new(a, b),
            sums: self.sums,
            worst_lines: self.worst.into_values(),
        }
    }
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
