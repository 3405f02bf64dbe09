//! What is done to the tokens of one or two texts after the model: truncation, the steps of the post-processor,
//! padding, in this order, as in the library tokenizers.
//!
//! Each step takes a list of results and gives one: at first one for each text, and after a template one for each part
//! of it. At the end all are one.

use std::sync::Arc;

use super::Pipeline;
use super::layout::{Layout, PaddingToken, PieceContent, TruncationError};
use super::length::{Padding, Truncation, TruncationStrategy};
use super::template::{PostProcessorStep, Template, TemplateKind, TemplatePart};

/// How far the spans of the next part of a result move: each text has its own places.
fn no_shift<S>(_: &Layout<S>) -> usize {
    0
}

/// Lengths in a pair of texts.
struct PairLengths {
    first: usize,
    second: usize,
}

impl PairLengths {
    /// Of these at most as many are left: the longer text is cut first, and if the shorter one is too long, too, both get
    /// a half.
    fn longest_first(&self, max_length: usize) -> Self {
        let (shorter, longer) = match self.first > self.second {
            true => (self.second, self.first),
            false => (self.first, self.second),
        };
        let left = max_length.saturating_sub(shorter).max(shorter);
        let (mut shorter, mut longer) = (shorter, left.min(longer));
        if shorter + longer > max_length {
            shorter = max_length / 2;
            longer = shorter + max_length % 2;
        }
        match self.first > self.second {
            true => Self {
                first: longer,
                second: shorter,
            },
            false => Self {
                first: shorter,
                second: longer,
            },
        }
    }
}

impl Truncation {
    /// Cuts one text or two, to which `added` tokens will be added. If these alone are too many, nothing is cut, as in
    /// tokenizers.
    fn apply<S: Clone>(
        &self,
        first: &mut Layout<S>,
        mut second: Option<&mut Layout<S>>,
        added: usize,
    ) -> Result<(), TruncationError> {
        let Some(max_length) = self.max_length.checked_sub(added) else {
            return Ok(());
        };
        if max_length == 0 {
            first.truncate(0, self.stride, self.direction)?;
            return match second {
                Some(second) => second.truncate(0, self.stride, self.direction),
                None => Ok(()),
            };
        }
        let lengths = PairLengths {
            first: first.len(),
            second: second.as_ref().map_or(0, |second| second.len()),
        };
        let total = lengths.first + lengths.second;
        let Some(surplus) = total.checked_sub(max_length).filter(|it| *it > 0) else {
            return Ok(());
        };
        let target = match (self.strategy, second.as_mut()) {
            (TruncationStrategy::LongestFirst, None) | (TruncationStrategy::OnlyFirst, _) => first,
            (TruncationStrategy::LongestFirst, Some(second)) => {
                let left = lengths.longest_first(max_length);
                first.truncate(left.first, self.stride, self.direction)?;
                return second.truncate(left.second, self.stride, self.direction);
            }
            (TruncationStrategy::OnlySecond, Some(second)) => second,
            (TruncationStrategy::OnlySecond, None) => return Err(TruncationError::NoSecondText),
        };
        let left = target.len().checked_sub(surplus).filter(|left| *left > 0);
        let left = left.ok_or(TruncationError::TextTooShort)?;
        target.truncate(left, self.stride, self.direction)
    }
}

impl Padding {
    /// The token that fills texts up.
    pub fn token(&self) -> Arc<PaddingToken> {
        Arc::new(PaddingToken {
            id: self.pad_id,
            type_id: self.pad_type_id,
            text: self.pad_token.clone(),
        })
    }

    /// Fills the results of a batch up to one length.
    pub fn apply<S: Clone>(&self, batch: &mut [Layout<S>]) {
        let longest = batch.iter().map(Layout::len).max();
        let length = self.length(longest.unwrap_or_default());
        let token = self.token();
        let results = batch.iter_mut();
        results.for_each(|result| result.pad(length, &token, self.direction));
    }
}

impl TemplatePart {
    /// Special tokens as a result; nothing for the place of a text.
    fn special<S: Clone>(&self) -> Option<Layout<S>> {
        let Self::Special { tokens, type_id } = self else {
            return None;
        };
        let content = PieceContent::Special {
            range: 0..tokens.ids.len(),
            tokens: Arc::clone(tokens),
        };
        Some(Layout::of_content(content, Some(*type_id)))
    }
}

impl Template {
    fn apply<S: Clone>(&self, results: Vec<Layout<S>>, adds_special: bool) -> Vec<Layout<S>> {
        match self.kind {
            TemplateKind::Own => self.put_in(results, adds_special),
            TemplateKind::Bert | TemplateKind::Roberta => self.put_around(results, adds_special),
        }
    }

