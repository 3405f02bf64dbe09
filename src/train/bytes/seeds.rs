//! Required tokens: the merges that make them come before all others.
//!
//! The tokens are taken in their order. Each is segmented by the merges so far, and the first two of
//! its parts are merged (the first two that may be, if some tokens are forbidden), until it is one.
//! So each merge makes a prefix of what is left, and tokens with equal prefixes share merges.
//!
//! For example, `abc`, `abd` and `bc`:
//!
//! | token | parts | merges | then |
//! |---|---|---|---|
//! | `abc` | `a b c` | `a`+`b`, `ab`+`c` | `abc` |
//! | `abd` | `ab d` | `ab`+`d` | `abd` |
//! | `bc` | `b c` | `b`+`c` | `bc` |
//!
//! A text that is a required token is one token at the end, too: the merges that make it precede all
//! others, and merges apply in their order. By the lemma of [`merge`](crate::train::bpe::merge), no
//! text is made twice, since a text that is a token already would be segmented as that token.
//!
//! Training begins with words that are segmented by these merges (`impl WordSpelling for SeedTokens`), so that the
//! counts of pairs are those after them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::options::ByteTrainOptions;
use crate::train::bpe::bans::TokenBans;
use crate::train::bpe::symbols::SymbolArena;
use crate::train::bpe::word_buffer::{WordSlot, WordSpelling};
use crate::train::options::OptionError;
use crate::train::split::SplitRules;

/// The tokens that exist before training: the bytes, and the parts of required tokens.
#[derive(Debug)]
pub(super) struct SeedTokens {
    /// The texts of all symbols: the bytes in the order of their ids, then one for each merge.
    texts: Vec<Box<[u8]>>,
    /// The symbol of each byte.
    bytes: [u32; 256],
    /// The symbol that two symbols merge to. Its number is also the rank of the merge.
    merges: HashMap<(u32, u32), u32>,
    /// All symbols.
    slots: Vec<u32>,
    bans: TokenBans,
}

impl SeedTokens {
    /// `bytes` are all bytes in the order of their ids.
    ///
    /// # Errors
    /// A required token that is empty, not a pretoken of its own, too long, or forbidden, or whose
    /// parts are.
    pub(super) fn new(options: &ByteTrainOptions, bytes: &[u8]) -> Result<Self, OptionError> {
        let bans = bans(options)?;
        let mut seeds = Self {
            texts: bytes.iter().map(|byte| Box::from([*byte])).collect(),
            bytes: [0; 256],
            merges: HashMap::new(),
            slots: Vec::new(),
            bans,
        };
        for (symbol, byte) in (0..).zip(bytes) {
            seeds.bytes[usize::from(*byte)] = symbol;
        }
        for token in &options.required_tokens {
            check(token, options, &seeds.bans)?;
            seeds.add(token)?;
        }
        seeds.slots = (0..).take(seeds.texts.len()).collect();
        Ok(seeds)
    }

    /// Adds the merges that make a token.
    fn add(&mut self, token: &str) -> Result<(), OptionError> {
        let mut parts = self.segment(token.as_bytes());
        while parts.len() > 1 {
            let text = |symbol: u32| &*self.texts[symbol as usize];
            let mut pairs = parts.windows(2).map(|pair| (pair[0], pair[1]));
            let Some(pair) = pairs.find(|(left, right)| self.bans.allow(text(*left), text(*right)))
            else {
                return Err(piece_error(
                    token,
                    "needs a merge that forbidden_tokens rules out; remove it from one of the two lists",
                ));
            };
            let joined = [text(pair.0), text(pair.1)].concat().into_boxed_slice();
            let merged = u32::try_from(self.texts.len())
                .map_err(|_| piece_error(token, "is one too many"))?;
            self.texts.push(joined);
            self.merges.insert(pair, merged);
            parts = self.segment(token.as_bytes());
        }
        Ok(())
    }

