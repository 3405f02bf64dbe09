//! Sorted keys -> a minimal acyclic automaton: states with equal continuations are merged.
//!
//! The keys ascend by bytes and contain no NUL. A state is a list of arcs ascending by label. The
//! value of a key is an arc too, with label 0 (so it comes first), which keeps two keys with the
//! same rest but different values apart.
//!
//! The states along the newest key are open; when the next key leaves that path, the states below
//! the fork can get no more arcs and are closed from the bottom up, each looked up among the closed
//! ones: one hash lookup for each state of the plain trie. The open arcs lie on one stack. (Daciuk,
//! Mihov, Watson and Watson, "Incremental construction of minimal acyclic finite-state automata",
//! 2000, doi:10.1162/089120100561601.)
//!
//! Example: the keys `tap` and `top`, both with the value 1.
//!
//! | event | closed states |
//! |---|---|
//! | `tap` is inserted | none; the path of `tap` is open |
//! | `top` leaves the path after `t` | state 0 (after `tap`): value 1; state 1 (after `ta`): `p` to 0 |
//! | end of the keys: after `top`, after `to` | the known states 0 and 1, which are now shared |
//! | end of the keys: after `t`, then the start | state 2: `a` to 1, `o` to 1; state 3: `t` to 2 |
//!
//! The numbers of the states do not depend on the hash table, and the array laid out from them does
//! not depend on the numbers. It does depend on [`Dawg::is_shared`]: whether a state was found
//! again while *closing*, not how many arcs to it are walked later.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::RandomState;
use hashbrown::hash_table::{Entry, HashTable};

use super::error::BuildError;
use crate::base::num::high_u32;
use crate::base::utf8::common_length;

/// An arc: a labelled step, or with label 0 the end of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transition {
    pub(super) label: u8,
    /// The next state; with label 0, the value.
    pub(super) target: u32,
}

impl Transition {
    pub(super) fn is_value(self) -> bool {
        self.label == 0
    }
}

/// The automaton. States are numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Dawg {
    arcs: Vec<Transition>,
    /// Where the arcs of each state begin, then the number of arcs.
    starts: Vec<u32>,
    shared: Vec<bool>,
}

impl Dawg {
    /// The automaton of `keys` and its start state.
    pub(super) fn from_sorted(keys: &[(&[u8], u32)]) -> Result<(Self, u32), BuildError> {
        let mut path = OpenPath::new(keys.len());
        let mut previous: &[u8] = &[];
        for &(key, value) in keys {
            if path.insert(previous, key, value)? {
                previous = key;
            }
        }
        path.finish()
    }

    pub(super) fn len(&self) -> usize {
        self.shared.len()
    }

    /// The arcs of a state, ascending by label.
    pub(super) fn arcs(&self, state: u32) -> &[Transition] {
        let state = state as usize;
        &self.arcs[self.starts[state] as usize..self.starts[state + 1] as usize]
    }

    /// Whether several arcs lead to the state.
    pub(super) fn is_shared(&self, state: u32) -> bool {
        self.shared[state as usize]
    }

    fn push_state(&mut self, arcs: &[Transition]) -> Result<u32, BuildError> {
        let state = u32::try_from(self.shared.len()).map_err(|_| BuildError::TooLarge)?;
        self.arcs.extend_from_slice(arcs);
        self.starts
            .push(u32::try_from(self.arcs.len()).map_err(|_| BuildError::TooLarge)?);
        self.shared.push(false);
        Ok(state)
    }
}

/// The states along the newest key, not closed yet, above the closed ones.
struct OpenPath {
    closed: Dawg,
    /// The closed states by their arcs, each with the hash of its arcs, so that the table can grow
    /// without reading the arcs.
    known: HashTable<(u32, u32)>,
    /// Random for each automaton, so that nobody can prepare rules whose states collide.
    seed: RandomState,
    /// The arcs of all open states, root first; the last arc of each one except the deepest leads
    /// to the next open state.
    arcs: Vec<Transition>,
    /// Where in `arcs` each open state begins.
    starts: Vec<usize>,
}

impl OpenPath {
    fn new(key_count: usize) -> Self {
        let closed = Dawg {
            starts: vec![0],
            ..Dawg::default()
        };
        Self {
            closed,
            seed: RandomState::default(),
            known: HashTable::with_capacity(key_count / 8),
            arcs: Vec::new(),
            starts: vec![0],
        }
    }

    /// Adds a key that is not less than `previous`. Returns false if they are equal.
    fn insert(&mut self, previous: &[u8], key: &[u8], value: u32) -> Result<bool, BuildError> {
        check(key, value)?;
        let fork = common_length(previous, key);
        match (previous.get(fork), key.get(fork)) {
            (None, None) => return Ok(false),
            (Some(_), None) => return Err(BuildError::NotSorted),
            (Some(old), Some(new)) if new < old => return Err(BuildError::NotSorted),
            _ => {}
        }
        self.close_below(fork)?;
        for &label in &key[fork..] {
            self.arcs.push(Transition { label, target: 0 });
            self.starts.push(self.arcs.len());
        }
        self.arcs.push(Transition {
            label: 0,
            target: value,
        });
        Ok(true)
    }

    /// Closes all open states deeper than `depth`.
    fn close_below(&mut self, depth: usize) -> Result<(), BuildError> {
        while self.starts.len() > depth + 1
            && let Some(start) = self.starts.pop()
        {
            let state = self.close(start)?;
            self.arcs.truncate(start);
            if let Some(arc) = self.arcs.last_mut() {
                arc.target = state;
            }
        }
        Ok(())
    }

    /// The closed state with the arcs from `start` on: a known one or a new one.
    fn close(&mut self, start: usize) -> Result<u32, BuildError> {
        let arcs = &self.arcs[start..];
        let closed = &self.closed;
        let hash = hash(&self.seed, arcs);
        let is_same = |known: &(u32, u32)| known.0 == hash && closed.arcs(known.1) == arcs;
        match self
            .known
            .entry(widened(hash), is_same, |known| widened(known.0))
        {
            Entry::Occupied(known) => {
                let (_, state) = *known.get();
                self.closed.shared[state as usize] = true;
                Ok(state)
            }
            Entry::Vacant(place) => {
                let state = self.closed.push_state(arcs)?;
                place.insert((hash, state));
                Ok(state)
            }
        }
    }

    fn finish(mut self) -> Result<(Dawg, u32), BuildError> {
        self.close_below(0)?;
        let start = self.closed.push_state(&self.arcs)?;
        Ok((self.closed, start))
    }
}

fn check(key: &[u8], value: u32) -> Result<(), BuildError> {
    if key.is_empty() {
        Err(BuildError::EmptyKey)
    } else if key.contains(&0) {
        Err(BuildError::NulInKey)
    } else if value >= super::super::unit::VALUE_FLAG {
        Err(BuildError::ValueTooLarge(value))
    } else {
        Ok(())
    }
}

fn hash(seed: &RandomState, arcs: &[Transition]) -> u32 {
    let mut hasher = seed.build_hasher();
    for arc in arcs {
        hasher.write_u64(u64::from(arc.label) << 32 | u64::from(arc.target));
    }
    high_u32(hasher.finish())
}

/// A hash for the table, which uses bits from both ends.
fn widened(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
