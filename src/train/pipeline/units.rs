//! Pretokens -> the characters that become tokens, and the symbols that pretokens begin with.
//!
//! A *unit* is a character of a pretoken; in a byte-level pipeline it is a byte, whose character is the
//! one that stands for it in a `tokenizer.json`. A symbol is a unit with its affixes: all units of a
//! pretoken but the first have the prefix, the last one has the suffix.
//!
//! Example: with the prefix `##` and the suffix `</w>`, `low` is `l`, `##o`, `##w</w>`.
//!
//! Symbols are numbered: first the characters by their code points, then the others. tokenizers numbers
//! these as it comes across them, word by word in the order of a hash table, which is another one in each
//! run. Here the words are sorted by their characters: one of those orders, and always the same.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroUsize;

use crate::base::byte_chars::{byte_char, byte_of};
use crate::base::num::low_u32;
use crate::train::bpe::word_buffer::{WordSlot, WordSpelling};
use crate::train::word_table::WordTable;

/// What the tokens of a pretoken consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PretokenUnits {
    Bytes,
    Characters,
}

impl PretokenUnits {
    /// One more than the largest code of these characters.
    fn codes(self, characters: &[char]) -> usize {
        match self {
            Self::Bytes => 256,
            Self::Characters => characters.iter().max().map_or(0, |c| *c as usize + 1),
        }
    }

    /// The character of a code.
    fn character(self, code: usize) -> Option<char> {
        match self {
            Self::Bytes => u8::try_from(code).ok().map(byte_char),
            Self::Characters => u32::try_from(code).ok().and_then(char::from_u32),
        }
    }

    /// The code of a character; `None` if it is no unit.
    fn code(self, c: char) -> Option<usize> {
        match self {
            Self::Bytes => byte_of(c).map(usize::from),
            Self::Characters => Some(c as usize),
        }
    }

    /// The order of words by their characters.
    fn order(self, a: &[u8], b: &[u8]) -> Ordering {
        let characters = |word| <[u8]>::iter(word).map(|byte| byte_char(*byte));
        match self {
            Self::Bytes => characters(a).cmp(characters(b)),
            // The order of code points is that of UTF-8.
            Self::Characters => a.cmp(b),
        }
    }

    /// Passes the code of each unit of a word with its place.
    #[inline]
    fn for_each(self, word: &[u8], mut on_unit: impl FnMut(usize, UnitPlace)) {
        match self {
            Self::Bytes => {
                for (at, byte) in word.iter().enumerate() {
                    let place = UnitPlace {
                        is_first: at == 0,
                        is_last: at + 1 == word.len(),
                    };
                    on_unit(usize::from(*byte), place);
                }
            }
            Self::Characters => {
                // Words are parts of valid text.
                for (at, c) in std::str::from_utf8(word).unwrap_or_default().char_indices() {
                    let place = UnitPlace {
                        is_first: at == 0,
                        is_last: at + c.len_utf8() == word.len(),
                    };
                    on_unit(c as usize, place);
                }
            }
        }
    }
}

/// Where a unit stands in its word.
#[derive(Debug, Clone, Copy)]
struct UnitPlace {
    is_first: bool,
    is_last: bool,
}

/// What units have before and after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Affixes {
    /// Before all units but the first.
    pub(super) prefix: Option<String>,
    /// After the last unit.
    pub(super) suffix: Option<String>,
}

