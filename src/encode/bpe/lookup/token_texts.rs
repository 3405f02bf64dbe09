//! Finds the tokens of a byte-level vocabulary by their bytes.
//!
//! A token of at most 15 bytes is a [`SmallKey`]: two words with its bytes and its length, so that it is
//! compared with one of the words of a text without a loop. A Bloom filter rejects most texts that are
//! no token; a table of slots has the number of the token for a hash, and its two words stand at the
//! place that its number tells. Longer texts are rejected by a filter of their ends, since their hash
//! takes one multiplication after the other, for each byte.
//!
//! Cost: a multiplication and a load for most texts that are no token, two more loads for the others.
//! Memory: 26 to 35 bytes for each token. The hash has a random key, so that no vocabulary can be
//! prepared whose slots collide.

use std::hash::{BuildHasher, RandomState};

use super::symbol_table::SymbolTable;
use crate::base::num::{high_u64, low_u64, mix_words};
use crate::encode::bloom_filter::BloomFilter;
use crate::encode::chunk_cache::SmallKey;
use crate::piece::{PieceTable, Slots};

/// See the [module page](self).
#[derive(Debug)]
pub(in crate::encode::bpe) struct TokenTexts {
    filter: BloomFilter,
    slots: Slots,
    /// By token, the words of its key; zeros for longer tokens.
    keys: Vec<[u64; 2]>,
    seed: [u64; 2],
    /// The longer tokens, by [`ends_hash`].
    long: BloomFilter,
}

/// The tokens with their texts.
#[derive(Debug, Clone, Copy)]
pub(in crate::encode::bpe) struct TokenLookup<'e> {
    pub(in crate::encode::bpe) texts: &'e TokenTexts,
    pub(in crate::encode::bpe) symbols: &'e SymbolTable,
    pub(in crate::encode::bpe) tokens: &'e PieceTable,
}

impl TokenTexts {
    /// The tokens are not empty, and no two are equal.
    pub(in crate::encode::bpe) fn new(tokens: &PieceTable) -> Self {
        let texts = || (0..tokens.len()).map(|at| tokens.text(at));
        let seed = [0, 1].map(|number: u64| RandomState::new().hash_one(number));
        let words = |token: &[u8]| SmallKey::of(token).map_or([0; 2], |key| key.words());
        let keys: Vec<[u64; 2]> = texts().map(words).collect();
        let mut filter = BloomFilter::with_capacity(keys.len() * 2);
        let mut slots = Slots::for_numbers(keys.len());
        for (number, words) in keys.iter().enumerate().filter(|(_, words)| words[1] != 0) {
            let hash = hash(words, &seed);
            filter.insert(hash);
            if let Err(free) = slots.find(hash, |other| keys[other as usize] == *words) {
                slots.set(free, hash, number);
            }
        }
        let long: Vec<u64> = texts()
            .filter(|token| SmallKey::of(token).is_none())
            .filter_map(ends_hash)
            .collect();
        Self {
            filter,
            slots,
            keys,
            seed,
            long: BloomFilter::of(&long),
        }
    }
}

impl TokenLookup<'_> {
    /// The token with these bytes.
    pub(in crate::encode::bpe) fn find(&self, text: &[u8]) -> Option<u32> {
        match SmallKey::of(text) {
            Some(key) => self.find_short(&key),
            None => self.find_long(text),
        }
    }

    /// The token with this key.
    #[inline(always)]
    pub(in crate::encode::bpe) fn find_short(&self, key: &SmallKey) -> Option<u32> {
        let TokenTexts {
            filter,
            slots,
            keys,
            seed,
            ..
        } = self.texts;
        let words = key.words();
        let hash = hash(&words, seed);
        if !filter.may_contain(hash) {
            return None;
        }
        slots.find(hash, |token| keys[token as usize] == words).ok()
    }

    /// The token with these bytes, which are too many for a small key.
    #[inline(never)]
    pub(in crate::encode::bpe) fn find_long(&self, text: &[u8]) -> Option<u32> {
        let may_be = self.texts.long.may_contain(ends_hash(text)?);
        may_be.then(|| self.symbols.find_text(self.tokens, text))?
    }
}

/// A random hash of the words of a key.
#[inline(always)]
fn hash(words: &[u64; 2], seed: &[u64; 2]) -> u64 {
    let product = u128::from(words[0] ^ seed[0]) * u128::from(words[1] ^ seed[1]);
    low_u64(product) ^ high_u64(product)
}

/// A hash of the first and the last eight bytes and the length; `None` for shorter texts.
#[inline]
fn ends_hash(bytes: &[u8]) -> Option<u64> {
    let first = u64::from_le_bytes(*bytes.first_chunk()?);
    let last = u64::from_le_bytes(*bytes.last_chunk()?);
    Some(mix_words(first, last ^ bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::{PieceHashes, PieceKind};

    #[test]
    fn tokens_of_every_length_are_found_and_no_others() {
        let text = |length: usize, last: u8| [vec![b'a'; length - 1], vec![last]].concat();
        let mut tokens = PieceTable::default();
        let lengths = [1, 2, 7, 8, 9, 14, 15, 16, 17, 24, 100];
        for length in lengths {
            tokens.push(&text(length, 0), 0.0, PieceKind::Normal);
        }
        let hashes = PieceHashes::of_unique(&tokens, |_| false).unwrap();
        let symbols = SymbolTable::new(hashes.into(), (0..11).collect());
        let texts = TokenTexts::new(&tokens);
        let lookup = TokenLookup {
            texts: &texts,
            symbols: &symbols,
            tokens: &tokens,
        };
        for length in 1..120 {
            let expected = lengths.iter().position(|other| *other == length);
            let found = lookup.find(&text(length, 0)).map(|token| token as usize);
            assert_eq!(found, expected, "{length} bytes");
            assert_eq!(lookup.find(&text(length, 1)), None, "{length} bytes");
        }
        assert_eq!(lookup.find(b""), None);
    }
}
