//! The ids of all lines of a text, in memory.
//!
//! Input: the ids of each line. Output: the same, as long as there are at most [`MAX_IDS`]. With
//! the ids, pruning to a size need not encode the text again to count the lines that stay (see
//! `size_check`).
//!
//! Example: the lines `[5, 7]` and `[5]` are the ids `[5, 7, 5]` with the ends 2 and 3.
//!
//! Memory: 4 bytes for each token and 8 for each line, at most 64 MiB of ids for each counter.

use crate::piece::PieceId;

/// The largest number of ids that are kept; small in tests, so that some texts exceed it.
const MAX_IDS: usize = if cfg!(test) { 2000 } else { 1 << 24 };

/// The ids of lines, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineIds {
    ids: Vec<PieceId>,
    /// Where the ids of each line end.
    ends: Vec<usize>,
    /// Whether there were too many ids.
    is_full: bool,
}

impl LineIds {
    /// Adds a line.
    pub(super) fn push(&mut self, ids: &[PieceId]) {
        if !self.fits(ids.len()) {
            return self.clear();
        }
        self.ids.extend_from_slice(ids);
        self.ends.push(self.ids.len());
    }

    /// Whether so many more ids can be kept.
    fn fits(&self, ids: usize) -> bool {
        !self.is_full && self.ids.len() + ids <= MAX_IDS
    }

    /// Adds the lines of another text.
    pub(super) fn append(&mut self, other: &Self) {
        if other.is_full {
            return self.clear();
        }
        other.lines().for_each(|line| self.push(line));
    }

    /// The number of lines; 0 if there were too many ids.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The ids of each line.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[PieceId]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let line = &self.ids[start..*end];
            start = *end;
            line
        })
    }

    /// Forgets all lines, and those that follow.
    fn clear(&mut self) {
        *self = Self {
            is_full: true,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_up_to_the_limit() {
        let ids: Vec<PieceId> = [5, 7, 5].map(PieceId::new).to_vec();
        let mut kept = LineIds::default();
        kept.push(&ids[..2]);
        kept.push(&[]);
        let mut others = LineIds::default();
        others.push(&ids[2..]);
        kept.append(&others);
        let lines: Vec<&[PieceId]> = kept.lines().collect();
        assert_eq!(lines, [&ids[..2], &[], &ids[2..]]);
        let mut full = kept.clone();
        full.push(&[ids[0]; MAX_IDS]);
        full.push(&ids);
        assert_eq!(full.len(), 0);
        kept.append(&full);
        assert_eq!(kept.len(), 0);
    }
}
