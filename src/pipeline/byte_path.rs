//! The ids of byte-level pipelines, without the characters that stand for bytes.
//!
//! If the last step before the model is `ByteLevel`, and the model merges without affixes, then a part
//! of a text is its bytes, and merging the characters that stand for them is merging bytes. So the
//! text is cut as it is, and [`ByteEncoder`] merges by rank. The order of its tokens is that of the
//! list of merges ([`merge_list`](crate::encode::bpe::merge_list)). Tokens that no text is merged to
//! are left out, unless parts that are a token as a whole are looked up.
//!
//! A byte without a token is a placeholder here, which merges with nothing because no pair of the
//! list has it. Where one is left in a result, the model decides what becomes of such bytes.
//!
//! A byte-level vocabulary from another file, such as `.tiktoken`, is the same with its own ranks.
//!
//! Example: the merge of `Ġ` and `a` is one of the bytes 20 and 61, of which ` a` is made.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::model::{BpeModel, ListedMerge, PipelineModel};
use super::{
    ByteModel, DecoderStep, Metaspace, NormalizerStep, Pipeline, PreTokenizerStep, PrependScheme,
    Stages, UnicodeForm, UnicodeVersion,
};
use crate::base::TextArena;
use crate::base::byte_chars::{append_bytes, printable};
use crate::byte_bpe::{ByteBpe, ByteBpeError, ByteBpeParts, ByteToken, TextForm};
use crate::encode::bpe::BpeCache;
use crate::encode::bpe::bytes::ByteEncoder;
use crate::encode::bpe::merge_list::{ListOrder, ListedPair, Units, symbol_of_token};
use crate::pattern::{Pretokenizer, Split, SplitBehavior};
use crate::piece::{PieceId, PieceKind, PieceTable};

/// The id of bytes without a token.
const NO_TOKEN: PieceId = PieceId::new(u32::MAX);

/// See the [module page](self).
#[derive(Debug)]
pub(super) struct BytePath {
    encoder: Arc<ByteEncoder>,
    pretokenizer: Pretokenizer,
    /// Whether a space is put before a text that does not begin with one.
    adds_prefix_space: bool,
    /// Which bytes have no token, if there are any.
    missing: Option<Box<[bool; 256]>>,
}

impl BytePath {
    /// `None` if the steps and the model are not byte-level.
    pub(super) fn of(steps: &[PreTokenizerStep], model: &PipelineModel) -> Option<Self> {
        let PipelineModel::Bpe(bpe) = model else {
            return None;
        };
        let (last, before) = steps.split_last()?;
        let PreTokenizerStep::ByteLevel {
            add_prefix_space,
            use_regex,
        } = last
        else {
            return None;
        };
        // Each part would get a space.
        if *add_prefix_space && !before.is_empty() {
            return None;
        }
        let splits: Option<Vec<Split>> = before.iter().map(PreTokenizerStep::as_split).collect();
        let mut splits = splits?;
        if *use_regex {
            let pattern = PreTokenizerStep::gpt2()?.clone();
            splits.push(Split::new(pattern, SplitBehavior::Isolated));
        }
        let pretokenizer = Pretokenizer::new(splits);
        let tokens = ByteTokens::of(bpe)?;
        let looks_up = bpe.options().whole_parts_first;
        let divided: HashSet<usize> = tokens.order.divided.iter().map(|(at, _)| *at).collect();
        let mut can_be_parts = divided
            .iter()
            .map(|at| pretokenizer.may_cut_out(tokens.texts.get(*at)));
        // By rank, they would be merged.
        if looks_up && can_be_parts.any(|can_be_part| can_be_part) {
            return None;
        }
        let ranked = match looks_up {
            true => &tokens.order.tokens[..],
            false => &tokens.order.tokens[..tokens.order.merging],
        };
        let mut table = PieceTable::with_capacity(ranked.len(), tokens.texts.items().len());
        let mut ids = Vec::with_capacity(ranked.len());
        for at in ranked.iter().filter(|at| !divided.contains(at)) {
            table.push(tokens.texts.get(*at), 0.0, PieceKind::Normal);
            ids.push(PieceId::new(tokens.ids[*at]));
        }
        let missing = tokens.missing_bytes();
        let is_missing = |byte: &u8| missing.as_ref().is_some_and(|it| it[usize::from(*byte)]);
        for byte in (0..=u8::MAX).filter(is_missing) {
            table.push(&[byte], 0.0, PieceKind::Normal);
            ids.push(NO_TOKEN);
        }
        Some(Self {
            encoder: Arc::new(ByteEncoder::new(table, ids, looks_up).ok()?),
            pretokenizer,
            adds_prefix_space: *add_prefix_space,
            missing,
        })
    }

