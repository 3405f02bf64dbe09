//! A trie of pieces, user-defined symbols or seeds, in one array of cells.
//!
//! A state is a *base*; its child by byte `b` is the cell `base ^ b`, if that cell has the label
//! `b`. A cell also has the value of the key that ends there, so that a step of a walk is one load.
//! Nobody but a walk sees the array. So unlike that of Darts-clone, whose bytes are in model files,
//! it is laid out in one pass, and equal suffixes are not merged:
//!
//! 1. The sorted keys become states in depth-first order, each with its next sibling. The first
//!    child of a state is the state after it. What follows the first byte that a key shares with no
//!    other key is its *tail*: no state, but bytes in an array of their own. Of three states in a
//!    large vocabulary this saves two.
//! 2. In this order each state gets a base such that the cells of its children are free. Bases are
//!    searched in the newest [`MAX_OPEN`] blocks of 256 cells that have free cells. Operations on
//!    sets of bits try all bases of a block at once. If no base fits, a block is added.
//!
//! Two states must not have the same base, since only labels tell their children apart.
//!
//! Example: the keys `a` and `ab`. The root has base 0, so `a` gets cell 0x61. Its child `b` (0x62)
//! gets a cell of the same cache line, 0x63, by the base 0x63 ^ 0x62 = 1. The state after `ab` has
//! no children; the distance [`NOWHERE`] leads out of the array, so that a walk ends there without
//! a load. With the key `axle`, too, `x` would get a cell with the tail `le`.

pub(crate) mod prefix;
#[cfg(feature = "formats")]
pub(crate) mod texts;

use crate::base::num::low_u8;
use crate::base::steps;
use crate::base::utf8::common_length;

/// The value of a cell where no key ends.
pub(crate) const NO_VALUE: u32 = u32::MAX;

/// Cells of a block. A base and its children are in the same block.
const BLOCK: u32 = 256;
/// The number of blocks in which a base is searched.
const MAX_OPEN: usize = 16;
/// The largest number of cells, so that [`NOWHERE`] leads out of the array.
const MAX_CELLS: u32 = 1 << 29;
/// Distances from a cell to its base, and positions of tails, are stored with all their bits below
/// this. Tests reach the others with less text.
const NEAR: u32 = if cfg!(test) { 1 << 16 } else { 1 << 22 };

/// The byte after a tail, and the label of a free cell: no key contains it. A text may. Then a walk
/// steps to a free cell, and from there out of the array.
const NUL: u8 = 0;

const LABEL_MASK: u32 = 0xFF;
/// The distance is stored divided by 256.
const FAR: u32 = 1 << 8;
/// The position of a tail is stored instead of a distance.
const TAIL: u32 = 1 << 9;
/// The first bit of the distance.
const DISTANCE: u32 = 10;
/// The distance of a cell without children: out of the array from every cell.
const NOWHERE: u32 = FAR | !0 << DISTANCE;

/// A cell of the array.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// The label (bits 0 to 7), [`FAR`] (8), [`TAIL`] (9), and the distance from the cell to the
    /// base of its children by xor (10 to 31).
    link: u32,
    /// The value of the key that ends here, or after the tail.
    value: u32,
}

/// Keys with their values. The default has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trie {
    cells: Vec<Cell>,
    /// Each followed by a [`NUL`].
    tails: Vec<u8>,
}

/// Keys that need more than 2^29 cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrieTooLarge;

/// The keys that a text begins with; see [`Trie::prefixes`].
#[derive(Debug, Clone)]
pub(crate) struct Prefixes<'a> {
    trie: &'a Trie,
    text: &'a [u8],
    /// The bytes of the text before the next step.
    length: usize,
    base: usize,
}

impl Prefixes<'_> {
    /// How many bytes of the text have been found to be those of a key.
    #[inline]
    pub(crate) fn walked(&self) -> usize {
        self.length
    }
}

/// A key at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// The bytes of the key.
    pub(crate) length: usize,
    pub(crate) value: u32,
    /// The cell with the value.
    pub(crate) cell: usize,
}

