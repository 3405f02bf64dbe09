//! The symbols that words consist of: first the characters, then one more for each merge.

use crate::error::TrainError;
use crate::train::alphabet::Alphabet;
use crate::train::split::{Shape, SplitRules};

/// A symbol: an index into [`SymbolArena`], below [`Symbol::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(pub(crate) u32);

impl Symbol {
    /// SymbolArena share a word of 32 bits with other marks; see [`crate::train::bpe::word_buffer`].
    pub(crate) const LIMIT: u32 = 1 << 31;

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts and shapes of all symbols, the texts in one arena.
#[derive(Debug, Clone)]
pub(crate) struct SymbolArena {
    texts: String,
    ends: Vec<usize>,
    shapes: Vec<Shape>,
    /// SymbolArena that are single characters; they come first.
    characters: usize,
}

impl SymbolArena {
    /// One symbol for each character of `alphabet`, in its order.
    pub(crate) fn new(alphabet: &Alphabet, rules: &SplitRules) -> SymbolArena {
        let mut symbols = SymbolArena {
            texts: String::new(),
            ends: Vec::new(),
            shapes: Vec::new(),
            characters: 0,
        };
        for &(c, _) in &alphabet.characters {
            if let Some(shape) = rules.shape_of(c) {
                symbols.texts.push(c);
                symbols.push(shape);
            }
        }
        symbols.characters = symbols.shapes.len();
        symbols
    }

    fn push(&mut self, shape: Shape) {
        self.ends.push(self.texts.len());
        self.shapes.push(shape);
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
        for part in [left, right] {
            self.texts.extend_from_within(self.range(part));
        }
        self.push(shape);
        Ok(Symbol(symbol))
    }

    /// Forgets the merged symbols.
    pub(crate) fn keep_characters(&mut self) {
        self.ends.truncate(self.characters);
        self.shapes.truncate(self.characters);
        self.texts.truncate(self.ends.last().copied().unwrap_or(0));
    }

    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    fn range(&self, symbol: Symbol) -> std::ops::Range<usize> {
        let index = symbol.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start..self.ends[index]
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        &self.texts[self.range(symbol)]
    }

    /// The text of two symbols together.
    pub(crate) fn joined_text(&self, left: Symbol, right: Symbol) -> Box<str> {
        let left = self.text(left);
        let right = self.text(right);
        let mut text = String::with_capacity(left.len() + right.len());
        text.push_str(left);
        text.push_str(right);
        text.into_boxed_str()
    }

    pub(crate) fn shape(&self, symbol: Symbol) -> &Shape {
        &self.shapes[symbol.index()]
    }

    /// Length in characters.
    pub(crate) fn length(&self, symbol: Symbol) -> usize {
        usize::from(self.shape(symbol).length())
    }

    /// The single characters with their symbols.
    pub(crate) fn characters(&self) -> impl Iterator<Item = (char, Symbol)> {
        let chars = self.texts.chars().take(self.characters);
        chars.zip(0..).map(|(c, index)| (c, Symbol(index)))
    }
}
