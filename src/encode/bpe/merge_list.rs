//! A list of merges as an order of tokens.
//!
//! tokenizers, GPT-2 and minbpe merge by a *list* of pairs: of all neighbouring symbols whose pair
//! is in the list, the one that is listed first merges, of equal pairs the leftmost. tiktoken and
//! spiece merge by *rank*: of all neighbours whose joined bytes are a token, those with the lowest
//! rank merge, the leftmost first. A list may have several pairs of one token, or lack pairs whose
//! joined bytes are a token: Llama 3's has 280,147 pairs for 127,744 tokens, DeepSeek V3's one for
//! each. Still, **every list is an order of tokens**, which this module finds.
//!
//! **Locality.** Let two neighbouring symbols, or any run of symbols, span some bytes of a text. No
//! merge has crossed the borders of the span. The candidates within it are those of its own bytes
//! alone, and outside of it none is added or removed; so the merges within the span, in their
//! order, are the first ones of merging its bytes alone. This holds for both rules.
//!
//! **Lemma.** Let l and r be neighbours while a text is merged by the list, and let their joined
//! bytes be a token p. Merging the bytes of p alone comes to the two symbols l and r (locality). If
//! the pair is in the list, its next and last merge is this pair. If it is not, l and r remain.
//!
//! So a token p is of one of three kinds, which merging its bytes alone by the list tells:
//!
//! | its bytes become | the neighbours that join to p | |
//! |---|---|---|
//! | p | one pair, the last one that merged; its place in the list is the *place* of p | merged |
//! | two symbols | these two, which the list does not merge | divided |
//! | three symbols or more | none, in no text | unreachable |
//!
//! **Theorem.** Merging by the list equals merging by rank, if the ranks of the merged tokens have
//! the order of their places, and no token is divided. *Proof.* By induction over the merges both
//! have the same symbols. Let neighbours l and r be a candidate of the list. By the lemma they are
//! the last pair of p, which is a merged token, so that they are a candidate by rank, too. Let them
//! be a candidate by rank: p is a token, not divided, and not unreachable by the lemma, so it is
//! merged and its last pair is l and r, which is in the list. Both rules have the same candidates,
//! compare them by the place of p, and take the leftmost of several places of one token. ∎
//!
//! With characters for bytes, the same holds for a list that merges characters ([`Units`]). A text can
//! have characters that are no token; they are in no pair, and neither is a token with one.
//!
//! A divided token would be merged by rank but not by the list; its own bytes are the counterexample.
//! No published vocabulary that we know has one.
//!
//! Example: the tokens `a b c ab bc abc` and the list `a b`, `b c`, `a bc`. Alone, `abc` becomes
//! `ab c`, which is not listed: `abc` is divided. With `ab c` in the list at any place it is
//! merged, and `a bc` never happens.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::pair_merger::PairMerger;
use crate::base::num::low_u32;
use crate::base::utf8::lossy_chars;
use crate::base::{TextArena, is_char};

/// The number of bytes: the symbol of the first token.
const BYTES: u32 = 256;

/// What a list merges first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    /// Bytes.
    Bytes,
    /// Characters of well-formed tokens. One of several bytes is no merged token.
    Characters,
}

/// The symbol of a character that is no token.
const NO_SYMBOL: u32 = u32::MAX;

/// A pair of a list, by *symbols*: bytes by value, and from 256 on tokens by position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedPair {
    pub(crate) left: u32,
    pub(crate) right: u32,
    /// What it becomes.
    pub(crate) joined: u32,
}

/// The symbol of the token at a position. There are at most 2^24 tokens.
pub(crate) fn symbol_of_token(tokens: &TextArena, at: usize) -> u32 {
    match tokens.get(at) {
        [byte] => u32::from(*byte),
        _ => BYTES + low_u32(at as u64),
    }
}

/// The order of tokens that a list of merges stands for.
#[derive(Debug)]
pub(crate) struct ListOrder {
    /// The positions of all tokens: single bytes, merged tokens in the order of their places, and
    /// tokens that no text is merged to.
    pub(crate) tokens: Vec<usize>,
    /// How many of them are single bytes or merged.
    pub(crate) merging: usize,
    /// The divided tokens, and the two symbols that remain of each.
    pub(crate) divided: Vec<(usize, [u32; 2])>,
}

