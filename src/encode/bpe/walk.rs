//! From left to right: the ids of a chunk without merging it.
//!
//! In: a chunk. Out: the symbols that merging would leave, found one by one, the longest first, each at peace
//! with the one before (see [`peace`](super::peace)). Where nothing goes on, the last symbol gives way to a
//! shorter one. Since a text has one row of symbols at peace, and each beginning of it has one, a place that
//! was reached and led nowhere need never be tried again. (The search is that of Hendrik van Antwerpen and
//! Alexander Neubeck, "So many tokens, so little time", 2024,
//! <https://github.blog/ai-and-ml/llms/so-many-tokens-so-little-time-introducing-a-faster-more-flexible-byte-pair-tokenizer/>.)
//!
//! Cost: for each character at most the number of pieces that begin there, each with one look at the
//! neighbours that were seen before or two looks for each of its merges; linear in the chunk.

use super::Bpe;
use super::origins::Origin;
use super::pairs::Pairs;
use super::peace::PeaceCache;
use super::short::SHORT;

/// Buffers of a walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    chars: Vec<Char>,
    /// The row so far: symbols, and the character behind each.
    row: Vec<(u32, usize)>,
}

/// A character of the chunk, or its end.
#[derive(Debug, Clone, Copy)]
struct Char {
    /// Where it begins.
    start: usize,
    /// The hash of the text before it.
    hash: u64,
    symbol: u32,
    /// The most characters of a piece that begins with it.
    reach: u8,
    /// Whether no row of symbols that ends before it leads to the end.
    is_dead: bool,
}

impl Walk {
    /// The symbols that were found.
    pub(super) fn found(&self) -> impl Iterator<Item = u32> {
        self.row.iter().map(|(symbol, _)| *symbol)
    }
}

/// What comes next in a row.
enum Step {
    /// A symbol that ends before this character.
    To(u32, usize),
    /// Nothing.
    Nowhere,
    /// It cannot be told.
    Unclear,
}

impl Bpe {
    /// Finds the symbols of a chunk; tells whether it could.
    pub(super) fn walk(
        &self,
        chunk: &[u8],
        walk: &mut Walk,
        peace: &mut PeaceCache,
        pairs: &mut Pairs<'_>,
    ) -> bool {
        self.begin_walk(chunk, &mut walk.chars);
        walk.row.clear();
        let end = walk.chars.len() - 1;
        let (mut at, mut below) = (0, usize::MAX);
        while at < end {
            match self.step(chunk, at, below, walk, peace, pairs) {
                Step::To(symbol, next) => {
                    walk.row.push((symbol, next));
                    (at, below) = (next, usize::MAX);
                }
                Step::Nowhere => {
                    walk.chars[at].is_dead = true;
                    if walk.row.pop().is_none() {
                        return false;
                    }
                    below = at;
                    at = walk.row.last().map_or(0, |(_, next)| *next);
                }
                Step::Unclear => return false,
            }
        }
        true
    }

    /// The characters of a chunk and its end.
    fn begin_walk(&self, chunk: &[u8], chars: &mut Vec<Char>) {
        chars.clear();
        let (mut start, mut hash) = (0, 0);
        while start < chunk.len() {
            let (class, width) = self.chars.class_at(&chunk[start..]);
            let (char, reach) = (self.chars.char(class), self.chars.reach(class));
            chars.push(Char {
                start,
                hash,
                symbol: char.symbol,
                reach,
                is_dead: false,
            });
            hash = self.symbols.joined_part_hash(hash, char.hash, char.width);
            start += width;
        }
        chars.push(Char {
            start,
            hash,
            symbol: 0,
            reach: 0,
            is_dead: false,
        });
    }

    /// The longest symbol at `at`, ending before `below`, that is at peace with the one before.
    #[inline]
    fn step(
        &self,
        chunk: &[u8],
        at: usize,
        below: usize,
        walk: &Walk,
        peace: &mut PeaceCache,
        pairs: &mut Pairs<'_>,
    ) -> Step {
        let Walk { chars, row } = walk;
        let Char {
            start,
            hash,
            symbol,
            reach,
            ..
        } = chars[at];
        if usize::from(reach) > SHORT && chars.len() - at > SHORT {
            return Step::Unclear;
        }
        let furthest = (at + usize::from(reach))
            .min(chars.len() - 1)
            .min(below - 1);
        for next in (at + 1..=furthest).rev() {
            let end = chars[next];
            if end.is_dead {
                continue;
            }
            let found = match next == at + 1 {
                true => Some(symbol),
                false => {
                    let text = &chunk[start..end.start];
                    let found = self.symbols.find_part(pairs.pieces, (hash, end.hash), text);
                    found.filter(|found| self.origin(*found, pairs) != Origin::Never)
                }
            };
            let Some(found) = found else { continue };
            match row.last().map_or(Some(true), |(before, _)| {
                self.at_peace(*before, found, peace, pairs)
            }) {
                Some(true) => return Step::To(found, next),
                Some(false) => {}
                None => return Step::Unclear,
            }
        }
        Step::Nowhere
    }
}
