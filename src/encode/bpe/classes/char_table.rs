//! Characters as numbers.
//!
//! Each character of the pieces has a *class*, a dense number from 1, and each class a [`Unit`]:
//! symbol, hash, length. Characters that occur in no piece have class 0 and never merge.
//!
//! The classes are in pages of 64 code points. A character of two bytes takes its page from the
//! first byte and the cell from the second; of three bytes, the page from the first two. Pages
//! whose characters would not be well-formed (overlong forms, surrogates) are marked, so
//! well-formedness costs no further test. Pieces may contain malformed characters; these are in a
//! hash map.
//!
//! Example: `é` (U+00E9, bytes C3 A9) is cell 0x29 of page 3. If it is the fifth character that the
//! pieces contain, the cell contains class 5.
//!
//! Cost: two loads per character; 256 bytes per page with a character, 68 KiB for the pages.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::class_bigrams::ClassBigramsBuilder;
use crate::base::num::{low_u8, low_u32};
use crate::base::utf8::{first_word, floor_char_boundary};
use crate::base::{WHITESPACE_MARK_STR, char_length, char_width, decode_char};
use crate::encode::bpe::lookup::ascii_pairs::AsciiCode;
use crate::encode::bpe::lookup::symbol_table::{NO_SYMBOL, SymbolTable};
use crate::encode::bpe::spelling::{Spelling, Unit};
use crate::encode::vocabulary::Vocabulary;
use crate::piece::PieceTable;

/// The code point of a well-formed character, given its bytes.
fn code_point(char: &[u8]) -> Option<u32> {
    let (decoded, width) = decode_char(char);
    decoded.filter(|_| width == char.len()).map(u32::from)
}

/// Code points of a page of a [`CharTable`].
const PAGE: usize = 64;
/// Pages of characters of two bytes. They are followed by the pages of all other characters, from
/// code point 0 on.
const TWO_BYTES: usize = 0x800 / PAGE;
/// A page whose characters would not be well-formed.
const MALFORMED_PAGE: u32 = u32::MAX;

/// The page of a code point.
fn page_of(point: u32) -> usize {
    point as usize / PAGE + if point < 0x800 { 0 } else { TWO_BYTES }
}

/// Pages without characters: all of them share the cells at the start.
fn empty_pages() -> Pages {
    let mut pages = Box::new([0; PAGES]);
    pages[..0x80 / PAGE].fill(MALFORMED_PAGE);
    pages[TWO_BYTES..][..TWO_BYTES].fill(MALFORMED_PAGE);
    pages[TWO_BYTES..][0xD800 / PAGE..0xE000 / PAGE].fill(MALFORMED_PAGE);
    pages
}

/// For each page the index of its first cell.
type Pages = Box<[u32; PAGES]>;
const PAGES: usize = TWO_BYTES + 0x11_0000 / PAGE;

/// Pairs of bytes that occurred in pieces: two ASCII characters, or the end of the whitespace mark
/// and one. Most pieces have such pairs alone, and add nothing to the table.
struct SeenPairs(Box<[bool; 1 << 16]>);

impl SeenPairs {
    /// The pairs of a piece, if it begins with ASCII or the whitespace mark.
    #[inline]
    fn of(piece: &[u8]) -> impl ExactSizeIterator<Item = [u8; 2]> {
        let bytes = match piece.strip_prefix(WHITESPACE_MARK_STR.as_bytes()) {
            Some(_) => &piece[WHITESPACE_MARK_STR.len() - 1..],
            None if piece.first().is_some_and(u8::is_ascii) => piece,
            None => &[],
        };
        bytes.windows(2).map(|pair| [pair[0], pair[1]])
    }

    /// Whether the piece has no other pairs than those that were inserted, and at least one.
    #[inline]
    fn has_all_of(&self, piece: &[u8]) -> bool {
        let mut pairs = Self::of(piece);
        pairs.len() > 0 && pairs.all(|pair| self.0[usize::from(u16::from_le_bytes(pair))])
    }

    /// Inserts the pairs at the start of a piece.
    fn insert(&mut self, piece: &[u8]) {
        for pair in Self::of(piece).take_while(|pair| pair[1].is_ascii()) {
            self.0[usize::from(u16::from_le_bytes(pair))] = true;
        }
    }
}

/// The unit of a character with this text.
fn unit(char: &[u8], symbol: u32, hash: u64) -> Unit {
    Unit {
        hash,
        symbol,
        // At most four bytes.
        width: low_u8(char.len() as u64),
        code: AsciiCode::of(char),
    }
}

/// A character that occurs in no piece. It never merges, so its hash and its length do not matter.
const UNKNOWN_CHAR: Unit = Unit {
    hash: 0,
    symbol: NO_SYMBOL,
    width: 1,
    code: AsciiCode::OTHER,
};

