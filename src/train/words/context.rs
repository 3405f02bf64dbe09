//! What all counting threads share and only read.

use memchr::memmem;

use super::chunk_rule::{ChunkRule, PlainBytes};
use crate::text::WHITESPACE_MARK_STR;
use crate::train::execution::ExecutionConfig;
use crate::train::meta::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;
use crate::train::split::SplitRules;

/// Everything that counting threads share.
pub(super) struct CountContext<'a> {
    pub(super) options: &'a TrainOptions,
    pub(super) preparation: Preparation,
    /// Prepares a chunk of `chunk_rule` as it would be prepared inside a sentence.
    pub(super) chunk_preparation: Preparation,
    pub(super) chunk_rule: ChunkRule,
    pub(super) plain: PlainBytes,
    pub(super) rules: SplitRules,
    pub(super) work: &'a ExecutionConfig,
    whitespace_mark: memmem::Finder<'static>,
}

impl<'a> CountContext<'a> {
    pub(super) fn new(
        options: &'a TrainOptions,
        preparation: Preparation,
        meta: &MetaPieces,
        work: &'a ExecutionConfig,
    ) -> CountContext<'a> {
        let chunk_rule = ChunkRule::of(options, &preparation, meta);
        let chunk_preparation = match chunk_rule {
            // The first chunk contains the prefix already.
            ChunkRule::SpacedWords { .. } => preparation.without_dummy_prefix(),
            _ => preparation.clone(),
        };
        CountContext {
            plain: PlainBytes::of(&preparation, meta),
            options,
            preparation,
            chunk_preparation,
            chunk_rule,
            rules: SplitRules::new(options),
            work,
            whitespace_mark: memmem::Finder::new(WHITESPACE_MARK_STR).into_owned(),
        }
    }

    /// Whether a batch of sentences with these bytes may have a sentence that has to be prepared as a whole because
    /// of a whitespace mark in it.
    pub(super) fn may_have_mark(&self, batch: &[u8]) -> bool {
        self.chunk_rule != ChunkRule::Sentence && self.has_mark(batch)
    }

    fn has_mark(&self, text: &[u8]) -> bool {
        self.whitespace_mark.find(text).is_some()
    }

    /// The rule for one sentence of a batch for which [`CountContext::may_have_mark`] returned `may_have_mark`.
    pub(super) fn rule_for(&self, sentence: &[u8], may_have_mark: bool) -> ChunkRule {
        // A mark in the raw text is whitespace to some steps and text to others.
        let has_mark = may_have_mark && self.has_mark(sentence);
        if has_mark || self.extends_run(sentence) {
            ChunkRule::Sentence
        } else {
            self.chunk_rule
        }
    }

    /// Whether a run of whitespace that may be a piece lies in two chunks of the sentence.
    fn extends_run(&self, sentence: &[u8]) -> bool {
        self.options.allow_whitespace_only_pieces
            && matches!(self.chunk_rule, ChunkRule::SpacedWords { .. })
            && self
                .preparation
                .normalizer
                .extends_run_by_raw_space(sentence)
    }
}
