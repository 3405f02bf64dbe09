//! BPE by a list of merges.
//!
//! A part begins as one symbol for each character. Of all adjacent symbols that are a pair of the
//! list, those that stand first in the list are merged, the leftmost first, until there are none. A
//! pair that is listed twice has the place of the last one.
//!
//! What is not in the vocabulary is replaced by the tokens of its bytes, if there are all, or by the
//! unknown token; without one, it disappears, and what follows moves to its place.
//!
//! Example: with the merges `l o`, `o w` and `lo w`, `low` is `lo` `w` after the first merge, and
//! then `low`; the second one is never made.
//!
//! Cost: n log n for a part of n characters, by a heap of the pairs that can be merged.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use super::{ModelToken, ModelVocabulary, NoUnknownToken};
use crate::base::num::low_u32;
use crate::base::steps;

/// What a BPE model does with characters, and with parts as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct BpeOptions {
    /// The probability with which the library skips a merge. Here merges are skipped only by
    /// sampling.
    pub dropout: Option<f32>,
    /// The token of what is not in the vocabulary.
    pub unknown_token: Option<String>,
    /// What the tokens of all characters but the first begin with.
    pub continuing_subword_prefix: Option<String>,
    /// What the token of the last character ends with.
    pub end_of_word_suffix: Option<String>,
    /// Whether adjacent unknown characters are one token.
    pub fuse_unknown: bool,
    /// Whether unknown characters become tokens of their bytes, such as `<0x0A>`.
    pub byte_fallback: bool,
    /// Whether a part that is a token is that token, whatever merging gives.
    pub whole_parts_first: bool,
}

/// A vocabulary with a list of merges.
#[derive(Debug)]
pub struct BpeModel {
    vocabulary: ModelVocabulary,
    /// In the order of the file.
    list: Vec<ListedMerge>,
    /// The texts of the merges, if tokens share an id: then the ids do not say them.
    shared_texts: Vec<[Box<str>; 2]>,
    /// The same by pairs; made when it is first needed.
    merges: OnceLock<PairMerges>,
    options: BpeOptions,
    unknown: Option<u32>,
    /// The tokens of bytes.
    bytes: Box<[Option<u32>; 256]>,
    /// The tokens of ASCII characters without prefix and suffix.
    ascii: Box<[Option<u32>; 128]>,
}

/// The ids of two tokens that merge, and of what they become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedMerge {
    /// The first token.
    pub left: u32,
    /// The second token.
    pub right: u32,
    /// What they become.
    pub joined: u32,
}

/// A merge of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Merge {
    /// Its place in the list.
    rank: u32,
    /// What it makes.
    id: u32,
}

type PairMerges = HashMap<u64, Merge, foldhash::fast::RandomState>;

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// A text of a merge that is not in the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergeNotInVocabulary {
    /// The place of the merge in the list.
    pub(crate) merge: usize,
    /// The text.
    pub(crate) text: String,
}

/// A symbol of a part while it is merged: a place in a list that is linked in both directions.
#[derive(Debug, Clone, Copy)]
struct PartSymbol {
    id: u32,
    /// Bytes; 0 if it was merged into the one before.
    length: u32,
    before: u32,
    after: u32,
}

/// No symbol.
const NONE: u32 = u32::MAX;

/// The next merge is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextMerge {
    rank: u32,
    /// The number of the left symbol.
    at: u32,
    id: u32,
}

/// Buffers for a part.
#[derive(Debug, Default)]
pub(super) struct BpeState {
    symbols: Vec<PartSymbol>,
    queue: BinaryHeap<Reverse<NextMerge>>,
    /// The merge of each symbol with the one after it.
    merges: Vec<Merge>,
}

/// Up to this many symbols, looking at all pairs for each merge is faster than a heap.
const MAX_SCANNED: usize = 48;

/// No merge.
const NO_MERGE: Merge = Merge {
    rank: u32::MAX,
    id: u32::MAX,
};

