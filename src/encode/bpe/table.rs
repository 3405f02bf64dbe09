//! What a BPE model knows, as numbers: characters, their neighbours, and pairs that merge.
//!
//! In: the vocabulary. Out: [`Tables`]. A *symbol* is a text that can be a part of a merge: a piece (then
//! its number is its id) or a character that is no piece but stands in one. A *class* is the number of a
//! character that stands in some piece, from 1; all others have class 0 and never merge.
//!
//! Cost: for each piece one look at each of its characters and one lookup for each way to cut it in two.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::encode::vocabulary::Vocabulary;
use crate::text::{WHITESPACE_MARK_STR, char_length};

/// Not a symbol.
pub(super) const NO_SYMBOL: u32 = u32::MAX;

/// Everything that merging looks at.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) chars: CharTable,
    pub(super) neighbours: Neighbours,
    pub(super) pairs: PairTable,
    /// Symbols below this number are pieces.
    pub(super) pieces: usize,
}

impl Tables {
    pub(super) fn new(vocabulary: &Vocabulary<'_>) -> Tables {
        let mergeable: Vec<u32> = (0..vocabulary.len())
            .filter(|id| vocabulary.is_from_text(*id))
            .filter_map(|id| u32::try_from(id).ok())
            .collect();
        let mut texts: HashMap<&[u8], u32, RandomState> = HashMap::with_hasher(RandomState::default());
        texts.extend(mergeable.iter().map(|id| (vocabulary.text(*id as usize), *id)));
        let chars = CharTable::new(vocabulary, &mergeable, &mut texts);
        let neighbours = Neighbours::new(vocabulary, &mergeable, &chars);
        let pairs = PairTable::new(vocabulary, &mergeable, &texts);
        Tables { chars, neighbours, pairs, pieces: vocabulary.len() }
    }
}

/// The characters of a text, from left to right, by their first bytes alone; the last may be cut short.
fn raw_chars(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (char, after) = rest.split_at_checked(char_length(rest))?;
        rest = after;
        (!char.is_empty()).then_some(char)
    })
}

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
            let point = u32::from(a & 0x07) << 18 | continuation(b)? << 12 | continuation(c)? << 6 | continuation(d)?;
            (0x10000..0x11_0000).contains(&point).then_some(point)
        }
        _ => None,
    }
}

/// Code points of one page of a [`CharTable`].
const PAGE: usize = 64;

/// The classes of characters, and the symbol of each class.
#[derive(Debug)]
pub(super) struct CharTable {
    ascii: [u32; 128],
    whitespace_mark: u32,
    /// Where the cells of each page begin; page 0 of the cells is empty.
    pages: Vec<u32>,
    cells: Vec<u32>,
    /// Characters of pieces that are not well-formed.
    strange: HashMap<Box<[u8]>, u32, RandomState>,
    /// The symbol of each class; class 0 has none.
    symbols: Vec<u32>,
}

