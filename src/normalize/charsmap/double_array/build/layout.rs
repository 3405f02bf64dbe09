//! The cells of a double array under construction: which are taken, and which base the next state
//! gets.
//!
//! The array grows by blocks of 256 cells. Free cells of the newest 16 blocks are on a ring in
//! ascending order; a search starts at its head and takes the first cell that can hold the smallest
//! label with room for the others. When a block drops out of the window, its free cells get a label
//! that nothing reaches, and are never used again. All of this is Darts-clone's policy: the bytes
//! of a model depend on every detail of it, including the order of the ring after each removal.
//!
//! Example: only cells 0 to 2 of the first block are taken, and a state has children by `b` (0x62)
//! and `c` (0x63). The head of the ring is 3, so the first candidate is the base 3 ^ 0x62 = 0x61:
//! `b` goes to cell 3, and `c` to cell 0x61 ^ 0x63 = 2, which is taken. The next free cell, 4,
//! gives the base 0x66, with `c` in cell 5. Cells 4 and 5 are taken off the ring, and its head
//! stays 3.
//!
//! Cost of a search: at most the free cells of 16 blocks.

use super::super::unit::{FAR_FLAG, LABEL_MASK, LEAF_FLAG, VALUE_FLAG};
use super::error::BuildError;

const BLOCK: u32 = 256;
/// Number of cells of the newest blocks, the only ones with a [`CellState`].
const WINDOW: u32 = 16 * BLOCK;
/// Distances from this one on do not fit in a unit.
const DISTANCE_LIMIT: u32 = 1 << 29;
/// Smaller distances are stored with all their bits; others must be multiples of 256.
const NEAR_LIMIT: u32 = 1 << 21;

/// What is known about one cell of the window.
#[derive(Clone, Copy, Default)]
struct CellState {
    previous: u32,
    next: u32,
    taken: bool,
    is_base: bool,
}

/// The array under construction.
pub(super) struct ArrayLayout {
    units: Vec<u32>,
    /// Number of units.
    len: u32,
    /// Records of cells, by their number modulo the window.
    cells: Vec<CellState>,
    /// The first free cell; `len` if there is none.
    head: u32,
}

impl ArrayLayout {
    /// One block, with the root in cell 0.
    pub(super) fn new(capacity: usize) -> Result<Self, BuildError> {
        let mut layout = Self {
            units: Vec::with_capacity(capacity),
            len: 0,
            cells: vec![CellState::default(); WINDOW as usize],
            head: 0,
        };
        layout.take(0)?;
        layout.cell_state_mut(0).is_base = true;
        layout.units[0] = pack_distance(1);
        Ok(layout)
    }

    /// Chooses the base of the state in `cell`, and takes the cells of its `labels`, which ascend
    /// and are not empty.
    pub(super) fn place(&mut self, cell: u32, labels: &[u8]) -> Result<u32, BuildError> {
        let base = self.find_base(cell, labels);
        self.link(cell, base)?;
        for &label in labels {
            let child = base ^ u32::from(label);
            self.take(child)?;
            self.units[child as usize] = u32::from(label);
        }
        self.cell_state_mut(base).is_base = true;
        Ok(base)
    }

    /// Makes `base` the base of the state in `cell`.
    pub(super) fn link(&mut self, cell: u32, base: u32) -> Result<(), BuildError> {
        let distance = cell ^ base;
        if distance >= DISTANCE_LIMIT {
            return Err(BuildError::TooLarge);
        }
        let unit = &mut self.units[cell as usize];
        *unit = *unit & (VALUE_FLAG | LEAF_FLAG | LABEL_MASK) | pack_distance(distance);
        Ok(())
    }

    /// Notes that a key ends in the state in `cell`.
    pub(super) fn mark_leaf(&mut self, cell: u32) {
        self.units[cell as usize] |= LEAF_FLAG;
    }

    /// Writes the value of the state with this base.
    pub(super) fn set_value(&mut self, base: u32, value: u32) {
        self.units[base as usize] = VALUE_FLAG | value;
    }

    /// The units. The free cells have labels by which nothing reaches them.
    pub(super) fn finish(mut self) -> Result<Vec<u32>, BuildError> {
        for block in (self.len.saturating_sub(WINDOW)..self.len).step_by(BLOCK as usize) {
            self.retire(block)?;
        }
        Ok(self.units)
    }

