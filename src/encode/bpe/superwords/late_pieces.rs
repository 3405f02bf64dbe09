//! The merges of the second layer, found when a model is loaded.
//!
//! # Method
//! A *late piece* is one that the second layer may make. Where it is made, no symbol crosses the
//! ends of its text, neither then nor at the end of the first layer, since symbols only grow. So by
//! locality (see `docs/design/ADAPTING.md`) the first layer has made of this text what it makes of
//! the text alone: the *tokens* of the piece. All symbols of the second layer consist of such
//! tokens. Therefore
//!
//! - two tokens of the first layer are joined by a merge only if they are neighbours in the tokens
//!   of some late piece;
//! - two symbols that join to a late piece meet between two of its tokens.
//!
//! Each late piece is encoded by the first layer. Its neighbouring tokens are entered as adjacent
//! pairs, and for each place between two tokens at which both parts are pieces, the two parts are
//! entered with what they become. That is the definition of a merge, so nothing has to be known
//! about which of these merges happen.
//!
//! Late are all pieces of the second layer, and those of the first that the merges of the first
//! layer cannot make. For example the pieces `ab` (-9, second layer), `abc` (-1, first layer) and
//! no `bc`: the first layer gives `a b c`, and only when the second has made `ab`, `abc` follows.
//! At the end of the first layer no pair joins to a piece of the first layer, so one part of such a
//! piece has to be late itself. Therefore the pieces of the first layer are searched from the
//! shortest to the longest for those with a late piece as beginning or end.
//!
//! A piece that contains a user-defined symbol is never made: the symbol is cut out of every text.
//!
//! The first layer has no piece with a whitespace mark after another character, so the tokens of a
//! piece are those of its words (if no symbol is user-defined). Most words of superwords are pieces
//! of the first layer, and the search stores which of these encode to themselves. So most
//! superwords are divided by looking up their words, without encoding.
//!
//! Example: `▁one▁of▁the` with the tokens `▁one ▁of ▁the`. The pairs (`▁one`, `▁of`) and (`▁of`,
//! `▁the`) are adjacent. If `▁of▁the` is a piece and `▁one▁of` is none, (`▁one`, `▁of▁the`) becomes
//! `▁one▁of▁the`.
//!
//! Cost: an encoding of each late piece that is one word, and a lookup for each word of the others;
//! a lookup for each place between tokens.

use super::super::lookup::symbol_table::{SymbolMerge, SymbolTable};
use super::super::lookup::token_merges::{TokenMergeMap, TokenMergeTable};
use super::super::{BpeCache, BpeEncoder};
use super::{Layers, next_word};
use crate::base::hash::TextHash;
use crate::encode::bloom_filter::BloomFilter;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable};

/// Pairs in the table for each piece of the model, at most. Trained models have fewer than two; the
/// limit keeps the memory proportional to the model.
const MAX_PAIRS_PER_PIECE: usize = 8;

/// What the search for merges needs to know about a model.
pub(super) struct LatePieces<'l> {
    pub(super) vocabulary: &'l Vocabulary<'l>,
    pub(super) layers: &'l Layers,
    /// The encoder of the first layer.
    pub(super) first: &'l BpeEncoder,
    /// All pieces.
    pub(super) symbols: &'l SymbolTable,
}

/// The state of the search.
struct LateMergeSearch<'l> {
    model: &'l LatePieces<'l>,
    cache: BpeCache,
    /// The tokens of the current piece.
    tokens: Vec<PieceId>,
    /// The hashes of the text from each of these tokens on.
    ends: Vec<TextHash>,
    /// Whether each piece of the first layer encodes to itself; `None` if not yet known.
    is_own_token: Vec<Option<bool>>,
    map: TokenMergeMap,
}

/// A place between two tokens of a piece.
#[derive(Debug, Clone, Copy)]
struct TokenPlace {
    /// The number of the token before it.
    last: usize,
    /// The bytes before it, and their hash.
    at: usize,
    begin: TextHash,
}

