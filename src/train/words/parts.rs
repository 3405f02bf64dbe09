//! SentenceChunks -> words: a chunk is prepared, divided at its boundaries, and its parts are added to the
//! table. Most chunks are of plain ASCII, which needs no normalization and no decoding.
//!
//! For example, in "the cat and the dog" the chunk "the" occurs twice. It is prepared and split
//! once, and its part `▁the` is added with 2. For a char model the parts are characters, which a
//! thread counts in a table of its own by code point and adds to the counts at the end.

use foldhash::fast::SeedableRandomState;
use memchr::memmem;

use super::WordSource;
use super::chunk_counter::Released;
use super::chunk_rule::{ChunkRule, PlainBytes};
use super::chunks::{SentenceChunks, leading_spaces};
use crate::base::WHITESPACE_MARK_STR;
use crate::normalize::charsmap::Charsmap;
use crate::train::TrainError;
use crate::train::alphabet::add_characters;
use crate::train::meta_pieces::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::short_texts::{PART_SETS, ShortText, ShortTextCache};
use crate::train::split::kept_pairs::KeptPairs;
use crate::train::split::parts::{PartRules, PartSplitter};
use crate::train::word_table::TableAdder;

/// What is counted of prepared text.
pub(crate) enum CountedUnit {
    /// Its characters, for a char model.
    Characters,
    /// The parts that no piece crosses.
    Parts(PartRules),
}

/// How the sentences of SentencePiece's models are cut, prepared and divided.
pub(crate) struct PreparedText {
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

impl PreparedText {
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

    /// Whether a sentence of this text has a whitespace mark, so that it is prepared as a whole.
    pub(super) fn may_have_mark(&self, text: &[u8]) -> bool {
        self.chunk_rule != ChunkRule::Sentence && self.whitespace_mark.find(text).is_some()
    }

    /// Cuts a sentence into chunks.
    pub(super) fn cut(&self, sentence: &[u8], may_have_mark: bool, chunks: &mut SentenceChunks) {
        match self.rule_for(sentence, may_have_mark) {
            ChunkRule::Sentence => chunks.sentences.push(sentence),
            ChunkRule::Words => chunks.push_words(sentence),
            ChunkRule::SpacedWords { dummy_prefix } => {
                chunks.push_spaced_words(sentence, dummy_prefix);
            }
        }
    }

    /// The rule for one sentence.
    fn rule_for(&self, sentence: &[u8], may_have_mark: bool) -> ChunkRule {
        // Some steps treat a mark in the raw text as whitespace, others as text.
        let has_mark = may_have_mark && self.may_have_mark(sentence);
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

/// Divides chunks into words, and adds these to a table.
pub(super) struct PartCounter<'c, 't> {
    words: TableAdder<'t>,
    /// `None` if each chunk is a word.
    preparer: Option<Preparer<'c>>,
}

impl<'c, 't> PartCounter<'c, 't> {
    pub(super) fn new(source: &'c WordSource<'c>, words: TableAdder<'t>) -> Self {
        let preparer = match source {
            WordSource::Prepared(text) => Some(Preparer::new(text, words.hasher())),
            WordSource::Pretokens(_) => None,
        };
        Self { words, preparer }
    }

    /// Adds chunks, which are removed.
    pub(super) fn add_released(&mut self, released: &mut Released) -> Result<(), TrainError> {
        let Self { words, preparer } = self;
        match preparer {
            None => {
                for chunk in released.short.drain(..) {
                    words.add_short(chunk.text, chunk.count)?;
                }
                let long = &released.long;
                long.for_each(|chunk, count| words.add(chunk, count))?;
            }
            Some(preparer) => {
                for chunk in released.short.drain(..) {
                    let mut buffer = [[0; 8]; 2];
                    preparer.add(chunk.text.text(&mut buffer), chunk.count, words)?;
                }
                let long = &released.long;
                long.for_each(|chunk, count| preparer.add(chunk, count, words))?;
            }
        }
        released.long.clear();
        Ok(())
    }

    /// Adds the chunks that no [`ChunkCounter`](super::chunk_counter::ChunkCounter) counts.
    pub(super) fn add_uncounted(&mut self, chunks: &SentenceChunks) -> Result<(), TrainError> {
        let Self { words, preparer } = self;
        for index in 0..chunks.rare.len() {
            let chunk = chunks.rare.get(index);
            match preparer {
                None => words.add(chunk, chunks.count)?,
                Some(preparer) => preparer.add(chunk, chunks.count, words)?,
            }
        }
        if let Some(preparer) = preparer {
            for index in 0..chunks.sentences.len() {
                preparer.add_sentence(chunks.sentences.get(index), chunks.count, words)?;
            }
        }
        Ok(())
    }

    /// Adds what is still in buffers.
    pub(super) fn finish(mut self) -> Result<(), TrainError> {
        if let Some(mut preparer) = self.preparer {
            for part in preparer.cache.take_entries() {
                self.words.add_short(part.text, part.count)?;
            }
            let characters = match &preparer.unit {
                UnitCounter::Characters(characters) => characters.as_slice(),
                UnitCounter::Parts(_) => &preparer.single_bytes,
            };
            for (code, count) in (0..).zip(characters).filter(|(_, count)| **count > 0) {
                if let Some(c) = char::from_u32(code) {
                    self.words
                        .add(c.encode_utf8(&mut [0; 4]).as_bytes(), *count)?;
                }
            }
        }
        self.words.flush()
    }
}

/// Prepares chunks and divides them.
struct Preparer<'c> {
    text: &'c PreparedText,
    unit: UnitCounter,
    buffer: Vec<u8>,
    /// The counts of parts of one byte: punctuation, and digits if they are divided, are most of the
    /// parts of words that have more than one.
    single_bytes: [u64; 256],
    /// Short parts of plain chunks: "the" is a part of chunks such as "(the", which occur rarely.
    cache: ShortTextCache<PART_SETS>,
}

impl<'c> Preparer<'c> {
    fn new(text: &'c PreparedText, hasher: &SeedableRandomState) -> Self {
        Self {
            text,
            unit: match &text.unit {
                CountedUnit::Characters => UnitCounter::Characters(Vec::new()),
                CountedUnit::Parts(rules) => UnitCounter::Parts(PartSplitter::new(rules)),
            },
            buffer: Vec::new(),
            single_bytes: [0; 256],
            cache: ShortTextCache::new(hasher),
        }
    }