impl Iterator for Prefixes<'_> {
    type Item = Prefix;

    #[inline]
    fn next(&mut self) -> Option<Prefix> {
        loop {
            steps::count(1);
            let byte = *self.text.get(self.length)?;
            let cell = self.base ^ usize::from(byte);
            let Cell { link, value } = *self.trie.cells.get(cell)?;
            if link & LABEL_MASK != u32::from(byte) {
                return None;
            }
            self.length += 1;
            let distance = (link >> DISTANCE) as usize;
            if link & TAIL != 0 {
                self.base = usize::MAX;
                for byte in self.trie.tails.get(distance..)? {
                    if *byte == NUL {
                        break;
                    }
                    if self.text.get(self.length) != Some(byte) {
                        return None;
                    }
                    self.length += 1;
                }
            } else {
                self.base = cell ^ distance << ((link & FAR) >> 5);
            }
            if value != NO_VALUE {
                let length = self.length;
                return Some(Prefix {
                    length,
                    value,
                    cell,
                });
            }
        }
    }
}

impl Trie {
    /// The trie of `keys`, which are sorted by bytes and not empty and have no NUL. Of equal keys
    /// the first one counts.
    pub(crate) fn build(keys: &[(&[u8], u32)]) -> Result<Self, TrieTooLarge> {
        let (states, tails) = states(keys)?;
        let mut layout = TrieLayout::of(states)?;
        layout.cells.shrink_to_fit();
        Ok(Self {
            cells: layout.cells,
            tails,
        })
    }

    /// The keys that `text` begins with, shortest first.
    #[inline]
    pub(crate) fn prefixes<'a>(&'a self, text: &'a [u8]) -> Prefixes<'a> {
        Prefixes {
            trie: self,
            text,
            length: 0,
            base: 0,
        }
    }

    /// The value of a key.
    #[cfg(feature = "train")]
    pub(crate) fn get(&self, key: &[u8]) -> Option<u32> {
        let mut prefixes = self.prefixes(key);
        Some(prefixes.find(|found| found.length == key.len())?.value)
    }

    /// The value in each cell, which may be replaced if it is not [`NO_VALUE`].
    pub(crate) fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut u32> {
        self.cells.iter_mut().map(|cell| &mut cell.value)
    }

    /// Whether all sets of `keys` keys with `bytes` bytes in total can be stored. Larger sets
    /// usually can be, too.
    ///
    /// Proof. An array may have 2^21 blocks. One is added for a state for which no base is found:
    ///
    /// 1. a state with several children. There are fewer of them than keys;
    /// 2. a state with one child, in a cell that is far from the open blocks. It is not the first
    ///    child of its parent, which is visited directly after the parent and then near. There are
    ///    fewer children that are not the first than keys;
    /// 3. another state with one child. A block with f free cells has at most 256 - f bases in use,
    ///    since each has a child in the block, and f bases by which the child falls on a free cell.
    ///    So f <= 128 in all open blocks.
    ///
    /// The blocks of case 3 have 128 cells in use, and there are no more cells in use than bytes,
    /// except for those that were closed before: when one of 128 parts of the array began (16
    /// blocks each), or when 16 blocks of cases 1 and 2 followed.
    pub(crate) fn always_fits(keys: usize, bytes: usize) -> bool {
        const MAX_BLOCKS: usize = (MAX_CELLS / BLOCK) as usize;
        let blocks = 2 * keys + keys / 8 + bytes / 128 + 4096;
        blocks <= MAX_BLOCKS
    }
}

/// Sorts keys without NUL by bytes, and equal ones by value.
///
/// Eight bytes of each key are compared as one number. Comparing the texts, which are anywhere in
/// memory, takes three times the instructions.
pub(crate) fn sort_keys(keys: &mut Vec<(&[u8], u32)>) {
    let numbered = (0..).zip(keys.iter());
    let mut order: Vec<_> = numbered
        .map(|(index, (_, value))| (0, *value, index))
        .collect();
    sort_from(0, keys, &mut order);
    let sorted = order.into_iter().map(|(_, _, index)| keys[index as usize]);
    *keys = sorted.collect();
}

