//! Character counts -> the characters that become pieces.
//!
//! Required characters come first, then the others by count, descending, then by code point.
//! Characters are taken until their share of all characters of the corpus, as a 32-bit float,
//! reaches `character_coverage`. Boundary marks are included in the share, although they are never
//! pieces.
//!
//! Example with a coverage of 0.98 and the counts a 49, b 49, c 1, d 1: before `a` the share is 0,
//! before `b` 0.49, before `c` 0.98, which is enough. The alphabet is `ab`; `c` and `d` become
//! U+2585 and break pairs. With a coverage of 0.981 `c` is taken, too.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::base::num::round_f32;
use crate::base::{BOUNDARY_MARK, UNKNOWN_MARK};
use crate::train::TrainError;
use crate::train::options::TrainOptions;
use crate::train::split::is_breaking;
use crate::train::word_table::WordTable;

/// How often each character occurs, by code point ascending.
pub(crate) struct CharacterCounts {
    counts: Vec<(char, u64)>,
    total: u64,
}

impl CharacterCounts {
    /// Counts the characters of `words` on the threads of the current pool.
    ///
    /// # Errors
    /// There are 2^63 or more of them: later sums could overflow.
    pub(crate) fn of(words: &WordTable) -> Result<Self, TrainError> {
        Self::of_parts(words.shards(), |by_code, shard| {
            shard.visit(|text, count| {
                // Words are parts of valid text.
                let text = std::str::from_utf8(text).unwrap_or_default();
                add_characters(by_code, text, count);
            });
        })
    }

    /// Counts the characters of all `parts`, of which `count_part` counts one, on the threads of
    /// the current pool.
    pub(crate) fn of_parts<P: Sync>(
        parts: &[P],
        count_part: impl Fn(&mut Vec<u64>, &P) + Sync,
    ) -> Result<Self, TrainError> {
        let count_parts = |parts: &[P]| {
            let mut by_code = Vec::new();
            for part in parts {
                count_part(&mut by_code, part);
            }
            by_code
        };
        // One table per thread: making and adding a table costs more than counting a small corpus.
        let by_code = parts
            .par_chunks(parts.len().div_ceil(rayon::current_num_threads()).max(1))
            .map(count_parts)
            .reduce_with(add)
            .unwrap_or_default();
        Self::from_table(by_code)
    }

    /// The counts of a table by code point.
    fn from_table(by_code: Vec<u64>) -> Result<Self, TrainError> {
        // A saturated count also makes the total too large.
        let total: u128 = by_code.iter().map(|count| u128::from(*count)).sum();
        let Ok(total) = i64::try_from(total).map(i64::unsigned_abs) else {
            return Err(TrainError::TooLarge { what: "characters" });
        };
        let counted = (0..).zip(by_code).filter(|(_, count)| *count > 0);
        let counts = counted
            .filter_map(|(code, count)| Some((char::from_u32(code)?, count)))
            .collect();
        Ok(Self { counts, total })
    }

    /// The counts without the characters that are never part of a piece, except boundary marks.
    /// Text that was not normalized for training can contain such characters.
    pub(crate) fn without_breaking(&self) -> Self {
        let is_kept = |c| c == BOUNDARY_MARK || !is_breaking(c);
        let counts: Vec<(char, u64)> = self.iter().filter(|(c, _)| is_kept(*c)).collect();
        Self {
            total: counts.iter().map(|(_, count)| count).sum(),
            counts,
        }
    }

    /// The number of distinct characters.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// How often NUL occurs.
    pub(crate) fn of_nul(&self) -> u64 {
        let first = self.counts.first();
        first
            .filter(|(c, _)| *c == '\0')
            .map_or(0, |(_, count)| *count)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (char, u64)> {
        self.counts.iter().copied()
    }
}

/// Adds the characters of a text that occurs `count` times to counts by code point, up to the
/// highest that occurs.
#[inline]
pub(crate) fn add_characters(by_code: &mut Vec<u64>, text: &str, count: u64) {
    for c in text.chars() {
        let code = c as usize;
        if code >= by_code.len() {
            by_code.resize(code + 1, 0);
        }
        let sum = &mut by_code[code];
        *sum = count.saturating_add(*sum);
    }
}

/// The sums of two lists of counts.
fn add(mut sums: Vec<u64>, mut counts: Vec<u64>) -> Vec<u64> {
    if sums.len() < counts.len() {
        std::mem::swap(&mut sums, &mut counts);
    }
    for (sum, count) in sums.iter_mut().zip(&counts) {
        *sum = count.saturating_add(*sum);
    }
    sums
}

/// The characters of an alphabet: for each code point up to the highest, whether the alphabet has
/// it.
pub(crate) struct KnownCharacters(Vec<bool>);

impl KnownCharacters {
    /// Whether the alphabet has this character. It takes one load.
    #[inline]
    pub(crate) fn contains(&self, c: char) -> bool {
        self.0.get(c as usize).is_some_and(|is_known| *is_known)
    }

    /// Whether a character of `text` is neither in the alphabet nor U+2585.
    pub(crate) fn lacks_any(&self, text: &str) -> bool {
        !text.chars().all(|c| self.keeps(c))
    }

    /// Sets `marked` to `text` with every character that is not in the alphabet replaced by U+2585.
    pub(crate) fn mark(&self, text: &str, marked: &mut String) {
        marked.clear();
        marked.extend(
            text.chars()
                .map(|c| if self.keeps(c) { c } else { UNKNOWN_MARK }),
        );
    }

