//! Sorted keys -> the units of a double array, equal to Darts-clone's to the bit.
//!
//! Input: keys ascending by bytes, with values below 2^31. Output: the units. The keys
//! become an automaton with merged suffixes ([`dawg`](super::dawg)); then the
//! states get their places in depth-first order, children ascending by label,
//! each from the [`layout`](super::layout). A shared state that has a place
//! already is pointed to, if a unit can express the distance, and laid out once
//! more if not. Only states that are shared by themselves take part in this: the
//! private children of one that is laid out twice are laid out twice too.
//!
//! Both the automaton and the walk use explicit stacks, so a key may be of any
//! length. Cost: 225,000 keys of four characters in a few hundredths of a second.

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

/// A depth-first walk that lays out the states of the automaton.
struct Placement<'a> {
    dawg: &'a Dawg,
    layout: Layout,
    /// Where each shared state was laid out last, or [`NOWHERE`].
    bases: Vec<u32>,
    /// Labels of the current state; a field so that the buffer is reused.
    labels: Vec<u8>,
}

impl<'a> Placement<'a> {
    fn place_all(&mut self, start: u32) -> Result<(), BuildError> {
        let mut open: Vec<(u32, std::slice::Iter<'a, Transition>)> = Vec::new();
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

    /// Gives the state in `cell` a base; the base and arcs if its children are
    /// still to be settled.
    fn place_state(
        &mut self,
        state: u32,
        cell: u32,
    ) -> Result<Option<(u32, std::slice::Iter<'a, Transition>)>, BuildError> {
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
        self.labels.clear();
        self.labels.extend(arcs.iter().map(|arc| arc.label));
        let base = self.layout.place(cell, &self.labels)?;
        if let Some(value) = value {
            self.layout.set_value(base, value.target);
        }
        if self.dawg.is_shared(state) {
            self.bases[state as usize] = base;
        }
        Ok(Some((base, arcs.iter())))
    }
}
