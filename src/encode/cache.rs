//! Short texts that one thread has seen: text -> ids.
//!
//! There are two tables, one for very short texts of few ids, which most are, and one for the others: the
//! smaller an entry, the more of them the processor has at hand. A text has two places in its table, next to
//! each other: it comes to the second, instead of what was there, and if it is asked for again it moves to the
//! first. So texts that come once do not push out those that come often. The tables start small and grow
//! fourfold while entries push each other out, up to a limit, so that they are cheap to begin with and bounded in
//! the end. (Doubling moves half as many entries again: 8 % of the time of a line of 1 MB.) Remembering changes no
//! result.
//!
//! With the ids of a text a note may be kept, for which a whole word would be too much.

use super::keys::{CacheKey, WORDS, hash_of};
use crate::piece::PieceId;

/// The bits of a note that are kept; the others hold the number of ids.
pub(crate) const NOTE_BITS: u32 = !0xF;

/// Short texts and their ids.
#[derive(Debug, Default)]
pub(crate) struct IdCache {
    short: Table<2, 3>,
    long: Table<WORDS, 9>,
}

impl IdCache {
    /// Appends the ids of a text, if they are known.
    #[inline]
    pub(crate) fn get(&mut self, key: &CacheKey, out: &mut Vec<PieceId>) -> bool {
        self.get_with_note(key, out).is_some()
    }

    /// As [`get`](Self::get); gives the note besides.
    #[inline]
    pub(crate) fn get_with_note(&mut self, key: &CacheKey, out: &mut Vec<PieceId>) -> Option<u32> {
        let first = key.short().and_then(|text| self.short.get_first(&text, key.hash, out));
        first.or_else(|| self.get_elsewhere(key, out))
    }

    /// As [`get_with_note`](Self::get_with_note), for texts that are not where most are.
    #[inline(never)]
    fn get_elsewhere(&mut self, key: &CacheKey, out: &mut Vec<PieceId>) -> Option<u32> {
        let short = key.short().and_then(|text| self.short.get(&text, key.hash, out));
        short.or_else(|| self.long.get(&key.text, key.hash, out))
    }

    /// Remembers the ids of a text that is not known, unless there are too many.
    pub(crate) fn insert(&mut self, key: &CacheKey, ids: &[PieceId]) {
        self.insert_with_note(key, ids, 0);
    }

    /// As [`insert`](Self::insert), with the [`NOTE_BITS`] of a note.
    pub(crate) fn insert_with_note(&mut self, key: &CacheKey, ids: &[PieceId], note: u32) {
        let is_done = key.short().is_some_and(|text| self.short.insert(text, key.hash, ids, note));
        if !is_done {
            self.long.insert(key.text, key.hash, ids, note);
        }
    }
}

/// One text and its ids.
#[derive(Debug, Clone, Copy)]
struct Entry<const WORDS: usize, const IDS: usize> {
    text: [u64; WORDS],
    /// How many ids, and the note; 0 in a free entry.
    count_and_note: u32,
    ids: [PieceId; IDS],
}

impl<const WORDS: usize, const IDS: usize> Entry<WORDS, IDS> {
    fn is_free(&self) -> bool {
        self.count_and_note == 0
    }

    /// Appends the ids; the note.
    #[inline]
    fn append_to(&self, out: &mut Vec<PieceId>) -> u32 {
        // Copying as many as most texts have, in one step, is faster than copying as many as there are.
        let (few, count) = (IDS.min(4), (self.count_and_note & !NOTE_BITS) as usize);
        if count <= few {
            let length = out.len() + count;
            out.extend_from_slice(&self.ids[..few]);
            out.truncate(length);
        } else {
            out.extend_from_slice(&self.ids[..count]);
        }
        self.count_and_note & NOTE_BITS
    }
}

/// The two entries that share a place: one or two whole cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Place<const WORDS: usize, const IDS: usize>([Entry<WORDS, IDS>; 2]);

impl<const WORDS: usize, const IDS: usize> Place<WORDS, IDS> {
    /// Without texts: no key is like these.
    const FREE: Self = Place([Entry { text: [u64::MAX; WORDS], count_and_note: 0, ids: [PieceId::new(0); IDS] }; 2]);
}

/// Texts of one size.
#[derive(Debug, Default)]
struct Table<const WORDS: usize, const IDS: usize> {
    /// A power of two of them, or none.
    places: Vec<Place<WORDS, IDS>>,
    /// How many entries were pushed out since the table grew.
    pushed_out: usize,
}

/// Bytes of a table at the start and at the end, a power of four apart; half and a quarter of the end differ by less
/// than the noise.
const SMALLEST: usize = 1 << 13;
/// See [`SMALLEST`].
const LARGEST: usize = 1 << 21;

