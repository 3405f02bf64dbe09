//! Symbols, and what two of them become.
//!
//! A *symbol* is a number for a text that can be an operand of a merge: a piece (the symbol is its
//! id), or a character that occurs in a piece but is no piece (numbered from the number of pieces
//! on). Two symbols merge if their joined text is a piece. The joined text is not assembled: its
//! hash is computed from the hashes of the two symbols (see [`base::hash`](crate::base::hash)), and
//! the piece found by the hash is compared with the two texts, byte by byte. The table of pieces by
//! hashes is the one of the model.
//!
//! The *merge rank* of a piece is its place in the order in which merges happen, from 0; it comes
//! from the caller ([`score_ranks`](crate::encode::bpe::score_ranks) for pieces with scores).
//!
//! Example: pieces `a` (id 0), `th` (1), `the` (2), ranks 0, 1, 2. The characters t, h, e occur in
//! pieces but are no pieces, so they get the symbols 3, 4, 5. The pair (3, 4) has the joined
//! text `th` and merges to symbol 1 with rank 1; the pair (1, 5) becomes symbol 2 with rank 2; the
//! pair (4, 5) does not merge.
//!
//! Cost: a lookup is one multiplication and one load if the Bloom filter says that no
//! piece has the hash, which is the most frequent answer.

use std::sync::Arc;

use crate::base::hash::TextHash;
use crate::base::num::{high_u32, low_u32};
use crate::encode::bloom_filter::BloomFilter;
use crate::piece::{PieceHashes, PieceTable};

/// Not a symbol: a character that occurs in no piece.
pub(in crate::encode::bpe) const NO_SYMBOL: u32 = u32::MAX;
/// The rank of a pair that does not merge.
pub(in crate::encode::bpe) const NO_RANK: u32 = u32::MAX;

/// What two adjacent symbols become: the merge rank in the upper half, the symbol in the lower
/// half. A lower number is an earlier merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::encode::bpe) struct SymbolMerge(u64);

impl SymbolMerge {
    /// The pair does not merge: all bits are set.
    pub(in crate::encode::bpe) const NONE: Self = Self(u64::MAX);
    /// The pair was not looked up yet, or is in no table of pairs.
    pub(in crate::encode::bpe) const UNSEEN: Self = Self(u64::MAX - 1);

    pub(in crate::encode::bpe) fn new(rank: u32, symbol: u32) -> Self {
        Self(u64::from(rank) << 32 | u64::from(symbol))
    }

    #[inline]
    pub(in crate::encode::bpe) fn rank(self) -> u32 {
        high_u32(self.0)
    }

    #[inline]
    pub(in crate::encode::bpe) fn symbol(self) -> u32 {
        low_u32(self.0)
    }

    #[inline]
    pub(in crate::encode::bpe) fn bits(self) -> u64 {
        self.0
    }
}

/// All symbols of a model; see the [module page](self).
#[derive(Debug)]
pub(in crate::encode::bpe) struct SymbolTable {
    /// By piece.
    ranks: Vec<u32>,
    /// The symbols that are no pieces: their texts and hashes.
    chars: Vec<(Box<[u8]>, TextHash)>,
    /// The hashes of the pieces. Most joined texts are no pieces, and the filter answers fastest.
    filter: BloomFilter,
    /// All pieces of the model; those without a rank are no symbols.
    pieces: Arc<PieceHashes>,
}

impl SymbolTable {
    /// The table of these pieces, with the merge rank of each; those with [`NO_RANK`] are no
    /// symbols.
    pub(in crate::encode::bpe) fn new(pieces: Arc<PieceHashes>, ranks: Vec<u32>) -> Self {
        let mergeable = ranks.iter().filter(|rank| **rank != NO_RANK).count();
        let mut filter = BloomFilter::with_capacity(mergeable * 2);
        for (hash, rank) in pieces.hashes().iter().zip(&ranks) {
            if *rank != NO_RANK {
                filter.insert(hash.hash());
            }
        }
        Self {
            ranks,
            chars: Vec::new(),
            filter,
            pieces,
        }
    }

    /// The number of symbols.
    #[inline]
    fn len(&self) -> usize {
        self.ranks.len() + self.chars.len()
    }

    /// The number of pieces; lower symbols are pieces.
    pub(in crate::encode::bpe) fn piece_count(&self) -> usize {
        self.ranks.len()
    }

    /// The symbol of a character: the piece with its text, or a new symbol.
    pub(in crate::encode::bpe) fn add_char(&mut self, pieces: &PieceTable, char: &[u8]) -> u32 {
        let hash = self.pieces.hasher().hash(char);
        if let Some(id) = self.find(pieces, char, hash.hash()) {
            return id;
        }
        // There are at most MAX_PIECES pieces, and fewer other characters than MAX_TEXT_BYTES, so
        // the number of symbols fits.
        let symbol = low_u32(self.len() as u64);
        self.chars.push((char.into(), hash));
        symbol
    }

    /// Gives the characters that are no pieces of another table of this model the same symbols
    /// here. They must be no pieces of this table either, and no character may have been added
    /// before.
    pub(in crate::encode::bpe) fn copy_chars(&mut self, other: &Self) {
        self.chars.clone_from(&other.chars);
    }