    /// The path of a vocabulary of bytes.
    pub(super) fn of_byte_bpe(bpe: &ByteBpe) -> Self {
        Self {
            encoder: Arc::clone(bpe.encoder()),
            pretokenizer: bpe.pretokenizer().clone(),
            adds_prefix_space: bpe.adds_prefix_space(),
            missing: None,
        }
    }

    /// Appends the ids of a text without added tokens, after the normalizer; false, and nothing is
    /// appended, if it has a byte without a token.
    #[inline]
    pub(super) fn encode(&self, text: &[u8], cache: &mut BpeCache, out: &mut Vec<PieceId>) -> bool {
        let start = out.len();
        match self.needs_space(text) {
            true => self.encode_part(&[b" ", text].concat(), cache, out),
            false => self.encode_part(text, cache, out),
        }
        self.undo_if_incomplete(start, out)
    }

    /// Appends the ids of a text that needs no space before it, or of a part of one that was cut at
    /// [boundaries](Self::parts). It can have bytes without a token.
    #[inline]
    pub(super) fn encode_part(&self, text: &[u8], cache: &mut BpeCache, out: &mut Vec<PieceId>) {
        self.encoder.encode(&self.pretokenizer, text, cache, out);
    }

    /// Whether the ids from `start` on are complete. If a byte has no token, they are removed.
    pub(super) fn undo_if_incomplete(&self, start: usize, out: &mut Vec<PieceId>) -> bool {
        let is_complete = self.missing.is_none() || !out[start..].contains(&NO_TOKEN);
        if !is_complete {
            out.truncate(start);
        }
        is_complete
    }

    /// Passes the parts of a text that needs no space before it, each with its ids.
    pub(super) fn for_each_part(
        &self,
        text: &[u8],
        cache: &mut BpeCache,
        on_part: &mut dyn FnMut(Range<usize>, &[PieceId]),
    ) {
        let pretokens = (&self.pretokenizer, text);
        self.encoder.for_each_pretoken(pretokens, cache, on_part);
    }

    /// The same if merges for which `skips_merge` returns true are skipped.
    pub(super) fn sample_each_part(
        &self,
        text: &[u8],
        skips_merge: &mut dyn FnMut() -> bool,
        cache: &mut BpeCache,
        on_part: &mut dyn FnMut(Range<usize>, &[PieceId]),
    ) {
        let mut ids = Vec::new();
        let sample: &mut dyn FnMut(_) = &mut |part: Range<usize>| {
            ids.clear();
            let pretoken = &text[part.clone()];
            self.encoder
                .sample_pretoken(pretoken, &mut *skips_merge, cache, &mut ids);
            on_part(part, &ids);
        };
        self.pretokenizer.for_each(text, sample);
    }

    /// Passes the pretokens of a text, which gets a space before it if it needs one, with their ranges
    /// in that text.
    #[cfg(feature = "train")]
    pub(super) fn for_each_pretoken(
        &self,
        text: &[u8],
        on_pretoken: &mut dyn FnMut(&[u8], Range<usize>),
    ) {
        let with_space = self.needs_space(text).then(|| [b" ", text].concat());
        let text = with_space.as_deref().unwrap_or(text);
        let pass: &mut dyn FnMut(_) = &mut |pretoken| on_pretoken(text, pretoken);
        self.pretokenizer.for_each(text, pass);
    }

    /// Whether each byte of a text, and the space before it, has a token.
    pub(super) fn knows(&self, text: &[u8]) -> bool {
        let Some(missing) = &self.missing else {
            return true;
        };
        let may_lack_space = self.adds_prefix_space && missing[usize::from(b' ')];
        !may_lack_space && !text.iter().any(|byte| missing[usize::from(*byte)])
    }

    /// Whether a space is put before a text.
    pub(super) fn needs_space(&self, text: &[u8]) -> bool {
        self.adds_prefix_space && !text.is_empty() && !text.starts_with(b" ")
    }