    fn keeps(&self, c: char) -> bool {
        c == UNKNOWN_MARK || self.contains(c)
    }
}

/// The characters that become pieces, with their counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alphabet {
    /// By count descending, then by code point.
    pub(crate) characters: Vec<(char, u64)>,
    /// The share of the corpus's characters that these are.
    pub(crate) coverage: f64,
}

impl Alphabet {
    /// Chooses by coverage; with `use_all_vocab`, all characters.
    ///
    /// # Errors
    /// A corpus without characters; a space or U+2585 among the chosen.
    pub(crate) fn choose(
        counts: &CharacterCounts,
        options: &TrainOptions,
    ) -> Result<Self, TrainError> {
        let total = counts.total - counts.of_nul();
        if total == 0 {
            return Err(TrainError::NoCharacters);
        }
        let mut characters = Vec::new();
        let mut taken = 0;
        for (c, count) in candidates(counts, &options.required_chars) {
            // Like the reference, shares are divided in 64 bits and compared in 32.
            let share = round_f32(ratio(taken, total));
            if !options.use_all_vocab && share >= options.character_coverage {
                break;
            }
            taken += count;
            match c {
                BOUNDARY_MARK => {}
                ' ' | UNKNOWN_MARK => return Err(TrainError::ReservedCharacter { character: c }),
                _ => characters.push((c, count)),
            }
        }
        Ok(Self {
            characters: sorted(characters),
            coverage: ratio(taken, total),
        })
    }

    /// The characters as a set.
    pub(crate) fn known(&self) -> KnownCharacters {
        let codes = self.characters.iter().map(|(c, _)| *c as usize);
        let mut known = vec![false; codes.clone().max().map_or(0, |highest| highest + 1)];
        codes.for_each(|code| known[code] = true);
        KnownCharacters(known)
    }

    /// Every character that may be part of a piece, for the search that chooses later.
    pub(crate) fn all(counts: &CharacterCounts) -> Self {
        Self {
            characters: sorted(counts.iter().filter(|(c, _)| !is_breaking(*c)).collect()),
            coverage: 1.0,
        }
    }
}

/// Characters by count, descending, then by code point.
fn sorted(mut characters: Vec<(char, u64)>) -> Vec<(char, u64)> {
    characters.sort_unstable_by_key(|&(c, count)| (Reverse(count), c));
    characters
}

/// All characters in the order in which they are taken.
fn candidates(counts: &CharacterCounts, required_chars: &str) -> Vec<(char, u64)> {
    // They need not occur.
    let required = required_chars.chars().filter(|c| *c != '\0');
    let mut required: BTreeMap<char, u64> = required.map(|c| (c, 0)).collect();
    let mut others = Vec::new();
    for (c, count) in counts.iter().filter(|(c, _)| *c != '\0') {
        match required.get_mut(&c) {
            Some(required) => *required = count,
            None => others.push((c, count)),
        }
    }
    let mut candidates = sorted(required.into_iter().collect());
    candidates.extend(sorted(others));
    candidates
}

#[allow(clippy::cast_precision_loss)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(words: &[(&str, u64)]) -> CharacterCounts {
        CharacterCounts::of(&WordTable::of(words.iter().copied())).unwrap()
    }

    fn chosen(words: &[(&str, u64)], coverage: f32, required: &str) -> Result<String, TrainError> {
        let mut options = TrainOptions::default();
        options.character_coverage = coverage;
        options.required_chars = required.to_owned();
        let alphabet = Alphabet::choose(&counts(words), &options)?;
        Ok(alphabet.characters.iter().map(|(c, _)| c).collect())
    }

    #[test]
    fn coverage_determines_the_alphabet() {
        let words = [("ab", 49), ("c", 1), ("d", 1)];
        assert_eq!(chosen(&words, 1.0, "").unwrap(), "abcd");
        assert_eq!(
            chosen(&words, 0.98, "").unwrap(),
            "ab",
            "98 of 100 are enough"
        );
        assert_eq!(chosen(&words, 0.981, "").unwrap(), "abc");
        assert_eq!(
            chosen(&words, 0.98, "dx").unwrap(),
            "abdx",
            "required ones come on top"
        );
        assert_eq!(chosen(&[("a\u{1f}", 50)], 1.0, "").unwrap(), "a");
        assert_eq!(chosen(&[("a\0", 50)], 1.0, "\0").unwrap(), "a");
    }

    #[test]
    fn coverage_in_f32_reaches_one_before_the_last_character() {
        let words = [("a", 1 << 40), ("b", 1)];
        assert_eq!(
            chosen(&words, 1.0, "").unwrap(),
            "a",
            "1 - 2^-40 is 1 in 32 bits"
        );
    }

    #[test]
    fn unusable_alphabets_are_refused() {
        assert!(matches!(
            chosen(&[], 1.0, ""),
            Err(TrainError::NoCharacters)
        ));
        assert!(matches!(
            chosen(&[("\0", 1)], 1.0, ""),
            Err(TrainError::NoCharacters)
        ));
        assert!(matches!(
            chosen(&[("a", 1)], 1.0, " "),
            Err(TrainError::ReservedCharacter { .. })
        ));
        assert!(matches!(
            chosen(&[("\u{2585}", 1)], 1.0, ""),
            Err(TrainError::ReservedCharacter { .. })
        ));
        let words = WordTable::of([("aaaa", u64::MAX / 2)]);
        assert!(matches!(
            CharacterCounts::of(&words),
            Err(TrainError::TooLarge { .. })
        ));
    }
}
