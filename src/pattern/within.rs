//! Byte strings that the cuts of a pattern never leave whole.
//!
//! A match depends only on the text from its start on: what patterns allow looks forward alone. So a
//! byte string t lies within a match of some text if and only if there are u and v such that the match
//! at the start of u·t·v covers u·t. The determinized automaton of the pattern, which follows the
//! alternatives in their order and drops what a preferred match excludes, is in a *live* state after
//! u·t exactly then: one from which a byte, or the end of the text, leads to a state that is not dead.
//! (A match is reported one byte late, by a state from which nothing else may follow.) The states
//! after all texts u are found once, by a search over the automaton; a string is decided by stepping
//! all of them through its bytes.
//!
//! The alternative `\s+(?!\S)` is read without the cut of its last character, and assertions of the
//! end of the text as possible everywhere, so that more strings seem to lie within a match, never
//! fewer.
//!
//! Of patterns with numbers in groups from the right, the expression with groups from the left is read,
//! within whose matches all strings lie that lie within theirs.
//!
//! Example: with `\p{N}{1,3}| ?\p{L}+`, no state survives the bytes of `1234` or of `a1`, and one does
//! survive those of ` ab` and of a part of a character.

use std::collections::HashSet;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::{Anchored, Input};

use super::general::alternatives::Alternatives;
use super::split::{Pretokenizer, Split, SplitBehavior};
use super::{Engine, Pattern};

/// Bytes of memory for the states of an automaton. That of the longest known pattern needs a tenth.
const MAX_STATES: usize = 64 << 20;
/// States of an automaton that are searched. Known patterns have some thousands.
const MAX_SEARCHED: usize = 100_000;

/// Decides which byte strings a pretokenizer never leaves whole.
#[derive(Debug)]
pub(crate) struct UncutStrings {
    /// The automata of the splits whose parts are all matches. Where there is none, nothing is
    /// decided.
    automata: Vec<Automaton>,
}

impl UncutStrings {
    /// Cost: a search over the automata, some milliseconds to some seconds.
    pub(crate) fn new(pretokenizer: &Pretokenizer) -> Self {
        let splits = pretokenizer.splits().iter();
        let splits = splits.filter(|split| split.has_parts_that_match());
        Self {
            automata: splits
                .filter_map(|split| Automaton::new(&split.pattern))
                .collect(),
        }
    }

    /// Whether no pretoken of any text, which is UTF-8, has these bytes in it.
    pub(crate) fn cuts_always(&mut self, bytes: &[u8]) -> bool {
        let mut automata = self.automata.iter_mut();
        automata.any(|automaton| !automaton.may_match_around(bytes))
    }

    /// Whether these bytes are no pretoken of any text, which is UTF-8.
    pub(crate) fn is_never_whole(&mut self, bytes: &[u8]) -> bool {
        let mut automata = self.automata.iter_mut();
        automata.any(|automaton| !automaton.may_match(bytes))
    }
}

impl Split {
    /// Whether every part is a match, or within one.
    fn has_parts_that_match(&self) -> bool {
        match self.behavior {
            SplitBehavior::Removed => self.invert,
            SplitBehavior::Isolated => {
                matches!(&self.pattern.engine, Engine::Scanner(scanner) if scanner.is_total())
            }
            _ => false,
        }
    }
}

#[derive(Debug)]
struct Automaton {
    dfa: DFA,
    cache: Cache,
    start: LazyStateID,
    /// The live states after all texts.
    live: HashSet<LazyStateID>,
}

impl Automaton {
    /// `None` if the pattern looks back, or if its automaton is too large.
    fn new(pattern: &Pattern) -> Option<Self> {
        let Alternatives { patterns, .. } =
            Alternatives::new(&pattern.wider_expression(), pattern.syntax()).ok()?;
        let config = Config::new().which_captures(WhichCaptures::None);
        let nfa = Compiler::new()
            .configure(config)
            .build_many_from_hir(&patterns)
            .ok()?;
        let looks_forward = |look| matches!(look, Look::End | Look::EndLF);
        if !nfa.look_set_any().iter().all(looks_forward) {
            return None;
        }
        let config = DFA::config()
            .cache_capacity(MAX_STATES)
            .minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let mut cache = dfa.create_cache();
        let input = Input::new("").anchored(Anchored::Yes);
        let start = dfa.start_state_forward(&mut cache, &input).ok()?;
        let live = live_states(&dfa, &mut cache, start)?;
        Some(Self {
            dfa,
            cache,
            start,
            live,
        })
    }

    /// Whether a match may have these bytes in it.
    fn may_match_around(&mut self, bytes: &[u8]) -> bool {
        self.survives(self.live.iter().copied().collect(), bytes)
    }

    /// Whether a match may begin with these bytes.
    fn may_match(&mut self, bytes: &[u8]) -> bool {
        self.survives(vec![self.start], bytes)
    }

