//! The nodes of a suffix tree that may be pieces.
//!
//! Input: sorted suffixes that begin with the same two bytes, with what each has in common with the
//! one before. Output: the [`SeedCandidate`]s among the beginnings of these suffixes; see
//! [`seeds`](super::seeds) for what a candidate is.
//!
//! Method: a walk over the suffixes with a stack of the nodes that begin before the current suffix
//! and contain it. Where the next suffix has fewer bytes in common, the deeper nodes end.
//!
//! Example: the suffixes `ab|E2`, `ab|00` and `abc|00`, where a bar ends the text. The second has 2
//! bytes in common with the first one and with the third. The node `ab` is opened at the second
//! suffix and closed at the end, with the count of all three.
//!
//! Cost: linear in the suffixes and in the lengths of the nodes. Source: M. Abouelhoda, S. Kurtz
//! and E. Ohlebusch, "Replacing suffix trees with enhanced suffix arrays", 2004,
//! doi:10.1016/S1570-8667(03)00065-0.

use super::entries::Entries;
use super::seed_candidates::SeedCandidate;
use super::seed_rules::{MinCounts, SeedRules};
use super::suffix::Suffix;
use crate::text::utf8::{char_starts, is_continuation};

/// The entries of so many suffixes, which are anywhere in memory, are read at a time, so that the
/// processor need not wait for each of them.
const LOADED_SUFFIXES: usize = 64;

/// A suffix, with what is known of its entry.
#[derive(Debug, Clone, Copy, Default)]
struct VisitedSuffix {
    suffix: Suffix,
    /// Bytes without those that follow the entry.
    text_length: usize,
    /// How often the entry occurs.
    count: u64,
}

impl VisitedSuffix {
    fn new(suffix: Suffix, entries: &Entries) -> Self {
        Self {
            suffix,
            text_length: entries.text_length(suffix),
            count: entries.count(suffix),
        }
    }
}

/// An internal node of the suffix tree that the walk has not left yet.
#[derive(Debug, Clone, Copy)]
struct OpenNode {
    /// Its first suffix.
    first: VisitedSuffix,
    /// Its length in bytes.
    depth: usize,
    /// The counts of all suffixes before the first.
    count_before: u64,
    /// The count of the node that has a NUL more.
    terminated: u64,
}

/// Finds the nodes of the suffix tree over sorted suffixes, from the longest to the shortest of
/// nested ones.
pub(super) struct NodeWalk<'w> {
    entries: &'w Entries,
    rules: &'w SeedRules,
    min_counts: MinCounts,
    open: Vec<OpenNode>,
    candidates: Vec<SeedCandidate>,
}

impl<'w> NodeWalk<'w> {
    pub(super) fn new(entries: &'w Entries, rules: &'w SeedRules, min_counts: MinCounts) -> Self {
        Self {
            entries,
            rules,
            min_counts,
            open: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// The candidates found so far.
    pub(super) fn into_candidates(self) -> Vec<SeedCandidate> {
        self.candidates
    }

    /// Finds the candidates among the beginnings of sorted suffixes.
    pub(super) fn visit(&mut self, suffixes: &[Suffix]) {
        let mut count = 0;
        let mut next = suffixes.iter().skip(1);
        let mut loaded = [VisitedSuffix::default(); LOADED_SUFFIXES];
        for block in suffixes.chunks(LOADED_SUFFIXES) {
            for (loaded, suffix) in loaded.iter_mut().zip(block) {
                *loaded = VisitedSuffix::new(*suffix, self.entries);
            }
            for visited in &loaded[..block.len()] {
                // At the end nothing is in common.
                let common = next.next().map_or(0, |next| next.common_prefix());
                let child = self.close_deeper_nodes(visited, common, count);
                self.open_node(child, common);
                count += visited.count;
            }
        }
    }

    /// Leaves the nodes deeper than `common`. Returns the start of the node that contains all that
    /// was left: the last suffix `visited`, whose predecessors have the count `before`, or the last
    /// node left.
    fn close_deeper_nodes(
        &mut self,
        visited: &VisitedSuffix,
        common: usize,
        before: u64,
    ) -> OpenNode {
        let mut child = OpenNode {
            first: *visited,
            depth: common,
            count_before: before,
            terminated: 0,
        };
        let end = before + visited.count;
        while let Some(node) = self.open.pop_if(|node| node.depth > common) {
            let parent_depth = self.innermost_depth().max(common);
            child.first = node.first;
            child.count_before = node.count_before;
            child.terminated = 0;
            let count = end - node.count_before;
            let moved = self.close(&node, count, parent_depth);
            if parent_depth > common {
                self.add_terminated(moved);
            } else {
                child.terminated = moved;
            }
        }
        child
    }

    /// The depth of the innermost open node.
    fn innermost_depth(&self) -> usize {
        self.open.last().map_or(0, |node| node.depth)
    }

    fn add_terminated(&mut self, count: u64) {
        if let Some(parent) = self.open.last_mut() {
            parent.terminated += count;
        }
    }

    /// Opens a node at `child` if the suffixes have more in common than those of the innermost open
    /// node, and otherwise adds what `child` carries to that node.
    fn open_node(&mut self, child: OpenNode, common: usize) {
        if common > self.innermost_depth() {
            self.open.push(child);
        } else if common > 0 {
            self.add_terminated(child.terminated);
        }
    }

    /// Makes a node a candidate. The count of a node that ends with a NUL is returned if the node
    /// without the NUL exists, which then gets it. A count that is too small is no count.
    fn close(&mut self, node: &OpenNode, count: u64, parent_depth: usize) -> u64 {
        let is_frequent = self.min_counts.allow(node.depth, count);
        let count = if is_frequent { count } else { 0 };
        let VisitedSuffix {
            suffix,
            text_length,
            ..
        } = node.first;
        let is_terminated = self.is_terminated(node);
        if is_terminated && parent_depth == text_length {
            return count;
        }
        let length = if is_terminated {
            text_length
        } else {
            node.depth
        };
        let count = count + node.terminated;
        if count > 0 && length <= text_length {
            self.add_candidate(suffix, length, count);
        }
        0
    }

    /// Whether a node ends with a NUL.
    fn is_terminated(&self, node: &OpenNode) -> bool {
        let end = node.first.text_length;
        node.depth == end + 1 && self.entries.suffix_bytes(node.first.suffix)[end] == 0
    }

    fn add_candidate(&mut self, suffix: Suffix, length: usize, count: u64) {
        let (bytes, rest) = self.entries.suffix_bytes(suffix).split_at(length);
        if rest.first().is_some_and(|next| is_continuation(*next)) {
            // The common prefix ends inside a character.
            return;
        }
        let characters = char_starts(bytes).count();
        if characters < 2 || characters > self.rules.max_length {
            return;
        }
        // A part of well-formed text between characters.
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if !self.rules.split.allows(text) {
            return;
        }
        let (Ok(characters), Ok(length)) = (u16::try_from(characters), u32::try_from(length))
        else {
            return;
        };
        self.candidates.push(SeedCandidate {
            start: self.entries.start(suffix),
            length,
            characters,
            count,
        });
    }
}