/// Sorts keys that are equal before byte `at`: eight bytes of each, with zeros after its end, its
/// value, and its index.
fn sort_from(at: usize, keys: &[(&[u8], u32)], order: &mut [(u64, u32, u32)]) {
    let rest = |index: u32| keys[index as usize].0.get(at..).unwrap_or_default();
    if at > 256 {
        // Bounds the recursion.
        order.sort_unstable_by_key(|(_, value, index)| (rest(*index), *value));
        return;
    }
    for (bytes, _, index) in order.iter_mut() {
        let rest = rest(*index);
        *bytes = u64::from_be_bytes(rest.first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        }));
    }
    order.sort_unstable();
    for equal in order.chunk_by_mut(|(a, ..), (b, ..)| a == b) {
        let has_ended = equal[0].0 & 0xFF == 0;
        if equal.len() > 1 && !has_ended {
            sort_from(at + 8, keys, equal);
        }
    }
}

/// A state before it is laid out.
struct State {
    label: u8,
    next: Next,
    /// The number of the next child of the same parent; 0 if there is none.
    sibling: u32,
    value: u32,
    /// Known when the parent has a base.
    cell: u32,
}

/// What follows a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Nothing,
    /// The first child is the next state.
    Children,
    /// The position of a tail.
    Tail(u32),
}

/// The states of sorted keys in depth-first order, the root first, and the tails.
fn states(keys: &[(&[u8], u32)]) -> Result<(Vec<State>, Vec<u8>), TrieTooLarge> {
    let state = |label| State {
        label,
        next: Next::Nothing,
        sibling: 0,
        value: NO_VALUE,
        cell: 0,
    };
    let mut shared_lengths = keys.windows(2).map(|two| common_length(two[0].0, two[1].0));
    let mut next_shared = 0;
    // The parts of each key: shared with the previous one, states of its own, and the tail.
    let mut tail_bytes = 0;
    let parts = keys.iter().map(|(key, _)| {
        let shared = std::mem::replace(&mut next_shared, shared_lengths.next().unwrap_or(0));
        let mut end = key.len().min(shared.max(next_shared) + 1);
        if tail_bytes + key.len() < NEAR as usize {
            tail_bytes += key.len() - end + usize::from(end < key.len());
        } else {
            end = key.len();
        }
        (shared, end)
    });
    let parts: Vec<(usize, usize)> = parts.collect();
    // Growing a vector of states would need twice the memory, which is most of what loading needs.
    let count = 1 + parts
        .iter()
        .map(|(shared, end)| end - shared)
        .sum::<usize>();
    let mut states = Vec::with_capacity(count);
    let mut tails = Vec::with_capacity(tail_bytes);
    states.push(state(NUL));
    // The states after each of the first bytes of the previous key.
    let mut path = vec![0];
    for ((key, value), (shared, end)) in keys.iter().zip(parts) {
        debug_assert!(!key.is_empty() && !key.contains(&NUL));
        for (at, label) in key.iter().enumerate().take(end).skip(shared) {
            let number = u32::try_from(states.len()).map_err(|_| TrieTooLarge)?;
            match path.get(at + 1) {
                Some(sibling) => states[*sibling as usize].sibling = number,
                None => states[path[at] as usize].next = Next::Children,
            }
            path.truncate(at + 1);
            path.push(number);
            states.push(state(*label));
        }
        // Otherwise the key is equal to the previous one.
        if shared < end
            && let Some(last) = states.last_mut()
        {
            last.value = *value;
            if end < key.len() {
                let position = u32::try_from(tails.len()).map_err(|_| TrieTooLarge)?;
                last.next = Next::Tail(position);
                tails.extend_from_slice(&key[end..]);
                tails.push(NUL);
            }
        }
    }
    Ok((states, tails))
}

/// A set of bytes, each a bit.
type ByteSet = [u64; 4];

