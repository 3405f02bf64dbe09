//! Short texts that one thread has seen: text -> ids.
//!
//! There are two tables, one for very short texts of few ids, which most are, and one for the others: the
//! smaller an entry, the more of them the processor has at hand. A text has two entries in its table, next to
//! each other: it comes to the second, instead of what was there, and if it is asked for again it moves to the
//! first. So texts that come once do not push out those that come often. The tables start small and grow
//! fourfold while entries push each other out, up to a limit, so that they are cheap to begin with and bounded in
//! the end. (Doubling moves half as many entries again: 8 % of the time of a line of 1 MB.) Remembering changes no
//! result.
//!
//! A text that is not there is known by tags alone, a few bits of each text's hash, which are small enough to be at
//! hand: a look at a text that comes for the first time, as a third of them do in text of many languages, waits for
//! no memory. A very short one is looked for in the table of the others only if one was ever put there that belongs
//! to the same place.

use super::keys::{CacheKey, WORDS, hash_of};
use crate::piece::PieceId;
use crate::text::num::{low_u16, low_usize};

/// Short texts, their ids, and a note of 16 bits with each.
#[derive(Debug, Default)]
pub(crate) struct IdCache {
    short: Table<2, 6>,
    long: Table<WORDS, 18>,
}

impl IdCache {
    /// Appends the ids of a text, if they are known.
    pub(crate) fn get(&mut self, key: &CacheKey, out: &mut Vec<PieceId>) -> bool {
        self.get_first(key, out) || self.get_elsewhere(key, out).is_some()
    }

    /// As [`get`](Self::get), if the text is where most are.
    #[inline(always)]
    pub(crate) fn get_first(&self, key: &CacheKey, out: &mut Vec<PieceId>) -> bool {
        let first = key
            .short()
            .and_then(|text| self.short.first(&text, key.hash));
        if let Some(first) = first {
            first.append_to(out);
        }
        first.is_some()
    }

    /// As [`get`](Self::get); gives the note besides.
    #[inline]
    pub(crate) fn get_with_note(&mut self, key: &CacheKey, out: &mut Vec<PieceId>) -> Option<u16> {
        let first = key
            .short()
            .and_then(|text| self.short.first(&text, key.hash));
        if let Some(first) = first {
            first.append_to(out);
            return Some(first.note);
        }
        self.get_elsewhere(key, out)
    }

    /// As [`get_with_note`](Self::get_with_note), if the text is not where most are.
    #[inline(never)]
    pub(crate) fn get_elsewhere(&mut self, key: &CacheKey, out: &mut Vec<PieceId>) -> Option<u16> {
        if let Some(text) = key.short() {
            match self.short.take_second(&text, key.hash) {
                Err(Missing {
                    may_be_elsewhere: true,
                }) => {}
                found => {
                    let found = found.ok()?;
                    found.append_to(out);
                    return Some(found.note);
                }
            }
        }
        let found = match self.long.first(&key.text, key.hash) {
            Some(first) => first,
            None => self.long.take_second(&key.text, key.hash).ok()?,
        };
        found.append_to(out);
        Some(found.note)
    }

    /// Remembers the ids of a text that is not known, unless there are too many.
    pub(crate) fn insert(&mut self, key: &CacheKey, ids: &[PieceId]) {
        self.insert_with_note(key, ids, 0);
    }

    /// As [`insert`](Self::insert), with a note.
    pub(crate) fn insert_with_note(&mut self, key: &CacheKey, ids: &[PieceId], note: u16) {
        let is_done = key
            .short()
            .is_some_and(|text| self.short.insert(text, key.hash, ids, note));
        if !is_done {
            self.long.insert(key.text, key.hash, ids, note);
        }
    }
}

/// One text and its ids.
#[derive(Debug, Clone, Copy)]
struct Entry<const WORDS: usize, const HALVES: usize> {
    text: [u64; WORDS],
    /// The ids, in one half each, or if one of them is too high for that, in two.
    ids: [u16; HALVES],
    note: u16,
    /// The number of ids, and [`WIDE`].
    state: u16,
}

/// The bits of a state that count ids.
const COUNT: u16 = 0x1F;
/// Ids are in two halves each.
const WIDE: u16 = 0x20;

impl<const WORDS: usize, const HALVES: usize> Entry<WORDS, HALVES> {
    /// Without a text: no key is like this.
    const FREE: Self = Entry {
        text: [u64::MAX; WORDS],
        ids: [0; HALVES],
        note: 0,
        state: 0,
    };

    /// `None` if there are too many ids.
    #[inline]
    fn new(text: [u64; WORDS], ids: &[PieceId], note: u16) -> Option<Self> {
        // Most have few, and low ones, which are put together in one word.
        let put_before = |word: u64, id: &PieceId| word << 16 | u64::from(id.get());
        let all = ids.iter().fold(0, |all, id| all | id.get());
        if ids.len() > 4 || all > u32::from(u16::MAX) {
            return Self::of_many(text, ids, note);
        }
        let word = ids.iter().rev().fold(0, put_before);
        let mut entry = Entry {
            text,
            note,
            state: u16::try_from(ids.len()).ok()?,
            ..Self::FREE
        };
        for (at, half) in entry.ids.iter_mut().take(4).enumerate() {
            *half = low_u16(word >> (16 * at));
        }
        Some(entry)
    }

