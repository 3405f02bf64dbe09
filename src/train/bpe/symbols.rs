//! The symbols that words consist of: first the initial ones, which are characters (or the pieces
//! of a model whose training is continued), then one more for each merge.
//!
//! Texts are bytes, so that an initial symbol may be any string of bytes. Which initial symbols a
//! word has is a [`WordSpelling`](super::word_buffer::WordSpelling); which of them may be joined is
//! decided by their [`Shape`]s. Nothing else in this module depends on what an initial symbol is.
//!
//! A symbol has a length in slots of the [word buffer](super::word_buffer): 1 for an initial
//! symbol, and the sum of the lengths of both parts for a merged one.

use crate::base::TextArena;
use crate::train::TrainError;
use crate::train::alphabet::Alphabet;
use crate::train::bpe::bans::TokenBans;
use crate::train::split::{Shape, SplitRules};

/// A symbol: an index into [`SymbolArena`], below [`Symbol::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(pub(crate) u32);

impl Symbol {
    /// The other 32-bit values mark other slots; see [`WordSlot`](super::word_buffer::WordSlot).
    pub(crate) const LIMIT: u32 = 1 << 31;

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts and shapes of all symbols.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolArena {
    texts: TextArena,
    shapes: Vec<Shape>,
    /// Lengths in slots.
    lengths: Vec<u32>,
    /// Both parts of each merged symbol, from the first one on.
    parts: Vec<(Symbol, Symbol)>,
    /// What a text that is joined to another one loses at its start.
    continuing_prefix: Box<[u8]>,
    /// What must not be merged besides what the rules say.
    bans: Option<TokenBans>,
}

impl SymbolArena {
    /// One symbol for each character of `alphabet`, in its order.
    pub(crate) fn new(alphabet: &Alphabet, rules: &SplitRules) -> Self {
        let mut symbols = Self::default();
        for &(c, _) in &alphabet.characters {
            if let Some(shape) = rules.shape_of(c) {
                symbols.push(c.encode_utf8(&mut [0; 4]).as_bytes(), shape);
            }
        }
        symbols
    }

    /// One symbol for each text, in order. Each has a length of one slot, regardless of its text.
    pub(crate) fn of_texts<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        rules: &SplitRules,
    ) -> Self {
        let mut symbols = Self::default();
        for text in texts {
            symbols.push(text.as_bytes(), rules.shape_of_text(text));
        }
        symbols
    }