    /// The last position at which a text can be divided, whatever follows it.
    pub(super) fn last_boundary(&self, text: &[u8]) -> Option<usize> {
        let mut end = text.len();
        loop {
            let at = self.pretokenizer.last_boundary(&text[..end])?;
            // The second part would get a space of its own.
            if !self.adds_prefix_space || text[at] == b' ' {
                return Some(at);
            }
            end = at;
        }
    }

    /// The parts of a long text, of at least `bytes` each, that can be encoded one by one.
    pub(super) fn parts<'t>(&self, text: &'t [u8], bytes: usize) -> Vec<&'t [u8]> {
        let boundaries = self.pretokenizer.find_boundaries(text, bytes);
        let mut start = 0;
        let ends = boundaries.into_iter().chain([text.len()]);
        ends.map(|end| &text[std::mem::replace(&mut start, end)..end])
            .collect()
    }
}

/// Why a pipeline is no byte-level vocabulary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NoByteBpe {
    /// It has stages that such vocabularies do not have.
    Stages,
    /// Merging by rank gives a token that the list of merges divides; its printable text.
    Divided(String),
    /// Parts that are a token are looked up, and this token has characters that stand for no byte.
    OtherCharacters(String),
    /// Two tokens have one id.
    RepeatedId,
    /// This special token has the id of another token that is found.
    IdOfSpecial {
        /// Its text.
        text: String,
        /// The id.
        id: u32,
    },
    /// The tokens are no vocabulary.
    Vocabulary(ByteBpeError),
}

/// The tokens that stand for bytes.
struct ByteTokens {
    /// In the order of the file.
    texts: TextArena,
    ids: Vec<u32>,
    /// The order of their ranks.
    order: ListOrder,
}

impl ByteTokens {
    /// `None` if the model does more than to merge, or if two tokens have one id.
    fn of(bpe: &BpeModel) -> Option<Self> {
        let options = bpe.options();
        let affixes = [
            &options.continuing_subword_prefix,
            &options.end_of_word_suffix,
        ];
        let has_affix = affixes.into_iter().flatten().any(|affix| !affix.is_empty());
        let vocabulary = bpe.vocabulary();
        if has_affix || !vocabulary.has_unique_ids() {
            return None;
        }
        let mut texts = TextArena::with_capacity(vocabulary.len(), 8 * vocabulary.len());
        let mut ids = Vec::with_capacity(vocabulary.len());
        // By the number of the token.
        let mut symbols = Vec::with_capacity(vocabulary.len());
        let mut bytes = Vec::new();
        for (text, id) in vocabulary.tokens() {
            bytes.clear();
            if text.is_empty() || !append_bytes(text, &mut bytes) {
                symbols.push(None);
                continue;
            }
            texts.push(&bytes);
            symbols.push(Some(symbol_of_token(&texts, ids.len())));
            ids.push(id);
        }
        let symbol = |id: u32| symbols[vocabulary.number_of_id(id)?];
        // No text has a pair of other tokens.
        let pair = |merge: &ListedMerge| {
            Some(ListedPair {
                left: symbol(merge.left)?,
                right: symbol(merge.right)?,
                joined: symbol(merge.joined)?,
            })
        };
        let pairs: Vec<ListedPair> = bpe.merges().iter().filter_map(pair).collect();
        let order = ListOrder::new(&texts, &pairs, Units::Bytes);
        Some(Self { texts, ids, order })
    }

    /// The bytes that are no token, if there are any.
    fn missing_bytes(&self) -> Option<Box<[bool; 256]>> {
        let mut missing = Box::new([true; 256]);
        for text in self.texts.iter() {
            if let [byte] = text {
                missing[usize::from(*byte)] = false;
            }
        }
        missing.contains(&true).then_some(missing)
    }
}