/// The array while it is laid out.
#[derive(Default)]
struct TrieLayout {
    cells: Vec<Cell>,
    /// The blocks in which bases are searched, oldest first.
    open: Vec<OpenBlock>,
    /// How many blocks were searched.
    #[cfg(test)]
    searches: usize,
}

/// What is free in a block.
struct OpenBlock {
    start: u32,
    cells: ByteSet,
    bases: ByteSet,
}

impl TrieLayout {
    /// The array of these states.
    fn of(mut states: Vec<State>) -> Result<Self, TrieTooLarge> {
        let mut layout = Self::default();
        // Most arrays have at most one free cell in sixteen.
        layout.cells.reserve(states.len() + states.len() / 16);
        let mut children = Vec::new();
        for parent in 0..states.len() {
            if states[parent].next != Next::Children {
                continue;
            }
            children.clear();
            let mut child = parent + 1;
            while child != 0 {
                children.push((states[child].label, child));
                child = states[child].sibling as usize;
            }
            let cell = states[parent].cell;
            let base = layout.place(cell, &children)?;
            if parent > 0 {
                layout.link(cell, base);
            }
            for (label, child) in &children {
                let cell = base ^ u32::from(*label);
                let child = &mut states[*child];
                child.cell = cell;
                let next = match child.next {
                    Next::Tail(position) => TAIL | position << DISTANCE,
                    Next::Nothing | Next::Children => NOWHERE,
                };
                layout.cells[cell as usize] = Cell {
                    link: next | u32::from(*label),
                    value: child.value,
                };
            }
        }
        Ok(layout)
    }

    /// Takes a base for the state in `cell`, and the cells of its children.
    fn place(&mut self, cell: u32, children: &[(u8, usize)]) -> Result<u32, TrieTooLarge> {
        let mut found = None;
        // All open blocks have equal upper bits.
        if self
            .open
            .last()
            .is_some_and(|last| is_near(cell, last.start))
        {
            let blocks = self.open.iter().enumerate().rev();
            found = blocks
                .filter_map(|(index, block)| Some((index, block.find_base(cell, children)?)))
                .next();
            #[cfg(test)]
            {
                self.searches += self.open.len() - found.map_or(0, |(index, _)| index);
            }
        }
        let (index, base) = match found {
            Some(found) => found,
            // With equal lower bits, the distance is a multiple of 256.
            None => (self.add_block()?, low_u8(u64::from(cell))),
        };
        let block = &mut self.open[index];
        remove(&mut block.bases, base);
        for (label, _) in children {
            remove(&mut block.cells, base ^ label);
        }
        let base = block.start | u32::from(base);
        if block.cells == [0; 4] {
            self.open.remove(index);
        }
        Ok(base)
    }

    /// Adds a block, and returns its index among the open ones.
    fn add_block(&mut self) -> Result<usize, TrieTooLarge> {
        let start = u32::try_from(self.cells.len()).map_err(|_| TrieTooLarge)?;
        if start >= MAX_CELLS {
            return Err(TrieTooLarge);
        }
        let free = Cell {
            link: NOWHERE | u32::from(NUL),
            value: NO_VALUE,
        };
        self.cells.resize((start + BLOCK) as usize, free);
        if start % NEAR == 0 {
            self.open.clear();
        } else if self.open.len() == MAX_OPEN {
            self.open.remove(0);
        }
        self.open.push(OpenBlock {
            start,
            cells: [u64::MAX; 4],
            bases: [u64::MAX; 4],
        });
        Ok(self.open.len() - 1)
    }

    /// Makes `base` the base of the state in `cell`.
    fn link(&mut self, cell: u32, base: u32) {
        let distance = cell ^ base;
        let link = &mut self.cells[cell as usize].link;
        *link &= LABEL_MASK;
        *link |= if is_near(cell, base) {
            distance << DISTANCE
        } else {
            FAR | ((distance / BLOCK) << DISTANCE)
        };
    }
}