    /// Adds the parts of a chunk.
    fn add(
        &mut self,
        chunk: &[u8],
        count: u64,
        words: &mut TableAdder<'_>,
    ) -> Result<(), TrainError> {
        let spaces = leading_spaces(chunk);
        let word = &chunk[spaces..];
        if !self.text.plain.make_up(word) {
            return self.add_prepared(&self.text.chunk_preparation, chunk, count, words);
        }
        // Preparing plain bytes, which are ASCII, only writes whitespace marks before them.
        let marks = self.text.chunk_rule.whitespace_marks(spaces);
        let text = &mut self.buffer;
        text.clear();
        for _ in 0..marks {
            text.extend_from_slice(WHITESPACE_MARK_STR.as_bytes());
        }
        text.extend_from_slice(word);
        let splitter = match &mut self.unit {
            UnitCounter::Parts(PartSplitter::Boundaries(splitter)) => splitter,
            unit => return unit.add(std::str::from_utf8(text).unwrap_or_default(), count, words),
        };
        let mut result = Ok(());
        splitter.split_ascii(marks, word, |part| {
            let part = &text[part];
            if let [byte] = part {
                let sum = &mut self.single_bytes[usize::from(*byte)];
                *sum = sum.saturating_add(count);
                return;
            }
            let added = match ShortText::new(part) {
                None => words.add(part, count),
                Some(part) => match self.cache.add(part, count) {
                    None => Ok(()),
                    Some(part) => words.add_short(part.text, part.count),
                },
            };
            if result.is_ok() {
                result = added;
            }
        });
        result
    }

    /// Adds the parts of a sentence that is no concatenation of chunks.
    fn add_sentence(
        &mut self,
        sentence: &[u8],
        count: u64,
        words: &mut TableAdder<'_>,
    ) -> Result<(), TrainError> {
        self.add_prepared(&self.text.preparation, sentence, count, words)
    }

    fn add_prepared(
        &mut self,
        preparation: &Preparation,
        text: &[u8],
        count: u64,
        words: &mut TableAdder<'_>,
    ) -> Result<(), TrainError> {
        let prepared = preparation.prepare(text, &mut self.buffer)?;
        self.unit.add(&prepared, count, words)
    }
}

/// How a thread counts a [`CountedUnit`].
enum UnitCounter {
    /// By code point, before they are added to the words.
    Characters(Vec<u64>),
    Parts(PartSplitter),
}

impl UnitCounter {
    /// Splits prepared text and adds the parts.
    fn add(
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
