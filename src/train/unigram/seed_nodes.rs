//! The nodes of a suffix tree that may be pieces.
//!
//! See [`seeds`](super::seeds) for what a candidate is. The suffixes are sorted, and each has the
//! length of the prefix that it has in common with the one before. The walk over them has a stack
//! of open nodes, which are prefixes of the current suffix. Where the next suffix has fewer bytes
//! in common, the deeper nodes are closed.
//!
//! Example: the suffixes `ab|00`, `abc|00` and `ab|E2`, where a bar ends the text. The second has 2
//! bytes in common with the first and with the third. The node `ab` is opened at the first suffix
//! and closed at the end, with the count of all three.
//!
//! Source: M. Abouelhoda, S. Kurtz and E. Ohlebusch, "Replacing suffix trees with enhanced suffix
//! arrays", 2004, doi:10.1016/S1570-8667(03)00065-0.

use super::entries::Entries;
use super::seed_candidates::SeedCandidate;
use super::seed_rules::{MinCounts, SeedRules};
use super::suffix::Suffix;
use crate::base::utf8::{char_starts, is_continuation};

/// The number of suffixes whose entries are read at a time. The entries are scattered in memory, so
/// the processor can wait for several of them at once.
const LOADED_SUFFIXES: usize = 64;

/// A suffix, with what is known of its entry.
#[derive(Debug, Clone, Copy, Default)]
struct VisitedSuffix {
    suffix: Suffix,
    /// The length in bytes, without those that follow the entry.
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

/// An internal node of the suffix tree that is not closed yet.
#[derive(Debug, Clone, Copy)]
struct OpenNode {
    /// Its first suffix.
    first: VisitedSuffix,
    /// Its length in bytes.
    depth: usize,
    /// The sum of the counts of all suffixes before the first.
    count_before: u64,
    /// The count of the node with the same text and a NUL.
    terminated: u64,
}

/// Finds the nodes of the suffix tree over sorted suffixes. Of nested nodes, the longest is closed
/// first.
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

    /// Finds the candidates among the prefixes of sorted suffixes.
    pub(super) fn visit(&mut self, suffixes: &[Suffix]) {
        let mut count = 0;
        let mut next = suffixes.iter().skip(1);
        let mut loaded = [VisitedSuffix::default(); LOADED_SUFFIXES];
        for block in suffixes.chunks(LOADED_SUFFIXES) {
            for (loaded, suffix) in loaded.iter_mut().zip(block) {
                *loaded = VisitedSuffix::new(*suffix, self.entries);
            }
            for visited in &loaded[..block.len()] {
                // The last suffix has no next one.
                let common = next.next().map_or(0, |next| next.common_prefix());
                let child = self.close_deeper_nodes(visited, common, count);
                self.open_node(child, common);
                count += visited.count;
            }
        }
    }

    /// Closes the nodes deeper than `common`. Returns the node of depth `common` that would contain
    /// them. It starts where the last closed node starts or, if none was closed, at `visited`,
    /// whose predecessors have the count `before`.
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

    /// Makes a node a candidate. If the node ends with a NUL and the node without the NUL exists,
    /// returns the count instead, which is then added to that node. A count that is too small is
    /// taken as 0.
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
        // A slice of valid UTF-8 at character boundaries.
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