    /// As [`new`](Self::new), for any ids.
    #[inline(never)]
    fn of_many(text: [u64; WORDS], ids: &[PieceId], note: u16) -> Option<Self> {
        let mut halves = [0; HALVES];
        let half = |bits: u32| low_u16(u64::from(bits));
        let is_wide = ids.iter().any(|id| id.get() > u32::from(u16::MAX));
        if is_wide {
            let (pairs, _) = halves.as_chunks_mut::<2>();
            let pairs = pairs.get_mut(..ids.len())?;
            pairs
                .iter_mut()
                .zip(ids)
                .for_each(|(pair, id)| *pair = [half(id.get()), half(id.get() >> 16)]);
        } else {
            let halves = halves.get_mut(..ids.len())?;
            halves
                .iter_mut()
                .zip(ids)
                .for_each(|(to, id)| *to = half(id.get()));
        }
        let state = u16::try_from(ids.len()).ok()? | if is_wide { WIDE } else { 0 };
        Some(Entry {
            text,
            ids: halves,
            note,
            state,
        })
    }

    /// Appends the ids.
    #[inline(always)]
    fn append_to(&self, out: &mut Vec<PieceId>) {
        // Copying as many as most texts have, in one step, is faster than copying as many as there are.
        match self.state & (COUNT | WIDE) {
            count @ 0..=4 if out.capacity() - out.len() >= 4 => {
                let length = out.len() + usize::from(count);
                let few: [PieceId; 4] =
                    std::array::from_fn(|at| PieceId::new(u32::from(self.ids[at])));
                out.extend_from_slice(&few);
                out.truncate(length);
            }
            _ => self.append_many(out),
        }
    }

    /// Appends the ids, however many there are.
    #[inline(never)]
    fn append_many(&self, out: &mut Vec<PieceId>) {
        let count = usize::from(self.state & COUNT);
        let wide = |[low, high]: &[u16; 2]| PieceId::new(u32::from(*high) << 16 | u32::from(*low));
        match self.state & WIDE {
            0 => out.extend(
                self.ids
                    .iter()
                    .take(count)
                    .map(|id| PieceId::new(u32::from(*id))),
            ),
            _ => out.extend(self.ids.as_chunks().0.iter().take(count).map(wide)),
        }
    }
}

/// The two entries that share a place: one or two whole cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Place<const WORDS: usize, const HALVES: usize>([Entry<WORDS, HALVES>; 2]);

/// What is known of a place without a look at it: bits of the hashes of its texts.
#[derive(Debug, Clone, Copy, Default)]
struct Tags {
    /// 0 if the entry is free.
    first: u16,
    second: u16,
}

/// In the tag of a second entry: a text that belongs here has too many ids and is in the other table.
const CROWDED: u16 = 1;

impl Tags {
    /// The tag of a hash: bits that did not choose the place.
    #[inline]
    fn of(hash: u64) -> u16 {
        low_u16(hash >> 24 & 0xFFFE).max(2)
    }
}

/// A text is not in a table.
struct Missing {
    /// Whether it may be in the other one.
    may_be_elsewhere: bool,
}

/// Texts of one size.
#[derive(Debug, Default)]
struct Table<const WORDS: usize, const HALVES: usize> {
    /// A power of two of them, or none.
    places: Vec<Place<WORDS, HALVES>>,
    /// For each place; all of them fit into the processor's second cache. A branch on what the place itself says would
    /// be taken wrongly for a text that is not there, and that would be noticed only when memory answers.
    tags: Vec<Tags>,
    /// How many entries were pushed out since the table grew.
    pushed_out: usize,
}

/// Bytes of a table at the start and at the end, a power of four apart. Twice the end costs texts of many languages
/// 8 %; half of it was as fast for 10 MB of text, which is less than what a thread may see.
const SMALLEST: usize = 1 << 14;
/// See [`SMALLEST`].
const LARGEST: usize = 1 << 22;

impl<const WORDS: usize, const HALVES: usize> Table<WORDS, HALVES> {
    /// The entry of a text, if it is the first one of its place.
    #[inline]
    fn first(&self, text: &[u64; WORDS], hash: u64) -> Option<&Entry<WORDS, HALVES>> {
        let place = self.place(hash);
        if self.tags.get(place)?.first != Tags::of(hash) {
            return None;
        }
        let Place([first, _]) = self.places.get(place)?;
        (first.text == *text).then_some(first)
    }

