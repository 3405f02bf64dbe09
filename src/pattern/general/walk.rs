//! All matches of an expression in time that is linear in the text.
//!
//! The automaton is started at each place after the last match, and followed until it is dead. The bytes that
//! it read after the end of a match are read again. Expressions that look far ahead and fail, such
//! as `a[ab]*c|b`, would read the rest of the text at each place. So the *states in vain* are kept: the
//! states, and the places at which they were, after which no match ended. Where one comes up again, nothing
//! is left to be found. (After T. Reps, "Maximal-munch" tokenization in linear time, 1998.)
//!
//! The automaton follows the alternatives in their order, and drops what a preferred match excludes
//! (leftmost-first); so its state says whether a further match can end, whatever was before.
//!
//! Example: with `a[ab]*c|b`, the text `abab` is followed from 0 to its end, in vain. From 2, the state after
//! `a` is the one that was there before.
//!
//! States are kept only at some places, and only far from the last match: usual expressions read a few bytes
//! too many.

use std::collections::HashSet;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::util::pool::{Pool, PoolGuard};
use regex_automata::util::start;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::Hir;

use super::Found;
use crate::base::steps;
use crate::base::utf8::is_continuation;

/// A state after which no match ended, and the place at which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct InVain {
    at: usize,
    state: LazyStateID,
}

/// Bytes after the last match, from which on states are kept.
const NEAR: usize = 64;
/// States are kept at places that are a multiple of this.
const SPACING: usize = 16;

/// So many states in vain are kept without looking whether they are still of use.
const MIN_IN_VAIN: usize = 1 << 12;

type MakeCache =
    Box<dyn Fn() -> Cache + Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>;

/// The automaton of an expression.
pub(super) struct Walk {
    dfa: DFA,
    caches: Pool<Cache, MakeCache>,
    /// Those of matches that are not empty.
    begins: Beginnings,
    may_be_empty: bool,
}

/// The first two bytes with which a match can begin: by the first one, a bit for the last six bits of each
/// second one. After a byte of ASCII, which can be the whole match, all bits are set.
type Beginnings = Box<[u64; 256]>;

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}

impl Walk {
    /// `None` if the expression has word boundaries, or needs more than so many bytes.
    pub(super) fn new(patterns: &[Hir], max_bytes: usize) -> Option<Self> {
        let config = Config::new()
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(max_bytes));
        let nfa = Compiler::new()
            .configure(config)
            .build_many_from_hir(patterns)
            .ok()?;
        let config = DFA::config().skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let may_be_empty = patterns
            .iter()
            .any(|hir| hir.properties().minimum_len() == Some(0));
        let begins = beginnings(&dfa)?;
        let for_caches = dfa.clone();
        let make: MakeCache = Box::new(move || for_caches.create_cache());
        Some(Self {
            dfa,
            caches: Pool::new(make),
            begins,
            may_be_empty,
        })
    }

    /// The bytes of the automaton.
    pub(super) fn memory_usage(&self) -> usize {
        self.dfa.memory_usage() + self.dfa.get_nfa().memory_usage()
    }

    /// Begins to look for the matches of a text.
    pub(super) fn through<'w>(&'w self, text: &'w [u8]) -> Matches<'w> {
        let cache = self.caches.get();
        Matches {
            walk: self,
            text,
            clears: cache.clear_count(),
            cache,
            in_vain: HashSet::new(),
            max_in_vain: MIN_IN_VAIN,
            kept: Vec::new(),
        }
    }
}

/// The beginnings of matches, whatever is before.
fn beginnings(dfa: &DFA) -> Option<Beginnings> {
    let mut cache = dfa.create_cache();
    let before = [
        None,
        Some(b'\n'),
        Some(b'\r'),
        Some(b'a'),
        Some(b' '),
        Some(0xFF),
    ];
    let mut starts = Vec::new();
    for look_behind in before {
        let config = start::Config::new()
            .look_behind(look_behind)
            .anchored(Anchored::Yes);
        let state = dfa.start_state(&mut cache, &config).ok()?;
        if !starts.contains(&state) {
            starts.push(state);
        }
    }
    let mut begins = Box::new([0; 256]);
    for byte in 0..=u8::MAX {
        for state in &starts {
            let next = dfa.next_state(&mut cache, *state, byte).ok()?;
            if next.is_dead() {
                continue;
            }
            let begin = &mut begins[usize::from(byte)];
            if byte.is_ascii() {
                *begin = u64::MAX;
                break;
            }
            for low in 0..64 {
                let after = dfa.next_state(&mut cache, next, 0x80 | low).ok()?;
                *begin |= u64::from(!after.is_dead()) << low;
            }
        }
    }
    // A full cache is cleared, and its states get other numbers; then all bytes are allowed.
    if cache.clear_count() > 0 {
        begins.fill(u64::MAX);
    }
    Some(begins)
}