/// The first of the merges with the lowest rank.
fn first_merge(merges: &[Merge]) -> Option<(usize, Merge)> {
    let mut first = None;
    let mut lowest = NO_MERGE.rank;
    for (at, merge) in merges.iter().enumerate() {
        if merge.rank < lowest {
            lowest = merge.rank;
            first = Some((at, *merge));
        }
    }
    first
}

/// Appends the tokens of what is left after all merges.
fn push_tokens(state: &BpeState, out: &mut Vec<ModelToken>) {
    let mut at = 0;
    for symbol in state.symbols.iter().filter(|symbol| symbol.length > 0) {
        let end = at + symbol.length as usize;
        out.push(ModelToken::new(symbol.id, at..end));
        at = end;
    }
}

impl BpeModel {
    /// `merges` are the texts of the pairs, in the order of the list.
    pub(crate) fn new<'m>(
        vocabulary: ModelVocabulary,
        merges: impl Iterator<Item = [&'m str; 2]>,
        options: BpeOptions,
    ) -> Result<Self, MergeNotInVocabulary> {
        let prefix = options.continuing_subword_prefix.as_deref();
        let prefix = prefix.unwrap_or_default().len();
        let mut list = Vec::with_capacity(merges.size_hint().1.unwrap_or_default());
        let mut shared_texts = Vec::new();
        let mut joined = String::new();
        for (merge, [left, right]) in merges.enumerate() {
            let id_of = |text: &str| {
                let id = vocabulary.id(text);
                id.ok_or_else(|| MergeNotInVocabulary {
                    merge,
                    text: text.to_owned(),
                })
            };
            let [left_id, right_id] = [id_of(left)?, id_of(right)?];
            joined.clear();
            joined.push_str(left);
            // The library counts bytes and does not look at them.
            joined.push_str(right.get(prefix..).unwrap_or_default());
            if !vocabulary.has_unique_ids() {
                shared_texts.push([left, right].map(Box::from));
            }
            list.push(ListedMerge {
                left: left_id,
                right: right_id,
                joined: id_of(&joined)?,
            });
        }
        let byte = |byte: usize| vocabulary.id(&format!("<0x{byte:02X}>"));
        let has_affix = [
            &options.continuing_subword_prefix,
            &options.end_of_word_suffix,
        ];
        let has_affix = has_affix
            .into_iter()
            .flatten()
            .any(|affix| !affix.is_empty());
        let ascii = |code: usize| {
            let c = char::from(u8::try_from(code).ok().filter(|_| !has_affix)?);
            vocabulary.id(c.encode_utf8(&mut [0; 4]))
        };
        Ok(Self {
            bytes: Box::new(std::array::from_fn(byte)),
            ascii: Box::new(std::array::from_fn(ascii)),
            unknown: (options.unknown_token.as_deref()).and_then(|text| vocabulary.id(text)),
            vocabulary,
            merges: OnceLock::new(),
            list,
            shared_texts,
            options,
        })
    }

    /// The tokens with their ids.
    pub fn vocabulary(&self) -> &ModelVocabulary {
        &self.vocabulary
    }

    /// What it does with characters, and with parts as a whole.
    pub fn options(&self) -> &BpeOptions {
        &self.options
    }

    /// The merges, in the order of the list.
    pub fn merges(&self) -> &[ListedMerge] {
        &self.list
    }

    /// The texts of the parts of each merge, in the order of the file.
    pub(crate) fn merge_texts(&self) -> impl ExactSizeIterator<Item = [&str; 2]> {
        let text = |id| self.vocabulary.text(id).unwrap_or_default();
        let merges = self.list.iter().enumerate();
        merges.map(move |(number, merge)| match self.shared_texts.get(number) {
            Some(texts) => texts.each_ref().map(|text| &**text),
            None => [text(merge.left), text(merge.right)],
        })
    }

