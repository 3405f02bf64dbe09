//! Sorted keys -> the units of a double array, equal to Darts-clone's to the bit.
//!
//! The keys ascend by bytes and have values below 2^31. They become an automaton with merged
//! suffixes ([`dawg`]); then the states are laid out in depth-first order, children ascending by
//! label, each by the [`layout`]. A shared state that is already laid out is linked if a unit can
//! express the distance, and laid out again otherwise. If it is laid out again, so are its children
//! that are not shared themselves.
//!
//! Example: the keys `tap` and `top`, both with the value 1. The automaton has one state for the
//! rest `p` of both.
//!
//! | state after | cell | base | children |
//! |---|---|---|---|
//! | nothing | 0 | 0x75 | `t` (0x74) in cell 1, the first free cell |
//! | `t` | 1 | 0x63 | `a` (0x61) in cell 2, `o` (0x6f) in cell 0x0c |
//! | `ta` | 2 | 0x73 | `p` (0x70) in cell 3 |
//! | `tap` | 3 | 4 | the value 1 in cell 4 |
//! | `to` | 0x0c | 0x73 | shared with `ta`, whose base is linked; nothing is laid out |
//!
//! Both the automaton and the walk use explicit stacks, so a key may be of any length. 225,000 keys
//! of four characters take a few hundredths of a second.

mod dawg;
mod error;
mod layout;

use self::dawg::{Dawg, Transition};
pub(crate) use self::error::BuildError;
use self::layout::{ArrayLayout, is_in_reach};
use super::unit::ArrayUnit;
use super::{ChildCells, DoubleArray};

impl DoubleArray {
    /// The array of `keys`, which are sorted by bytes; of equal keys the first one counts.
    pub(crate) fn build(keys: &[(&[u8], u32)]) -> Result<Self, BuildError> {
        units_of(keys).map(|units| Self { units })
    }

    /// The units as they stand in a file.
    pub(crate) fn to_le_bytes(&self) -> Vec<u8> {
        self.units
            .iter()
            .flat_map(|unit| unit.to_le_bytes())
            .collect()
    }

    /// Whether a path from the root has `byte` on it. Every path of a built array leads to a key;
    /// in a damaged file some may lead to no key, and they count too.
    pub(crate) fn any_key_contains(&self, byte: u8) -> bool {
        let mut found = false;
        self.for_each_step(|label, _| found |= label == byte);
        found
    }

    /// Calls `visit` with the byte and the value of every step of every path from the root, in no
    /// particular order. A step that several paths share is visited once.
    pub(crate) fn for_each_step(&self, mut visit: impl FnMut(u8, Option<usize>)) {
        let children = ChildCells::of(&self.units);
        let mut seen = vec![false; self.units.len()];
        let mut waiting = vec![self.root()];
        while let Some(base) = waiting.pop() {
            match seen.get_mut(base) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            for cell in children.of_base(base) {
                let label = ArrayUnit::from_bits(self.units[cell]).label();
                if let Some((next, value)) = self.step(base, label) {
                    visit(label, value);
                    waiting.push(next);
                }
            }
        }
    }
}

/// The units of a double array of `keys`; see [`DoubleArray::build`].
fn units_of(keys: &[(&[u8], u32)]) -> Result<Vec<u32>, BuildError> {
    let (dawg, start) = Dawg::from_sorted(keys)?;
    let layout = ArrayLayout::new(dawg.len().next_power_of_two())?;
    let mut placement = LayoutWalk {
        bases: vec![NOWHERE; dawg.len()],
        dawg: &dawg,
        layout,
        labels: Vec::new(),
    };
    if !dawg.arcs(start).is_empty() {
        placement.place_all(start)?;
    }
    placement.layout.finish()
}

/// No base: an array has fewer cells.
const NOWHERE: u32 = u32::MAX;

/// The base of a state, and the arcs whose targets are not laid out yet.
type OpenState<'a> = (u32, std::slice::Iter<'a, Transition>);

/// A depth-first walk that lays out the states of the automaton.
struct LayoutWalk<'a> {
    dawg: &'a Dawg,
    layout: ArrayLayout,
    /// The last base of each shared state, or [`NOWHERE`].
    bases: Vec<u32>,
    /// Labels of the current state; a field so that the buffer is reused.
    labels: Vec<u8>,
}

impl<'a> LayoutWalk<'a> {
    fn place_all(&mut self, start: u32) -> Result<(), BuildError> {
        let mut open: Vec<OpenState<'a>> = Vec::new();
        open.extend(self.place_state(start, 0)?);
        while let Some((base, arcs)) = open.last_mut() {
            match arcs.next() {
                None => {
                    open.pop();
                }
                Some(arc) if arc.is_value() => {}
                Some(arc) => {
                    let cell = *base ^ u32::from(arc.label);
                    open.extend(self.place_state(arc.target, cell)?);
                }
            }
        }
        Ok(())
    }

    /// Gives the state in `cell` a base. Returns the base and the arcs, if the children are not
    /// laid out yet.
    fn place_state(&mut self, state: u32, cell: u32) -> Result<Option<OpenState<'a>>, BuildError> {
        let arcs = self.dawg.arcs(state);
        let value = arcs.first().filter(|arc| arc.is_value());
        if value.is_some() {
            self.layout.mark_leaf(cell);
        }
        let base = self.bases[state as usize];
        if base != NOWHERE && is_in_reach(cell ^ base) {
            self.layout.link(cell, base)?;
            return Ok(None);
        }
        let base = self.place_arcs(cell, arcs)?;
        if let Some(value) = value {
            self.layout.set_value(base, value.target);
        }
        if self.dawg.is_shared(state) {
            self.bases[state as usize] = base;
        }
        Ok(Some((base, arcs.iter())))
    }

    /// Chooses a base for the state in `cell`, with room for its arcs.
    fn place_arcs(&mut self, cell: u32, arcs: &[Transition]) -> Result<u32, BuildError> {
        self.labels.clear();
        self.labels.extend(arcs.iter().map(|arc| arc.label));
        self.layout.place(cell, &self.labels)
    }
}
