//! Chunks of raw sentences that are prepared before they are counted: [`Cuts`] of SentencePiece's
//! models.
//!
//! For example, in "the cat and the dog" the chunk "the" occurs twice. It is prepared and split
//! once, and its part `▁the` is counted with 2. For a char model the parts are characters, which a
//! thread counts in a table of its own by code point and adds to the counts at the end.

use memchr::memmem;

use super::chunk_rule::{ChunkRule, PlainBytes};
use super::worker::Worker;
use super::{CountedUnit, Cuts};
use crate::base::WHITESPACE_MARK_STR;
use crate::normalize::charsmap::Charsmap;
use crate::train::TrainError;
use crate::train::alphabet::add_characters;
use crate::train::counts::TableAdder;
use crate::train::meta::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::raw_chunk_cache::ShortText;
use crate::train::split::kept_pairs::KeptPairs;
use crate::train::split::parts::PartSplitter;
use crate::train::swar::Block16;

/// Cuts sentences where [`ChunkRule`] allows it, and prepares the chunks.
pub(crate) struct PreparedCuts {
    preparation: Preparation,
    /// Prepares a chunk of `chunk_rule` as it would be prepared inside a sentence.
    chunk_preparation: Preparation,
    chunk_rule: ChunkRule,
    plain: PlainBytes,
    unit: CountedUnit,
    whitespace_mark: memmem::Finder<'static>,
    /// How those of the normalizer's rules end that may extend a run of whitespace, if such runs
    /// may be pieces.
    space_rules: Option<SpaceRuleEnds>,
}

impl PreparedCuts {
    pub(crate) fn new(
        options: &TrainOptions,
        preparation: Preparation,
        meta: &MetaPieces,
        unit: CountedUnit,
    ) -> Self {
        let kept_pairs = match &unit {
            CountedUnit::Characters => None,
            CountedUnit::Parts(rules) => rules.kept_pairs(),
        };
        let chunk_rule = if kept_pairs.is_some_and(KeptPairs::cross_words) {
            ChunkRule::Sentence
        } else {
            ChunkRule::of(options, &preparation, meta)
        };
        let chunk_preparation = match chunk_rule {
            // The first chunk contains the prefix already.
            ChunkRule::SpacedWords { .. } => preparation.without_dummy_prefix(),
            _ => preparation.clone(),
        };
        let may_extend_runs = (options.allow_whitespace_only_pieces
            || kept_pairs.is_some_and(KeptPairs::has_whitespace_runs))
            && matches!(chunk_rule, ChunkRule::SpacedWords { .. });
        let charsmap = preparation.normalizer.charsmap();
        let space_rules = charsmap.filter(|_| may_extend_runs).map(SpaceRuleEnds::of);
        Self {
            plain: PlainBytes::of(&preparation, meta),
            preparation,
            chunk_preparation,
            chunk_rule,
            unit,
            whitespace_mark: memmem::Finder::new(WHITESPACE_MARK_STR).into_owned(),
            space_rules,
        }
    }

    fn has_mark(&self, text: &[u8]) -> bool {
        self.whitespace_mark.find(text).is_some()
    }

    /// The rule for one sentence.
    fn rule_for(&self, sentence: &[u8], may_have_mark: bool) -> ChunkRule {
        // Some steps treat a mark in the raw text as whitespace, others as text.
        let has_mark = may_have_mark && self.has_mark(sentence);
        // Whether a run of whitespace that may be a piece spans two chunks; the exact test is slow.
        let rules = self.space_rules.as_ref();
        let may_extend = rules.is_some_and(|ends| ends.precede_space_in(sentence));
        let normalizer = &self.preparation.normalizer;
        if has_mark || (may_extend && normalizer.extends_run_by_raw_space(sentence)) {
            ChunkRule::Sentence
        } else {
            self.chunk_rule
        }
    }
}

impl Cuts for PreparedCuts {
    type Tally = u64;
    type Local = PreparedLocal;

    fn local(&self) -> PreparedLocal {
        PreparedLocal {
            unit: match &self.unit {
                CountedUnit::Characters => UnitCounter::Characters(Vec::new()),
                CountedUnit::Parts(rules) => UnitCounter::Parts(PartSplitter::new(rules)),
            },
            may_have_mark: false,
            buffer: Vec::new(),
            plain_text: String::new(),
            prefixed_chunk: Vec::new(),
        }
    }

