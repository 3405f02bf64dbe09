//! The symbols that words consist of: first the characters, then one more for each merge.

use crate::error::TrainError;
use crate::text::Arena;
use crate::train::alphabet::Alphabet;
use crate::train::split::{Shape, SplitRules};

/// A symbol: an index into [`SymbolArena`], below [`Symbol::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(pub(crate) u32);

impl Symbol {
    /// Symbols share a word of 32 bits with other marks; see [`crate::train::bpe::word_buffer`].
    pub(crate) const LIMIT: u32 = 1 << 31;

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts and shapes of all symbols.
#[derive(Debug, Clone)]
pub(crate) struct SymbolArena {
    texts: Arena<char>,
    shapes: Vec<Shape>,
    /// Number of symbols that are single characters; they come first.
    characters: usize,
}

impl SymbolArena {
    /// One symbol for each character of `alphabet`, in its order.
    pub(crate) fn new(alphabet: &Alphabet, rules: &SplitRules) -> Self {
        let mut symbols = Self {
            texts: Arena::default(),
            shapes: Vec::new(),
            characters: 0,
        };
        for &(c, _) in &alphabet.characters {
            if let Some(shape) = rules.shape_of(c) {
                symbols.texts.push(&[c]);
                symbols.shapes.push(shape);
            }
        }
        symbols.characters = symbols.shapes.len();
        symbols
    }

    /// Makes the symbol of `left` and `right` together, which has the shape `shape`.
    pub(crate) fn join(
        &mut self,
        left: Symbol,
        right: Symbol,
        shape: Shape,
    ) -> Result<Symbol, TrainError> {
        let symbol = u32::try_from(self.len())
            .ok()
            .filter(|symbol| *symbol < Symbol::LIMIT);
        let Some(symbol) = symbol else {
            return Err(TrainError::TooLarge { what: "symbols" });
        };
        self.texts.push_joined(left.index(), right.index());
        self.shapes.push(shape);
        Ok(Symbol(symbol))
    }

    /// Forgets the merged symbols.
    pub(crate) fn keep_characters(&mut self) {
        self.texts.truncate(self.characters);
        self.shapes.truncate(self.characters);
    }

    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &[char] {
        self.texts.get(symbol.index())
    }

    /// The text of two symbols together.
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

    /// Whether the text of two symbols together is a valid piece.
    pub(crate) fn may_merge(&self, rules: &SplitRules, left: Symbol, right: Symbol) -> bool {
        rules.join(self.shape(left), self.shape(right)).is_some()
    }

    /// Length in characters.
    pub(crate) fn length(&self, symbol: Symbol) -> usize {
        usize::from(self.shape(symbol).length())
    }

    /// The single characters with their symbols.
    pub(crate) fn characters(&self) -> impl Iterator<Item = (char, Symbol)> {
        let chars = &self.texts.items()[..self.characters];
        chars.iter().copied().zip((0..).map(Symbol))
    }
}