impl OpenBlock {
    /// A free base such that the cells of these labels are free. The first child is put into the
    /// cache line of its parent if possible, since most walks from a state take that step: a fifth
    /// fewer cache misses.
    #[inline]
    fn find_base(&self, cell: u32, children: &[(u8, usize)]) -> Option<u8> {
        let mut bases = self.bases;
        for (label, _) in children {
            let cells = moved(&self.cells, *label);
            for (word, base) in bases.iter_mut().enumerate() {
                *base &= cells[word];
            }
            if bases == [0; 4] {
                return None;
            }
        }
        if (cell ^ self.start) < BLOCK {
            let line = (low_u8(u64::from(cell)) ^ children[0].0) & 0xF8;
            let near = low_u8(bases[usize::from(line / 64)] >> (line % 64));
            if near != 0 {
                return Some(line + low_u8(u64::from(near.trailing_zeros())));
            }
        }
        bases
            .into_iter()
            .zip((0..).step_by(64))
            .find_map(|(word, first)| {
                let bit = low_u8(u64::from(word.trailing_zeros()));
                (word != 0).then_some(first + bit)
            })
    }
}

/// The distance is stored with all its bits.
fn is_near(cell: u32, base: u32) -> bool {
    cell ^ base < NEAR
}

fn remove(set: &mut ByteSet, byte: u8) {
    set[usize::from(byte / 64)] &= !(1 << (byte % 64));
}

