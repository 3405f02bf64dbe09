//! Which character classes are adjacent in some piece.
//!
//! For the method see [`bigrams`](crate::encode::bigrams); in addition every class has 128 bits for
//! the ASCII characters that may follow it, so that ASCII text needs no class of the second
//! character. For example, if `t h` is the only bigram that begins with `t`, bit 0x68 is the only
//! one that is set for the class of `t`.
//!
//! Cost: one load per bigram; 16 bytes per class besides the shared set.

use crate::base::num::low_u32;
use crate::encode::bigrams::{BigramSet, BigramSetBuilder};

/// The bigrams of the pieces, by class.
#[derive(Debug)]
pub(in crate::encode::bpe) struct ClassBigrams {
    /// For each class, a bit for each ASCII character that may follow.
    ascii_followers: Vec<[u64; 2]>,
    others: BigramSet,
}

/// Collects bigrams for [`ClassBigrams`].
#[derive(Debug)]
pub(in crate::encode::bpe) struct ClassBigramsBuilder {
    ascii_followers: Vec<[u64; 2]>,
    others: BigramSetBuilder,
}

impl ClassBigramsBuilder {
    /// No bigrams, and no class except 0.
    pub(in crate::encode::bpe) fn new() -> Self {
        Self {
            ascii_followers: vec![[0; 2]],
            others: BigramSetBuilder::new(),
        }
    }

    /// Adds the next class.
    pub(super) fn add_class(&mut self) {
        self.ascii_followers.push([0; 2]);
    }

    /// Adds the bigram of class `before`, which is not 0, and an ASCII character.
    #[inline]
    pub(super) fn add_ascii(&mut self, before: u32, byte: u8) {
        self.ascii_followers[before as usize][usize::from(byte / 64 % 2)] |= 1 << (byte % 64);
    }

    /// Adds the bigram of two classes other than 0, of which the second is not that of an ASCII
    /// character.
    #[inline]
    pub(super) fn add(&mut self, before: u32, class: u32) {
        self.others.add(before, class);
    }

    pub(in crate::encode::bpe) fn build(self) -> ClassBigrams {
        ClassBigrams {
            ascii_followers: self.ascii_followers,
            others: self.others.build(),
        }
    }
}

impl ClassBigrams {
    /// The number of classes, class 0 included.
    pub(in crate::encode::bpe) fn classes(&self) -> u32 {
        low_u32(self.ascii_followers.len() as u64)
    }

    /// A bit for each ASCII character that may follow this class in a piece.
    pub(super) fn ascii_followers(&self, class: u32) -> [u64; 2] {
        self.ascii_followers[class as usize]
    }

    /// Whether the ASCII character `byte` may follow this class in a piece.
    #[inline]
    pub(in crate::encode::bpe) fn can_precede_ascii(&self, before: u32, byte: u8) -> bool {
        self.ascii_followers[before as usize][usize::from(byte / 64 % 2)] >> (byte % 64) & 1 != 0
    }

    /// Whether the two classes, of which the second is not that of an ASCII character, may be
    /// adjacent in a piece.
    #[inline]
    pub(in crate::encode::bpe) fn can_be_adjacent(&self, before: u32, after: u32) -> bool {
        self.others.can_be_adjacent(before, after)
    }
}