    /// The symbols of a text after all merges.
    fn segment(&self, text: &[u8]) -> Vec<u32> {
        let mut symbols: Vec<u32> = text
            .iter()
            .map(|byte| self.bytes[usize::from(*byte)])
            .collect();
        let merged = |left: u32, right: u32| self.merges.get(&(left, right)).copied();
        // The merges that are possible, with the place of the left symbol: the lowest rank first, then
        // the leftmost.
        let pairs = symbols.windows(2).zip(0..);
        let mut queue: BinaryHeap<Reverse<(u32, usize)>> = pairs
            .filter_map(|(pair, at)| Some(Reverse((merged(pair[0], pair[1])?, at))))
            .collect();
        if queue.is_empty() {
            return symbols;
        }
        /// Where a symbol was that is a part of its left neighbour now.
        const GONE: u32 = u32::MAX;
        let mut next: Vec<usize> = (1..=symbols.len()).collect();
        let mut before: Vec<Option<usize>> =
            (0..symbols.len()).map(|at| at.checked_sub(1)).collect();
        while let Some(Reverse((rank, at))) = queue.pop() {
            let right = next[at];
            // The symbols may have been merged with others since.
            let is_there =
                right < symbols.len() && merged(symbols[at], symbols[right]) == Some(rank);
            if !is_there {
                continue;
            }
            symbols[at] = rank;
            symbols[right] = GONE;
            next[at] = next[right];
            if let Some(after) = before.get_mut(next[at]) {
                *after = Some(at);
            }
            let neighbours = [before[at].map(|left| (left, at)), Some((at, next[at]))];
            for (left, right) in neighbours.into_iter().flatten() {
                if right < symbols.len()
                    && let Some(rank) = merged(symbols[left], symbols[right])
                {
                    queue.push(Reverse((rank, left)));
                }
            }
        }
        symbols.retain(|symbol| *symbol != GONE);
        symbols
    }

    /// The texts of the merges, in order.
    pub(super) fn merged(&self) -> &[Box<[u8]>] {
        &self.texts[self.bytes.len()..]
    }

    /// The initial symbols of training.
    pub(super) fn symbols(&self) -> SymbolArena {
        let texts = self.texts.iter().map(|text| &**text);
        let symbols = SymbolArena::of_byte_strings(texts, &SplitRules::of_bytes(u32::MAX));
        match self.bans.is_empty() {
            true => symbols,
            false => symbols.with_bans(self.bans.clone()),
        }
    }
}

/// Words are segmented by the merges of the seeds.
impl WordSpelling for SeedTokens {
    fn length(&self, word: &[u8]) -> usize {
        self.segment(word).len()
    }

    fn slots(&self) -> &[u32] {
        &self.slots
    }

    fn spell<S: WordSlot>(&self, word: &[u8], slot_of: &[S], slots: &mut [S]) {
        for (slot, symbol) in slots.iter_mut().zip(self.segment(word)) {
            *slot = slot_of[symbol as usize];
        }
    }
}

/// The forbidden tokens of the options.
fn bans(options: &ByteTrainOptions) -> Result<TokenBans, OptionError> {
    let error = |text: &[u8], problem| OptionError::Piece {
        option: "forbidden_tokens",
        piece: String::from_utf8_lossy(text).into_owned(),
        problem,
    };
    for text in options.never_made.iter().chain(&options.never_merged) {
        if text.is_empty() {
            return Err(error(text, "is empty; remove it from the list"));
        }
    }
    let mut never_made = options.never_made.iter();
    if let Some(byte) = never_made.find(|text| text.len() == 1) {
        return Err(error(
            byte,
            "is one byte, and all bytes are tokens; it can be one that is never merged",
        ));
    }
    let texts = [&options.never_made, &options.never_merged];
    let [never_made, never_merged] = texts.map(|texts| texts.iter().map(Vec::as_slice));
    Ok(TokenBans::new(never_made, never_merged))
}

/// Refuses a required token that text cannot yield.
fn check(token: &str, options: &ByteTrainOptions, bans: &TokenBans) -> Result<(), OptionError> {
    let limit = super::length_limit(options.max_token_length);
    let is_special = |special: &String| !special.is_empty() && token.contains(special.as_str());
    let problem = if token.is_empty() {
        "is empty; remove it from the list"
    } else if bans.is_never_made(token.as_bytes()) {
        "is one of forbidden_tokens, too; remove it from one of the two lists"
    } else if u32::try_from(token.len()).is_ok_and(|length| length <= limit) {
        if options.split_special_tokens && options.special_tokens.iter().any(is_special) {
            "has a special token, which is cut out of text; remove it, or do without split_special_tokens"
        } else if options.pretokenizer.pretokens(token) != [token] {
            "is divided by the pattern, so that no text yields it; remove it, or choose another pattern"
        } else {
            return Ok(());
        }
    } else {
        "is longer than max_token_length allows; raise that"
    };
    Err(piece_error(token, problem))
}

fn piece_error(token: &str, problem: &'static str) -> OptionError {
    OptionError::Piece {
        option: "required_tokens",
        piece: token.to_owned(),
        problem,
    }
}