/// The matches of a text, one after the other.
pub(super) struct Matches<'w> {
    walk: &'w Walk,
    text: &'w [u8],
    cache: PoolGuard<'w, Cache, MakeCache>,
    /// How often the cache was cleared when the states in vain were found; then they have other numbers.
    clears: usize,
    in_vain: HashSet<InVain>,
    /// How many states in vain there may be before those of places behind are dropped.
    max_in_vain: usize,
    /// The states of the match at hand that are in vain unless it goes on.
    kept: Vec<InVain>,
}

impl Matches<'_> {
    /// The first match that begins at a place or after it, and at a character.
    pub(super) fn find(&mut self, from: usize) -> Option<Found> {
        let text = self.text;
        if self.walk.may_be_empty {
            let mut starts = from..=text.len();
            return starts.find_map(|start| {
                let is_inside = text.get(start).is_some_and(|byte| is_continuation(*byte));
                (!is_inside).then(|| self.match_at(start)).flatten()
            });
        }
        let walk = self.walk;
        let mut start = from;
        loop {
            let rest = text.get(start..)?;
            let followers = |byte: u8| walk.begins[usize::from(byte)];
            start += rest.iter().position(|byte| followers(*byte) != 0)?;
            let next = text.get(start + 1).copied().unwrap_or_default();
            if followers(text[start]) >> (next & 0x3F) & 1 == 1
                && let Some(found) = self.match_at(start)
            {
                return Some(found);
            }
            start += 1;
        }
    }

    /// The match that begins at a place. No step of the automaton fails: no byte is refused, and a cache that is
    /// full is cleared.
    fn match_at(&mut self, start: usize) -> Option<Found> {
        let Self { walk, text, .. } = *self;
        let dfa = &walk.dfa;
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let mut state = dfa.start_state_forward(&mut self.cache, &input).ok()?;
        let mut found: Option<Found> = None;
        let mut last = start;
        self.kept.clear();
        for (at, byte) in text.iter().enumerate().skip(start) {
            steps::count(1);
            state = dfa.next_state(&mut self.cache, state, *byte).ok()?;
            if state.is_tagged() {
                if state.is_match() {
                    last = at;
                    let alternative = dfa.match_pattern(&self.cache, state, 0).as_usize();
                    found = Some(Found {
                        start,
                        end: at,
                        alternative,
                    });
                    self.kept.clear();
                } else if state.is_dead() {
                    self.keep_in_vain(start);
                    return found;
                }
            }
            if at % SPACING == 0 && at - last > NEAR {
                self.forget_old_numbers();
                let kept = InVain { at, state };
                if self.in_vain.contains(&kept) {
                    self.keep_in_vain(start);
                    return found;
                }
                self.kept.push(kept);
            }
        }
        state = dfa.next_eoi_state(&mut self.cache, state).ok()?;
        if state.is_match() {
            let alternative = dfa.match_pattern(&self.cache, state, 0).as_usize();
            return Some(Found {
                start,
                end: text.len(),
                alternative,
            });
        }
        self.keep_in_vain(start);
        found
    }

    /// The kept states did not lead to a match that begins at `start`.
    fn keep_in_vain(&mut self, start: usize) {
        if self.kept.is_empty() {
            return;
        }
        self.forget_old_numbers();
        self.in_vain.extend(self.kept.drain(..));
        if self.in_vain.len() > self.max_in_vain {
            self.in_vain.retain(|it| it.at > start);
            self.max_in_vain = MIN_IN_VAIN.max(2 * self.in_vain.len());
        }
    }

    fn forget_old_numbers(&mut self) {
        let clears = self.cache.clear_count();
        if clears != self.clears {
            self.clears = clears;
            self.in_vain.clear();
            self.kept.clear();
        }
    }
}