    fn begin_batch(&self, bytes: &[u8], local: &mut PreparedLocal) {
        local.may_have_mark = self.chunk_rule != ChunkRule::Sentence && self.has_mark(bytes);
    }

    fn cut(
        &self,
        sentence: &[u8],
        (count, _place): (u64, u64),
        worker: &mut Worker<'_, '_, Self>,
    ) -> Result<(), TrainError> {
        match self.rule_for(sentence, worker.local.may_have_mark) {
            ChunkRule::Sentence => {
                let (local, words) = (&mut worker.local, &mut worker.words);
                local.count_prepared(&self.preparation, sentence, count, words)
            }
            ChunkRule::Words => add_words(sentence, count, worker),
            ChunkRule::SpacedWords { dummy_prefix } => {
                add_spaced_words(sentence, count, dummy_prefix, worker)
            }
        }
    }

    fn count(
        &self,
        chunk: &[u8],
        count: u64,
        local: &mut PreparedLocal,
        words: &mut TableAdder<'_>,
    ) -> Result<(), TrainError> {
        let spaces = leading_spaces(chunk);
        let word = &chunk[spaces..];
        if !self.plain.make_up(word) {
            return local.count_prepared(&self.chunk_preparation, chunk, count, words);
        }
        // Preparing plain bytes, which are ASCII, only writes whitespace marks before them.
        let marks = self.chunk_rule.whitespace_marks(spaces);
        let text = &mut local.plain_text;
        text.clear();
        text.extend(std::iter::repeat_n(WHITESPACE_MARK_STR, marks));
        text.push_str(std::str::from_utf8(word).unwrap_or_default());
        local.unit.count(text, count, words)
    }

    fn finish(&self, local: PreparedLocal, words: &mut TableAdder<'_>) -> Result<(), TrainError> {
        let UnitCounter::Characters(characters) = local.unit else {
            return Ok(());
        };
        for (code, count) in (0..).zip(characters).filter(|(_, count)| *count > 0) {
            if let Some(c) = char::from_u32(code) {
                words.add(c.encode_utf8(&mut [0; 4]).as_bytes(), count)?;
            }
        }
        Ok(())
    }
}

fn add_words(
    sentence: &[u8],
    count: u64,
    worker: &mut Worker<'_, '_, PreparedCuts>,
) -> Result<(), TrainError> {
    let mut start = 0;
    while start < sentence.len() {
        let block = Block16::at(sentence, start);
        let mut end = start + block.word() as usize;
        match block.word() {
            0 => {}
            Block16::LENGTH => {
                end = next_space(sentence, end);
                worker.add(&sentence[start..end], count)?;
            }
            length => worker.add_short(ShortText::of_block(block.0, length), count)?,
        }
        start = end + 1;
    }
    Ok(())
}

fn add_spaced_words(
    sentence: &[u8],
    count: u64,
    dummy_prefix: bool,
    worker: &mut Worker<'_, '_, PreparedCuts>,
) -> Result<(), TrainError> {
    let mut start = 0;
    if dummy_prefix {
        start = end_of_spaced_word(sentence, 0);
        let mut prefixed = std::mem::take(&mut worker.local.prefixed_chunk);
        prefixed.clear();
        prefixed.push(b' ');
        prefixed.extend_from_slice(&sentence[..start]);
        worker.add(&prefixed, count)?;
        worker.local.prefixed_chunk = prefixed;
    }
    while start < sentence.len() {
        let block = Block16::at(sentence, start);
        match block.spaced_word() {
            Block16::LENGTH => {
                let end = end_of_spaced_word(sentence, start);
                worker.add(&sentence[start..end], count)?;
                start = end;
            }
            length => {
                worker.add_short(ShortText::of_block(block.0, length), count)?;
                start += length as usize;
            }
        }
    }
    Ok(())
}

/// The state of a thread that counts.
pub(crate) struct PreparedLocal {
    unit: UnitCounter,
    /// Whether the batch has a whitespace mark, so that a sentence of it may have to be prepared as
    /// a whole.
    may_have_mark: bool,
    buffer: Vec<u8>,
    plain_text: String,
    /// A chunk with a dummy prefix.
    prefixed_chunk: Vec<u8>,
}

/// How a thread counts a [`CountedUnit`].
enum UnitCounter {
    /// By code point, before they are added to the words.
    Characters(Vec<u64>),
    Parts(PartSplitter),
}

