//! Characters as numbers.
//!
//! In: the characters of the pieces. Out: the *class* of each, from 1, and the symbol of each class. All other
//! characters have class 0 and never merge. Cost of a look: two loads.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::ascii_pairs::Code;
use super::neighbours;
use super::symbols::{NO_SYMBOL, Symbols};
use crate::encode::vocabulary::Vocabulary;
use crate::piece::PieceTable;
use crate::text::{WHITESPACE_MARK_STR, char_length, char_width};

/// The code point of a well-formed character, given its bytes.
fn code_point(char: &[u8]) -> Option<u32> {
    let continuation = |byte: u8| (byte & 0xC0 == 0x80).then_some(u32::from(byte & 0x3F));
    match *char {
        [a @ ..0x80] => Some(u32::from(a)),
        [a @ 0xC2..=0xDF, b] => Some(u32::from(a & 0x1F) << 6 | continuation(b)?),
        [a @ 0xE0..=0xEF, b, c] => {
            let point = u32::from(a & 0x0F) << 12 | continuation(b)? << 6 | continuation(c)?;
            (point >= 0x800 && !(0xD800..0xE000).contains(&point)).then_some(point)
        }
        [a @ 0xF0..=0xF4, b, c, d] => {
            let point = u32::from(a & 0x07) << 18
                | continuation(b)? << 12
                | continuation(c)? << 6
                | continuation(d)?;
            (0x10000..0x11_0000).contains(&point).then_some(point)
        }
        _ => None,
    }
}

/// The last two or three bytes of a text, and zeros, as a word of four.
#[cold]
fn last_word(text: &[u8]) -> Option<u32> {
    match *text {
        [a, b, c] => Some(u32::from_le_bytes([a, b, c, 0])),
        [a, b] => Some(u32::from_le_bytes([a, b, 0, 0])),
        _ => None,
    }
}

/// Code points of one page of a [`CharTable`].
const PAGE: usize = 64;
/// Pages of characters of two bytes; behind them come the pages of the others, from code point 0 on again.
const TWO_BYTES: usize = 0x800 / PAGE;
/// A page whose characters would not be well-formed.
const MALFORMED: u32 = u32::MAX;

/// The page of a code point.
fn page_of(point: u32) -> usize {
    point as usize / PAGE + if point < 0x800 { 0 } else { TWO_BYTES }
}

/// No page has cells but the empty ones at the start.
fn empty_pages() -> Pages {
    let mut pages = Box::new([0; PAGES]);
    pages[..0x80 / PAGE].fill(MALFORMED);
    pages[TWO_BYTES..][..TWO_BYTES].fill(MALFORMED);
    pages[TWO_BYTES..][0xD800 / PAGE..0xE000 / PAGE].fill(MALFORMED);
    pages
}

/// For each page where its cells begin.
type Pages = Box<[u32; PAGES]>;
const PAGES: usize = TWO_BYTES + 0x11_0000 / PAGE;

/// A character as merging takes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Char {
    /// The hash of its text.
    pub(super) hash: u64,
    pub(super) symbol: u32,
    /// Its length in bytes.
    pub(super) width: u8,
    pub(super) code: Code,
}

/// A character that stands in no piece. It never merges, so that neither its hash nor its length counts.
const UNKNOWN: Char = Char {
    hash: 0,
    symbol: NO_SYMBOL,
    width: 1,
    code: Code::OTHER,
};

/// The classes of characters, and the symbol of each class.
#[derive(Debug)]
pub(super) struct CharTable {
    /// The classes of ASCII characters in normalized text, and in raw text.
    ascii: [[u32; 128]; 2],
    whitespace_mark: u32,
    /// The class of U+FFFD, which malformed bytes become.
    replacement: u32,
    pages: Pages,
    /// The classes, by page, of the pages that have characters; the first page is empty.
    cells: Vec<u32>,
    /// Characters of pieces that are not well-formed.
    strange: HashMap<Box<[u8]>, u32, RandomState>,
    /// The symbol of each class; class 0 has none.
    symbols: Vec<u32>,
    /// The character of each class.
    chars: Vec<Char>,
    /// The ASCII characters, in normalized text and in raw text.
    ascii_chars: [[Char; 128]; 2],
    /// For each class the most characters of a piece that begins with it; 255 stands for more, too.
    reach: Vec<u8>,
}

