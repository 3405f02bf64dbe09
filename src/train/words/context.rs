//! Read-only state shared by the counting threads.

use memchr::memmem;

use super::CountedUnit;
use super::chunk_rule::{ChunkRule, PlainBytes};
use crate::base::WHITESPACE_MARK_STR;
use crate::normalize::charsmap::Charsmap;
use crate::train::execution::ExecutionConfig;
use crate::train::meta::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::split::kept_pairs::KeptPairs;

/// Read-only state shared by the counting threads.
pub(crate) struct CountContext<'a> {
    pub(super) options: &'a TrainOptions,
    pub(super) preparation: Preparation,
    /// Prepares a chunk of `chunk_rule` as it would be prepared inside a sentence.
    pub(super) chunk_preparation: Preparation,
    pub(super) chunk_rule: ChunkRule,
    pub(super) plain: PlainBytes,
    pub(super) unit: CountedUnit,
    pub(super) work: &'a ExecutionConfig,
    whitespace_mark: memmem::Finder<'static>,
    /// How those of the normalizer's rules end that may extend a run of whitespace, if such runs
    /// may be pieces.
    space_rules: Option<SpaceRuleEnds>,
}

impl<'a> CountContext<'a> {
    pub(crate) fn new(
        options: &'a TrainOptions,
        preparation: Preparation,
        meta: &MetaPieces,
        work: &'a ExecutionConfig,
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
        CountContext {
            plain: PlainBytes::of(&preparation, meta),
            options,
            preparation,
            chunk_preparation,
            chunk_rule,
            unit,
            work,
            whitespace_mark: memmem::Finder::new(WHITESPACE_MARK_STR).into_owned(),
            space_rules,
        }
    }

    /// Whether a batch with these bytes may contain a sentence that must be prepared as a whole
    /// because it contains a whitespace mark.
    pub(super) fn may_have_mark(&self, batch: &[u8]) -> bool {
        self.chunk_rule != ChunkRule::Sentence && self.has_mark(batch)
    }

    fn has_mark(&self, text: &[u8]) -> bool {
        self.whitespace_mark.find(text).is_some()
    }

    /// The rule for one sentence of a batch for which [`CountContext::may_have_mark`] returned
    /// `may_have_mark`.
    pub(super) fn rule_for(&self, sentence: &[u8], may_have_mark: bool) -> ChunkRule {
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

    /// Whether a space follows one of these bytes in `sentence`. Cost: less than one instruction
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