    /// Results in their places.
    fn put_in<S: Clone>(&self, results: Vec<Layout<S>>, adds_special: bool) -> Vec<Layout<S>> {
        // After another template there can be more results than texts, for which tokenizers has no template.
        let mut results = match results.len() {
            1 | 2 => results,
            _ => vec![merged(results)],
        };
        let parts = match results.len() {
            2 => &self.pair,
            _ => &self.single,
        };
        let mut placed = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                TemplatePart::Special { .. } if adds_special => placed.extend(part.special()),
                TemplatePart::Special { .. } => {}
                TemplatePart::Sequence { is_second, type_id } => {
                    let sequence = usize::from(*is_second);
                    if let Some(result) = results.get_mut(sequence) {
                        result.set_type(*type_id);
                        result.set_sequence(sequence);
                        placed.push(result.clone());
                    }
                }
            }
        }
        placed
    }

    /// Special tokens around each result, which stays one, with its overflow: BERT and RoBERTa. All tokens of texts count as
    /// text then.
    fn put_around<S: Clone>(&self, results: Vec<Layout<S>>, adds_special: bool) -> Vec<Layout<S>> {
        let is_roberta = self.kind == TemplateKind::Roberta;
        let mut results = results;
        if is_roberta {
            results.iter_mut().for_each(|result| result.set_type(0));
        }
        if !adds_special {
            return results;
        }
        let second = self.pair.get(self.single.len()..).unwrap_or_default();
        let around = |number: usize, mut text: Layout<S>| {
            let parts = if number == 0 { &self.single } else { second };
            text.set_text();
            text.forget_sequences();
            let mut whole = Layout::default();
            let mut tokens = 0..0;
            for part in parts {
                match part.special() {
                    Some(special) => whole.merge(&special, &no_shift),
                    None => {
                        tokens = whole.len()..whole.len() + text.len();
                        whole.merge(&text, &no_shift);
                    }
                }
            }
            whole.set_tokens_of(number.min(1), tokens);
            whole
        };
        let results = results.into_iter().enumerate();
        let finish = |(number, mut result): (usize, Layout<S>)| {
            let overflow = std::mem::take(result.overflow_mut()).into_iter();
            let overflow = overflow.map(|mut part| {
                part.overflow_mut().clear();
                if is_roberta {
                    part.set_type(0);
                }
                around(number, part)
            });
            let overflow = overflow.collect();
            let mut result = around(number, result);
            *result.overflow_mut() = overflow;
            result
        };
        results.map(finish).collect()
    }

    /// The special tokens around one text, or two.
    fn added_length(&self, is_pair: bool) -> usize {
        let parts = if is_pair { &self.pair } else { &self.single };
        let special = parts.iter().map(|part| match part {
            TemplatePart::Special { tokens, .. } => tokens.ids.len(),
            TemplatePart::Sequence { .. } => 0,
        });
        special.sum()
    }
}

impl PostProcessorStep {
    fn apply<S: Clone>(&self, results: Vec<Layout<S>>, adds_special: bool) -> Vec<Layout<S>> {
        let mut results = results;
        match self {
            Self::Template(template) => return template.apply(results, adds_special),
            Self::TrimOffsets { add_prefix_space } => {
                for result in &mut results {
                    result.trim(*add_prefix_space);
                    let overflow = result.overflow_mut().iter_mut();
                    overflow.for_each(|part| part.trim(*add_prefix_space));
                }
            }
            Self::NumberSequences => {}
        }
        let numbered = results.iter_mut().enumerate();
        numbered.for_each(|(number, result)| result.set_sequence(number));
        results
    }
}

/// All results one after another.
fn merged<S: Clone>(results: Vec<Layout<S>>) -> Layout<S> {
    let mut results = results.into_iter();
    let mut whole = results.next().unwrap_or_default();
    results.for_each(|result| whole.merge(&result, &no_shift));
    whole
}

impl Pipeline {
    /// The number of special tokens around one text, or two.
    pub fn added_length(&self, is_pair: bool) -> usize {
        let steps = self.post_processor.iter().map(|step| match step {
            PostProcessorStep::Template(template) => template.added_length(is_pair),
            PostProcessorStep::TrimOffsets { .. } | PostProcessorStep::NumberSequences => 0,
        });
        steps.sum()
    }

    /// The result of one text or two: cut, and in the template if `adds_special`. [`Padding::apply`] fills up the results of
    /// a batch.
    ///
    /// # Errors
    /// A text is too long, and the settings do not allow to cut it.
    pub fn post_process<S: Clone>(
        &self,
        mut first: Layout<S>,
        mut second: Option<Layout<S>>,
        adds_special: bool,
        truncation: Option<&Truncation>,
    ) -> Result<Layout<S>, TruncationError> {
        if let Some(truncation) = truncation {
            let added = match adds_special {
                true => self.added_length(second.is_some()),
                false => 0,
            };
            truncation.apply(&mut first, second.as_mut(), added)?;
        }
        let mut results = vec![first];
        results.extend(second);
        if self.post_processor.is_empty() {
            // Without a post-processor nobody gives the tokens of one text a sequence, and all keep their types.
            if results.len() > 1 {
                for (number, result) in results.iter_mut().enumerate() {
                    result.set_sequence(number);
                }
            }
            return Ok(merged(results));
        }
        for ((number, result), type_id) in results.iter_mut().enumerate().zip(0..) {
            result.set_sequence(number);
            let overflow = result.overflow_mut().iter_mut();
            overflow.for_each(|part| part.set_sequence(number));
            result.set_type(type_id);
        }
        for step in self.post_processor.iter() {
            results = step.apply(results, adds_special);
        }
        Ok(merged(results))
    }
}
