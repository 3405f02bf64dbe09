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
        while let Some(OpenStep { depth, step }) = open.pop() {
            key.truncate(depth);
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

    /// Passes each character of each key, in no order, and some of them several times. Returns false, and
    /// has not passed all, if a key is no whole characters or if there are more than `max_steps` bytes to
    /// walk.
    ///
    /// Each state between two characters is entered once, since what follows it is the same for all keys
    /// that lead to it: a tenth of the steps of [`for_each_key`](Self::for_each_key).
    pub(crate) fn for_each_char(&self, max_steps: usize, mut visit: impl FnMut(KeyChar)) -> bool {
        let cells = ChildCells::of(&self.units);
        let mut is_entered = vec![false; self.units.len()];
        let start = OpenChar {
            base: self.root(),
            point: 0,
            missing: 0,
            is_first: true,
        };
        let mut open = vec![start];
        let mut steps = 0;
        while let Some(state) = open.pop() {
            for step in self.steps(&cells, state.base) {
                steps += 1;
                let Some(after) = state.after(&step) else {
                    return false;
                };
                let ends_key = step.value.is_some();
                if steps > max_steps || ends_key && after.missing > 0 {
                    return false;
                }
                if after.missing > 0 {
                    open.push(after);
                    continue;
                }
                visit(KeyChar {
                    point: after.point,
                    is_first: state.is_first,
                    ends_key,
                });
                if let Some(is_entered) = is_entered.get_mut(step.next)
                    && !std::mem::replace(is_entered, true)
                {
                    let is_first = false;
                    open.push(OpenChar { is_first, ..after });
                }
            }
        }
        true
    }

    /// The steps from `base`.
    fn steps<'a>(
        &'a self,
        cells: &'a ChildCells,
        base: usize,
    ) -> impl Iterator<Item = KeyStep> + 'a {
        // Only a damaged file leads to the root, whose cell is in no list.
        let root_cell = (base <= usize::from(u8::MAX)).then_some(0);
        let cells = cells.of_base(base).chain(root_cell);
        cells.filter_map(move |cell| {
            let byte = low_u8((base ^ cell) as u64);
            let (next, value) = self.step(base, byte)?;
            Some(KeyStep { byte, next, value })
        })
    }

    /// Appends the steps from `base`, which `depth` bytes lead to; the one with the lowest byte
    /// last.
    fn push_steps(&self, cells: &ChildCells, base: usize, depth: usize, open: &mut Vec<OpenStep>) {
        let start = open.len();
        let steps = self.steps(cells, base);
        open.extend(steps.map(|step| OpenStep { depth, step }));
        open[start..].sort_unstable_by_key(|open| Reverse(open.step.byte));
    }
}

/// A character of a key; see [`DoubleArray::for_each_char`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyChar {
    /// The code point, which may be that of a surrogate or above U+10FFFF.
    pub(crate) point: u32,
    /// Whether the key begins with it.
    pub(crate) is_first: bool,
    /// Whether a key ends with it.
    pub(crate) ends_key: bool,
}

/// A state of a walk, of which the next bytes have not been taken yet.
#[derive(Clone, Copy)]
struct OpenChar {
    base: usize,
    /// The bits of the character that was begun, and how many of its bytes are missing.
    point: u32,
    missing: u8,
    /// Whether it is the first character of the key.
    is_first: bool,
}

impl OpenChar {
    /// The state after one more byte; `None` if that cannot follow.
    fn after(&self, step: &KeyStep) -> Option<Self> {
        let bits = u32::from(step.byte);
        let (point, missing) = match (self.missing, step.byte) {
            (0, ..0x80) => (bits, 0),
            (0, 0xC0..=0xDF) => (bits & 0x1F, 1),
            (0, 0xE0..=0xEF) => (bits & 0x0F, 2),
            (0, 0xF0..=0xF7) => (bits & 0x07, 3),
            (1.., 0x80..=0xBF) => (self.point << 6 | bits & 0x3F, self.missing - 1),
            _ => return None,
        };
        Some(Self {
            base: step.next,
            point,
            missing,
            ..*self
        })
    }
}

/// A step from a base.
struct KeyStep {
    byte: u8,
    next: usize,
    /// The value of the key that ends there.
    value: Option<usize>,
}

/// A step of a walk that has not been taken yet.
struct OpenStep {
    /// The length of the key before it.
    depth: usize,
    step: KeyStep,
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
