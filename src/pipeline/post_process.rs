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
        for (number, part) in parts.iter().enumerate() {
            match part {
                TemplatePart::Special { .. } if adds_special => placed.extend(part.special()),
                TemplatePart::Special { .. } => {}
                TemplatePart::Sequence { is_second, type_id } => {
                    let sequence = usize::from(*is_second);
                    if let Some(result) = results.get_mut(sequence) {
                        result.set_type(*type_id);
                        result.set_sequence(sequence);
                        let stands_again = parts[number + 1..].iter().any(|part| {
                            matches!(part, TemplatePart::Sequence { is_second: it, .. } if it == is_second)
                        });
                        placed.push(match stands_again {
                            true => result.clone(),
                            false => std::mem::take(result),
                        });
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
                    Some(special) => whole.merge(special, &no_shift),
                    // Each text stands in its half once.
                    None => {
                        tokens = whole.len()..whole.len() + text.len();
                        whole.merge(std::mem::take(&mut text), &no_shift);
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
    results.for_each(|result| whole.merge(result, &no_shift));
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Layout, Padding, Pipeline, Truncation, TruncationStrategy};
    use crate::formats::read_pipeline;
    use crate::pipeline::layout::tests::{characters, sequences, shown};
    use crate::pipeline::{Side, TruncationError};

    fn pipeline(post_processor: &Value) -> Pipeline {
        let vocabulary = json!({"?": 0, "<": 1, ">": 2});
        let model = json!({"type": "WordLevel", "vocab": vocabulary, "unk_token": "?"});
        let file = json!({"post_processor": post_processor, "model": model});
        read_pipeline(file.to_string().as_bytes()).unwrap()
    }

    fn template_processing() -> Value {
        let special = |text: &str, id: u32| json!({"id": text, "ids": [id], "tokens": [text]});
        let token =
            |text: &str, type_id: u32| json!({"SpecialToken": {"id": text, "type_id": type_id}});
        let text = |name: &str, type_id: u32| json!({"Sequence": {"id": name, "type_id": type_id}});
        json!({
            "type": "TemplateProcessing",
            "single": [token("<", 0), text("A", 0), token(">", 0)],
            "pair": [token("<", 0), text("A", 0), token(">", 0), text("B", 1), token(">", 1)],
            "special_tokens": {"<": special("<", 1), ">": special(">", 2)},
        })
    }

    fn bert() -> Value {
        json!({"type": "BertProcessing", "cls": ["<", 1], "sep": [">", 2]})
    }

    fn roberta() -> Value {
        json!({"type": "RobertaProcessing", "cls": ["<", 1], "sep": [">", 2], "trim_offsets": false, "add_prefix_space": false})
    }

    fn cut_to(max_length: usize, stride: usize, direction: Side) -> Truncation {
        Truncation {
            max_length,
            strategy: TruncationStrategy::LongestFirst,
            stride,
            direction,
        }
    }

    fn types(result: &Layout<&str>) -> Vec<u32> {
        let pieces = result.pieces().iter();
        let types = pieces.map(|it| vec![it.type_id.unwrap_or_default(); it.content.len()]);
        types.collect::<Vec<_>>().concat()
    }

    // The expected values of all tests are those of `Tokenizer.encode` of tokenizers 0.23.3.

    #[test]
    fn fields_tell_a_template_whatever_its_type() {
        let expected = pipeline(&template_processing());
        for kind in ["ByteLevel", "Sequence", "Other"] {
            let mut json = template_processing();
            json["type"] = json!(kind);
            json["processors"] = json!([]);
            let found = pipeline(&json);
            assert_eq!(
                found.added_length(true),
                expected.added_length(true),
                "{kind}"
            );
        }
    }

    #[test]
    fn kinds_of_templates_differ_in_types_and_in_the_tokens_between_texts() {
        let (a, b) = (Some(0), Some(1));
        let cases = [
            (
                template_processing(),
                "<ab>c>",
                vec![0, 0, 0, 0, 1, 1],
                vec![None, a, a, None, b, None],
            ),
            (
                bert(),
                "<ab>c>",
                vec![0, 0, 0, 0, 1, 1],
                vec![None, a, a, None, b, None],
            ),
            (
                roberta(),
                "<ab>>c>",
                vec![0; 7],
                vec![None, a, a, None, None, b, None],
            ),
        ];
        for (post_processor, tokens, expected_types, expected_sequences) in cases {
            let pipeline = pipeline(&post_processor);
            let (first, second) = (characters("ab"), Some(characters("c")));
            let result = pipeline.post_process(first, second, true, None).unwrap();
            assert_eq!(shown(&result), tokens);
            assert_eq!(types(&result), expected_types, "{tokens}");
            assert_eq!(sequences(&result), expected_sequences, "{tokens}");
        }
    }

    #[test]
    fn roberta_has_one_type_also_without_special_tokens() {
        for (post_processor, expected) in [(bert(), [0, 0, 1]), (roberta(), [0, 0, 0])] {
            let pipeline = pipeline(&post_processor);
            let (first, second) = (characters("ab"), Some(characters("c")));
            let result = pipeline.post_process(first, second, false, None).unwrap();
            assert_eq!(shown(&result), "abc");
            assert_eq!(types(&result), expected);
            assert_eq!(sequences(&result), [Some(0), Some(0), Some(1)]);
        }
    }

    #[test]
    fn parts_of_the_overflow_stand_in_the_template_each_with_each() {
        let right =
            "<ab>fgh>[<cd>fgh>[<cd>ij>] <cd>ij> <e>fgh>[<e>ij>] <e>ij> <ab>ij>[<cd>ij> <e>ij>]]";
        let left = "<de>hij>[<cd>hij>[<cd>fgh>] <cd>fgh> <bc>hij>[<bc>fgh>] <bc>fgh> \
                    <ab>hij>[<ab>fgh>] <ab>fgh> <de>fgh>[<cd>fgh> <bc>fgh> <ab>fgh>]]";
        let cases = [
            (cut_to(8, 0, Side::Right), right),
            (cut_to(8, 1, Side::Left), left),
        ];
        for post_processor in [template_processing(), bert()] {
            let pipeline = pipeline(&post_processor);
            for (truncation, expected) in &cases {
                let (first, second) = (characters("abcde"), Some(characters("fghij")));
                let result = pipeline.post_process(first, second, true, Some(truncation));
                let result = result.unwrap();
                assert_eq!(shown(&result), *expected);
                let texts = [
                    None,
                    Some(0),
                    Some(0),
                    None,
                    Some(1),
                    Some(1),
                    Some(1),
                    None,
                ];
                assert_eq!(sequences(&result.overflow()[0]), texts);
                assert_eq!(types(&result.overflow()[0]), [0, 0, 0, 0, 1, 1, 1, 1]);
            }
        }
    }

    #[test]
    fn padding_at_the_left_stands_before_the_template_and_its_sequences() {
        let pipeline = pipeline(&bert());
        let truncation = cut_to(5, 1, Side::Right);
        let texts = ["abcdefg", ""].map(|text| {
            let result = pipeline.post_process(characters(text), None, true, Some(&truncation));
            result.unwrap()
        });
        let mut batch = texts;
        let padding = Padding {
            fixed_length: None,
            direction: Side::Left,
            pad_to_multiple_of: Some(3),
            pad_id: 0,
            pad_type_id: 0,
            pad_token: "_".to_owned(),
        };
        padding.apply(&mut batch);
        assert_eq!(
            batch.each_ref().map(shown),
            ["_<abc>[_<cde> _<efg>]", "____<>"]
        );
        let text = [None, None, Some(0), Some(0), Some(0), None];
        assert_eq!(sequences(&batch[0]), text);
        assert_eq!(sequences(&batch[0].overflow()[1]), text);
        assert_eq!(sequences(&batch[1]), [None; 6]);
    }

    #[test]
    fn the_longer_text_of_a_pair_is_cut_first() {
        let pipeline = pipeline(&Value::Null);
        // The maximum, the lengths of the texts, and what is left of them.
        let cases = [
            (4, (5, 5), (2, 2)),
            (5, (5, 5), (2, 3)),
            (5, (2, 6), (2, 3)),
            (5, (5, 1), (4, 1)),
            (5, (4, 2), (3, 2)),
            (6, (2, 6), (2, 4)),
        ];
        for (max_length, lengths, expected) in cases {
            let (first, second) = (&"aaaaaa"[..lengths.0], &"bbbbbb"[..lengths.1]);
            let truncation = cut_to(max_length, 0, Side::Right);
            let (first, second) = (characters(first), Some(characters(second)));
            let result = pipeline.post_process(first, second, true, Some(&truncation));
            let sequences = sequences(&result.unwrap());
            let count = |sequence| sequences.iter().filter(|it| **it == Some(sequence)).count();
            assert_eq!((count(0), count(1)), expected, "{max_length} {lengths:?}");
        }
    }

    #[test]
    fn a_template_that_is_longer_than_the_maximum_leaves_texts_whole() {
        let pipeline = pipeline(&bert());
        let result = |max_length: usize| {
            let truncation = cut_to(max_length, 0, Side::Right);
            let result = pipeline.post_process(characters("ab"), None, true, Some(&truncation));
            shown(&result.unwrap())
        };
        assert_eq!([1, 2, 3].map(result), ["<ab>", "<>[<ab>]", "<a>[<b>]"]);
    }

    #[test]
    fn one_text_alone_is_not_cut_to_nothing() {
        let pipeline = pipeline(&bert());
        let cut = |strategy, first, second| {
            let truncation = Truncation {
                strategy,
                ..cut_to(6, 0, Side::Right)
            };
            let result = pipeline.post_process(first, second, true, Some(&truncation));
            result.map(|result| shown(&result))
        };
        let (only_first, only_second) = (
            TruncationStrategy::OnlyFirst,
            TruncationStrategy::OnlySecond,
        );
        let (short, long) = (characters("ab"), characters("cdef"));
        assert_eq!(
            cut(only_first, short.clone(), Some(long.clone())),
            Err(TruncationError::TextTooShort)
        );
        assert_eq!(
            cut(only_second, short, Some(long)).as_deref(),
            Ok("<ab>c>[<ab>d> <ab>e> <ab>f>]")
        );
        assert_eq!(
            cut(only_second, characters("abcdef"), None),
            Err(TruncationError::NoSecondText)
        );
    }
}