impl Affixes {
    pub(super) fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or_default()
    }

    pub(super) fn suffix(&self) -> &str {
        self.suffix.as_deref().unwrap_or_default()
    }

    /// The number of the affixes of a place; 0 for none.
    #[inline]
    fn variant(&self, place: UnitPlace) -> usize {
        let has_prefix = !place.is_first && !self.prefix().is_empty();
        let has_suffix = place.is_last && !self.suffix().is_empty();
        usize::from(has_prefix) | usize::from(has_suffix) << 1
    }

    /// A character with the affixes of a variant.
    fn apply(&self, variant: usize, c: char) -> String {
        let mut text = String::new();
        if variant & 1 != 0 {
            text.push_str(self.prefix());
        }
        text.push(c);
        if variant & 2 != 0 {
            text.push_str(self.suffix());
        }
        text
    }

    /// Whether text of these characters can have the whole prefix, or the whole suffix.
    fn can_be_text_of(&self, alphabet: &[char]) -> bool {
        let can_be =
            |affix: &str| !affix.is_empty() && affix.chars().all(|c| alphabet.contains(&c));
        can_be(self.prefix()) || can_be(self.suffix())
    }

    /// Whether both affixes have a character in common.
    fn overlap(&self) -> bool {
        self.prefix().chars().any(|c| self.suffix().contains(c))
    }

    /// Whether a text has one of the affixes.
    fn are_in(&self, text: &str) -> bool {
        let mut affixes = [self.prefix(), self.suffix()].into_iter();
        affixes.any(|affix| !affix.is_empty() && text.contains(affix))
    }
}

/// The characters that become tokens, by their code points: those of `initial`, and those of the words
/// by their counts, `limit` of them at most.
pub(super) fn alphabet(
    words: &WordTable,
    units: PretokenUnits,
    initial: &[char],
    limit: Option<NonZeroUsize>,
) -> Vec<char> {
    let mut counts: Vec<u64> = Vec::new();
    for shard in words.shards() {
        shard.visit(|word, count| {
            units.for_each(word, |code, _| {
                if counts.len() <= code {
                    counts.resize(code + 1, 0);
                }
                counts[code] = counts[code].saturating_add(count);
            });
        });
    }
    let counted = counts.into_iter().enumerate();
    let counted = counted.filter(|(_, count)| *count > 0);
    let counted = counted.filter_map(|(code, count)| Some((units.character(code)?, count)));
    let mut counts: HashMap<char, u64> = counted.collect();
    counts.extend(initial.iter().map(|c| (*c, u64::MAX)));
    let mut kept: Vec<(char, u64)> = counts.into_iter().collect();
    kept.sort_unstable_by_key(|(c, count)| (Reverse(*count), *c));
    kept.truncate(limit.map_or(usize::MAX, NonZeroUsize::get));
    let mut characters: Vec<char> = kept.into_iter().map(|(c, _)| c).collect();
    characters.sort_unstable();
    characters
}

/// A unit with the affixes of a [variant](Affixes::variant).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct AffixedUnit {
    variant: usize,
    code: usize,
}

/// The first word that has a unit, and the number of the unit there.
struct FirstPlace {
    word: Box<[u8]>,
    at: usize,
}

/// The symbols that words begin with, and how words are spelled with them.
pub(super) struct Spelling {
    units: PretokenUnits,
    affixes: Affixes,
    /// The number of codes.
    codes: usize,
    /// For each variant of affixes, the slot of each code.
    slots: Vec<u32>,
    /// Whether two different symbols can have one text.
    is_ambiguous: bool,
    /// The texts of the symbols.
    pub(super) texts: Vec<String>,
}

impl Spelling {
    /// Of the characters of an alphabet, as they stand in the words.
    pub(super) fn new(
        words: &WordTable,
        units: PretokenUnits,
        alphabet: &[char],
        affixes: Affixes,
    ) -> Self {
        let codes = units.codes(alphabet);
        let variants = affixes.variant(UnitPlace {
            is_first: false,
            is_last: true,
        });
        let mut spelling = Self {
            units,
            is_ambiguous: false,
            affixes,
            codes,
            slots: vec![u32::WORD_START; (variants + 1) * codes],
            texts: Vec::new(),
        };
        let mut symbols: HashMap<String, u32> = HashMap::new();
        for (symbol, c) in (0..).zip(alphabet) {
            spelling.texts.push(c.to_string());
            symbols.insert(c.to_string(), symbol);
            if let Some(code) = units.code(*c) {
                spelling.slots[code] = symbol;
            }
        }
        for AffixedUnit { variant, code } in spelling.affixed_units(words) {
            let Some(c) = units.character(code) else {
                continue;
            };
            let text = spelling.affixes.apply(variant, c);
            let symbol = match symbols.get(&text) {
                Some(symbol) => *symbol,
                None => {
                    // There are four for each character.
                    let symbol = low_u32(spelling.texts.len() as u64);
                    symbols.insert(text.clone(), symbol);
                    spelling.texts.push(text);
                    symbol
                }
            };
            spelling.slots[variant * codes + code] = symbol;
        }
        let affixes = &spelling.affixes;
        spelling.is_ambiguous =
            affixes.overlap() || affixes.can_be_text_of(alphabet) && spelling.have_affixes(words);
        spelling
    }