    fn cell_state(&self, cell: u32) -> &CellState {
        &self.cells[(cell % WINDOW) as usize]
    }

    fn cell_state_mut(&mut self, cell: u32) -> &mut CellState {
        &mut self.cells[(cell % WINDOW) as usize]
    }

    /// The first usable base for a state in `cell` with these labels, or one in a new block.
    fn find_base(&self, cell: u32, labels: &[u8]) -> u32 {
        let fresh = self.len | (cell & LABEL_MASK);
        let Some((&first, others)) = labels.split_first() else {
            return fresh;
        };
        if self.head >= self.len {
            return fresh;
        }
        let mut free = self.head;
        loop {
            let base = free ^ u32::from(first);
            if self.is_usable(cell, base, others) {
                return base;
            }
            free = self.cell_state(free).next;
            if free == self.head {
                return fresh;
            }
        }
    }

    /// Whether a state in `cell` can have this base, given that the cell of its smallest label is
    /// free. `others` are its other labels.
    fn is_usable(&self, cell: u32, base: u32, others: &[u8]) -> bool {
        !self.cell_state(base).is_base
            && is_in_reach(cell ^ base)
            && !others
                .iter()
                .any(|&label| self.cell_state(base ^ u32::from(label)).taken)
    }

    /// Takes a cell off the ring; grows the array if the cell is not there yet.
    fn take(&mut self, cell: u32) -> Result<(), BuildError> {
        if cell >= self.len {
            self.grow()?;
        }
        let CellState { previous, next, .. } = *self.cell_state(cell);
        if cell == self.head {
            self.head = if next == cell { self.len } else { next };
        }
        self.cell_state_mut(previous).next = next;
        self.cell_state_mut(next).previous = previous;
        self.cell_state_mut(cell).taken = true;
        Ok(())
    }

    /// Adds a block, all free, at the end of the ring.
    fn grow(&mut self) -> Result<(), BuildError> {
        let first = self.len;
        let end = first + BLOCK;
        if end > DISTANCE_LIMIT {
            return Err(BuildError::TooLarge);
        }
        if let Some(oldest) = end.checked_sub(WINDOW + BLOCK) {
            self.retire(oldest)?;
        }
        self.make_ring(first, end - 1);
        // The head of an empty ring is the end of the array, which is the first new cell.
        if self.head != first {
            self.splice(first, end - 1);
        }
        self.units.resize(end as usize, 0);
        self.len = end;
        Ok(())
    }

    /// Makes a ring of the cells from `first` to `last`, all free.
    fn make_ring(&mut self, first: u32, last: u32) {
        for cell in first..=last {
            *self.cell_state_mut(cell) = CellState {
                previous: if cell == first { last } else { cell - 1 },
                next: if cell == last { first } else { cell + 1 },
                ..CellState::default()
            };
        }
    }

    /// Puts the chain from `first` to `last` before the head of the ring.
    fn splice(&mut self, first: u32, last: u32) {
        let head = self.head;
        let tail = self.cell_state(head).previous;
        self.cell_state_mut(first).previous = tail;
        self.cell_state_mut(tail).next = first;
        self.cell_state_mut(last).next = head;
        self.cell_state_mut(head).previous = last;
    }

    /// Gives each free cell of a block a label by which nothing reaches it: the one that leads
    /// there from a base that no state has.
    fn retire(&mut self, block: u32) -> Result<(), BuildError> {
        let cells = block..block + BLOCK;
        let nobody = cells.clone().find(|&base| !self.cell_state(base).is_base);
        for cell in cells {
            if !self.cell_state(cell).taken {
                self.take(cell)?;
                let label = (cell ^ nobody.unwrap_or(0)) & LABEL_MASK;
                self.units[cell as usize] |= label;
            }
        }
        Ok(())
    }
}

/// Whether a unit can express the distance: a short one, or one of whole blocks.
pub(super) fn is_in_reach(distance: u32) -> bool {
    const UPPER: u32 = 0xFF << 21;
    distance & UPPER == 0 || distance & LABEL_MASK == 0
}

fn pack_distance(distance: u32) -> u32 {
    if distance < NEAR_LIMIT {
        distance << 10
    } else {
        distance << 2 | FAR_FLAG
    }
}