    /// The piece with this text, whose hash is given.
    pub(in crate::encode::bpe) fn find(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        hash: u64,
    ) -> Option<u32> {
        let is_it = |id| pieces.text(id as usize) == text;
        let id = self.pieces.find(hash, is_it)?;
        (self.rank(id) != NO_RANK).then_some(id)
    }

    /// The piece with this text.
    pub(in crate::encode::bpe) fn find_text(
        &self,
        pieces: &PieceTable,
        text: &[u8],
    ) -> Option<u32> {
        let hash = self.pieces.hasher().hash(text).hash();
        self.may_be_piece(hash)
            .then(|| self.find(pieces, text, hash))?
    }

    /// The hashes of both parts of `text` for each place between two bytes.
    pub(in crate::encode::bpe) fn splits(&self, text: &[u8]) -> impl Iterator<Item = [u64; 2]> {
        self.pieces.hasher().splits(text)
    }

    /// The merge rank of a piece; [`NO_RANK`] for other symbols.
    #[inline]
    pub(in crate::encode::bpe) fn rank(&self, symbol: u32) -> u32 {
        self.ranks.get(symbol as usize).copied().unwrap_or(NO_RANK)
    }

    /// The hash of the text of a symbol; 0 for [`NO_SYMBOL`].
    pub(in crate::encode::bpe) fn hash(&self, symbol: u32) -> u64 {
        self.text_hash(symbol).hash()
    }

    /// Extends prefix sums of a short text; see [`TextHasher::prefix_sum`].
    #[inline]
    pub(in crate::encode::bpe) fn prefix_sum(&self, before: u64, char: u64, end: u8) -> (u64, u64) {
        self.pieces.hasher().prefix_sum(before, char, end)
    }

    /// The hash of the joined text of two symbols; `None` if one of them is [`NO_SYMBOL`].
    #[inline]
    pub(in crate::encode::bpe) fn joined_hash(&self, left: u32, right: u32) -> Option<u64> {
        Some(self.known_hash(left)?.join(self.known_hash(right)?))
    }

    /// The hash of the text of a symbol; that of an empty text for [`NO_SYMBOL`].
    #[inline]
    pub(in crate::encode::bpe) fn text_hash(&self, symbol: u32) -> TextHash {
        self.known_hash(symbol).unwrap_or(TextHash::EMPTY)
    }

    /// The hash of the text of a symbol; `None` for [`NO_SYMBOL`].
    #[inline]
    fn known_hash(&self, symbol: u32) -> Option<TextHash> {
        let pieces = self.pieces.hashes();
        match (symbol as usize).checked_sub(pieces.len()) {
            None => Some(pieces[symbol as usize]),
            Some(char) => self.chars.get(char).map(|(_, hash)| *hash),
        }
    }

    /// False only if no piece has this hash.
    #[inline]
    pub(in crate::encode::bpe) fn may_be_piece(&self, hash: u64) -> bool {
        self.filter.may_contain(hash)
    }

    /// What two symbols become.
    #[cfg(feature = "formats")]
    pub(in crate::encode::bpe) fn merge_of(
        &self,
        pieces: &PieceTable,
        pair: [u32; 2],
    ) -> SymbolMerge {
        match self.joined_hash(pair[0], pair[1]) {
            Some(hash) if self.may_be_piece(hash) => self.find_merge(pieces, pair, hash),
            _ => SymbolMerge::NONE,
        }
    }

    /// What `left` and `right` become; `hash` is the hash of their joined text.
    pub(super) fn find_merge(&self, pieces: &PieceTable, pair: [u32; 2], hash: u64) -> SymbolMerge {
        let [left, right] = pair;
        if !self.is_known(left) || !self.is_known(right) {
            return SymbolMerge::NONE;
        }
        // The texts are loaded only if there is a piece with the tag: if the Bloom filter was
        // wrong, there is none.
        let is_joined = |id: u32| {
            let text = pieces.text(id as usize);
            let (left, right) = (self.text(pieces, left), self.text(pieces, right));
            text.len() == left.len() + right.len()
                && text.starts_with(left)
                && text.ends_with(right)
        };
        let piece = self.pieces.find(hash, is_joined);
        match piece.map(|symbol| (self.rank(symbol), symbol)) {
            None | Some((NO_RANK, _)) => SymbolMerge::NONE,
            Some((rank, symbol)) => SymbolMerge::new(rank, symbol),
        }
    }

    /// Whether all symbols, and so all ranks, are below 65,535.
    #[inline]
    pub(super) fn fits_16_bits(&self) -> bool {
        self.len() < usize::from(u16::MAX)
    }

    /// Whether it is a symbol, and not [`NO_SYMBOL`].
    #[inline]
    pub(in crate::encode::bpe) fn is_known(&self, symbol: u32) -> bool {
        (symbol as usize) < self.len()
    }

    /// The text of a symbol.
    #[inline]
    pub(in crate::encode::bpe) fn text<'t>(
        &'t self,
        pieces: &'t PieceTable,
        symbol: u32,
    ) -> &'t [u8] {
        match (symbol as usize).checked_sub(pieces.len()) {
            None => pieces.text(symbol as usize),
            Some(char) => &self.chars[char].0,
        }
    }
}