/// A token of a late piece is unknown, so that ids of the first layer are not enough; or there are
/// too many pairs.
struct NotLayered;

impl LatePieces<'_> {
    /// All merges of the second layer.
    pub(super) fn find_merges(&self) -> Option<TokenMergeTable> {
        let second = &self.layers.second;
        let mut search = LateMergeSearch {
            model: self,
            cache: BpeCache::default(),
            tokens: Vec::new(),
            ends: Vec::new(),
            is_own_token: vec![None; self.vocabulary.len()],
            map: TokenMergeMap::with_capacity(second.len()),
        };
        for id in second {
            search.add(*id).ok()?;
        }
        search.add_pieces_of_first_layer().ok()?;
        Some(search.map.build())
    }
}

impl<'l> LatePieces<'l> {
    fn pieces(&self) -> &'l PieceTable {
        self.vocabulary.table()
    }

    /// The piece with this text, whose hash is given.
    fn find(&self, text: &[u8], hash: u64) -> Option<u32> {
        self.symbols.find(self.pieces(), text, hash)
    }
}

impl LateMergeSearch<'_> {
    /// Adds the pieces of the first layer that only the second layer makes.
    fn add_pieces_of_first_layer(&mut self) -> Result<(), NotLayered> {
        let mut late = LateTexts::new(self.model);
        let text = |id: u32| self.model.vocabulary.text(id as usize);
        let mut shortest_first = self.model.layers.first.clone();
        shortest_first.sort_by_key(|id| text(*id).len());
        for id in shortest_first {
            if late.is_end_of(text(id)) && self.add(id)? {
                late.insert(id);
            }
        }
        Ok(())
    }

    /// Adds the merges of a piece. Returns false if the second layer never makes it.
    fn add(&mut self, id: u32) -> Result<bool, NotLayered> {
        let vocabulary = self.model.vocabulary;
        self.find_tokens(vocabulary.text(id as usize));
        if self.tokens.len() < 2 || self.has_user_defined_token() {
            return Ok(false);
        }
        if self.tokens.contains(&vocabulary.unknown()) {
            return Err(NotLayered);
        }
        self.add_pairs(id);
        if self.has_too_many_pairs() {
            return Err(NotLayered);
        }
        Ok(true)
    }

    fn has_user_defined_token(&self) -> bool {
        let layers = self.model.layers;
        self.tokens
            .iter()
            .any(|token| layers.is_user_defined(token.get()))
    }

    fn has_too_many_pairs(&self) -> bool {
        self.map.len() > MAX_PAIRS_PER_PIECE * self.model.vocabulary.len()
    }

    /// Finds the tokens of a text: what the first layer makes of it.
    fn find_tokens(&mut self, text: &[u8]) {
        self.tokens.clear();
        if !self.model.layers.is_user_defined.is_empty() {
            return self.encode(text);
        }
        let Some(mut end) = next_word(text) else {
            return self.encode_whole(text);
        };
        let mut rest = text;
        loop {
            let (word, others) = rest.split_at(end);
            self.add_word(word);
            if others.is_empty() {
                return;
            }
            rest = others;
            end = next_word(rest).unwrap_or(rest.len());
        }
    }

    /// Appends the tokens of a text of one word.
    fn encode_whole(&mut self, text: &[u8]) {
        let first = self.model.first;
        first.encode_whole(self.model.pieces(), text, &mut self.cache, &mut self.tokens);
    }

    /// Appends the tokens of a word.
    fn add_word(&mut self, word: &[u8]) {
        let symbols = &self.model.first.tables.merge.symbols;
        let Some(id) = symbols.find_text(self.model.pieces(), word) else {
            return self.encode(word);
        };
        let token = PieceId::new(id);
        match self.is_own_token[token.index()] {
            Some(true) => self.tokens.push(token),
            Some(false) => self.encode(word),
            None => {
                let start = self.tokens.len();
                self.encode(word);
                self.is_own_token[token.index()] = Some(self.tokens[start..] == [token]);
            }
        }
    }

    /// Appends the tokens of a text, which are cached by its chunks.
    fn encode(&mut self, text: &[u8]) {
        let first = self.model.first;
        first.encode(self.model.pieces(), text, &mut self.cache, &mut self.tokens);
    }

    /// Adds the neighbouring tokens of a piece, and the pairs that become this piece.
    fn add_pairs(&mut self, id: u32) {
        let merge = SymbolMerge::new(self.model.symbols.rank(id), id);
        if let [left, right] = &self.tokens[..] {
            return self.map.insert(left.get(), right.get(), merge);
        }
        for pair in self.tokens.windows(2) {
            self.map.insert_adjacent(pair[0].get(), pair[1].get());
        }
        self.hash_ends();
        let mut begin = TextHash::EMPTY;
        let mut at = 0;
        for last in 0..self.tokens.len() - 1 {
            let token = self.tokens[last];
            begin = begin.concat(self.model.symbols.text_hash(token.get()));
            at += self.model.vocabulary.text(token.index()).len();
            let place = TokenPlace { last, at, begin };
            if let Some([left, right]) = self.parts(id, place) {
                self.map.insert(left, right, merge);
            }
        }
    }

    /// The two parts of a piece at a place, if both are pieces.
    fn parts(&self, id: u32, place: TokenPlace) -> Option<[u32; 2]> {
        let symbols = self.model.symbols;
        let begin = place.begin.hash();
        let end = self.ends[place.last + 1].hash();
        if !symbols.may_be_piece(begin) || !symbols.may_be_piece(end) {
            return None;
        }
        let text = self.model.vocabulary.text(id as usize);
        let (left, right) = text.split_at(place.at);
        let right = match &self.tokens[place.last + 1..] {
            [token] => token.get(),
            _ => self.model.find(right, end)?,
        };
        let left = match place.last {
            0 => self.tokens[0].get(),
            _ => self.model.find(left, begin)?,
        };
        Some([left, right])
    }

    /// Fills [`ends`](Self::ends).
    fn hash_ends(&mut self) {
        self.ends.clear();
        let mut end = TextHash::EMPTY;
        for token in self.tokens.iter().rev() {
            end = self.model.symbols.text_hash(token.get()).concat(end);
            self.ends.push(end);
        }
        self.ends.reverse();
    }
}