    /// The merges by pairs. Of equal pairs, the last one counts.
    fn table(&self) -> &PairMerges {
        self.merges.get_or_init(|| {
            let merges = (0..).zip(&self.list);
            let merges = merges.map(|(rank, merge)| {
                let id = merge.joined;
                (key(merge.left, merge.right), Merge { rank, id })
            });
            merges.collect()
        })
    }

    /// Whether there is a token for each byte, such as `<0x0A>`.
    pub(crate) fn has_all_bytes(&self) -> bool {
        self.bytes.iter().all(Option::is_some)
    }

    pub(in crate::pipeline) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    pub(super) fn encode(
        &self,
        part: &str,
        state: &mut BpeState,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        if self.options.whole_parts_first
            && let Some(id) = self.vocabulary.id(part)
        {
            out.push(ModelToken::new(id, 0..part.len()));
            return Ok(());
        }
        self.push_symbols(part, state)?;
        self.merge(state);
        push_tokens(state, out);
        Ok(())
    }

    /// Appends the tokens of a part if some merges are skipped. Whether the part is a token as a
    /// whole does not matter.
    pub(super) fn sample(
        &self,
        part: &str,
        skips_merge: &mut dyn FnMut() -> bool,
        state: &mut BpeState,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        self.push_symbols(part, state)?;
        self.merge_by_heap(skips_merge, state);
        push_tokens(state, out);
        Ok(())
    }

    /// The symbols of the characters.
    fn push_symbols(&self, part: &str, state: &mut BpeState) -> Result<(), NoUnknownToken> {
        let symbols = &mut state.symbols;
        symbols.clear();
        let mut push = |id, range: Range<usize>| {
            let at = low_u32(symbols.len() as u64);
            symbols.push(PartSymbol {
                id,
                length: low_u32(range.len() as u64),
                before: at.checked_sub(1).unwrap_or(NONE),
                after: at + 1,
            });
        };
        let mut unknown: Option<Range<usize>> = None;
        for (at, c) in part.char_indices() {
            let end = at + c.len_utf8();
            if let Some(id) = self.token_of(part, at..end) {
                if let (Some(before), Some(unknown)) = (unknown.take(), self.unknown) {
                    push(unknown, before);
                }
                push(id, at..end);
                continue;
            }
            if self.options.byte_fallback && self.push_bytes(part, at..end, &mut push) {
                continue;
            }
            if self.options.unknown_token.is_none() {
                continue;
            }
            let id = self.unknown.ok_or(NoUnknownToken)?;
            match &mut unknown {
                Some(before) if self.options.fuse_unknown => {
                    // Bytes of fallback may stand between; the length counts.
                    before.end += end - at;
                }
                before => {
                    if let Some(before) = before.replace(at..end) {
                        push(id, before);
                    }
                }
            }
        }
        if let (Some(before), Some(unknown)) = (unknown, self.unknown) {
            push(unknown, before);
        }
        if let Some(last) = symbols.last_mut() {
            last.after = NONE;
        }
        Ok(())
    }

    /// The token of a character, with what its place adds to it.
    fn token_of(&self, part: &str, range: Range<usize>) -> Option<u32> {
        let text = &part[range.clone()];
        if let [byte] = text.as_bytes()
            && let Some(Some(id)) = self.ascii.get(usize::from(*byte))
        {
            return Some(*id);
        }
        self.vocabulary.id(&self.affixed(part, range))
    }