    /// Whether a word, without the characters that are left out, has the text of an affix.
    fn have_affixes(&self, words: &WordTable) -> bool {
        let mut text = String::new();
        let mut has_affix = false;
        for shard in words.shards() {
            shard.visit(|word, _| {
                text.clear();
                self.units.for_each(word, |code, _| {
                    text.extend(self.units.character(code).filter(|_| self.has(code)));
                });
                has_affix |= self.affixes.are_in(&text);
            });
        }
        has_affix
    }

    /// The units with affixes, in the order in which the words have them, if the words are sorted by
    /// their characters.
    fn affixed_units(&self, words: &WordTable) -> Vec<AffixedUnit> {
        let mut first_places: HashMap<AffixedUnit, FirstPlace> = HashMap::new();
        for shard in words.shards() {
            shard.visit(|word, _| {
                let mut at = 0;
                self.units.for_each(word, |code, place| {
                    at += 1;
                    let variant = self.affixes.variant(place);
                    if variant == 0 || !self.has(code) {
                        return;
                    }
                    let here = || FirstPlace {
                        word: word.into(),
                        at,
                    };
                    match first_places.entry(AffixedUnit { variant, code }) {
                        Entry::Vacant(entry) => {
                            entry.insert(here());
                        }
                        // In one word, the first place counts.
                        Entry::Occupied(mut entry) => {
                            if self.units.order(word, &entry.get().word).is_lt() {
                                entry.insert(here());
                            }
                        }
                    }
                });
            });
        }
        let mut places: Vec<(AffixedUnit, FirstPlace)> = first_places.into_iter().collect();
        places.sort_unstable_by(|(_, a), (_, b)| {
            let words = self.units.order(&a.word, &b.word);
            words.then(a.at.cmp(&b.at))
        });
        places.into_iter().map(|(unit, _)| unit).collect()
    }

    /// The order of words by their characters.
    pub(super) fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.units.order(a, b)
    }

    /// Whether two different symbols, or what they merge to, can have one text.
    ///
    /// The text of a symbol is that of its units, with the prefix unless it begins its word, and with the
    /// suffix if it ends it. Let two symbols with one text differ. Then one has an affix, say the prefix,
    /// that the other lacks, or their units would be equal. So the text of the other, which is units and
    /// perhaps the suffix, begins with the prefix. If the affixes have no character in common, the prefix lies
    /// in the units, and a word has it. The same holds for the suffix.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// Whether the character of a code is in the alphabet.
    #[inline]
    fn has(&self, code: usize) -> bool {
        code < self.codes && self.slots[code] != u32::WORD_START
    }

    /// The symbols of a word.
    pub(super) fn symbols(&self, word: &[u8]) -> Vec<u32> {
        let mut symbols = vec![0; self.length(word)];
        self.spell(word, &self.slots, &mut symbols);
        symbols
    }
}

impl WordSpelling for Spelling {
    fn length(&self, word: &[u8]) -> usize {
        let mut length = 0;
        self.units
            .for_each(word, |code, _| length += usize::from(self.has(code)));
        length
    }

    fn slots(&self) -> &[u32] {
        &self.slots
    }

    fn spell<S: WordSlot>(&self, word: &[u8], slot_of: &[S], slots: &mut [S]) {
        let mut free = slots.iter_mut();
        self.units.for_each(word, |code, place| {
            let variant = self.affixes.variant(place);
            if self.has(code)
                && let Some(slot) = free.next()
            {
                *slot = slot_of[variant * self.codes + code];
            }
        });
    }
}
