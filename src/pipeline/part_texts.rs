//! Which texts the model can get, as far as that can be proved: for reports on tokens that no text
//! gives.
//!
//! Two proofs that no part has a text as a substring:
//!
//! * *PartCharacters.* A character of it is in no part. The characters that a step can give are those
//!   that it gives for one character alone: all steps but `Precompiled` and `Replace` change character
//!   by character, reorder, or compose, and what composition gives stays as it is alone. `Replace`
//!   removes the one character that it looks for, and both it and `Prepend` add those of their texts.
//! * *Cuts.* A step cuts it wherever it stands. That is so if the step cuts the text alone, and decides by
//!   the two characters around a place: those that cut at or around characters of a class. It must be
//!   the last step that changes characters, or stand after it. PartCharacters that a model leaves out
//!   between others do not help: one of the places around them is cut.
//!
//! Both hold for well-formed text; malformed bytes are characters of their own.
//!
//! Example: after `Lowercase` no text has `A`; with `Digits` of single digits no part has `12`.

use super::characters::is_chinese;
use super::model::ModelState;
use super::text::{Malformed, MappedText};
use super::{MatcherTarget, NormalizerStep, Pipeline, PipelineModel, PreTokenizerStep};
use crate::added::SpecialToken;
use crate::piece::PieceId;

/// The number of code points.
const CODE_POINTS: usize = char::MAX as usize + 1;

/// A set of characters.
struct PartCharacters(Vec<bool>);

impl PartCharacters {
    fn all() -> Self {
        Self(vec![true; CODE_POINTS])
    }

    fn contains(&self, c: char) -> bool {
        self.0[c as usize]
    }

    fn set(&mut self, c: char, is_in: bool) {
        self.0[c as usize] = is_in;
    }

    fn add(&mut self, text: &str) {
        text.chars().for_each(|c| self.set(c, true));
    }

    /// The characters of what a step makes of each of these alone; `None` if the step fails.
    fn image(
        &self,
        mut step: impl FnMut(&mut MappedText) -> Result<(), super::PipelineError>,
    ) -> Option<Self> {
        let mut image = Self(vec![false; CODE_POINTS]);
        let mut mapped = MappedText::default();
        let mut buffer = [0; 4];
        for c in ('\0'..=char::MAX).filter(|c| self.contains(*c)) {
            let text = c.encode_utf8(&mut buffer);
            mapped.start(text.as_bytes(), 0..text.len(), false, Malformed::Replaced);
            step(&mut mapped).ok()?;
            for part in &mapped.parts {
                image.add(&mapped.text[part.range.clone()]);
            }
        }
        Some(image)
    }
}

/// The proofs about one pipeline.
pub(crate) struct PartTexts<'p> {
    pipeline: &'p Pipeline,
    /// The characters of parts, once they are needed; `None` inside if nothing is known.
    characters: std::cell::OnceCell<Option<PartCharacters>>,
}

impl<'p> PartTexts<'p> {
    pub(crate) fn new(pipeline: &'p Pipeline) -> Self {
        Self {
            pipeline,
            characters: std::cell::OnceCell::new(),
        }
    }

    /// Whether a character of the text is in no part. The first call looks at all characters: a
    /// second or two.
    pub(crate) fn lacks_a_character_of(&self, text: &str) -> bool {
        let characters = self.characters.get_or_init(|| self.characters());
        let known = characters.as_ref();
        known.is_some_and(|known| text.chars().any(|c| !known.contains(c)))
    }

    fn characters(&self) -> Option<PartCharacters> {
        let mut characters = PartCharacters::all();
        for step in self.pipeline.normalizer() {
            match step {
                // Rules look at several characters at once.
                NormalizerStep::Precompiled(_) => characters = PartCharacters::all(),
                NormalizerStep::Prepend(text) => characters.add(text),
                NormalizerStep::Replace { pattern, content } => {
                    if let MatcherTarget::Text(needle) = pattern.target()
                        && let mut chars = needle.chars()
                        && let (Some(c), None) = (chars.next(), chars.next())
                    {
                        characters.set(c, false);
                    }
                    characters.add(content);
                }
                // What is composed need not be in the set of what it is composed of.
                NormalizerStep::Unicode(..) => {
                    characters = PartCharacters::all().image(|text| step.apply(text, true))?;
                }
                NormalizerStep::Strip { .. } => {}
                _ => characters = characters.image(|text| step.apply(text, true))?,
            }
        }
        for step in self.pipeline.pre_tokenizer() {
            match step {
                PreTokenizerStep::Split { .. } => {}
                _ => characters = characters.image(|text| step.apply(text))?,
            }
        }
        Some(characters)
    }

    /// Whether a step cuts the text wherever it stands, or leaves some of it out.
    pub(crate) fn cuts_always(&self, text: &str) -> bool {
        self.has_step_that_cuts(&[text])
    }

    /// Whether a step always cuts between a character and the one before it in the text, or leaves it
    /// out: BERT's normalizer puts spaces around Chinese characters, and a step that cuts at a character
    /// of a class cuts it both from a letter and from itself, whereas one that cuts between classes, or at
    /// the character before, does not cut it from itself.
    pub(crate) fn cuts_always_before(&self, c: char) -> bool {
        let puts_spaces = match self.pipeline.normalizer().last() {
            Some(NormalizerStep::Bert(bert, _)) => bert.handle_chinese_chars,
            _ => false,
        };
        (puts_spaces && is_chinese(c) && self.cuts_always(" "))
            || self.has_step_that_cuts(&[&format!("a{c}"), &format!("{c}{c}")])
    }

