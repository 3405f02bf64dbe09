//! The trie of a charsmap: a double array in the layout of Darts-clone, whose bytes are in model
//! files.
//!
//! A state of the trie is a *base*, the index of a block of up to 256 cells; the child by byte `b`
//! is cell `base ^ b`. [`unit`] lists the fields of the unit in a cell. So a step is a xor, a load
//! and a comparison of the label.
//!
//! Example: the keys are `a` (value 5) and `ab` (value 7). Let the root have the base 1.
//!
//! | step | cell | unit |
//! |---|---|---|
//! | `a` (0x61) from base 1 | 1 ^ 0x61 = 0x60 | label 0x61, a key ends here, base 2 |
//! | value of `a` | 2 ^ 0 = 2 | value 5 |
//! | `b` (0x62) from base 2 | 2 ^ 0x62 = 0x60: taken, so the builder chooses another base for `a` | |
//!
//! [`build`] chooses bases so that no two states claim one cell, in exactly the order of
//! Darts-clone. Tries that are in no file are laid out by [`trie`](crate::trie) in a
//! fraction of the time.
//!
//! Files are untrusted: [`DoubleArray::validate`] is the check of the reference, after which every
//! reachable cell lies inside the array. A valid array may still contain cycles or many paths to
//! one cell, so every walk has a limit or marks visited states.
//!
//! Source: S. Yata, Darts-clone, <https://github.com/s-yata/darts-clone>; J. Aoe, "An efficient
//! digital search algorithm by using a double-array structure", 1989, doi:10.1109/32.31365.

#[cfg(feature = "train")]
mod build;
#[cfg(all(test, feature = "train"))]
mod tests;
mod unit;

use std::cmp::Reverse;
use std::ops::ControlFlow;

#[cfg(feature = "train")]
pub(crate) use self::build::BuildError;
use self::unit::ArrayUnit;
use crate::base::num::low_u8;

/// Darts-clone's double array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoubleArray {
    units: Vec<u32>,
}

/// The limits of a walk over all keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkLimits {
    /// The largest length of a key, in bytes.
    pub(crate) depth: usize,
    /// The largest number of steps from one state to the next.
    pub(crate) steps: usize,
}

/// A walk exceeded one of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalkLimitExceeded;

impl DoubleArray {
    /// Reads units as they stand in a file; bytes beyond the last whole unit are dropped. Call
    /// [`validate`](Self::validate) before the first lookup.
    pub(crate) fn from_le_bytes(bytes: &[u8]) -> Self {
        let (units, _) = bytes.as_chunks::<4>();
        Self {
            units: units.iter().copied().map(u32::from_le_bytes).collect(),
        }
    }