impl ListOrder {
    /// The order of a list. A byte that is no token stands in no pair.
    ///
    /// It takes a few searches for each pair, and merges few tokens.
    pub(crate) fn new(tokens: &TextArena, pairs: &[ListedPair], units: Units) -> Self {
        let characters = match units {
            Units::Bytes => HashMap::default(),
            Units::Characters => characters(tokens),
        };
        let (list, repeated) = PairList::new(pairs, &characters);
        let mut last_merges = vec![None; BYTES as usize + tokens.len()];
        for (pair, place) in pairs.iter().zip(0..) {
            let ListedPair { left, right, .. } = *pair;
            let merge = LastMerge { place, left, right };
            let joined = pair.joined as usize;
            if last_merges[joined].is_none()
                && !repeated.contains(&place)
                && list.reaches(merge, &last_merges)
            {
                last_merges[joined] = Some(merge);
            }
        }
        let mut single = Vec::new();
        let mut merged: Vec<(u32, usize)> = Vec::new();
        let mut others = Vec::new();
        let mut divided = Vec::new();
        let mut merger = PairMerger::default();
        for (at, known) in last_merges[BYTES as usize..].iter().enumerate() {
            let bytes = tokens.get(at);
            if let Some(merge) = known {
                merged.push((merge.place, at));
                continue;
            }
            if bytes.len() == 1 || list.is_character(BYTES + low_u32(at as u64)) {
                single.push(at);
                continue;
            }
            // Few tokens are left: those that no text is merged to, or that have a part with a
            // later place.
            let symbols: Vec<u32> = match units {
                Units::Bytes => bytes.iter().map(|byte| u32::from(*byte)).collect(),
                Units::Characters => {
                    let of = |c: char| match u8::try_from(c).ok().filter(u8::is_ascii) {
                        Some(byte) => u32::from(byte),
                        None => characters.get(&c).copied().unwrap_or(NO_SYMBOL),
                    };
                    lossy_chars(bytes).map(of).collect()
                }
            };
            let merge_of = |left, right| list.merge_of(left, right);
            match merger.merge(symbols.into_iter(), merge_of) {
                ([_], Some([left, right])) => {
                    let merge = list.merge_of(left, right);
                    merged.extend(merge.map(|(place, _)| (place, at)));
                }
                (symbols, _) => {
                    others.push(at);
                    if let [left, right] = symbols {
                        divided.push((at, [*left, *right]));
                    }
                }
            }
        }
        merged.sort_unstable();
        let merging = single.len() + merged.len();
        let merged = merged.into_iter().map(|(_, at)| at);
        Self {
            tokens: single.into_iter().chain(merged).chain(others).collect(),
            merging,
            divided,
        }
    }

    /// The order of tokens whose ids are ranks.
    pub(crate) fn by_id(ids: &[u32]) -> Self {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|at| ids[*at]);
        Self {
            merging: order.len(),
            tokens: order,
            divided: Vec::new(),
        }
    }

    /// The bytes of the first divided token, in two parts: those of the symbols that remain of it.
    pub(crate) fn first_divided<'t>(&self, tokens: &'t TextArena) -> Option<[&'t [u8]; 2]> {
        let (at, [left, _]) = *self.divided.first()?;
        let middle = match left.checked_sub(BYTES) {
            Some(at) => tokens.get(at as usize).len(),
            None => 1,
        };
        Some(tokens.get(at).split_at(middle).into())
    }
}

/// The symbols of the tokens that are one character of several bytes.
fn characters(tokens: &TextArena) -> HashMap<char, u32, RandomState> {
    let character = |at: usize| {
        let text = tokens.get(at);
        let is_one = (2..=4).contains(&text.len()) && is_char(text);
        let c = lossy_chars(text).next().filter(|_| is_one)?;
        Some((c, symbol_of_token(tokens, at)))
    };
    (0..tokens.len()).filter_map(character).collect()
}

/// The pairs of a list by their symbols.
struct PairList {
    /// Whether the token is a character that a text begins with; by position.
    is_character: Vec<bool>,
    /// Places and results of pairs of two bytes. Most pairs that are looked up are such pairs.
    of_bytes: Vec<Option<(u32, u32)>>,
    of_others: HashMap<u64, (u32, u32), RandomState>,
}

/// The last merge of a token whose parts are bytes, or tokens that merge at an earlier place.
#[derive(Debug, Clone, Copy)]
struct LastMerge {
    place: u32,
    left: u32,
    right: u32,
}

