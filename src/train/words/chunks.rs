//! A sentence is cut into chunks, which are counted before they are prepared.
//!
//! For example, "the cat and the dog" has the chunks `the`, `cat`, `and`, `the` and `dog`, or with
//! the spaces before them ` the`, ` cat`, ` and`, ` the` and ` dog`.

use std::ops::Range;

use crate::base::TextArena;
use crate::train::short_texts::ShortText;
use crate::train::swar::Block16;

/// Longer chunks rarely occur twice, so they are not held.
const MAX_HELD_BYTES: usize = 64;
/// The number of short chunks that are passed on together, to amortize the cost of a pass.
const SHORT_CHUNKS: usize = 256;
/// The number of bytes of other chunks that are passed on together.
const OTHER_BYTES: usize = 1 << 12;

/// SentenceChunks of one sentence or more, by the way that they take.
#[derive(Default)]
pub(super) struct SentenceChunks {
    /// How often each of them occurs.
    pub(super) count: u64,
    /// Those of up to 15 bytes.
    pub(super) short: Vec<ShortText>,
    /// Those of up to [`MAX_HELD_BYTES`].
    pub(super) long: TextArena,
    /// Those of more bytes.
    pub(super) rare: TextArena,
    /// Sentences that are prepared as a whole.
    pub(super) sentences: TextArena,
}

impl SentenceChunks {
    /// Whether chunks of texts that occur `count` times have to wait until these are passed on.
    #[inline]
    pub(super) fn is_full_for(&self, count: u64) -> bool {
        self.short.len() >= SHORT_CHUNKS
            || self.count != count
            || [&self.long, &self.rare, &self.sentences]
                .iter()
                .any(|texts| texts.items().len() >= OTHER_BYTES)
    }

    pub(super) fn clear(&mut self) {
        self.short.clear();
        self.long.truncate(0);
        self.rare.truncate(0);
        self.sentences.truncate(0);
    }

    /// Adds a chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        match ShortText::new(chunk) {
            Some(short) => self.short.push(short),
            None if chunk.len() <= MAX_HELD_BYTES => self.long.push(chunk),
            None => self.rare.push(chunk),
        }
    }

    /// Adds the chunk of `text` in this range, which is not empty.
    #[inline]
    pub(super) fn push_part(&mut self, text: &[u8], part: Range<usize>) {
        match u32::try_from(part.len()) {
            Ok(length) if length < Block16::LENGTH => {
                let block = Block16::at(text, part.start);
                self.short.push(ShortText::of_block(block.0, length));
            }
            _ => self.push(&text[part]),
        }
    }

    /// Adds the words of a sentence between spaces.
    pub(super) fn push_words(&mut self, sentence: &[u8]) {
        let mut start = 0;
        while start < sentence.len() {
            let block = Block16::at(sentence, start);
            let mut end = start + block.word() as usize;
            match block.word() {
                0 => {}
                Block16::LENGTH => {
                    end = next_space(sentence, end);
                    self.push(&sentence[start..end]);
                }
                length => self.short.push(ShortText::of_block(block.0, length)),
            }
            start = end + 1;
        }
    }

    /// Adds the words of a sentence with the spaces before them. A dummy prefix is a space before
    /// the sentence.
    pub(super) fn push_spaced_words(&mut self, sentence: &[u8], dummy_prefix: bool) {
        let mut start = 0;
        if dummy_prefix {
            start = end_of_spaced_word(sentence, 0);
            self.push_prefixed(&sentence[..start]);
        }
        while start < sentence.len() {
            let block = Block16::at(sentence, start);
            match block.spaced_word() {
                Block16::LENGTH => {
                    let end = end_of_spaced_word(sentence, start);
                    self.push(&sentence[start..end]);
                    start = end;
                }
                length => {
                    self.short.push(ShortText::of_block(block.0, length));
                    start += length as usize;
                }
            }
        }
    }

    /// Adds a chunk with a space before it.
    fn push_prefixed(&mut self, chunk: &[u8]) {
        let mut prefixed = [b' '; 16];
        match prefixed.get_mut(1..=chunk.len()) {
            Some(rest) => {
                rest.copy_from_slice(chunk);
                self.push(&prefixed[..=chunk.len()]);
            }
            None => self.push(&[b" ", chunk].concat()),
        }
    }
}

/// Where the spaces at `start` and the word after them end.
fn end_of_spaced_word(sentence: &[u8], start: usize) -> usize {
    let word = start + leading_spaces(&sentence[start..]);
    next_space(sentence, word)
}

/// The number of spaces at the start of a text.
#[inline]
pub(super) fn leading_spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b' ').count()
}

/// The position of the first space at `start` or after it, or the end.
#[inline]
fn next_space(sentence: &[u8], start: usize) -> usize {
    memchr::memchr(b' ', &sentence[start..]).map_or(sentence.len(), |length| start + length)
}
