//! Which tokens are kept, and which ids tokens get.
//!
//! | | as in the pipeline | special tokens first |
//! |---|---|---|
//! | ids | kept tokens where they were, learned tokens at the other places | special tokens, learned tokens, other kept tokens |
//! | counted in `vocab_size` | all | special and learned tokens, as in transformers |
//!
//! An id that the new vocabulary does not reach becomes one of its last, in the order of the ids. An added
//! token that is no token of the model comes after all that are.
//!
//! Example: of `<unk>` 0, `<s>` 1 and `<|end|>` 50256, and a vocabulary of 1000 tokens, the first two keep
//! their ids, and `<|end|>` gets 999.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::PipelineTrainOptions;
use crate::added::SpecialToken;
use crate::pipeline::{
    PipelineModel, PipelineParts, PostProcessorStep, SpecialTokens, TemplatePart,
};
use crate::train::TrainError;
use crate::train::options::OptionError;

/// A token that is kept.
#[derive(Debug, Clone)]
struct KeptToken {
    text: String,
    /// Its id in the pipeline; `None` if it is new.
    id: Option<u32>,
    /// Whether it is a token of the model, or an added token alone.
    is_in_model: bool,
}

/// The tokens that are kept.
#[derive(Debug)]
pub(super) struct KeptTokens {
    /// Those that `vocab_size` counts: those that tokenizers would get as special tokens. A learned token
    /// with the text of one of them is that token.
    counted: Vec<KeptToken>,
    /// Those after all others.
    beyond: Vec<KeptToken>,
    /// The added tokens, in the order of their ids in the pipeline, and then the new ones.
    pub(super) added: Vec<SpecialToken>,
    special_first: bool,
}

impl KeptTokens {
    /// # Errors
    /// A special token of the options is empty or has a NUL.
    pub(super) fn new(
        parts: &PipelineParts,
        options: &PipelineTrainOptions,
    ) -> Result<Self, OptionError> {
        let vocabulary = parts.model.vocabulary();
        let mut added = parts.added_tokens.clone();
        added.sort_by_key(|token| token.id);
        let kept = added.iter().map(|token| KeptToken {
            text: token.text.clone(),
            id: Some(token.id),
            is_in_model: vocabulary.id(&token.text).is_some(),
        });
        let special_first = options.special_ids_first;
        let is_counted = added.iter().map(|token| token.special || !special_first);
        let counted = kept.zip(is_counted);
        let mut counted: Vec<KeptToken> = counted
            .filter_map(|(kept, is_counted)| is_counted.then_some(kept))
            .collect();
        let mut texts: HashSet<String> = counted.iter().map(|token| token.text.clone()).collect();
        for text in &options.special_tokens {
            if text.is_empty() || text.contains('\0') {
                return Err(OptionError::Piece {
                    option: "special_tokens",
                    piece: text.clone(),
                    problem: "is empty or has a NUL; leave it out",
                });
            }
            if added.iter().any(|token| token.text == *text) {
                continue;
            }
            texts.insert(text.clone());
            counted.push(KeptToken {
                text: text.clone(),
                id: None,
                is_in_model: true,
            });
            added.push(SpecialToken::new(text.as_str(), 0));
        }
        let reserved = reserved_texts(parts).into_iter();
        let reserved = reserved.filter_map(|text| {
            let id = vocabulary.id(&text)?;
            texts.insert(text.clone()).then_some(KeptToken {
                text,
                id: Some(id),
                is_in_model: true,
            })
        });
        let mut beyond: Vec<KeptToken> = reserved.collect();
        if !special_first {
            counted.append(&mut beyond);
        }
        Ok(Self {
            counted,
            beyond,
            added,
            special_first,
        })
    }

    /// The texts of the tokens that `vocab_size` counts, in their order.
    pub(super) fn counted(&self) -> impl ExactSizeIterator<Item = &str> {
        self.counted.iter().map(|token| &*token.text)
    }