    fn affixed<'p>(&self, part: &'p str, range: Range<usize>) -> Cow<'p, str> {
        let prefix = self.options.continuing_subword_prefix.as_deref();
        let suffix = self.options.end_of_word_suffix.as_deref();
        let prefix = prefix.filter(|_| range.start > 0).unwrap_or_default();
        let suffix = suffix.filter(|_| range.end == part.len());
        let suffix = suffix.unwrap_or_default();
        match prefix.is_empty() && suffix.is_empty() {
            true => Cow::Borrowed(&part[range]),
            false => Cow::Owned([prefix, &part[range], suffix].concat()),
        }
    }

    /// The tokens of the bytes of a character with its affixes; false if there are not all. The unknown
    /// characters before it come after them, as in the library.
    fn push_bytes(
        &self,
        part: &str,
        range: Range<usize>,
        push: &mut impl FnMut(u32, Range<usize>),
    ) -> bool {
        let text = self.affixed(part, range);
        let mut ids = text.bytes().map(|byte| self.bytes[usize::from(byte)]);
        if ids.clone().any(|id| id.is_none()) {
            return false;
        }
        while let Some(Some(id)) = ids.next() {
            push(id, 0..1);
        }
        true
    }

    /// Makes all merges.
    fn merge(&self, state: &mut BpeState) {
        // The heap can merge a pair that has come to the place of another one with the same result.
        // That pair exists only if two tokens have one id.
        if state.symbols.len() <= MAX_SCANNED && self.vocabulary.has_unique_ids() {
            self.merge_short(state);
        } else {
            self.merge_by_heap(|| false, state);
        }
    }

    /// The same for few symbols: looks at all pairs for each merge.
    fn merge_short(&self, state: &mut BpeState) {
        let BpeState {
            symbols, merges, ..
        } = state;
        let table = self.table();
        let find = |left: PartSymbol, right: PartSymbol| {
            let merge = table.get(&key(left.id, right.id));
            merge.copied().unwrap_or(NO_MERGE)
        };
        merges.clear();
        let pairs = symbols.windows(2);
        merges.extend(pairs.map(|pair| find(pair[0], pair[1])));
        while let Some((at, merge)) = first_merge(merges) {
            steps::count(merges.len());
            symbols[at].id = merge.id;
            symbols[at].length += symbols[at + 1].length;
            symbols.remove(at + 1);
            merges.remove(at);
            if at > 0 {
                merges[at - 1] = find(symbols[at - 1], symbols[at]);
            }
            if at < merges.len() {
                merges[at] = find(symbols[at], symbols[at + 1]);
            }
        }
    }

    /// Makes the merges in their order. A merge for which `skips_merge` returns true waits until
    /// another one is made, as in the library.
    fn merge_by_heap(&self, mut skips_merge: impl FnMut() -> bool, state: &mut BpeState) {
        let BpeState { symbols, queue, .. } = state;
        let table = self.table();
        queue.clear();
        let candidate = |at: u32, left: u32, right: u32| {
            let Merge { rank, id } = *table.get(&key(left, right))?;
            Some(Reverse(NextMerge { rank, at, id }))
        };
        let pairs = (0..).zip(symbols.windows(2));
        queue.extend(pairs.filter_map(|(at, pair)| candidate(at, pair[0].id, pair[1].id)));
        let mut skipped = Vec::new();
        while let Some(Reverse(next)) = queue.pop() {
            steps::count(1);
            if skips_merge() {
                skipped.push(Reverse(next));
                continue;
            }
            queue.extend(skipped.drain(..));
            let PartSymbol {
                id,
                length,
                before,
                after,
            } = symbols[next.at as usize];
            if length == 0 || after == NONE {
                continue;
            }
            let right = symbols[after as usize];
            let merge = table.get(&key(id, right.id));
            if merge.is_none_or(|merge| merge.id != next.id) {
                continue;
            }
            symbols[next.at as usize] = PartSymbol {
                id: next.id,
                length: length + right.length,
                before,
                after: right.after,
            };
            symbols[after as usize].length = 0;
            if right.after != NONE {
                symbols[right.after as usize].before = next.at;
                let last = symbols[right.after as usize].id;
                queue.extend(candidate(next.at, next.id, last));
            }
            if before != NONE {
                let first = symbols[before as usize].id;
                queue.extend(candidate(before, first, next.id));
            }
        }
    }
}
