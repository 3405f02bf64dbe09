//! The SentencePiece model that merges as a list of merges does.
//!
//! Files of Gemma turn spaces into marks, cut nothing, merge characters by a list, and fall back to
//! bytes: what a SentencePiece model does by scores, without or, as in old files of Llama 2, with a
//! dummy prefix. If the list is an order
//! of tokens ([`merge_list`](crate::encode::bpe::merge_list)), a model whose scores have that order
//! gives the ids of every text between added tokens.
//!
//! Pieces that no merge gives are control pieces of the model, which no text yields. The model
//! is not looked at by anybody, and it takes as long as loading the file: the tokenizer makes it when
//! it has encoded so much that this pays.

use super::matcher::MatcherTarget;
use super::model::{BpeModel, PipelineModel};
use super::{NormalizerStep, Pipeline, PreTokenizerStep, PrependScheme};
use crate::base::num::low_u32;
use crate::base::{TextArena, WHITESPACE_MARK_STR};
use crate::encode::bpe::merge_list::{ListOrder, ListedPair, Units, symbol_of_token};
use crate::model::validate::byte_of_piece;
use crate::model::{Model, ModelType};
use crate::piece::PieceKind;

impl Pipeline {
    /// Whether a look at the list of merges tells if there is a [listed model](Self::listed_model).
    pub(crate) fn may_have_listed_model(&self) -> bool {
        // After the normalizer there are no spaces.
        let changes_nothing = |step: &PreTokenizerStep| match step {
            PreTokenizerStep::Split {
                pattern, invert, ..
            } => !invert && is_space(pattern.target()),
            PreTokenizerStep::Metaspace(it) => {
                it.prepend_scheme == PrependScheme::Never && !it.split
            }
            _ => false,
        };
        matches!(*self.model, PipelineModel::Bpe(_))
            && self.adds_mark().is_some()
            && self.pre_tokenizer.iter().all(changes_nothing)
    }

    /// Whether the normalizer puts a mark before a text; `None` if it does more than that and to turn
    /// spaces into marks.
    fn adds_mark(&self) -> Option<bool> {
        let (last, before) = self.normalizer.split_last()?;
        let marks_spaces = matches!(last, NormalizerStep::Replace { pattern, content }
            if content == WHITESPACE_MARK_STR && is_space(pattern.target()));
        match before {
            _ if !marks_spaces => None,
            [] => Some(false),
            [NormalizerStep::Prepend(text)] if text == WHITESPACE_MARK_STR => Some(true),
            _ => None,
        }
    }

    /// The model with the ids of texts between added tokens, if the stages are those of one. It knows
    /// nothing of added tokens that are found in normalized text.
    pub(crate) fn listed_model(&self) -> Option<Model> {
        match &*self.model {
            PipelineModel::Bpe(bpe) if self.may_have_listed_model() => {
                model_of_list(bpe, self.adds_mark()?)
            }
            _ => None,
        }
    }
}

fn is_space(target: &MatcherTarget) -> bool {
    matches!(target, MatcherTarget::Text(text) if text == " ")
}

/// The model of a list of merges, with or without a mark before texts.
fn model_of_list(bpe: &BpeModel, adds_mark: bool) -> Option<Model> {
    let options = bpe.options();
    let has_affix =
        options.continuing_subword_prefix.is_some() || options.end_of_word_suffix.is_some();
    let vocabulary = bpe.vocabulary();
    // Characters without a token become bytes, of which there is a token for each.
    let falls_back = options.byte_fallback && bpe.has_all_bytes();
    if has_affix || options.whole_parts_first || !falls_back || !vocabulary.has_unique_ids() {
        return None;
    }
    // By id.
    let mut texts = TextArena::default();
    for id in (0..vocabulary.len()).map(|id| low_u32(id as u64)) {
        let text = vocabulary.text(id)?;
        if text.is_empty() || text.contains('\0') {
            return None;
        }
        texts.push(text.as_bytes());
    }
    let is_met =
        |id: u32| byte_of_piece(texts.get(id as usize)).is_none() && Some(id) != bpe.unknown();
    let symbol = |id: u32| symbol_of_token(&texts, id as usize);
    let mut pairs = Vec::with_capacity(bpe.merges().len());
    for merge in bpe.merges() {
        // The tokens of bytes stand for characters that are no token.
        if ![merge.left, merge.right, merge.joined]
            .into_iter()
            .all(is_met)
        {
            return None;
        }
        pairs.push(ListedPair {
            left: symbol(merge.left),
            right: symbol(merge.right),
            joined: symbol(merge.joined),
        });
    }
    let order = ListOrder::new(&texts, &pairs, Units::Characters);
    if !order.divided.is_empty() {
        return None;
    }
    let mut ranks = vec![None; texts.len()];
    for (rank, at) in order.tokens[..order.merging].iter().enumerate() {
        ranks[*at] = Some(rank);
    }
    let mut builder = Model::builder();
    builder.model_type(ModelType::Bpe);
    builder.add_dummy_prefix(adds_mark);
    builder.remove_extra_whitespaces(false);
    for (at, text) in texts.iter().enumerate() {
        let id = low_u32(at as u64);
        let (kind, rank) = match ranks[at] {
            _ if Some(id) == bpe.unknown() => (PieceKind::Unknown, 0),
            _ if byte_of_piece(text).is_some() => (PieceKind::Byte, 0),
            Some(rank) => (PieceKind::Normal, rank),
            None => (PieceKind::Control, 0),
        };
        builder.piece(text, score(rank)?, kind);
    }
    let unknown = bpe
        .unknown()
        .and_then(|id| Some((id, vocabulary.text(id)?)));
    if unknown.is_none() {
        // A model has an unknown piece; with all bytes, no text yields it.
        let text = "<unk>";
        if vocabulary.id(text).is_some() {
            return None;
        }
        builder.piece(text, 0.0, PieceKind::Unknown);
    }
    let (id, text) = unknown.unwrap_or((low_u32(texts.len() as u64), "<unk>"));
    let spec = builder.trainer_spec_mut();
    spec.byte_fallback = Some(true);
    spec.unk_id = i32::try_from(id).ok();
    spec.unk_piece = Some(text.as_bytes().to_vec());
    builder.build().ok()
}