impl<const WORDS: usize, const IDS: usize> Table<WORDS, IDS> {
    #[inline]
    fn get(&mut self, text: &[u64; WORDS], hash: u64, out: &mut Vec<PieceId>) -> Option<u32> {
        let place = self.place(hash);
        let Place([first, second]) = self.places.get_mut(place)?;
        if first.text != *text {
            if second.text != *text {
                return None;
            }
            std::mem::swap(first, second);
        }
        Some(first.append_to(out))
    }

    /// As [`get`](Self::get), of texts that are the first ones of their places.
    #[inline]
    fn get_first(&self, text: &[u64; WORDS], hash: u64, out: &mut Vec<PieceId>) -> Option<u32> {
        let Place([first, _]) = self.places.get(self.place(hash))?;
        (first.text == *text).then(|| first.append_to(out))
    }

    /// Tells whether there are few enough ids.
    fn insert(&mut self, text: [u64; WORDS], hash: u64, ids: &[PieceId], note: u32) -> bool {
        let Some(count) = u32::try_from(ids.len()).ok().filter(|_| ids.len() <= IDS) else { return false };
        let is_full = self.pushed_out > self.places.len() / 4 && size_of_val(&self.places[..]) < LARGEST;
        if self.places.is_empty() || is_full {
            self.grow();
        }
        let mut entry = Entry { text, count_and_note: count | note & NOTE_BITS, ids: [PieceId::new(0); IDS] };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let place = self.place(hash);
        let Place([first, second]) = &mut self.places[place];
        if first.is_free() {
            *first = entry;
        } else {
            self.pushed_out += usize::from(!second.is_free());
            *second = entry;
        }
        true
    }

    fn grow(&mut self) {
        let larger = vec![Place::FREE; (self.places.len() * 4).max(SMALLEST / size_of::<Place<WORDS, IDS>>())];
        let places = std::mem::replace(&mut self.places, larger);
        self.pushed_out = 0;
        for entry in places.into_iter().flat_map(|place| place.0).filter(|entry| !entry.is_free()) {
            let place = self.place(hash_of(&unpacked(&entry.text)));
            let Place([first, second]) = &mut self.places[place];
            *(if first.is_free() { first } else { second }) = entry;
        }
    }

    /// The upper bits of a hash as a place.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mask = self.places.len().wrapping_sub(1) as u64;
        usize::try_from((hash >> 40) & mask).unwrap_or(0)
    }
}

/// The text of an entry as that of a key.
fn unpacked(text: &[u64]) -> [u64; WORDS] {
    match *text {
        [first, second] => [first, second & (u64::MAX >> 8), second & !(u64::MAX >> 8)],
        [first, second, third] => [first, second, third],
        _ => [0; WORDS],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::keys::KeyedText;

    fn key(text: &[u8]) -> CacheKey {
        KeyedText::new(text).key(0, text.len()).unwrap()
    }

    #[test]
    fn what_is_found_was_put_in() {
        let mut cache = IdCache::default();
        let ids = |n: u32| vec![PieceId::new(n); (n % 9) as usize + 1];
        let mut hits = 0;
        for n in 0..200_000u32 {
            let n = n % 50_000 % (n % 40_000 + 1);
            let text = format!("{n}{}", &"and some more bytes"[..n as usize % 19]);
            let key = key(text.as_bytes());
            let mut found = vec![PieceId::new(7)];
            if cache.get(&key, &mut found) {
                assert_eq!(found[1..], ids(n));
                hits += 1;
            } else {
                cache.insert(&key, &ids(n));
            }
            found.truncate(1);
            assert!(cache.get(&key, &mut found));
            assert_eq!(found[1..], ids(n));
        }
        assert!(hits > 20_000, "{hits}");
        for size in [size_of_val(&cache.short.places[..]), size_of_val(&cache.long.places[..])] {
            assert!(SMALLEST < size && size <= LARGEST, "{size}");
        }
    }

    #[test]
    fn notes_are_kept_but_for_their_last_bits() {
        let mut cache = IdCache::default();
        for (text, count) in [("few", 1), ("more", 9), ("long text, few ids", 2)] {
            let (key, ids) = (key(text.as_bytes()), vec![PieceId::new(3); count]);
            let mut found = Vec::new();
            assert_eq!(cache.get_with_note(&key, &mut found), None);
            cache.insert_with_note(&key, &ids, 0x1234_567F);
            assert_eq!(cache.get_with_note(&key, &mut found), Some(0x1234_5670));
            assert_eq!(found, ids);
        }
    }

    #[test]
    fn what_is_too_long_is_not_remembered() {
        let mut cache = IdCache::default();
        let mut found = Vec::new();
        cache.insert(&key(b"a"), &[PieceId::new(1); 10]);
        assert!(!cache.get(&key(b"a"), &mut found));
        cache.insert(&key(b"a"), &[PieceId::new(1)]);
        assert!(!cache.get(&key(b"a\0"), &mut found));
        assert!(found.is_empty());
    }
}
