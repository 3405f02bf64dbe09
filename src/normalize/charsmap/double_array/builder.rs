//! Sorted keys -> the units of a double array, equal to Darts-clone's to the bit.
//!
//! Input: keys ascending by bytes, with values below 2^31. Output: the units. The keys become an
//! automaton with merged suffixes ([`dawg`](super::dawg)); then the states are laid out in
//! depth-first order, children ascending by label, each by the [`layout`](super::layout). A shared
//! state that is already laid out is linked if a unit can express the distance, and laid out again
//! otherwise. If it is laid out again, so are its children that are not shared themselves.
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
//! Both the automaton and the walk use explicit stacks, so a key may be of any length. Cost:
//! 225,000 keys of four characters in a few hundredths of a second.

use super::dawg::{Dawg, Transition};
use super::error::BuildError;
use super::layout::{Layout, is_in_reach};

/// The units of a double array of `keys`; see [`DoubleArray::build`](super::DoubleArray::build).
pub(super) fn build(keys: &[(&[u8], u32)]) -> Result<Vec<u32>, BuildError> {
    let (dawg, start) = Dawg::from_sorted(keys)?;
    let layout = Layout::new(dawg.len().next_power_of_two())?;
    let mut placement = Placement {
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
struct Placement<'a> {
    dawg: &'a Dawg,
    layout: Layout,
    /// The last base of each shared state, or [`NOWHERE`].
    bases: Vec<u32>,
    /// Labels of the current state; a field so that the buffer is reused.
    labels: Vec<u8>,
}

impl<'a> Placement<'a> {
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