/// The score of a rank, if floats tell it from others.
fn score(rank: usize) -> Option<f32> {
    const MAX_RANK: usize = 1 << 24;
    #[expect(
        clippy::cast_precision_loss,
        reason = "floats hold numbers up to 2^24 exactly"
    )]
    (rank <= MAX_RANK).then_some(-(rank as f32))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::formats::read_pipeline;
    use crate::piece::PieceId;
    use crate::pipeline::{Pipeline, PipelineState};
    use crate::special::Scope;
    use crate::tokenizer::Tokenizer;

    /// The characters of the vocabulary; texts have another one, too.
    const CHARACTERS: [&str; 4] = ["a", "\u{e9}", "\u{65e5}", "\u{2581}"];

    /// A pipeline whose tokens are those that the merges of two tokens make, in this order; one whose
    /// number is odd is listed with all its other pairs.
    fn pipeline(merges: &[[usize; 2]], adds_mark: bool) -> Pipeline {
        let bytes = (0..=255).map(|byte| format!("<0x{byte:02X}>"));
        let mut texts = vec!["<unk>".to_owned()];
        texts.extend(bytes);
        let mut made: Vec<String> = CHARACTERS.map(str::to_owned).into();
        let mut list: Vec<[String; 2]> = Vec::new();
        for (number, [left, right]) in merges.iter().enumerate() {
            let [left, right] = [left, right].map(|at| made[at % made.len()].clone());
            let joined = format!("{left}{right}");
            list.push([left, right]);
            for (split, _) in joined.char_indices().skip(1).filter(|_| number % 2 == 1) {
                let [left, right] = [&joined[..split], &joined[split..]].map(str::to_owned);
                let is_token = |part: &String| made.contains(part);
                if is_token(&left) && is_token(&right) {
                    list.push([left, right]);
                }
            }
            if !made.contains(&joined) {
                made.push(joined);
            }
        }
        texts.extend(made);
        let vocab: HashMap<&String, usize> = texts.iter().zip(0..).collect();
        let space = json!({"String": " "});
        let replace = json!({"type": "Replace", "pattern": space, "content": "\u{2581}"});
        let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
        let normalizer = match adds_mark {
            true => json!({"type": "Sequence", "normalizers": [prepend, replace]}),
            false => replace,
        };
        let file: Value = json!({
            "added_tokens": [{"id": 257, "content": "a", "special": false, "normalized": false}],
            "normalizer": normalizer,
            "pre_tokenizer": {"type": "Split", "pattern": space, "behavior": "Isolated", "invert": false},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
                "vocab": vocab, "merges": list},
        });
        read_pipeline(file.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_listed_model_has_the_ids_of_the_pipeline() {
        let merge = [0_usize..20, 0..20];
        let merges = prop::collection::vec(merge, 1..12);
        let text = "[a\u{e9}\u{65e5}\u{2581} \u{672c}]{0,12}";
        let mut exact = 0;
        let counts = std::cell::RefCell::new(&mut exact);
        proptest!(ProptestConfig::with_cases(1000), |(merges in merges, adds_mark: bool, texts in prop::collection::vec(text, 20))| {
            let pipeline = pipeline(&merges, adds_mark);
            let Some(model) = pipeline.listed_model() else {
                return Ok(());
            };
            **counts.borrow_mut() += 1;
            let tokenizer = Tokenizer::new(model);
            let found = pipeline.found(|_| false, false);
            let mut state = PipelineState::default();
            for text in texts {
                let mut ids: Vec<PieceId> = Vec::new();
                let scopes = Scope::whole(text.as_bytes(), &found);
                pipeline.encode(text.as_bytes(), &scopes, &mut state, &mut ids).unwrap();
                prop_assert_eq!(tokenizer.encode(&text), ids, "{}", text);
            }
        });
        assert!(exact > 300, "{exact}");
    }
}