impl UnitCounter {
    /// Splits prepared text and counts the parts.
    fn count(
        &mut self,
        text: &str,
        count: u64,
        words: &mut TableAdder<'_>,
    ) -> Result<(), TrainError> {
        let splitter = match self {
            Self::Parts(splitter) => splitter,
            Self::Characters(characters) => {
                add_characters(characters, text, count);
                return Ok(());
            }
        };
        let mut result = Ok(());
        splitter.split(text, |part| {
            if result.is_ok() {
                result = words.add(part.as_bytes(), count);
            }
        });
        result
    }
}

impl PreparedLocal {
    /// Prepares `text` and counts its parts.
    fn count_prepared(
        &mut self,
        preparation: &Preparation,
        text: &[u8],
        count: u64,
        words: &mut TableAdder<'_>,
    ) -> Result<(), TrainError> {
        let prepared = preparation.prepare(text, &mut self.buffer)?;
        self.unit.count(&prepared, count, words)
    }
}

/// Where the spaces at `start` and the word after them end.
fn end_of_spaced_word(sentence: &[u8], start: usize) -> usize {
    let word = start + leading_spaces(&sentence[start..]);
    next_space(sentence, word)
}

fn leading_spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b' ').count()
}

/// The position of the first space at `start` or after it, or the end.
fn next_space(sentence: &[u8], start: usize) -> usize {
    memchr::memchr(b' ', &sentence[start..]).map_or(sentence.len(), |length| start + length)
}

/// The last bytes of the sources of rules that delete their source or replace it by text that ends
/// in a space. A raw space extends a run of whitespace only directly after such a source. Most
/// sentences have no such position, so the exact test
/// ([`extends_run_by_raw_space`](crate::normalize::Normalizer::extends_run_by_raw_space)) is rarely
/// needed.
struct SpaceRuleEnds {
    ends: [bool; 256],
    has_printable: bool,
}

impl SpaceRuleEnds {
    fn of(charsmap: &Charsmap) -> Self {
        let ends = charsmap.ends_of_space_rules();
        Self {
            has_printable: has_printable(&ends),
            ends,
        }
    }

    /// Whether a space follows one of these bytes in `sentence`. It takes less than one instruction
    /// per byte for most sentences.
    fn precede_space_in(&self, sentence: &[u8]) -> bool {
        (self.has_printable || may_extend_run(sentence))
            && adjacent_bytes(sentence)
                .any(|(left, right)| *right == b' ' && self.ends[usize::from(*left)])
    }
}

/// Whether one of the bytes that `ends` marks is printable ASCII.
fn has_printable(ends: &[bool; 256]) -> bool {
    (0..=u8::MAX)
        .zip(ends)
        .any(|(byte, is_end)| *is_end && is_printable(byte))
}

/// Whether a space follows a byte that is not a printable ASCII character. The loop has no branch,
/// so that the compiler vectorizes it.
fn may_extend_run(text: &[u8]) -> bool {
    adjacent_bytes(text).fold(false, |found, (&left, &right)| {
        found | ((right == b' ') & !is_printable(left))
    })
}

fn adjacent_bytes(text: &[u8]) -> impl Iterator<Item = (&u8, &u8)> {
    text.iter().zip(text.get(1..).unwrap_or_default())
}

/// Whether a byte is a space or a visible ASCII character.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::charsmap::compile;
    use crate::normalize::rules::parse_tsv;

    #[test]
    fn sentences_without_a_space_after_a_space_rule_are_no_candidates() {
        let rules = parse_tsv(b"1\t\n9\t20\n78 79\t20\n71\t72\n").unwrap();
        let charsmap = Charsmap::from_bytes(&compile(&rules).unwrap()).unwrap();
        let ends = SpaceRuleEnds::of(&charsmap);
        for (sentence, is_candidate) in [
            ("a\u{1} b", true),
            ("a\t b", true),
            ("xy b", true),
            ("y b", true),
            ("a \tb", false),
            ("xz q b", false),
            ("", false),
            (" ", false),
            ("  a  ", false),
            ("caf\u{e9} b", false),
        ] {
            assert_eq!(
                ends.precede_space_in(sentence.as_bytes()),
                is_candidate,
                "{sentence:?}"
            );
        }
    }
}