    /// One symbol for each byte, in this order, for [`SplitRules::of_bytes`].
    #[cfg(test)]
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_byte_strings(bytes.chunks(1), &SplitRules::of_bytes(u32::MAX))
    }

    /// One symbol of one slot for each text, in order, for rules that are made by
    /// [`SplitRules::of_bytes`].
    pub(crate) fn of_byte_strings<'t>(
        texts: impl IntoIterator<Item = &'t [u8]>,
        rules: &SplitRules,
    ) -> Self {
        let mut symbols = Self::default();
        for text in texts {
            symbols.push(text, rules.shape_of_bytes(text));
        }
        symbols
    }

    /// One symbol of one slot and of the length 1 for each text, in order. A right part that begins
    /// with `continuing_prefix` loses it when it is joined.
    pub(crate) fn of_units<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        continuing_prefix: &str,
    ) -> Self {
        let mut symbols = Self {
            continuing_prefix: continuing_prefix.as_bytes().into(),
            ..Self::default()
        };
        let shape = SplitRules::of_bytes(u32::MAX).shape_of_bytes(b" ");
        for text in texts {
            symbols.push(text.as_bytes(), shape);
        }
        symbols
    }

    /// The same symbols, of which fewer may be merged.
    pub(crate) fn with_bans(self, bans: TokenBans) -> Self {
        Self {
            bans: Some(bans),
            ..self
        }
    }

    /// Adds a symbol of one slot.
    fn push(&mut self, text: &[u8], shape: Shape) {
        self.texts.push(text);
        self.shapes.push(shape);
        self.lengths.push(1);
    }

    /// Adds the symbol of a character, of one slot.
    pub(crate) fn add_character(&mut self, c: char, shape: Shape) -> Result<Symbol, TrainError> {
        let symbol = self.next()?;
        self.push(c.encode_utf8(&mut [0; 4]).as_bytes(), shape);
        Ok(symbol)
    }

    /// The symbol that is made next.
    fn next(&self) -> Result<Symbol, TrainError> {
        let symbol = u32::try_from(self.len()).ok().map(Symbol);
        symbol
            .filter(|symbol| symbol.0 < Symbol::LIMIT)
            .ok_or(TrainError::TooLarge { what: "symbols" })
    }

    /// Adds the symbol that `left` and `right` merge to.
    pub(crate) fn join(&mut self, left: Symbol, right: Symbol) -> Result<Symbol, TrainError> {
        let symbol = self.next()?;
        let shape = self.shape(left).followed_by(self.shape(right));
        // Both lie in one word, and the slots of all words have 32-bit numbers.
        let length = self.lengths[left.index()] + self.lengths[right.index()];
        match self.continuing_prefix.is_empty() {
            true => self.texts.push_joined(left.index(), right.index()),
            false => self.texts.push(&self.joined_text(left, right)),
        }
        self.shapes.push(shape);
        self.lengths.push(length);
        self.parts.push((left, right));
        Ok(symbol)
    }

    /// Both parts of each merged symbol, in the order of the merges.
    pub(crate) fn merged_parts(&self) -> &[(Symbol, Symbol)] {
        &self.parts
    }

    /// Removes the merged symbols. No initial symbol was added after the first merge.
    pub(crate) fn keep_initial(&mut self) {
        let initial = self.len() - self.parts.len();
        self.texts.truncate(initial);
        self.shapes.truncate(initial);
        self.lengths.truncate(initial);
        self.parts.clear();
    }

    /// Calls `visit` with the initial symbols that a symbol was merged from, in order. No initial
    /// symbol was added after the first merge.
    pub(crate) fn for_each_initial(&self, symbol: Symbol, visit: &mut impl FnMut(Symbol)) {
        let initial = self.len() - self.parts.len();
        match symbol.index().checked_sub(initial) {
            None => visit(symbol),
            Some(merge) => {
                let (left, right) = self.parts[merge];
                self.for_each_initial(left, visit);
                self.for_each_initial(right, visit);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    #[inline]
    pub(crate) fn text(&self, symbol: Symbol) -> &[u8] {
        self.texts.get(symbol.index())
    }

    /// The joined text of two symbols.
    pub(crate) fn joined_text(&self, left: Symbol, right: Symbol) -> Box<[u8]> {
        let right = self.text(right);
        let rest = right.strip_prefix(&*self.continuing_prefix);
        [self.text(left), rest.unwrap_or(right)]
            .concat()
            .into_boxed_slice()
    }

    #[inline]
    pub(crate) fn shape(&self, symbol: Symbol) -> &Shape {
        &self.shapes[symbol.index()]
    }

    /// Whether the joined text of two symbols is a valid piece, and nothing forbids the merge.
    #[inline]
    pub(crate) fn may_merge(&self, rules: &SplitRules, left: Symbol, right: Symbol) -> bool {
        let is_valid = rules.join(self.shape(left), self.shape(right)).is_some();
        let are_allowed = |bans: &TokenBans| bans.allow(self.text(left), self.text(right));
        is_valid && self.bans.as_ref().is_none_or(are_allowed)
    }

    /// Length in slots.
    #[inline]
    pub(crate) fn length(&self, symbol: Symbol) -> usize {
        self.slots(symbol) as usize
    }

    /// As [`length`](Self::length), in the type of positions.
    #[inline]
    pub(crate) fn slots(&self, symbol: Symbol) -> u32 {
        self.lengths[symbol.index()]
    }

    /// Sets the length in slots of a symbol that occurs nowhere yet.
    pub(crate) fn set_length(&mut self, symbol: Symbol, slots: u32) {
        self.lengths[symbol.index()] = slots;
    }

    /// Sets the lengths of all symbols to one slot.
    pub(crate) fn set_unit_lengths(&mut self) {
        self.lengths.fill(1);
    }

    /// The texts of all symbols, in their order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&[u8], Symbol)> {
        self.texts.iter().zip((0..).map(Symbol))
    }
}