    /// The tokens of the model with their ids, ascending. `symbols` are the learned tokens, among them
    /// those with the text of a counted one.
    pub(super) fn number<'t>(
        &'t self,
        symbols: &'t [String],
    ) -> Result<Vec<(&'t str, u32)>, TrainError> {
        let symbol_texts: HashSet<&str> = symbols.iter().map(|text| &**text).collect();
        let counted: HashSet<&str> = self.counted().collect();
        let learned = symbols.iter().map(|text| &**text);
        let learned = learned.filter(|text| !counted.contains(text));
        let in_order: Vec<&str> = if self.special_first {
            let beyond = self.beyond.iter().map(|token| &*token.text);
            let beyond = beyond.filter(|text| !symbol_texts.contains(text));
            self.counted().chain(learned).chain(beyond).collect()
        } else {
            let is_in_model =
                |token: &&KeptToken| token.is_in_model || symbol_texts.contains(&*token.text);
            let kept: Vec<&KeptToken> = self.counted.iter().filter(is_in_model).collect();
            in_their_places(&kept, &learned.collect::<Vec<_>>())
        };
        u32::try_from(in_order.len())
            .ok()
            .filter(|tokens| (*tokens as usize) < crate::piece::MAX_PIECES)
            .ok_or(TrainError::TooLarge { what: "tokens" })?;
        Ok(in_order.into_iter().zip(0..).collect())
    }
}

/// The texts of tokens that a model needs although merging does not make them: for unknown text, for bytes,
/// in templates and for padding.
fn reserved_texts(parts: &PipelineParts) -> Vec<String> {
    let mut texts = Vec::new();
    match &*parts.model {
        PipelineModel::Bpe(bpe) => {
            texts.extend(bpe.options().unknown_token.clone());
            if bpe.options().byte_fallback {
                texts.extend((0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")));
            }
        }
        PipelineModel::WordPiece(words) => texts.push(words.unknown_token().to_owned()),
        _ => {}
    }
    for tokens in templates(&parts.post_processor) {
        texts.extend(tokens.texts.iter().cloned());
    }
    texts.extend(parts.padding.iter().map(|it| it.pad_token.clone()));
    texts
}

/// The tokens of templates.
fn templates(steps: &[PostProcessorStep]) -> impl Iterator<Item = &SpecialTokens> {
    let templates = steps.iter().filter_map(|step| match step {
        PostProcessorStep::Template(template) => Some(template),
        _ => None,
    });
    let parts = templates.flat_map(|template| template.single.iter().chain(&template.pair));
    parts.filter_map(|part| match part {
        TemplatePart::Special { tokens, .. } => Some(&**tokens),
        TemplatePart::Sequence { .. } => None,
    })
}

/// All tokens in the order of their ids.
fn in_their_places<'t>(kept: &[&'t KeptToken], learned: &[&'t str]) -> Vec<&'t str> {
    let mut places: Vec<Option<&str>> = vec![None; kept.len() + learned.len()];
    let (mut new, mut last) = (Vec::new(), Vec::new());
    for token in kept {
        let Some(id) = token.id else {
            new.push(&*token.text);
            continue;
        };
        match places.get_mut(id as usize) {
            Some(place @ None) => *place = Some(&token.text),
            _ => last.push((id, &*token.text)),
        }
    }
    last.sort_by_key(|(id, _)| *id);
    let last = last.into_iter().map(|(_, text)| text);
    // As many as there are places left.
    let mut others = new.into_iter().chain(learned.iter().copied()).chain(last);
    places
        .into_iter()
        .filter_map(|place| place.or_else(|| others.next()))
        .collect()
}

/// Sets the ids of templates and of padding to those that the tokens have now.
///
/// # Errors
/// A template has a token that is neither in the vocabulary nor an added token.
pub(super) fn renumber_stages(parts: &mut PipelineParts) -> Result<(), OptionError> {
    let added = parts.added_tokens.iter();
    let added: HashMap<&str, u32> = added.map(|token| (&*token.text, token.id)).collect();
    let model = Arc::clone(&parts.model);
    let id_of = |text: &str| {
        let id = added.get(text).copied();
        id.or_else(|| model.vocabulary().id(text))
    };
    let mut steps = parts.post_processor.to_vec();
    for step in &mut steps {
        let PostProcessorStep::Template(template) = step else {
            continue;
        };
        for part in template.single.iter_mut().chain(&mut template.pair) {
            let TemplatePart::Special { tokens, .. } = part else {
                continue;
            };
            let ids = tokens.texts.iter().map(|text| {
                id_of(text).ok_or_else(|| OptionError::Conflict {
                    option: "special_tokens",
                    problem: format!(
                        "the post-processor has the token {text:?}, which is not in the vocabulary"
                    ),
                    remedy: "add it to the special tokens",
                })
            });
            *tokens = Arc::new(SpecialTokens {
                ids: ids.collect::<Result<_, _>>()?,
                texts: tokens.texts.clone(),
            });
        }
    }
    if let Some(padding) = &mut parts.padding
        && let Some(id) = id_of(&padding.pad_token)
    {
        padding.pad_id = id;
    }
    parts.post_processor = steps.into();
    Ok(())
}