    /// Number of units.
    #[cfg(all(test, feature = "train"))]
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }

    /// False only if no key has a byte of ASCII after its first one, and no key begins with `byte`. Takes two
    /// passes over the cells, and may be true of files that the builder did not make.
    pub(crate) fn may_have_ascii_inside_or_begin_with(&self, byte: u8) -> bool {
        // Cells that no key has are not empty: the builder gives them the labels of a base that no state
        // has. The empty one among them, which would be that base, is left out. If a state has an empty
        // cell, a key has a NUL.
        let used = || {
            let cells = self
                .units
                .iter()
                .enumerate()
                .filter(|(_, bits)| **bits != 0);
            let units = cells.map(|(at, bits)| (at, ArrayUnit::from_bits(*bits)));
            units.filter(|(_, unit)| !unit.is_value())
        };
        let mut is_base = vec![false; self.units.len()];
        for (at, unit) in used() {
            if let Some(is_base) = is_base.get_mut(at ^ unit.offset()) {
                *is_base = true;
            }
        }
        let has_nul = (0..)
            .zip(&is_base)
            .any(|(at, is_base)| *is_base && self.units.get(at) == Some(&0));
        let root = self.root();
        let may_be_in_the_way = |(at, unit): (usize, ArrayUnit)| {
            let parent = at ^ usize::from(unit.label());
            let is_inside = parent != root || unit.label() == byte;
            at != 0 && unit.label() < 0x80 && is_inside && is_base.get(parent) == Some(&true)
        };
        has_nul || used().any(may_be_in_the_way)
    }

    /// Whether every cell points into the array and every value is below `value_limit`. As in the
    /// reference, this includes unreachable cells.
    pub(crate) fn validate(&self, value_limit: usize) -> bool {
        let Some(root) = self.unit(0) else {
            return false;
        };
        root.is_reached_by(0)
            && !root.has_leaf()
            && root.offset() != 0
            && self.has_block(root.offset())
            && (1..self.units.len()).all(|cell| self.is_valid_cell(cell, value_limit))
    }

    fn is_valid_cell(&self, cell: usize, value_limit: usize) -> bool {
        let Some(unit) = self.unit(cell) else {
            return false;
        };
        if unit.is_value() {
            return unit.value() < value_limit;
        }
        let base = cell ^ unit.offset();
        self.has_block(base)
            && (!unit.has_leaf() || self.unit(base).is_some_and(ArrayUnit::is_value))
    }

    /// Whether all 256 cells around `base` exist.
    fn has_block(&self, base: usize) -> bool {
        (base | 0xFF) < self.units.len()
    }

    fn unit(&self, cell: usize) -> Option<ArrayUnit> {
        self.units.get(cell).copied().map(ArrayUnit::from_bits)
    }

    /// The base of the state before any byte.
    pub(crate) fn root(&self) -> usize {
        self.unit(0).map_or(0, ArrayUnit::offset)
    }

    /// From a base by one byte: the next base, and the value if a key ends there.
    #[inline]
    pub(crate) fn step(&self, base: usize, byte: u8) -> Option<(usize, Option<usize>)> {
        let cell = base ^ usize::from(byte);
        let unit = self.unit(cell)?;
        if !unit.is_reached_by(byte) {
            return None;
        }
        Some((cell ^ unit.offset(), self.value_below(cell, unit)))
    }

    /// The value of the key that ends in `cell`, which holds the inner unit `unit`.
    #[inline]
    fn value_below(&self, cell: usize, unit: ArrayUnit) -> Option<usize> {
        if !unit.has_leaf() {
            return None;
        }
        self.unit(cell ^ unit.offset()).map(ArrayUnit::value)
    }

    /// The keys that `text` begins with, shortest first: (length, value).
    #[inline]
    pub(crate) fn common_prefixes<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let path = text.iter().scan(self.root(), |base, &byte| {
            let (next, value) = self.step(*base, byte)?;
            *base = next;
            Some(value)
        });
        path.zip(1..)
            .filter_map(|(value, length)| value.map(|value| (length, value)))
    }

    /// The longest of the first `max_matches` keys that `text` begins with.
    #[inline]
    pub(crate) fn longest_prefix(&self, text: &[u8], max_matches: usize) -> Option<(usize, usize)> {
        self.common_prefixes(text).take(max_matches).last()
    }

    /// Calls `visit` with every key, in order, and its value.
    ///
    /// A damaged file with shared or cyclic states can have too many paths to walk, with or without
    /// keys at their ends. A walk that exceeds a limit ends with an error; `visit` can end it by
    /// breaking.
    pub(crate) fn for_each_key(
        &self,
        limits: WalkLimits,
        mut visit: impl FnMut(&[u8], usize) -> ControlFlow<()>,
    ) -> Result<(), WalkLimitExceeded> {
        let cells = ChildCells::of(&self.units);
        let mut key = Vec::new();
        let mut steps = 0;
        let mut open = Vec::new();
        self.push_steps(&cells, self.root(), 0, &mut open);
        while let Some(step) = open.pop() {
            key.truncate(step.depth);
            key.push(step.byte);
            if let Some(value) = step.value
                && visit(&key, value).is_break()
            {
                return Ok(());
            }
            steps += 1;
            if key.len() > limits.depth || steps > limits.steps {
                return Err(WalkLimitExceeded);
            }
            self.push_steps(&cells, step.next, key.len(), &mut open);
        }
        Ok(())
    }

    /// Appends the steps from `base`, which `depth` bytes lead to; the one with the lowest byte
    /// last.
    fn push_steps(&self, cells: &ChildCells, base: usize, depth: usize, open: &mut Vec<OpenStep>) {
        let start = open.len();
        // Only a damaged file leads to the root, whose cell is in no list.
        let root_cell = (base <= usize::from(u8::MAX)).then_some(0);
        for cell in cells.of_base(base).chain(root_cell) {
            let byte = low_u8((base ^ cell) as u64);
            if let Some((next, value)) = self.step(base, byte) {
                open.push(OpenStep {
                    depth,
                    byte,
                    next,
                    value,
                });
            }
        }
        open[start..].sort_unstable_by_key(|step| Reverse(step.byte));
    }
}

/// A step of a walk that has not been taken yet.
struct OpenStep {
    /// The length of the key before it.
    depth: usize,
    byte: u8,
    next: usize,
    value: Option<usize>,
}

/// The cells by the base that they are reached from, as linked lists: trying all 256 bytes from
/// every base takes a hundred times as long.
struct ChildCells {
    /// By base: the first cell. 0 ends a list; the root in cell 0 is no child.
    first: Vec<usize>,
    /// By cell: the next cell of the same base.
    next: Vec<usize>,
}

impl ChildCells {
    fn of(units: &[u32]) -> Self {
        let mut first = vec![0; units.len()];
        let mut next = vec![0; units.len()];
        for (cell, bits) in units.iter().enumerate().skip(1) {
            let base = cell ^ usize::from(ArrayUnit::from_bits(*bits).label());
            if let Some(first) = first.get_mut(base) {
                next[cell] = std::mem::replace(first, cell);
            }
        }
        Self { first, next }
    }

    /// The cells that may be reached from `base` by their labels.
    fn of_base(&self, base: usize) -> impl Iterator<Item = usize> + '_ {
        let existing = |cell: usize| (cell != 0).then_some(cell);
        let first = self.first.get(base).copied().and_then(existing);
        std::iter::successors(first, move |cell| existing(self.next[*cell]))
    }
}