    /// Whether one step cuts all of the texts wherever they stand, or leaves some of each out.
    fn has_step_that_cuts(&self, texts: &[&str]) -> bool {
        for step in self.pipeline.pre_tokenizer().iter().rev() {
            let cuts = |text: &&str| match step {
                PreTokenizerStep::FixedLength(length) => text.chars().count() > *length,
                PreTokenizerStep::Bert
                | PreTokenizerStep::CharDelimiter(_)
                | PreTokenizerStep::Digits { .. }
                | PreTokenizerStep::Metaspace(_)
                | PreTokenizerStep::Punctuation(_)
                | PreTokenizerStep::Whitespace
                | PreTokenizerStep::WhitespaceSplit => {
                    let mut mapped = MappedText::default();
                    mapped.start(text.as_bytes(), 0..text.len(), false, Malformed::Replaced);
                    let parts = step.apply(&mut mapped).map(|()| &mapped.parts);
                    parts.is_ok_and(|parts| {
                        let mut parts = parts.iter();
                        !parts.any(|part| mapped.text[part.range.clone()].contains(*text))
                    })
                }
                PreTokenizerStep::ByteLevel { .. }
                | PreTokenizerStep::Split { .. }
                | PreTokenizerStep::UnicodeScripts => false,
            };
            if texts.iter().all(cuts) {
                return true;
            }
            if matches!(
                step,
                PreTokenizerStep::Metaspace(_) | PreTokenizerStep::ByteLevel { .. }
            ) {
                return false;
            }
        }
        false
    }

    /// Whether an added token that every text may contain is found in the text, wherever it stands in a
    /// part. Another one that is found instead begins before it and takes its first character.
    pub(crate) fn has_added_token(&self, text: &str) -> bool {
        let pipeline = self.pipeline;
        // Text that is left out, or that a step makes after the search, can divide what is found.
        let drops_text =
            matches!(&*pipeline.model, PipelineModel::Bpe(_)) && pipeline.model.unknown().is_none();
        let changes = |step: &PreTokenizerStep| {
            matches!(
                step,
                PreTokenizerStep::Metaspace(_) | PreTokenizerStep::ByteLevel { .. }
            )
        };
        if drops_text || pipeline.pre_tokenizer.iter().any(changes) {
            return false;
        }
        let is_as_is = pipeline.normalizer.is_empty();
        let text_of = |token: &SpecialToken| pipeline.added.text(token.id).unwrap_or_default();
        // These can be found without being cut out, and nothing else is found in them.
        let kept = pipeline.added_tokens().iter();
        let kept: Vec<&str> = kept
            .filter(|token| token.special || token.single_word)
            .map(text_of)
            .collect();
        pipeline.added_tokens().iter().any(|token| {
            let is_cut_out = !token.special && !token.single_word;
            let found = text_of(token);
            let Some(first) = found.chars().next() else {
                return false;
            };
            is_cut_out
                && (is_as_is || token.normalized)
                && text.contains(found)
                && !kept.iter().any(|kept| kept.contains(first))
        })
    }
}

/// What the model makes of a text as a whole part.
pub(crate) struct PartEncoder<'p> {
    pipeline: &'p Pipeline,
    state: ModelState,
}

impl<'p> PartEncoder<'p> {
    pub(crate) fn new(pipeline: &'p Pipeline) -> Self {
        Self {
            pipeline,
            state: ModelState::default(),
        }
    }

    /// The ids of a part; none if the model has none for it.
    pub(crate) fn encode(&mut self, part: &str) -> Vec<PieceId> {
        let mut tokens = Vec::new();
        let encoded = self
            .pipeline
            .model
            .encode(part, &mut self.state, &mut tokens);
        match encoded {
            Ok(()) => tokens.iter().map(|it| PieceId::new(it.id)).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Whether a unigram model prefers other pieces by so little that rounding can change this in a
    /// longer part; false for other models.
    ///
    /// The sums of a part of 2^31 characters, each a piece of the largest score, round by at most
    /// 2^-22 of that score at each addition, and both ways through the text make one for each of its
    /// characters at most.
    pub(crate) fn is_close(&mut self, id: PieceId, part: &str) -> bool {
        let PipelineModel::Unigram(unigram) = &*self.pipeline.model else {
            return false;
        };
        let best = self.state.best_unigram_score(unigram, part);
        let own = self.pipeline.score_of(id.get());
        let largest = unigram.largest_score();
        let rounding = largest * (2 * part.chars().count()) as f64 * 2_f64.powi(-22);
        best.zip(own)
            .is_some_and(|(best, own)| best - own <= rounding)
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    /// What BERT's normalizer puts spaces around before it decomposes is all that is Chinese afterwards.
    #[test]
    fn only_chinese_characters_become_chinese_characters() {
        for c in ('\0'..=char::MAX).filter(|c| !is_chinese(*c)) {
            assert!(!c.nfd().any(is_chinese), "{c:?}");
        }
        for c in ('\0'..=char::MAX).filter(|c| is_chinese(*c)) {
            assert_eq!(c.nfd().count(), 1, "{c:?}");
        }
    }
}