    /// The entry of a text, if it is the second one of its place. It becomes the first.
    #[inline]
    fn take_second(
        &mut self,
        text: &[u64; WORDS],
        hash: u64,
    ) -> Result<&Entry<WORDS, HALVES>, Missing> {
        let place = self.place(hash);
        let Some(tags) = self.tags.get_mut(place) else {
            return Err(Missing {
                may_be_elsewhere: true,
            });
        };
        let missing = Missing {
            may_be_elsewhere: tags.second & CROWDED != 0,
        };
        if tags.second & !CROWDED != Tags::of(hash) {
            return Err(missing);
        }
        let Some(Place([first, second])) = self.places.get_mut(place) else {
            return Err(missing);
        };
        if second.text != *text {
            return Err(missing);
        }
        std::mem::swap(first, second);
        *tags = Tags {
            first: tags.second & !CROWDED,
            second: tags.first | tags.second & CROWDED,
        };
        Ok(first)
    }

    /// Tells whether there are few enough ids.
    #[inline]
    fn insert(&mut self, text: [u64; WORDS], hash: u64, ids: &[PieceId], note: u16) -> bool {
        let is_full =
            self.pushed_out > self.places.len() / 2 && size_of_val(&self.places[..]) < LARGEST;
        if self.places.is_empty() || is_full {
            self.grow();
        }
        let place = self.place(hash);
        let Some(entry) = Entry::new(text, ids, note) else {
            self.tags[place].second |= CROWDED;
            return false;
        };
        self.put(place, Tags::of(hash), entry);
        true
    }

    /// Puts an entry into a place, the first if it is free.
    #[inline]
    fn put(&mut self, place: usize, tag: u16, entry: Entry<WORDS, HALVES>) {
        let (tags, Place([first, second])) = (&mut self.tags[place], &mut self.places[place]);
        if tags.first == 0 {
            tags.first = tag;
            *first = entry;
        } else {
            self.pushed_out += usize::from(tags.second & !CROWDED != 0);
            tags.second = tag | tags.second & CROWDED;
            *second = entry;
        }
    }

    /// Makes more room. Which places are crowded is forgotten.
    #[cold]
    fn grow(&mut self) {
        let room = (self.places.len() * 4).max(SMALLEST / size_of::<Place<WORDS, HALVES>>());
        let places = std::mem::replace(&mut self.places, vec![Place([Entry::FREE; 2]); room]);
        let tags = std::mem::replace(&mut self.tags, vec![Tags::default(); room]);
        for (Place([first, second]), tags) in places.into_iter().zip(tags) {
            for (entry, tag) in [(first, tags.first), (second, tags.second & !CROWDED)] {
                if tag != 0 {
                    let place = self.place(hash_of(&unpacked(&entry.text)));
                    self.put(place, tag, entry);
                }
            }
        }
        self.pushed_out = 0;
    }

    /// The upper bits of a hash as a place.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mask = self.places.len().wrapping_sub(1);
        low_usize(hash >> 40) & mask
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

    /// Some ids, which depend on `n`; many, and some of them high.
    fn ids(n: u32) -> Vec<PieceId> {
        (0..n % 20)
            .chain([n % 7 * 20_000])
            .map(PieceId::new)
            .collect()
    }

    #[test]
    fn what_is_found_was_put_in() {
        let mut cache = IdCache::default();
        let mut hits = 0;
        for n in 0..300_000u32 {
            let n = n % 50_000 % (n % 40_000 + 1);
            let text = format!("{n}{}", &"and some more bytes"[..n as usize % 19]);
            let key = key(text.as_bytes());
            let note = u16::try_from(n).unwrap();
            let mut found = vec![PieceId::new(7)];
            if let Some(found_note) = cache.get_with_note(&key, &mut found) {
                assert_eq!((&found[1..], found_note), (&ids(n)[..], note));
                hits += 1;
            } else {
                cache.insert_with_note(&key, &ids(n), note);
            }
            found.truncate(1);
            let has_room = ids(n).len() <= if n % 7 > 3 { 9 } else { 18 };
            assert_eq!(
                cache.get_with_note(&key, &mut found),
                has_room.then_some(note)
            );
            assert_eq!(found[1..], if has_room { ids(n) } else { Vec::new() });
        }
        assert!(hits > 20_000, "{hits}");
        for size in [
            size_of_val(&cache.short.places[..]),
            size_of_val(&cache.long.places[..]),
        ] {
            assert!(SMALLEST < size && size <= LARGEST, "{size}");
        }
    }

    #[test]
    fn an_entry_fills_half_a_place() {
        assert_eq!(
            (size_of::<Place<2, 6>>(), size_of::<Place<WORDS, 18>>()),
            (64, 128)
        );
    }

    #[test]
    fn what_is_too_long_is_not_remembered() {
        let mut cache = IdCache::default();
        let mut found = Vec::new();
        cache.insert(&key(b"a"), &[PieceId::new(1); 19]);
        assert!(!cache.get(&key(b"a"), &mut found));
        cache.insert(&key(b"a"), &[PieceId::new(1)]);
        assert!(!cache.get(&key(b"a\0"), &mut found));
        assert!(found.is_empty());
    }
}