impl CharTable {
    /// Gives each character of the pieces a class, and gathers which are neighbours. Besides the table it gives
    /// the characters, by class from 1; their symbols are to be found by [`Self::find_symbols`].
    pub(super) fn new<'v>(
        vocabulary: &'v Vocabulary<'_>,
        mergeable: &[u32],
        neighbours: &mut neighbours::Draft,
    ) -> (CharTable, Vec<&'v [u8]>) {
        let mut chars = Vec::new();
        let mut table = CharTable {
            ascii: [[0; 128]; 2],
            whitespace_mark: 0,
            replacement: 0,
            pages: empty_pages(),
            cells: vec![0; PAGE],
            strange: HashMap::with_hasher(RandomState::default()),
            symbols: vec![UNKNOWN.symbol],
            chars: vec![UNKNOWN],
            ascii_chars: [[UNKNOWN; 128]; 2],
            reach: vec![1],
        };
        for id in mergeable {
            let mut rest = vocabulary.text(*id as usize);
            let (mut first, mut before, mut length) = (0, 0, 0usize);
            while let Some(byte) = rest.first() {
                let (mut class, width) = table.class_at(rest);
                let (char, after) = rest.split_at(width);
                if class == 0 {
                    chars.push(char);
                    class = table.add(char);
                    neighbours.add_class();
                }
                match byte {
                    _ if length == 0 => first = class,
                    ..0x80 => neighbours.add_ascii(before, *byte),
                    _ => neighbours.add(before, class),
                }
                // In raw text a space is what a mark is in normalized text.
                if class == table.whitespace_mark && length > 0 {
                    neighbours.add_ascii(before, b' ');
                }
                (before, rest) = (class, after);
                length += 1;
                // Most of what follows is ASCII.
                while let [byte @ ..0x80, after @ ..] = rest
                    && let class @ 1.. = table.ascii[0][usize::from(*byte)]
                {
                    neighbours.add_ascii(before, *byte);
                    (before, rest) = (class, after);
                    length += 1;
                }
            }
            let reach = &mut table.reach[first as usize];
            *reach = u8::try_from(length).unwrap_or(u8::MAX).max(*reach);
        }
        (table.replacement, _) = table.wide_class_at("\u{FFFD}".as_bytes());
        (table, chars)
    }

    /// Finds the symbols of the characters that [`Self::new`] gave; those that are no pieces get new ones.
    pub(super) fn find_symbols(
        &mut self,
        chars: &[&[u8]],
        symbols: &mut Symbols,
        pieces: &PieceTable,
    ) {
        for char in chars {
            let symbol = symbols.char_symbol(pieces, char);
            let width = u8::try_from(char.len()).unwrap_or(0);
            self.symbols.push(symbol);
            self.chars.push(Char {
                hash: symbols.hash(symbol),
                symbol,
                width,
                code: Code::of(char),
            });
        }
        self.ascii[1] = self.ascii[0];
        self.ascii[1][usize::from(b' ')] = self.whitespace_mark;
        self.ascii_chars = self
            .ascii
            .map(|classes| classes.map(|class| self.chars[class as usize]));
    }

    /// Adds a character; its class.
    fn add(&mut self, char: &[u8]) -> u32 {
        let class = u32::try_from(self.reach.len()).unwrap_or(0);
        self.reach.push(1);
        if char == WHITESPACE_MARK_STR.as_bytes() {
            self.whitespace_mark = class;
        }
        match code_point(char) {
            Some(point) if point < 128 => self.ascii[0][point as usize] = class,
            Some(point) => {
                let (page, cell) = (page_of(point), point as usize % PAGE);
                if self.pages[page] == 0 {
                    self.pages[page] = u32::try_from(self.cells.len()).unwrap_or(0);
                    self.cells.resize(self.cells.len() + PAGE, 0);
                }
                self.cells[self.pages[page] as usize + cell] = class;
            }
            None => {
                self.strange.insert(char.into(), class);
            }
        }
        class
    }

    /// The class and the length of the character at the start of `text`, which is not empty.
    #[inline]
    pub(super) fn class_at(&self, text: &[u8]) -> (u32, usize) {
        match text[0] {
            byte @ ..0x80 => (self.ascii[0][usize::from(byte)], 1),
            // Every word begins with it.
            _ if text.starts_with(WHITESPACE_MARK_STR.as_bytes()) => {
                (self.whitespace_mark, WHITESPACE_MARK_STR.len())
            }
            _ => self.wide_class_at(text),
        }
    }

    /// The class that the character at the start of `text`, which is not empty and not normalized, has once it
    /// is; and its length in `text`.
    #[inline(always)]
    pub(super) fn raw_class_at(&self, text: &[u8]) -> (u32, usize) {
        match text[0] {
            byte @ ..0x80 => (self.ascii_class::<true>(byte), 1),
            _ => match self.two_or_three_bytes(text) {
                Some(found) => found,
                None if char_width(text).is_some() => self.wide_class_at(text),
                None => (self.replacement, 1),
            },
        }
    }

    /// The class of an ASCII character. A space of `RAW` text is a mark.
    #[inline]
    pub(super) fn ascii_class<const RAW: bool>(&self, byte: u8) -> u32 {
        self.ascii[usize::from(RAW)][usize::from(byte % 128)]
    }

    /// The class of the mark.
    pub(super) fn mark_class(&self) -> u32 {
        self.whitespace_mark
    }

    #[inline]
    fn wide_class_at(&self, text: &[u8]) -> (u32, usize) {
        self.two_or_three_bytes(text)
            .unwrap_or_else(|| self.rare_class_at(text))
    }

    /// The class and the length of a well-formed character of two or three bytes, as most are that are not ASCII.
    #[inline(always)]
    fn two_or_three_bytes(&self, text: &[u8]) -> Option<(u32, usize)> {
        let word = match text.first_chunk() {
            Some(four) => u32::from_le_bytes(*four),
            None => last_word(text)?,
        };
        let bits = |shift: u32| (word >> shift & 0x3F) as usize;
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            let page = ((word & 0x0F) << 6) as usize | bits(8);
            return Some((self.cell(TWO_BYTES + page, bits(16))?, 3));
        }
        if word & 0xC0E0 != 0x80C0 {
            return None;
        }
        Some((self.cell((word & 0x1F) as usize, bits(8))?, 2))
    }

    /// The class of the code point in this cell of a page, if that has code points.
    #[inline(always)]
    fn cell(&self, page: usize, cell: usize) -> Option<u32> {
        let start = self.pages[page];
        (start != MALFORMED).then(|| self.cells[start as usize + cell])
    }

    #[cold]
    fn rare_class_at(&self, text: &[u8]) -> (u32, usize) {
        let width = char_length(text);
        let class = match code_point(&text[..width]) {
            Some(point) => self
                .cell(page_of(point), point as usize % PAGE)
                .unwrap_or(0),
            None => self.strange.get(&text[..width]).copied().unwrap_or(0),
        };
        (class, width)
    }

    /// The symbol of a class.
    #[inline]
    pub(super) fn symbol(&self, class: u32) -> u32 {
        self.symbols[class as usize]
    }

    /// The character of a class.
    #[inline]
    pub(super) fn char(&self, class: u32) -> Char {
        self.chars[class as usize]
    }

    /// The character at the start of `text`, which is not empty, and its length there. Text that is `RAW` is not
    /// normalized, and the character is what it will be once it is.
    #[inline(always)]
    pub(super) fn char_at<const RAW: bool>(&self, text: &[u8]) -> (Char, usize) {
        let (class, width) = match text[0] {
            byte @ ..0x80 => return (self.ascii_chars[usize::from(RAW)][usize::from(byte)], 1),
            _ if RAW => self.raw_class_at(text),
            _ => self.class_at(text),
        };
        (self.char(class), width)
    }

    /// The most characters of a piece that begins with this class, and 255 if there are more.
    #[inline]
    pub(super) fn reach(&self, class: u32) -> u8 {
        self.reach[class as usize]
    }

    /// Whether no piece has malformed UTF-8 in it.
    pub(super) fn all_well_formed(&self) -> bool {
        self.strange.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::Model;

    /// The short way and the long way know the same characters, at the end of a text and before more of it.
    #[test]
    fn common_characters_are_found_as_others_are() {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden/llama2.model");
        let model = Model::open(model).unwrap();
        let vocabulary = Vocabulary::new(&model, true);
        let ids: Vec<u32> = (0..vocabulary.len_u32())
            .filter(|id| vocabulary.is_from_text(*id as usize))
            .collect();
        let (table, _) = CharTable::new(&vocabulary, &ids, &mut neighbours::Draft::new());
        let check = |text: &[u8]| {
            let is_common = matches!(char_width(text), Some(2 | 3));
            let found = table.two_or_three_bytes(text);
            assert_eq!(
                found,
                is_common.then(|| table.rare_class_at(text)),
                "{text:x?}"
            );
        };
        let mut known = 0;
        for a in 0x7F..=0xFF {
            for b in (0x20..=0xFF).step_by(3) {
                check(&[a, b]);
                for c in 0x7E..=0xC1 {
                    check(&[a, b, c]);
                    check(&[a, b, c, 0x80]);
                    known += u32::from(table.class_at(&[a, b, c]).0 > 0);
                }
            }
        }
        assert!(known > 1000, "{known}");
    }
}