impl From<ByteBpe> for Pipeline {
    /// The pipeline of a byte-level vocabulary: its tokens are byte strings, not the characters that
    /// stand for them in a `tokenizer.json`, and their spans are the bytes of the text.
    fn from(bpe: ByteBpe) -> Self {
        let normalizer = match bpe.text_form() {
            TextForm::AsIs => Vec::new(),
            TextForm::Nfc => vec![NormalizerStep::Unicode(
                UnicodeForm::Nfc,
                UnicodeVersion::V9,
            )],
        };
        // The space stands before the text, and not before each of its parts.
        let space = bpe.adds_prefix_space().then_some(Metaspace {
            replacement: ' ',
            prepend_scheme: PrependScheme::Always,
            split: false,
        });
        let splits = bpe
            .pretokenizer()
            .splits()
            .iter()
            .map(PreTokenizerStep::of_split);
        let steps = space
            .map(PreTokenizerStep::Metaspace)
            .into_iter()
            .chain(splits);
        let to_byte_chars = PreTokenizerStep::ByteLevel {
            add_prefix_space: false,
            use_regex: false,
        };
        Self::of_stages(Stages {
            added: Arc::clone(bpe.added_tokens()),
            normalizer: normalizer.into(),
            pre_tokenizer: steps.chain([to_byte_chars]).collect(),
            byte_path: Some(Arc::new(BytePath::of_byte_bpe(&bpe))),
            size: bpe.vocab_size(),
            model: Arc::new(PipelineModel::Bytes(Box::new(ByteModel::new(bpe)))),
            post_processor: Arc::default(),
            decoder: Some(Arc::new([DecoderStep::ByteLevel])),
            truncation: None,
            padding: None,
        })
    }
}

impl Pipeline {
    /// The pipeline as a byte-level vocabulary, if it is one: without a normalizer or with NFC, with a
    /// token for each byte, and so that its tokens merge by rank. It is made when it is first needed.
    pub(crate) fn byte_bpe(&self) -> Option<&ByteBpe> {
        self.byte_bpe_or_why().ok()
    }

    /// The pipeline as a byte-level vocabulary, or why it is none.
    pub(crate) fn byte_bpe_or_why(&self) -> Result<&ByteBpe, &NoByteBpe> {
        if let PipelineModel::Bytes(bytes) = &*self.model {
            return Ok(bytes.byte_bpe());
        }
        let made = self
            .byte_bpe
            .get_or_init(|| self.to_byte_bpe().map(Box::new));
        made.as_deref()
    }

    fn to_byte_bpe(&self) -> Result<ByteBpe, NoByteBpe> {
        let PipelineModel::Bpe(bpe) = &*self.model else {
            return Err(NoByteBpe::Stages);
        };
        let text_form = match &self.normalizer[..] {
            [] => TextForm::AsIs,
            [NormalizerStep::Unicode(UnicodeForm::Nfc, UnicodeVersion::V9)] => TextForm::Nfc,
            _ => return Err(NoByteBpe::Stages),
        };
        if !bpe.vocabulary().has_unique_ids() {
            return Err(NoByteBpe::RepeatedId);
        }
        let tokens = ByteTokens::of(bpe).ok_or(NoByteBpe::Stages)?;
        let divided = |at: usize| NoByteBpe::Divided(printable(tokens.texts.get(at)));
        let Some(path) = &self.byte_path else {
            return Err(match tokens.order.divided.first() {
                Some((at, _)) if bpe.options().whole_parts_first => divided(*at),
                _ => NoByteBpe::Stages,
            });
        };
        let special_tokens = self.added_tokens().to_vec();
        let mut parts = ByteBpeParts {
            special_tokens,
            empty_token: bpe.vocabulary().id(""),
            whole_pretokens_first: bpe.options().whole_parts_first,
            text_form,
            adds_prefix_space: path.adds_prefix_space,
            ..ByteBpeParts::new(path.pretokenizer.clone())
        };
        let added = parts.add_in_order(&tokens.order, &tokens.texts, &tokens.ids);
        let left_out = added.map_err(|index| {
            let token = &parts.special_tokens[index];
            NoByteBpe::IdOfSpecial {
                text: token.text.clone(),
                id: token.id,
            }
        })?;
        let mut list = tokens.order.divided.iter();
        if let Some((at, _)) = list.find(|(at, _)| !left_out.contains(at)) {
            return Err(divided(*at));
        }
        let special: HashSet<&str> = (parts.special_tokens.iter())
            .map(|token| &*token.text)
            .collect();
        // Tokens with characters that stand for no byte; no text is merged to them.
        for (text, id) in bpe.vocabulary().tokens() {
            if append_bytes(text, &mut Vec::new()) || special.contains(text) {
                continue;
            }
            if parts.whole_pretokens_first {
                return Err(NoByteBpe::OtherCharacters(text.to_owned()));
            }
            parts.tokens.push(ByteToken {
                bytes: text.as_bytes().into(),
                id,
            });
        }
        ByteBpe::new(parts).map_err(NoByteBpe::Vocabulary)
    }
}