/// The texts of the late pieces, and a search for them.
struct LateTexts<'l> {
    model: &'l LatePieces<'l>,
    is_late: Vec<bool>,
    /// The hashes of the texts. Most parts of pieces are none of them.
    filter: BloomFilter,
}

impl<'l> LateTexts<'l> {
    /// The pieces of the second layer.
    fn new(model: &'l LatePieces<'l>) -> Self {
        let second = &model.layers.second;
        let mut late = LateTexts {
            model,
            is_late: vec![false; model.vocabulary.len()],
            filter: BloomFilter::with_capacity(second.len()),
        };
        second.iter().for_each(|id| late.insert(*id));
        late
    }

    fn insert(&mut self, id: u32) {
        self.is_late[id as usize] = true;
        self.filter.insert(self.model.symbols.hash(id));
    }

    /// Whether a late piece is a proper prefix or suffix of `text`.
    fn is_end_of(&self, text: &[u8]) -> bool {
        let splits = self.model.symbols.splits(text);
        splits.zip(1..text.len()).any(|([begin, end], at)| {
            let (left, right) = text.split_at(at);
            self.is_late(left, begin) || self.is_late(right, end)
        })
    }

    /// Whether a text with this hash is a late piece.
    #[inline]
    fn is_late(&self, text: &[u8], hash: u64) -> bool {
        let is_late = |id: u32| self.is_late[id as usize];
        self.filter.may_contain(hash) && self.model.find(text, hash).is_some_and(is_late)
    }
}
