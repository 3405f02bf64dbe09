//! The symbols that words consist of: first the characters (or the pieces of a model whose training
//! is continued), then one more for each merge.
//!
//! A symbol has a length in slots of the [word buffer](super::word_buffer): 1 for an initial
//! symbol, and the sum of the lengths of both parts for a merged one.

use crate::error::TrainError;
use crate::text::Arena;
use crate::train::alphabet::Alphabet;
use crate::train::split::{Shape, SplitRules};

/// A symbol: an index into [`SymbolArena`], below [`Symbol::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(pub(crate) u32);

impl Symbol {
    /// The other 32-bit values mark other slots; see [`crate::train::bpe::word_buffer`].
    pub(crate) const LIMIT: u32 = 1 << 31;

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts and shapes of all symbols.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolArena {
    texts: Arena<char>,
    shapes: Vec<Shape>,
    /// Lengths in slots.
    lengths: Vec<u32>,
    /// The number of leading symbols that are the characters of the alphabet.
    characters: usize,
}

impl SymbolArena {
    /// One symbol for each character of `alphabet`, in its order.
    pub(crate) fn new(alphabet: &Alphabet, rules: &SplitRules) -> Self {
        let mut symbols = Self::default();
        for &(c, _) in &alphabet.characters {
            if let Some(shape) = rules.shape_of(c) {
                symbols.push(&[c], shape);
            }
        }
        symbols.characters = symbols.shapes.len();
        symbols
    }

    /// One symbol for each text, in order. Each has a length of one slot, regardless of its text.
    pub(crate) fn of_texts<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        rules: &SplitRules,
    ) -> Self {
        let mut symbols = Self::default();
        let mut characters = Vec::new();
        for text in texts {
            characters.clear();
            characters.extend(text.chars());
            symbols.push(&characters, rules.shape_of_text(text));
        }
        symbols
    }

    /// Adds a symbol of one slot.
    fn push(&mut self, text: &[char], shape: Shape) {
        self.texts.push(text);
        self.shapes.push(shape);
        self.lengths.push(1);
    }

    /// Adds the symbol of a character, of one slot.
    pub(crate) fn add_character(&mut self, c: char, shape: Shape) -> Result<Symbol, TrainError> {
        let symbol = self.next()?;
        self.push(&[c], shape);
        Ok(symbol)
    }

    /// The symbol that is made next.
    fn next(&self) -> Result<Symbol, TrainError> {
        let symbol = u32::try_from(self.len()).ok().map(Symbol);
        symbol
            .filter(|symbol| symbol.0 < Symbol::LIMIT)
            .ok_or(TrainError::TooLarge { what: "symbols" })
    }

    /// Adds the symbol that `left` and `right` merge to, which has the shape `shape`.
    pub(crate) fn join(
        &mut self,
        left: Symbol,
        right: Symbol,
        shape: Shape,
    ) -> Result<Symbol, TrainError> {
        let symbol = self.next()?;
        // Both lie in one word, and the slots of all words have 32-bit numbers.
        let length = self.lengths[left.index()] + self.lengths[right.index()];
        self.texts.push_joined(left.index(), right.index());
        self.shapes.push(shape);
        self.lengths.push(length);
        Ok(symbol)
    }

    /// Removes the merged symbols.
    pub(crate) fn keep_characters(&mut self) {
        self.texts.truncate(self.characters);
        self.shapes.truncate(self.characters);
        self.lengths.truncate(self.characters);
    }

    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &[char] {
        self.texts.get(symbol.index())
    }

    /// The joined text of two symbols.
    pub(crate) fn joined_text(&self, left: Symbol, right: Symbol) -> Box<str> {
        let chars = self.text(left).iter().chain(self.text(right));
        let bytes = chars.clone().map(|c| c.len_utf8()).sum();
        let mut text = String::with_capacity(bytes);
        text.extend(chars);
        text.into_boxed_str()
    }

    pub(crate) fn shape(&self, symbol: Symbol) -> &Shape {
        &self.shapes[symbol.index()]
    }

    /// Whether the joined text of two symbols is a valid piece.
    pub(crate) fn may_merge(&self, rules: &SplitRules, left: Symbol, right: Symbol) -> bool {
        rules.join(self.shape(left), self.shape(right)).is_some()
    }

    /// Length in slots.
    pub(crate) fn length(&self, symbol: Symbol) -> usize {
        self.slots(symbol) as usize
    }

    /// As [`length`](Self::length), in the type of positions.
    pub(crate) fn slots(&self, symbol: Symbol) -> u32 {
        self.lengths[symbol.index()]
    }

    /// Sets the length in slots of a symbol that occurs nowhere yet.
    pub(crate) fn set_length(&mut self, symbol: Symbol, slots: u32) {
        self.lengths[symbol.index()] = slots;
    }

    /// The single characters with their symbols.
    pub(crate) fn characters(&self) -> impl Iterator<Item = (char, Symbol)> {
        let chars = &self.texts.items()[..self.characters];
        chars.iter().copied().zip((0..).map(Symbol))
    }
}