    /// Whether one of the states leads to a live one with these bytes.
    fn survives(&mut self, mut states: Vec<LazyStateID>, bytes: &[u8]) -> bool {
        for byte in bytes {
            let mut next = Vec::with_capacity(states.len());
            for state in states {
                match self.dfa.next_state(&mut self.cache, state, *byte) {
                    Ok(state) if self.live.contains(&state) => next.push(state),
                    Ok(_) => {}
                    Err(_) => return true,
                }
            }
            next.sort_unstable();
            next.dedup();
            states = next;
        }
        !states.is_empty()
    }
}

/// The live states that texts lead to from `start`; `None` if there are too many states.
fn live_states(dfa: &DFA, cache: &mut Cache, start: LazyStateID) -> Option<HashSet<LazyStateID>> {
    let classes = dfa.byte_classes().representatives(..);
    let bytes: Vec<u8> = classes.filter_map(|unit| unit.as_u8()).collect();
    let mut live = HashSet::new();
    let mut seen = HashSet::from([start]);
    let mut found = vec![start];
    while let Some(state) = found.pop() {
        let mut is_live = !dfa.next_eoi_state(cache, state).ok()?.is_dead();
        for byte in &bytes {
            let next = dfa.next_state(cache, state, *byte).ok()?;
            if !next.is_dead() {
                is_live = true;
                if seen.insert(next) {
                    found.push(next);
                }
            }
        }
        if is_live {
            live.insert(state);
        }
        if seen.len() > MAX_SEARCHED {
            return None;
        }
    }
    Some(live)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pretokenizer(pattern: &str) -> Pretokenizer {
        let pattern = Pattern::named(pattern).map_or_else(|| Pattern::new(pattern), Ok);
        Pretokenizer::of(pattern.unwrap())
    }

    #[test]
    fn strings_that_a_pattern_always_cuts_are_known() {
        let table: [(&str, &[&str], &[&str]); 6] = [
            (
                "gpt2",
                &["a1", "  a", "'sure", "a b", "a\n", "\n\n a"],
                &[" a", "1234", "sure"],
            ),
            (
                "cl100k",
                &["1234", "a1", "'sure", "\na", " 1"],
                &["123", ".abc", "!\n\n", "\n \n"],
            ),
            (
                "o200k",
                &["1234", "aB", "\na"],
                &["a's", "Bc", "BC", "/\n/"],
            ),
            (
                "llama3",
                &["'Sure", "a b", "\t\tx"],
                &["\tx", "\u{4e2d}\u{6587}"],
            ),
            (
                "llama3-place-digits",
                &["1234", "a1", "1 "],
                &["123", "\tx", "12"],
            ),
            (
                r"\p{N}{1,3}| ?\p{L}+",
                &["1234", "a1", "!", "a b"],
                &[" ab", "ab", "12"],
            ),
        ];
        for (pattern, cut, whole) in table {
            let mut strings = UncutStrings::new(&pretokenizer(pattern));
            for text in cut {
                assert!(strings.cuts_always(text.as_bytes()), "{pattern}: {text:?}");
            }
            for text in whole {
                assert!(!strings.cuts_always(text.as_bytes()), "{pattern}: {text:?}");
            }
        }
    }

    /// Against the pretokens of all short texts over an alphabet.
    #[test]
    fn no_pretoken_has_a_string_that_is_always_cut() {
        let alphabet = ["a", "B", "1", " ", "\n", "'", "s", ".", "é", "中"];
        let mut texts = vec![String::new()];
        let mut all = Vec::new();
        for _ in 0..4 {
            let longer = texts.iter();
            let longer = longer.flat_map(|text| alphabet.map(|c| format!("{text}{c}")));
            texts = longer.collect();
            all.extend_from_slice(&texts);
        }
        for pattern in [
            "gpt2",
            "cl100k",
            "o200k",
            "o200k-place-digits",
            r"\p{N}{1,3}| ?\p{L}+|\s+|[^\s\p{L}]+",
        ] {
            let pretokenizer = pretokenizer(pattern);
            let mut strings = UncutStrings::new(&pretokenizer);
            let mut within = HashSet::new();
            let mut whole = HashSet::new();
            for text in &all {
                pretokenizer.for_each(text.as_bytes(), &mut |range| {
                    let pretoken = &text.as_bytes()[range];
                    whole.insert(pretoken.to_vec());
                    for begin in 0..pretoken.len() {
                        for end in begin + 1..=pretoken.len() {
                            within.insert(pretoken[begin..end].to_vec());
                        }
                    }
                });
            }
            for bytes in &within {
                assert!(!strings.cuts_always(bytes), "{pattern}: {bytes:?}");
            }
            for bytes in &whole {
                assert!(!strings.is_never_whole(bytes), "{pattern}: {bytes:?}");
            }
            // Strings of two characters that no text of four has whole are decided, except for
            // white space, whose last character is read as part of the match.
            let short = all.iter().filter(|text| text.chars().count() == 2);
            for text in short.filter(|text| !within.contains(text.as_bytes())) {
                assert!(
                    strings.cuts_always(text.as_bytes()) || text.contains([' ', '\n']),
                    "{pattern}: {text:?}"
                );
            }
        }
    }
}