impl PairList {
    /// The list, and the places of pairs that stand in it again: tokenizers takes the last.
    fn new(
        pairs: &[ListedPair],
        characters: &HashMap<char, u32, RandomState>,
    ) -> (Self, HashSet<u32>) {
        let numbers = characters.values().map(|symbol| (symbol - BYTES) as usize);
        let mut is_character = vec![false; numbers.clone().max().map_or(0, |last| last + 1)];
        numbers.for_each(|at| is_character[at] = true);
        let mut list = Self {
            is_character,
            of_bytes: vec![None; 1 << 16],
            of_others: HashMap::with_capacity_and_hasher(pairs.len(), RandomState::default()),
        };
        let mut repeated = HashSet::new();
        for (pair, place) in pairs.iter().zip(0..) {
            let merge = (place, pair.joined);
            let before = match byte_pair(pair.left, pair.right) {
                Some(index) => list.of_bytes[index].replace(merge),
                None => list
                    .of_others
                    .insert(pair_key(pair.left, pair.right), merge),
            };
            repeated.extend(before.map(|(place, _)| place));
        }
        (list, repeated)
    }

    /// The place of a pair, and the symbol that it becomes.
    fn merge_of(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        match byte_pair(left, right) {
            Some(index) => self.of_bytes[index],
            None => self.of_others.get(&pair_key(left, right)).copied(),
        }
    }

    /// Whether a symbol is a character of several bytes that a text begins with.
    fn is_character(&self, symbol: u32) -> bool {
        let at = symbol.checked_sub(BYTES);
        at.is_some_and(|at| self.is_character.get(at as usize) == Some(&true))
    }

    /// Whether both parts of a merge are bytes or known, and merging their joined bytes comes to
    /// the two parts.
    ///
    /// As in `encode::bpe::strategies::token_pairs`: the merges of both parts are undone, the
    /// latest first. Each time, the two symbols at the border existed at the same time; if their
    /// pair is listed before the next merge that makes one of them part of something larger, they
    /// would merge, of equal places the leftmost. The places of the merges within a part ascend,
    /// since its own parts have earlier places.
    fn reaches(&self, merge: LastMerge, last_merges: &[Option<LastMerge>]) -> bool {
        let last_of = |symbol: u32| last_merges[symbol as usize];
        let is_known =
            |symbol: u32| symbol < BYTES || last_of(symbol).is_some() || self.is_character(symbol);
        let LastMerge {
            mut left,
            mut right,
            ..
        } = merge;
        if !is_known(left) || !is_known(right) {
            return false;
        }
        // The places at which the two symbols become part of something larger.
        let [mut left_until, mut right_until] = [u32::MAX; 2];
        loop {
            match (last_of(left), last_of(right)) {
                (Some(before), Some(after)) if before.place > after.place => {
                    left = before.right;
                    left_until = before.place;
                }
                (_, Some(after)) => {
                    right = after.left;
                    right_until = after.place;
                }
                (Some(before), None) => {
                    left = before.right;
                    left_until = before.place;
                }
                (None, None) => return true,
            }
            let place = self.merge_of(left, right).map(|(place, _)| place);
            if place.is_some_and(|place| place < left_until && place <= right_until) {
                return false;
            }
        }
    }
}

fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The position of a pair of two bytes in the table of such pairs.
fn byte_pair(left: u32, right: u32) -> Option<usize> {
    (left < BYTES && right < BYTES).then_some((left * BYTES + right) as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All bytes, then these tokens.
    fn tokens(texts: &[Vec<u8>]) -> TextArena {
        let mut tokens = TextArena::default();
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        for text in bytes.chain(texts.iter().cloned()) {
            tokens.push(&text);
        }
        tokens
    }

    fn position(tokens: &TextArena, text: &[u8]) -> Option<usize> {
        tokens.iter().position(|token| token == text)
    }

    fn symbol(tokens: &TextArena, text: &[u8]) -> Option<u32> {
        position(tokens, text).map(|at| symbol_of_token(tokens, at))
    }

    /// The definition of both rules: the lowest rank first, the leftmost of equal ranks first.
    fn merge_naively(text: &[u8], rank: impl Fn(&[u8], &[u8]) -> Option<usize>) -> Vec<Vec<u8>> {
        let mut parts: Vec<Vec<u8>> = text.iter().map(|byte| vec![*byte]).collect();
        loop {
            let ranks = parts.windows(2).map(|pair| rank(&pair[0], &pair[1]));
            let ranked = ranks.enumerate().filter_map(|(at, rank)| Some((rank?, at)));
            let Some((_, at)) = ranked.min() else {
                return parts;
            };
            let right = parts.remove(at + 1);
            parts[at].extend(right);
        }
    }

    /// All texts of up to seven of these bytes.
    fn texts(alphabet: &[u8]) -> Vec<Vec<u8>> {
        let mut texts = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..7 {
            let to = texts.len();
            for at in from..to {
                for byte in alphabet {
                    texts.push([&texts[at][..], &[*byte]].concat());
                }
            }
            from = to;
        }
        texts
    }

    /// Tokens over two letters, and pairs of them in any order: some missing, some repeated.
    fn vocabulary_and_list() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<(usize, usize)>)> {
        let text = prop::collection::vec(prop::sample::select(&b"ab"[..]), 2..6);
        let texts = prop::collection::hash_set(text, 1..9);
        texts.prop_flat_map(|texts| {
            let texts: Vec<Vec<u8>> = texts.into_iter().collect();
            let splits: Vec<(usize, usize)> = (0..texts.len())
                .flat_map(|at| (1..texts[at].len()).map(move |split| (at, split)))
                .collect();
            let most = splits.len() + 3;
            let list = prop::collection::vec(prop::sample::select(splits), 0..most);
            (Just(texts), list)
        })
    }

    #[test]
    fn without_a_reason_all_texts_are_equal_and_with_one_the_example_differs() {
        let all_texts = texts(b"ab");
        let mut exact = 0;
        let mut differing = 0;
        let counts = std::cell::RefCell::new((&mut exact, &mut differing));
        proptest!(ProptestConfig::with_cases(1500), |((texts, splits) in vocabulary_and_list())| {
            let tokens = tokens(&texts);
            let find = |text: &[u8]| symbol(&tokens, text);
            let pairs: Vec<ListedPair> = splits
                .iter()
                .filter_map(|(at, split)| {
                    let (left, right) = texts[*at].split_at(*split);
                    Some(ListedPair {
                        left: find(left)?,
                        right: find(right)?,
                        joined: find(&texts[*at])?,
                    })
                })
                .collect();
            let order = ListOrder::new(&tokens, &pairs, Units::Bytes);
            let by_list = |left: &[u8], right: &[u8]| {
                let pair = [find(left)?, find(right)?];
                pairs.iter().rposition(|listed| [listed.left, listed.right] == pair)
            };
            let by_rank = |left: &[u8], right: &[u8]| {
                let joined = position(&tokens, &[left, right].concat())?;
                order.tokens.iter().position(|at| *at == joined)
            };
            let mut counts = counts.borrow_mut();
            match order.first_divided(&tokens) {
                None => {
                    *counts.0 += 1;
                    for text in &all_texts {
                        let [list, rank] = [merge_naively(text, by_list), merge_naively(text, by_rank)];
                        prop_assert_eq!(list, rank, "{:?}", text);
                    }
                }
                Some(parts) => {
                    *counts.1 += 1;
                    let text = parts.concat();
                    prop_assert_eq!(merge_naively(&text, by_list), parts);
                    prop_assert_ne!(merge_naively(&text, by_list), merge_naively(&text, by_rank));
                }
            }
        });
        assert!(exact > 100 && differing > 100, "{exact} {differing}");
    }

    #[test]
    fn several_pairs_of_a_token_are_one_rank() {
        let texts = ["aa", "aaa", "aaaa", "ab"].map(|text| text.as_bytes().to_vec());
        let tokens = tokens(&texts);
        let at = |text: &str| symbol(&tokens, text.as_bytes()).unwrap();
        let pair = |left: &str, right: &str| ListedPair {
            left: at(left),
            right: at(right),
            joined: at(&format!("{left}{right}")),
        };
        let list = [
            pair("a", "b"),
            pair("a", "aa"),
            pair("aa", "aa"),
            pair("a", "a"),
            pair("aa", "a"),
        ];
        let order = ListOrder::new(&tokens, &list, Units::Bytes);
        let merged: Vec<&[u8]> = order.tokens[256..]
            .iter()
            .map(|at| tokens.get(*at))
            .collect();
        // `aaaa` becomes `aa aa`, not `aaa a`: its place is 2.
        assert_eq!(merged, [&b"ab"[..], b"aaaa", b"aa", b"aaa"]);
        assert_eq!((order.merging, order.divided.len()), (260, 0));
    }
}
