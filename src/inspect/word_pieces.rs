//! What the pieces of a WordPiece vocabulary are.

use std::collections::HashSet;

use crate::pipeline::{NormalizerStep, Pipeline, PipelineModel, has_capital};

/// The numbers of the pieces of a WordPiece vocabulary that are no added tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WordPieceCounts {
    /// Words and beginnings of words.
    pub beginnings: u64,
    /// Continuations of words, such as `##ing`.
    pub continuations: u64,
    /// Those of both kinds that stand for one character.
    pub single_characters: u64,
    /// Places that are kept for later, such as `[unused1]`, which are no beginnings.
    pub unused: u64,
    /// Those of both kinds with a capital letter (of ASCII), although text becomes lower case, so that no
    /// text gives them. Many of them mean that the model tells upper and lower case, and the normalizer
    /// does not.
    pub lost_capitals: u64,
}

impl WordPieceCounts {
    /// Counts the pieces of a pipeline; `None` if its model is another one.
    ///
    /// ```
    /// use spiece::{Tokenizer, inspect::WordPieceCounts};
    /// let tokenizer = Tokenizer::from_bytes(b"[UNK]\n[unused1]\na\nab\n##b\n")?;
    /// let counts = tokenizer.pipeline().and_then(|pipeline| WordPieceCounts::new(pipeline));
    /// let counts = counts.expect("it is a vocab.txt");
    /// assert_eq!((counts.beginnings, counts.continuations, counts.unused), (2, 1, 1));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn new(pipeline: &Pipeline) -> Option<Self> {
        let PipelineModel::WordPiece(words) = pipeline.model() else {
            return None;
        };
        let is_lower = pipeline.normalizer().iter().any(|step| match step {
            NormalizerStep::Bert(bert, _) => bert.lowercase,
            NormalizerStep::Lowercase => true,
            _ => false,
        });
        let added: HashSet<u32> = (pipeline.added_tokens().iter())
            .map(|token| token.id)
            .collect();
        let mut counts = Self::default();
        for (text, id) in words.vocabulary().tokens() {
            if added.contains(&id) || text.is_empty() {
                continue;
            } else if text.starts_with("[unused") && text.ends_with(']') {
                counts.unused += 1;
                continue;
            }
            let rest = text.strip_prefix(words.prefix());
            let rest = rest.filter(|rest| !rest.is_empty() && !words.prefix().is_empty());
            match rest {
                Some(_) => counts.continuations += 1,
                None => counts.beginnings += 1,
            }
            let is_single = rest.unwrap_or(text).chars().nth(1).is_none();
            counts.single_characters += u64::from(is_single);
            counts.lost_capitals += u64::from(is_lower && has_capital(text));
        }
        Some(counts)
    }
}