/// The bytes of a set, each xor `by`: for each bit of `by`, neighbouring groups of bits change
/// places.
#[inline]
fn moved(set: &ByteSet, by: u8) -> ByteSet {
    const LOWER: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0F0F_0F0F_0F0F_0F0F,
        0x00FF_00FF_00FF_00FF,
        0x0000_FFFF_0000_FFFF,
        0x0000_0000_FFFF_FFFF,
    ];
    let mut moved = ByteSet::default();
    for (word, moved) in moved.iter_mut().enumerate() {
        *moved = set[word ^ usize::from(by / 64)];
    }
    for (power, lower) in LOWER.into_iter().enumerate() {
        if by >> power & 1 != 0 {
            let shift = 1 << power;
            for word in &mut moved {
                *word = (*word & lower) << shift | *word >> shift & lower;
            }
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn build(keys: &BTreeMap<Vec<u8>, u32>) -> Trie {
        let keys: Vec<_> = keys.iter().map(|(key, id)| (key.as_slice(), *id)).collect();
        Trie::build(&keys).unwrap()
    }

    /// The keys that `text` begins with: (length, value).
    fn prefixes<'a>(trie: &'a Trie, text: &'a [u8]) -> impl Iterator<Item = (usize, u32)> + 'a {
        trie.prefixes(text).map(|found| (found.length, found.value))
    }

    #[test]
    fn the_example_of_the_module_page() {
        let trie = Trie::build(&[(b"a", 5), (b"ab", 7)]).unwrap();
        let mut walk = trie.prefixes(b"abc");
        let found: Vec<_> = walk.by_ref().map(|key| (key.cell, key.value)).collect();
        assert_eq!(found, [(0x61, 5), (0x63, 7)]);
        assert_eq!(walk.walked(), 2);
        assert!(walk.base > trie.cells.len());
        let trie = Trie::build(&[(b"a", 5), (b"ab", 7), (b"axle", 9)]).unwrap();
        assert_eq!(trie.tails, b"le\0");
        assert!(prefixes(&trie, b"axles").eq([(1, 5), (4, 9)]));
        let mut walk = trie.prefixes(b"axlx");
        assert_eq!((walk.by_ref().count(), walk.walked()), (1, 3));
    }

    #[test]
    fn an_empty_trie_has_no_steps() {
        let trie = Trie::build(&[]).unwrap();
        assert!((0..=255).all(|byte| trie.prefixes(&[byte]).next().is_none()));
    }

    #[test]
    fn of_equal_keys_the_first_counts() {
        let trie = Trie::build(&[(b"a", 3), (b"a", 1), (b"ab", 2), (b"ab", 4)]).unwrap();
        assert!(prefixes(&trie, b"abc").eq([(1, 3), (2, 2)]));
    }

    /// Random keys of all bytes but NUL, of which many begin alike.
    fn random_keys(count: u64, longest: u64, alphabet: u64) -> BTreeMap<Vec<u8>, u32> {
        let mut state = 1_u64;
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let mut key = || -> Vec<u8> {
            let length = 1 + below(longest);
            (0..length)
                .map(|_| u8::try_from(1 + below(alphabet)).unwrap())
                .collect()
        };
        (0..count).map(|_| key()).zip(0..).collect()
    }

    #[test]
    fn arrays_have_all_keys_few_free_cells_and_few_searches() {
        // The least part of the cells in use, in percent, and the most searches for each of them.
        for (count, longest, alphabet, full, searches) in [
            (20_000, 5, 255, 25, 3.0),
            (30_000, 20, 2, 95, 1.2),
            (50_000, 8, 26, 85, 1.2),
        ] {
            let keys = random_keys(count, longest, alphabet);
            let sorted: Vec<_> = keys.iter().map(|(key, id)| (&key[..], *id)).collect();
            let layout = TrieLayout::of(states(&sorted).unwrap().0).unwrap();
            let used = layout
                .cells
                .iter()
                .filter(|cell| cell.link & LABEL_MASK != u32::from(NUL));
            let (used, cells) = (used.count(), layout.cells.len());
            let made = format!("{used} of {cells} cells, {} searches", layout.searches);
            assert!(used * 100 >= cells * full, "{made}");
            assert!(layout.searches as f64 <= used as f64 * searches, "{made}");
            let trie = build(&keys);
            for (key, value) in &keys {
                assert!(prefixes(&trie, key).any(|found| found == (key.len(), *value)));
            }
        }
    }

    #[test]
    fn children_far_from_their_parents_are_found() {
        let keys = random_keys(5_000, 100, 255);
        let trie = build(&keys);
        assert!(trie.cells.len() > NEAR as usize);
        for (key, value) in &keys {
            assert_eq!(prefixes(&trie, key).last(), Some((key.len(), *value)));
        }
    }

    #[test]
    fn moved_sets_have_moved_members() {
        for by in 0..=255 {
            for byte in [0, 1, 63, 64, 97, 255] {
                let mut set = [0; 4];
                set[usize::from(byte / 64)] = 1_u64 << (byte % 64);
                let mut moved = moved(&set, by);
                remove(&mut moved, byte ^ by);
                assert_eq!(moved, [0; 4], "{byte} by {by}");
            }
        }
    }

    #[test]
    fn long_keys_are_sorted() {
        let long = [b'x'; 5_000];
        let mut keys: Vec<(&[u8], u32)> = (1..=5_000).map(|end| (&long[..end], 7)).collect();
        keys.extend([(&b"ab"[..], 3), (b"ab", 1), (b"\xFF", 0), (b"ab", 2)]);
        let mut expected = keys.clone();
        expected.sort();
        keys.reverse();
        sort_keys(&mut keys);
        assert!(keys == expected);
    }

    fn small_keys() -> impl Strategy<Value = BTreeMap<Vec<u8>, u32>> {
        prop::collection::btree_map(prop::collection::vec(1_u8..5, 1..20), 0_u32..9, 0..60)
    }

    proptest! {
        #[test]
        fn prefixes_equal_a_slow_search(
            keys in small_keys(),
            text in prop::collection::vec(0_u8..6, 0..25),
        ) {
            let trie = build(&keys);
            let slow = (1..=text.len())
                .filter_map(|length| Some((length, *keys.get(&text[..length])?)));
            prop_assert!(prefixes(&trie, &text).eq(slow));
        }

        #[test]
        fn keys_are_sorted(keys in prop::collection::vec(
            (prop::collection::vec(1_u8..4, 1..20), 0_u32..3), 0..60)
        ) {
            let mut keys: Vec<_> = keys.iter().map(|(key, value)| (&key[..], *value)).collect();
            let mut expected = keys.clone();
            expected.sort();
            sort_keys(&mut keys);
            prop_assert_eq!(keys, expected);
        }
    }
}