/// The classes of characters; see the [module page](self).
#[derive(Debug)]
pub(in crate::encode::bpe) struct CharTable {
    /// The classes of ASCII characters in normalized text, and in raw text.
    ascii: [[u32; 128]; 2],
    whitespace_mark: u32,
    /// The class of U+FFFD, to which malformed bytes are normalized.
    replacement: u32,
    pages: Pages,
    /// The classes of the pages that have characters; the first page is empty.
    cells: Vec<u32>,
    /// The classes of characters of pieces that are not well-formed.
    malformed: HashMap<Box<[u8]>, u32, RandomState>,
    /// The symbol of each class; class 0 has none.
    symbols: Vec<u32>,
    /// The information of each class.
    chars: Vec<Unit>,
    /// The ASCII characters, in normalized text and in raw text.
    ascii_chars: [[Unit; 128]; 2],
}

impl CharTable {
    /// Assigns a class to each character of the pieces, and collects the bigrams of the pieces.
    /// Returns the table and the characters, by class from 1. Their symbols are still to be added
    /// by [`Self::add_symbols`].
    pub(in crate::encode::bpe) fn new<'v>(
        vocabulary: &'v Vocabulary<'_>,
        mergeable: impl Iterator<Item = u32>,
        bigrams: &mut ClassBigramsBuilder,
    ) -> (Self, Vec<&'v [u8]>) {
        let mut table = Self {
            ascii: [[0; 128]; 2],
            whitespace_mark: 0,
            replacement: 0,
            pages: empty_pages(),
            cells: vec![0; PAGE],
            malformed: HashMap::with_hasher(RandomState::default()),
            symbols: vec![UNKNOWN_CHAR.symbol],
            chars: vec![UNKNOWN_CHAR],
            ascii_chars: [[UNKNOWN_CHAR; 128]; 2],
        };
        let mut chars = Vec::new();
        let mut seen = SeenPairs(Box::new([false; 1 << 16]));
        for piece in mergeable.map(|id| vocabulary.text(id as usize)) {
            if !seen.has_all_of(piece) {
                table.add_piece(piece, &mut chars, bigrams);
                seen.insert(piece);
            }
        }
        (table.replacement, _) = table.wide_class_at("\u{FFFD}".as_bytes());
        (table, chars)
    }

    /// Adds the characters and bigrams of a piece.
    fn add_piece<'v>(
        &mut self,
        piece: &'v [u8],
        chars: &mut Vec<&'v [u8]>,
        bigrams: &mut ClassBigramsBuilder,
    ) {
        let mut rest = piece;
        let mut before = 0;
        while let Some(byte) = rest.first() {
            let (mut class, width) = self.class_at(rest);
            let (char, after) = rest.split_at(width);
            if class == 0 {
                chars.push(char);
                class = self.add_char(char, chars.len());
                bigrams.add_class();
            }
            match byte {
                // The first character has none before it.
                _ if before == 0 => {}
                ..0x80 => bigrams.add_ascii(before, *byte),
                _ => bigrams.add(before, class),
            }
            // A space of raw text is a whitespace mark.
            if class == self.whitespace_mark && before != 0 {
                bigrams.add_ascii(before, b' ');
            }
            before = class;
            rest = after;
        }
    }

    /// Adds the symbols of the characters that [`Self::new`] returned. Characters that are no
    /// pieces get new symbols.
    pub(in crate::encode::bpe) fn add_symbols(
        &mut self,
        chars: &[&[u8]],
        symbols: &mut SymbolTable,
        pieces: &PieceTable,
    ) {
        for char in chars {
            let symbol = symbols.add_char(pieces, char);
            let hash = symbols.hash(symbol);
            let char = unit(char, symbol, hash);
            self.symbols.push(char.symbol);
            self.chars.push(char);
        }
        self.ascii[1] = self.ascii[0];
        self.ascii[1][usize::from(b' ')] = self.whitespace_mark;
        self.ascii_chars = self
            .ascii
            .map(|classes| classes.map(|class| self.chars[class as usize]));
    }

    /// Adds a character that is number `count`, from 1. Returns its class, which is that number.
    /// The texts of a model have at most [`MAX_TEXT_BYTES`](crate::piece::MAX_TEXT_BYTES), and
    /// there are fewer than 2^21 cells, so both fit.
    fn add_char(&mut self, char: &[u8], count: usize) -> u32 {
        let class = low_u32(count as u64);
        if char == WHITESPACE_MARK_STR.as_bytes() {
            self.whitespace_mark = class;
        }
        match code_point(char) {
            Some(point) if point < 128 => self.ascii[0][point as usize] = class,
            Some(point) => {
                let page = page_of(point);
                if self.pages[page] == 0 {
                    self.add_cells(page);
                }
                self.cells[self.pages[page] as usize + point as usize % PAGE] = class;
            }
            None => {
                self.malformed.insert(char.into(), class);
            }
        }
        class
    }

    /// Gives a page cells of its own.
    fn add_cells(&mut self, page: usize) {
        let start = self.cells.len();
        self.pages[page] = low_u32(start as u64);
        self.cells.resize(start + PAGE, 0);
    }

    /// The class and the length of the character at the start of `text`, which is not empty.
    #[inline]
    pub(in crate::encode::bpe) fn class_at(&self, text: &[u8]) -> (u32, usize) {
        match text[0] {
            byte @ ..0x80 => (self.ascii[0][usize::from(byte)], 1),
            // Tested first among the others, because every word begins with it.
            _ if text.starts_with(WHITESPACE_MARK_STR.as_bytes()) => {
                (self.whitespace_mark, WHITESPACE_MARK_STR.len())
            }
            _ => self.wide_class_at(text),
        }
    }

    /// As [`class_at`](Self::class_at), for raw text: the class of the character to which it will
    /// be normalized, and the length in the raw text.
    #[inline(always)]
    pub(in crate::encode::bpe) fn raw_class_at(&self, text: &[u8]) -> (u32, usize) {
        match text[0] {
            byte @ ..0x80 => (self.ascii_class::<true>(byte), 1),
            _ => match self.two_or_three_bytes(text) {
                Some(found) => found,
                None if char_width(text).is_some() => self.wide_class_at(text),
                None => (self.replacement, 1),
            },
        }
    }

    /// The class of an ASCII character. A space of `RAW` text is a whitespace mark.
    #[inline]
    pub(in crate::encode::bpe) fn ascii_class<const RAW: bool>(&self, byte: u8) -> u32 {
        self.ascii[usize::from(RAW)][usize::from(byte % 128)]
    }

    /// The class of the whitespace mark.
    pub(in crate::encode::bpe) fn mark_class(&self) -> u32 {
        self.whitespace_mark
    }

    #[inline]
    fn wide_class_at(&self, text: &[u8]) -> (u32, usize) {
        self.two_or_three_bytes(text)
            .unwrap_or_else(|| self.rare_class_at(text))
    }

    /// The class and the length of a well-formed character of two or three bytes, as are most that
    /// are not ASCII.
    #[inline(always)]
    fn two_or_three_bytes(&self, text: &[u8]) -> Option<(u32, usize)> {
        // Zeros are no continuation bytes, so a cut character is not taken for a whole one.
        let word = first_word(text);
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

    /// The class in this cell of a page, unless the characters of the page would be malformed.
    #[inline(always)]
    fn cell(&self, page: usize, cell: usize) -> Option<u32> {
        let start = self.pages[page];
        (start != MALFORMED_PAGE).then(|| self.cells[start as usize + cell])
    }

    #[cold]
    fn rare_class_at(&self, text: &[u8]) -> (u32, usize) {
        let width = char_length(text);
        let class = match code_point(&text[..width]) {
            Some(point) => self
                .cell(page_of(point), point as usize % PAGE)
                .unwrap_or(0),
            None => self.malformed.get(&text[..width]).copied().unwrap_or(0),
        };
        (class, width)
    }

    /// The symbol of a class.
    #[inline]
    pub(in crate::encode::bpe) fn symbol(&self, class: u32) -> u32 {
        self.symbols[class as usize]
    }

    /// The information of a class.
    #[inline]
    pub(in crate::encode::bpe) fn char(&self, class: u32) -> Unit {
        self.chars[class as usize]
    }

    /// The information of the character at the start of `text`, which is not empty, and its length
    /// in `text`. If `RAW`, the text is not normalized, and the information is that of the
    /// normalized character.
    #[inline(always)]
    pub(in crate::encode::bpe) fn char_at<const RAW: bool>(&self, text: &[u8]) -> (Unit, usize) {
        let (class, width) = match text[0] {
            byte @ ..0x80 => return (self.ascii_chars[usize::from(RAW)][usize::from(byte)], 1),
            _ if RAW => self.raw_class_at(text),
            _ => self.class_at(text),
        };
        (self.char(class), width)
    }

    /// Whether no piece contains malformed UTF-8.
    pub(in crate::encode::bpe) fn all_well_formed(&self) -> bool {
        self.malformed.is_empty()
    }
}

/// The characters of normalized text.
impl Spelling for CharTable {
    #[inline(always)]
    fn unit_at(&self, text: &[u8]) -> (Unit, usize) {
        self.char_at::<false>(text)
    }

    #[inline]
    fn unit_length(text: &[u8]) -> usize {
        char_length(text)
    }

    #[inline]
    fn floor_border(text: &[u8], at: usize) -> usize {
        floor_char_boundary(text, at)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::Model;

    /// Both lookups give the same class, at the end of a text and before more text.
    #[test]
    fn two_and_three_bytes_have_the_class_of_the_general_lookup() {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden/llama2.model");
        let model = Model::open(model).unwrap();
        let vocabulary = Vocabulary::new(&model, true);
        let ids = vocabulary.mergeable();
        let (table, _) = CharTable::new(&vocabulary, ids, &mut ClassBigramsBuilder::new());
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