impl CharTable {
    /// Gives each character of the pieces a class, and a symbol to those that `texts` does not know.
    fn new<'v>(
        vocabulary: &'v Vocabulary<'_>,
        mergeable: &[u32],
        texts: &mut HashMap<&'v [u8], u32, RandomState>,
    ) -> CharTable {
        let mut table = CharTable {
            ascii: [0; 128],
            whitespace_mark: 0,
            pages: vec![0; 0x11_0000 / PAGE],
            cells: vec![0; PAGE],
            strange: HashMap::with_hasher(RandomState::default()),
            symbols: vec![NO_SYMBOL],
        };
        let mut next_symbol = vocabulary.len();
        for char in mergeable.iter().flat_map(|id| raw_chars(vocabulary.text(*id as usize))) {
            if table.class_at(char).0 != 0 {
                continue;
            }
            let symbol = *texts.entry(char).or_insert_with(|| {
                next_symbol += 1;
                u32::try_from(next_symbol - 1).unwrap_or(NO_SYMBOL)
            });
            table.add(char, symbol);
        }
        (table.whitespace_mark, _) = table.wide_class_at(WHITESPACE_MARK_STR.as_bytes());
        table
    }

    fn add(&mut self, char: &[u8], symbol: u32) {
        let Ok(class) = u32::try_from(self.symbols.len()) else { return };
        self.symbols.push(symbol);
        match code_point(char) {
            Some(point) if point < 128 => self.ascii[point as usize] = class,
            Some(point) => {
                let (page, cell) = (point as usize / PAGE, point as usize % PAGE);
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
    }

    /// The class and the length of the character at the start of `text`, which is not empty.
    #[inline]
    pub(super) fn class_at(&self, text: &[u8]) -> (u32, usize) {
        match text[0] {
            byte @ ..0x80 => (self.ascii[usize::from(byte)], 1),
            // Every word begins with it.
            _ if text.starts_with(WHITESPACE_MARK_STR.as_bytes()) => (self.whitespace_mark, WHITESPACE_MARK_STR.len()),
            _ => self.wide_class_at(text),
        }
    }

    fn wide_class_at(&self, text: &[u8]) -> (u32, usize) {
        let width = char_length(text);
        let class = match code_point(&text[..width]) {
            Some(point) => self.cells[self.pages[point as usize / PAGE] as usize + point as usize % PAGE],
            None => self.strange.get(&text[..width]).copied().unwrap_or(0),
        };
        (class, width)
    }

    /// The symbol of a class.
    #[inline]
    pub(super) fn symbol(&self, class: u32) -> u32 {
        self.symbols[class as usize]
    }

    /// Whether no piece has malformed UTF-8 in it.
    pub(super) fn all_well_formed(&self) -> bool {
        self.strange.is_empty()
    }
}

/// Classes below this number have their neighbours in a plain square of bits.
const SQUARE: u32 = 256;

/// Which characters stand next to each other in some piece. The answer may be yes where it is no, if one of
/// the classes is high: a bit is shared by several pairs. That only joins chunks which could be apart.
#[derive(Debug)]
pub(super) struct Neighbours {
    square: Box<[u64; (SQUARE * SQUARE / 64) as usize]>,
    /// For each class, a bit for each ASCII character that may follow.
    ascii_after: Vec<[u64; 2]>,
    hashed: Vec<u64>,
    shift: u32,
}

impl Neighbours {
    fn new(vocabulary: &Vocabulary<'_>, mergeable: &[u32], chars: &CharTable) -> Neighbours {
        let mut far: Vec<u64> = Vec::new();
        let mut square = Box::new([0; (SQUARE * SQUARE / 64) as usize]);
        let mut ascii_after = vec![[0; 2]; chars.symbols.len()];
        for id in mergeable {
            let mut before = 0;
            for char in raw_chars(vocabulary.text(*id as usize)) {
                let (class, _) = chars.class_at(char);
                if let [byte @ ..0x80] = *char
                    && before != 0
                {
                    ascii_after[before as usize][usize::from(byte) / 64] |= 1 << (byte % 64);
                }
                if before != 0 && (before | class) < SQUARE {
                    let bit = before * SQUARE + class;
                    square[bit as usize / 64] |= 1 << (bit % 64);
                } else if before != 0 {
                    far.push(u64::from(before) << 32 | u64::from(class));
                }
                before = class;
            }
        }
        far.sort_unstable();
        far.dedup();
        let bits = (far.len() * 16).next_power_of_two().max(64);
        let mut neighbours =
            Neighbours { square, ascii_after, hashed: vec![0; bits / 64], shift: 64 - bits.trailing_zeros() };
        for pair in far {
            let bit = spread(pair) >> neighbours.shift;
            neighbours.hashed[to_index(bit / 64)] |= 1 << (bit % 64);
        }
        neighbours
    }

    /// Whether the ASCII character `byte` may follow this class in a piece.
    #[inline]
    pub(super) fn may_touch_ascii(&self, before: u32, byte: u8) -> bool {
        self.ascii_after[before as usize][usize::from(byte / 64 % 2)] >> (byte % 64) & 1 != 0
    }

    /// Whether these classes may stand next to each other in a piece; class 0 does not.
    #[inline]
    pub(super) fn may_touch(&self, before: u32, after: u32) -> bool {
        if (before | after) < SQUARE {
            let bit = before * SQUARE + after;
            return self.square[bit as usize / 64] >> (bit % 64) & 1 != 0;
        }
        if before == 0 || after == 0 {
            return false;
        }
        let bit = spread(u64::from(before) << 32 | u64::from(after)) >> self.shift;
        self.hashed[to_index(bit / 64)] >> (bit % 64) & 1 != 0
    }
}

/// Spreads the bits of a pair of numbers over a word, the upper ones best.
#[inline]
pub(super) fn spread(pair: u64) -> u64 {
    (pair ^ (pair >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ pair.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The upper bits of a hash as an index; there are no more of them than the table has places.
fn to_index(bits: u64) -> usize {
    usize::try_from(bits).unwrap_or(0)
}

/// What two neighbouring symbols become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Merge {
    /// The lower, the sooner.
    pub(super) rank: u32,
    pub(super) symbol: u32,
}

impl Merge {
    /// They do not merge.
    pub(super) const NONE: Merge = Merge { rank: u32::MAX, symbol: NO_SYMBOL };
}

/// Pairs of symbols that merge: a hash table with open addressing.
#[derive(Debug)]
pub(super) struct PairTable {
    slots: Vec<(u64, Merge)>,
    shift: u32,
}

/// A slot without a pair.
const FREE: (u64, Merge) = (u64::MAX, Merge::NONE);

impl PairTable {
    fn new(vocabulary: &Vocabulary<'_>, mergeable: &[u32], texts: &HashMap<&[u8], u32, RandomState>) -> PairTable {
        let ranks = ranks(vocabulary, mergeable);
        let mut pairs = Vec::new();
        for (id, rank) in mergeable.iter().zip(ranks) {
            let text = vocabulary.text(*id as usize);
            let mut cut = 0;
            for char in raw_chars(text) {
                let (left, right) = text.split_at(cut);
                if let (Some(left), Some(right)) = (texts.get(left), texts.get(right)) {
                    pairs.push((key(*left, *right), Merge { rank, symbol: *id }));
                }
                cut += char.len();
            }
        }
        let slots = (pairs.len() * 2).next_power_of_two().max(2);
        let mut table = PairTable { slots: vec![FREE; slots], shift: 64 - slots.trailing_zeros() };
        for (key, merge) in pairs {
            let slot = table.slot(key);
            table.slots[slot] = (key, merge);
        }
        table
    }

    /// What `left` and `right` become.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> Merge {
        self.slots[self.slot(key(left, right))].1
    }

    /// The slot that holds `key`, or the free one where it belongs.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = to_index(spread(key) >> self.shift);
        while self.slots[slot].0 != key && self.slots[slot].0 != FREE.0 {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The rank of each of these pieces: equal for equal scores, 0 for the best.
fn ranks(vocabulary: &Vocabulary<'_>, mergeable: &[u32]) -> Vec<u32> {
    let score = |id: &u32| vocabulary.score(*id as usize);
    let mut scores: Vec<f32> = mergeable.iter().map(score).collect();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores.dedup_by(|a, b| a.to_bits() == b.to_bits());
    let rank = |id| scores.binary_search_by(|probe| score(id).total_cmp(probe)).unwrap_or_else(|place| place);
    mergeable.iter().map(|id| u32::try_from(rank(id)).unwrap_or(u32::MAX - 1)).collect()
}
