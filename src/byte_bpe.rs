//! Byte-level BPE: the tokenizers of GPT, Llama 3, Qwen, DeepSeek and Mistral.
//!
//! Tokens are byte strings. A text is encoded in these steps:
//!
//! 1. Special tokens that the caller allows are cut out; without an allowance their text is
//!    ordinary text.
//! 2. What remains is normalized (NFC, in few vocabularies), and gets a space before it, in few.
//! 3. A pattern cuts it into pretokens ([`Pretokenizer`]).
//! 4. Each pretoken is looked up as a whole, if the vocabulary asks for it; otherwise its bytes are
//!    merged by rank.
//!
//! Every byte is a token, so every text can be encoded, and unless the text is normalized or gets a
//! space, or the pattern leaves bytes out, decoding gives the same bytes, well-formed UTF-8 or not.
//!
//! Example: `low<|end|>` with the special token allowed is `low` and `<|end|>`; without, `<|end|>`
//! is cut into the pretokens `<|`, `end` and `|>` by the pattern of GPT-2.

pub(crate) mod error;
#[cfg(feature = "nfc")]
mod nfc;
pub(crate) mod parts;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

pub use self::error::ByteBpeError;
pub use self::parts::{ByteBpeParts, ByteToken, TextForm};
use crate::base::TextArena;
use crate::decode::DecodeError;
use crate::encode::bpe::BpeCache;
use crate::encode::bpe::bytes::{ByteEncoder, ByteTokensError};
use crate::pattern::Pretokenizer;
use crate::piece::{MAX_PIECES, MAX_TEXT_BYTES, PieceId, PieceKind, PieceTable};
use crate::special::{Cutter, Segment};
pub use crate::special::{SpecialNames, SpecialSet, SpecialToken};
#[cfg(feature = "train")]
use crate::trie::prefix::PrefixTrie;

/// Parts of a long text that threads encode have at least so many bytes.
pub(crate) const MIN_PART_BYTES: usize = 128 << 10;

/// A byte-level tokenizer; see the [module page](self).
///
/// [`ByteBpeParts`] has an example.
#[derive(Debug)]
pub struct ByteBpe {
    encoder: ByteEncoder,
    pretokenizer: Pretokenizer,
    text_form: TextForm,
    adds_prefix_space: bool,
    special: Cutter,
    /// The tokens that are found in every text.
    found_always: SpecialSet,
    special_ids: HashMap<String, PieceId>,
    /// The bytes of each id; empty for ids without a token.
    texts: TextArena,
}

/// A part of a text that is ready to be cut into pretokens, or a special token.
enum Part<'p> {
    Text(&'p [u8], Origins<'p>),
    Special(PieceId, Range<usize>),
}

/// Where the bytes of a part come from.
struct Origins<'p> {
    /// Where the text that the part belongs to begins in the caller's text.
    start: usize,
    /// What the form of the vocabulary changed in that text.
    changes: &'p [Change],
    /// Where the part begins in the changed text.
    offset: usize,
    has_prefix_space: bool,
}

impl Origins<'_> {
    /// The range of the caller's text that a range of the part comes from.
    fn of(&self, part: Range<usize>) -> Range<usize> {
        let prefix = usize::from(self.has_prefix_space);
        let [begin, end] = [part.start, part.end].map(|at| at.saturating_sub(prefix) + self.offset);
        let [begin, end] = match self.changes {
            [] => [begin, end],
            changes => [
                origin(changes, begin, Bound::Start),
                origin(changes, end, Bound::End),
            ],
        };
        self.start + begin..self.start + end
    }
}

/// A range of a text, and the range of the raw text that it comes from as a whole.
type Change = (Range<usize>, Range<usize>);

/// Which end of a range a position is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Start,
    End,
}

/// Where a position comes from. The bytes of a change, which stand from left to right, belong to
/// the whole of what it was before.
fn origin(changes: &[Change], at: usize, bound: Bound) -> usize {
    // The last change that begins before the position decides how far it has moved.
    let count = changes.partition_point(|(own, _)| match bound {
        Bound::Start => own.start <= at,
        Bound::End => own.start < at,
    });
    match changes[..count].last() {
        None => at,
        Some((own, raw)) if at > own.end || at == own.end && bound == Bound::Start => {
            raw.end + (at - own.end)
        }
        Some((_, raw)) => match bound {
            Bound::Start => raw.start,
            Bound::End => raw.end,
        },
    }
}

impl ByteBpe {
    /// The highest id that a token may have. Known vocabularies have ids below 2^18; the limit
    /// bounds the memory of a vocabulary with gaps.
    pub const MAX_ID: u32 = (1 << 24) - 1;

    /// A tokenizer of these parts.
    ///
    /// # Errors
    /// The tokens are no vocabulary; see the variants of [`ByteBpeError`].
    pub fn new(parts: ByteBpeParts) -> Result<Self, ByteBpeError> {
        let ByteBpeParts {
            tokens,
            special_tokens,
            pretokenizer,
            whole_pretokens_first,
            text_form,
            adds_prefix_space,
        } = parts;
        if text_form == TextForm::Nfc && !cfg!(feature = "nfc") {
            return Err(ByteBpeError::NoNfc);
        }
        if tokens.len() > MAX_PIECES {
            return Err(ByteBpeError::TooManyTokens {
                tokens: tokens.len(),
            });
        }
        let bytes = tokens.iter().map(|token| token.bytes.len()).sum();
        if bytes > MAX_TEXT_BYTES {
            return Err(ByteBpeError::TooManyBytes { bytes });
        }
        let texts = texts_by_id(&tokens, &special_tokens)?;
        let mut special_ids = HashMap::with_capacity(special_tokens.len());
        for token in &special_tokens {
            let id = PieceId::new(token.id);
            if special_ids.insert(token.text.clone(), id).is_some() {
                let text = token.text.clone();
                return Err(ByteBpeError::RepeatedSpecial { text });
            }
        }
        let mut table = PieceTable::with_capacity(tokens.len(), bytes);
        for token in &tokens {
            table.push(&token.bytes, 0.0, PieceKind::Normal);
        }
        let ids = tokens.iter().map(|token| PieceId::new(token.id)).collect();
        let encoder = ByteEncoder::new(table, ids, whole_pretokens_first);
        let encoder = encoder.map_err(|error| match error {
            ByteTokensError::NoToken(byte) => ByteBpeError::MissingByte { byte },
            ByteTokensError::Repeated(index) => ByteBpeError::RepeatedToken {
                bytes: tokens[index].bytes.clone(),
                id: tokens[index].id,
            },
        })?;
        let special = Cutter::new(special_tokens)?;
        let form = |text: &str| in_form(text_form, text.as_bytes()).0.into_owned();
        let none = (&SpecialNames::None, true);
        Ok(Self {
            found_always: SpecialSet::new(&special.tokens, form, none)?,
            encoder,
            pretokenizer,
            text_form,
            adds_prefix_space,
            special,
            special_ids,
            texts,
        })
    }

    /// The number of ids: one more than the highest. Some of them may have no token.
    pub fn vocab_size(&self) -> usize {
        self.texts.len()
    }

    /// The bytes of a token, or the text of a special token; `None` if no token has the id.
    pub fn id_to_bytes(&self, id: PieceId) -> Option<&[u8]> {
        let is_in_range = id.index() < self.texts.len();
        let bytes = is_in_range.then(|| self.texts.get(id.index()))?;
        (!bytes.is_empty()).then_some(bytes)
    }

    /// The id of the token with these bytes; if none merges to them, that of the special token with
    /// this text.
    pub fn bytes_to_id(&self, bytes: impl AsRef<[u8]>) -> Option<PieceId> {
        let bytes = bytes.as_ref();
        let special = || {
            self.special_ids
                .get(std::str::from_utf8(bytes).ok()?)
                .copied()
        };
        self.encoder.id_of(bytes).or_else(special)
    }

    /// The special tokens, in the order in which they were given.
    pub fn special_tokens(&self) -> &[SpecialToken] {
        &self.special.tokens
    }

    /// The pretokenizer.
    pub fn pretokenizer(&self) -> &Pretokenizer {
        &self.pretokenizer
    }

    /// The parts of which [`new`](Self::new) makes the same tokenizer. All tokens are copied.
    pub fn parts(&self) -> ByteBpeParts {
        let tokens = self.tokens().map(|(bytes, id)| ByteToken {
            bytes: bytes.into(),
            id: id.get(),
        });
        ByteBpeParts {
            tokens: tokens.collect(),
            special_tokens: self.special.tokens.clone(),
            pretokenizer: self.pretokenizer.clone(),
            whole_pretokens_first: self.looks_up_pretokens(),
            text_form: self.text_form,
            adds_prefix_space: self.adds_prefix_space,
        }
    }

    /// The tokens and their ids, in the order of the ranks.
    pub(crate) fn tokens(&self) -> impl ExactSizeIterator<Item = (&[u8], PieceId)> {
        self.encoder.tokens()
    }

    /// For each token, by rank, the ranks of the two tokens that merge to it, the same two in every
    /// text; `None` for single bytes and for tokens that no text is merged to. It costs
    /// merging each token.
    #[cfg(any(feature = "tokenizer-json", feature = "inspect"))]
    pub(crate) fn last_merges(&self) -> Vec<Option<[u32; 2]>> {
        self.encoder.last_merges()
    }

    /// Whether a pretoken that is a token as a whole is this token, before any merging.
    pub fn looks_up_pretokens(&self) -> bool {
        self.encoder.whole_pretokens_first()
    }

    /// The form in which text is encoded.
    pub fn text_form(&self) -> TextForm {
        self.text_form
    }

    /// Whether a text is in the form in which text is encoded.
    #[cfg(feature = "inspect")]
    pub(crate) fn is_in_form(&self, text: &[u8]) -> bool {
        *in_form(self.text_form, text).0 == *text
    }

    /// Whether a space is put before texts that do not begin with one.
    pub fn adds_prefix_space(&self) -> bool {
        self.adds_prefix_space
    }

    /// The special tokens that are found in texts; all others are ordinary text.
    ///
    /// # Errors
    /// [`ByteBpeError::NotSpecial`]
    pub fn special_set(&self, allowed: &SpecialNames) -> Result<SpecialSet, ByteBpeError> {
        self.special_set_with(allowed, true)
    }

    /// As [`special_set`](Self::special_set); added tokens that are not special are found only if
    /// `finds_added`.
    pub(crate) fn special_set_with(
        &self,
        allowed: &SpecialNames,
        finds_added: bool,
    ) -> Result<SpecialSet, ByteBpeError> {
        let form = |text: &str| in_form(self.text_form, text.as_bytes()).0.into_owned();
        let set = SpecialSet::new(&self.special.tokens, form, (allowed, finds_added));
        Ok(set?)
    }

    /// An encoder with caches of its own, for one thread.
    pub fn encoder(&self) -> ByteBpeEncoder<'_> {
        ByteBpeEncoder {
            bpe: self,
            special: self.found_always.clone(),
            cache: BpeCache::default(),
            ids: Vec::new(),
        }
    }

    /// The ids of a text, special tokens being ordinary text. For many texts use an
    /// [`encoder`](Self::encoder).
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let mut cache = BpeCache::default();
        self.encode_into(text.as_ref(), &self.found_always, &mut cache, &mut ids);
        ids
    }

    /// Appends the ids of a long text. `encode_parts` returns those of consecutive parts, each of
    /// which [`encode_part`](Self::encode_part) can encode on a thread of its own.
    pub(crate) fn encode_long_into(
        &self,
        text: &[u8],
        special: &SpecialSet,
        encode_parts: impl Fn(&[&[u8]]) -> Vec<PieceId>,
        ids: &mut Vec<PieceId>,
    ) {
        self.for_each_part(text, special, |part| {
            let text = match part {
                Part::Special(id, _) => return ids.push(id),
                Part::Text(text, _) => text,
            };
            let mut parts = Vec::new();
            let mut start = 0;
            let boundaries = self.pretokenizer.find_boundaries(text, MIN_PART_BYTES);
            for end in boundaries.into_iter().chain([text.len()]) {
                parts.push(&text[start..end]);
                start = end;
            }
            ids.extend(encode_parts(&parts));
        });
    }

    /// Appends the ids of a part of [`encode_long_into`](Self::encode_long_into).
    pub(crate) fn encode_part(&self, part: &[u8], cache: &mut BpeCache, ids: &mut Vec<PieceId>) {
        self.encoder.encode(&self.pretokenizer, part, cache, ids);
    }

    /// The tokens that are found in every text.
    pub(crate) fn found_always(&self) -> &SpecialSet {
        &self.found_always
    }

    /// Appends a text as it is cut into pretokens, and the origin of each byte and of the end.
    pub(crate) fn normalize(
        &self,
        text: &[u8],
        out: &mut Vec<u8>,
        mut origins: Option<&mut Vec<usize>>,
    ) {
        self.for_each_part(text, &self.found_always, |part| match part {
            Part::Special(_, span) => {
                out.extend_from_slice(&text[span.clone()]);
                if let Some(origins) = &mut origins {
                    origins.extend(span);
                }
            }
            Part::Text(part, from) => {
                out.extend_from_slice(part);
                if let Some(origins) = &mut origins {
                    origins.extend((0..part.len()).map(|at| from.of(at..at + 1).start));
                }
            }
        });
        if let Some(origins) = origins {
            origins.push(text.len());
        }
    }

    /// Appends the ids of a text. Refused tokens are not looked for.
    pub(crate) fn encode_into(
        &self,
        text: &[u8],
        special: &SpecialSet,
        cache: &mut BpeCache,
        ids: &mut Vec<PieceId>,
    ) {
        self.for_each_part(text, special, |part| match part {
            Part::Special(id, _) => ids.push(id),
            Part::Text(text, _) => self.encoder.encode(&self.pretokenizer, text, cache, ids),
        });
    }

    /// Passes the ids of a text with their spans in it.
    pub(crate) fn for_each_token(
        &self,
        text: &[u8],
        special: &SpecialSet,
        cache: &mut BpeCache,
        mut on_token: impl FnMut(PieceId, Range<usize>),
    ) {
        self.for_each_part(text, special, |part| match part {
            Part::Special(id, span) => on_token(id, span),
            Part::Text(text, origins) => {
                let pretokens = (&self.pretokenizer, text);
                self.encoder
                    .for_each_pretoken(pretokens, cache, |pretoken, ids| {
                        let mut at = pretoken.start;
                        for id in ids {
                            let end = at + self.texts.get(id.index()).len();
                            on_token(*id, origins.of(at..end));
                            at = end;
                        }
                    });
            }
        });
    }

    /// Passes the pretokens of a text between special tokens: each with the normalized text in
    /// which it has this range.
    #[cfg(feature = "train")]
    pub(crate) fn for_each_pretoken(
        &self,
        text: &[u8],
        special: &SpecialSet,
        mut on_pretoken: impl FnMut(&[u8], Range<usize>),
    ) {
        self.for_each_part(text, special, |part| {
            if let Part::Text(text, _) = part {
                let pass: &mut dyn FnMut(_) = &mut |pretoken| on_pretoken(text, pretoken);
                self.pretokenizer.for_each(text, pass);
            }
        });
    }

    /// A position near the end of a text, which may go on after its end in any way, at which it can
    /// be divided: what [`for_each_pretoken`](Self::for_each_pretoken) passes for the text is what
    /// it passes for the parts.
    ///
    /// That is a boundary of the pretokens that no special token crosses or touches. So each
    /// special token is found in one of the parts, and in no other place than in the text: what
    /// decides on one are its bytes, the characters beside it, and the tokens before it that
    /// overlap it. White space that belongs to a token is not divided from it, because before the
    /// boundary is a letter.
    #[cfg(feature = "train")]
    pub(crate) fn last_boundary(&self, text: &[u8], special: &SpecialSet) -> Option<usize> {
        let lengths = self.special.tokens.iter().map(|token| token.text.len());
        // Text in normalization form C comes from at most three times as many bytes, or four if a
        // character has a longer form there.
        let reach = 4 * lengths.max().unwrap_or(0);
        let mut end = text.len().checked_sub(reach)?;
        loop {
            let at = self.pretokenizer.last_boundary(&text[..end])?;
            // The second part would get a space of its own.
            let gets_space = self.adds_prefix_space && text[at] != b' ';
            if !gets_space && !self.touches_special(text, at, (special, reach)) {
                return Some(at);
            }
            end = at;
        }
    }

    /// Whether a special token may have a part within `reach` bytes on both sides of a position, or
    /// an end there.
    #[cfg(feature = "train")]
    fn touches_special(&self, text: &[u8], at: usize, (set, reach): (&SpecialSet, usize)) -> bool {
        let around = [
            &text[at.saturating_sub(reach)..at],
            &text[at..text.len().min(at + reach)],
        ];
        let normal = around.map(|part| in_form(self.text_form, part).0);
        let touches = |trie: &PrefixTrie, [before, after]: [&[u8]; 2]| {
            let whole = [before, after].concat();
            (0..=before.len()).any(|start| {
                let length = trie.longest_with_value(&whole[start..]);
                length.is_some_and(|(length, _)| start + length >= before.len())
            })
        };
        touches(&set.as_is, around)
            || touches(&set.normalized, normal.each_ref().map(|part| &**part))
    }

    /// Appends the ids of one pretoken.
    #[cfg(feature = "train")]
    pub(crate) fn encode_pretoken(
        &self,
        pretoken: &[u8],
        cache: &mut BpeCache,
        ids: &mut Vec<PieceId>,
    ) {
        self.encoder.encode_whole(pretoken, cache, ids);
    }

    /// Passes the ids of a text, of which merges are skipped if `skips_merge` returns true, with
    /// their spans in it.
    pub(crate) fn for_each_sampled_token(
        &self,
        text: &[u8],
        special: &SpecialSet,
        mut skips_merge: impl FnMut() -> bool,
        cache: &mut BpeCache,
        mut on_token: impl FnMut(PieceId, Range<usize>),
    ) {
        let mut ids = Vec::new();
        self.for_each_part(text, special, |part| match part {
            Part::Special(id, span) => on_token(id, span),
            Part::Text(text, origins) => {
                let sample: &mut dyn FnMut(Range<usize>) = &mut |pretoken| {
                    ids.clear();
                    let mut at = pretoken.start;
                    self.encoder.sample_pretoken(
                        &text[pretoken],
                        &mut skips_merge,
                        cache,
                        &mut ids,
                    );
                    for id in &ids {
                        let end = at + self.texts.get(id.index()).len();
                        on_token(*id, origins.of(at..end));
                        at = end;
                    }
                };
                self.pretokenizer.for_each(text, sample);
            }
        });
    }

    /// Steps 1 and 2 of the [module page](self).
    fn for_each_part(&self, text: &[u8], special: &SpecialSet, mut on_part: impl FnMut(Part<'_>)) {
        let id = |index: usize| PieceId::new(self.special.tokens[index].id);
        self.special.cut(&special.as_is, text, |segment| {
            let range = match segment {
                Segment::Special(index, range) => return on_part(Part::Special(id(index), range)),
                Segment::Text(range) => range,
            };
            let raw = &text[range.clone()];
            let (text, changes) = in_form(self.text_form, raw);
            self.special.cut(&special.normalized, &text, |segment| {
                let (Segment::Text(part) | Segment::Special(_, part)) = &segment;
                let mut origins = Origins {
                    start: range.start,
                    changes: &changes,
                    offset: part.start,
                    has_prefix_space: false,
                };
                let part = &text[part.clone()];
                match segment {
                    Segment::Special(index, _) => {
                        on_part(Part::Special(id(index), origins.of(0..part.len())));
                    }
                    Segment::Text(_) if self.adds_prefix_space && part[0] != b' ' => {
                        origins.has_prefix_space = true;
                        on_part(Part::Text(&[b" ", part].concat(), origins));
                    }
                    Segment::Text(_) => on_part(Part::Text(part, origins)),
                }
            });
        });
    }

    /// The bytes of ids, those of special tokens included.
    ///
    /// # Errors
    /// No token has one of the ids.
    pub fn decode_to_bytes(&self, ids: &[PieceId]) -> Result<Vec<u8>, DecodeError> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for id in ids {
            let pieces = self.vocab_size();
            let token = self
                .id_to_bytes(*id)
                .ok_or(DecodeError::NoPiece { id: *id, pieces })?;
            bytes.extend_from_slice(token);
        }
        Ok(bytes)
    }
}

/// A text in the form of a vocabulary, and what that changed.
fn in_form(form: TextForm, raw: &[u8]) -> (Cow<'_, [u8]>, Vec<Change>) {
    match form {
        #[cfg(feature = "nfc")]
        TextForm::Nfc => nfc::to_nfc(raw),
        _ => (Cow::Borrowed(raw), Vec::new()),
    }
}

/// The bytes of each id, empty for ids without a token.
fn texts_by_id(tokens: &[ByteToken], special: &[SpecialToken]) -> Result<TextArena, ByteBpeError> {
    if let Some(empty) = tokens.iter().find(|token| token.bytes.is_empty()) {
        return Err(ByteBpeError::EmptyToken { id: empty.id });
    }
    let cannot_be_found =
        |token: &&SpecialToken| token.text.is_empty() || token.text.contains('\0');
    if let Some(token) = special.iter().find(cannot_be_found) {
        return Err(ByteBpeError::SpecialText { id: token.id });
    }
    let tokens = tokens.iter().map(|token| (token.id, &token.bytes[..]));
    let mut by_id: Vec<(u32, &[u8])> = tokens.collect();
    by_id.sort_unstable_by_key(|(id, _)| *id);
    if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(ByteBpeError::RepeatedId { id: pair[0].0 });
    }
    let special = special.iter();
    by_id.extend(special.map(|token| (token.id, token.text.as_bytes())));
    // The sort is stable: of those with one id, the first one is decoded.
    by_id.sort_by_key(|(id, _)| *id);
    by_id.dedup_by_key(|(id, _)| *id);
    let highest = by_id.last().map_or(0, |(id, _)| *id);
    if highest > ByteBpe::MAX_ID {
        return Err(ByteBpeError::IdTooLarge { id: highest });
    }
    Ok(TextArena::by_id(&by_id))
}

/// A part of a text that is encoded on its own: a pretoken, or a special token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPart<'e> {
    /// Where it is in the text, in bytes.
    pub span: Range<usize>,
    /// Its ids.
    pub ids: &'e [PieceId],
    /// Whether it is a special token.
    pub is_special: bool,
}

/// Encodes texts on one thread, with caches of its own; from [`ByteBpe::encoder`].
#[derive(Debug)]
pub struct ByteBpeEncoder<'t> {
    bpe: &'t ByteBpe,
    special: SpecialSet,
    cache: BpeCache,
    ids: Vec<PieceId>,
}

impl ByteBpeEncoder<'_> {
    /// From now on, these special tokens are found; the set is from the same tokenizer.
    pub fn set_special(&mut self, special: SpecialSet) {
        self.special = special;
    }

    /// The ids of a text, valid until the next call.
    pub fn encode(&mut self, text: impl AsRef<[u8]>) -> &[PieceId] {
        self.ids.clear();
        self.bpe
            .encode_into(text.as_ref(), &self.special, &mut self.cache, &mut self.ids);
        &self.ids
    }

    /// Passes the parts of a text that are encoded on their own, in order.
    pub fn for_each_part(
        &mut self,
        text: impl AsRef<[u8]>,
        mut on_part: impl FnMut(EncodedPart<'_>),
    ) {
        let Self { bpe, cache, .. } = self;
        bpe.for_each_part(text.as_ref(), &self.special, |part| match part {
            Part::Special(id, span) => on_part(EncodedPart {
                span,
                ids: &[id],
                is_special: true,
            }),
            Part::Text(text, origins) => {
                let pretokens = (&bpe.pretokenizer, text);
                bpe.encoder
                    .for_each_pretoken(pretokens, cache, |pretoken, ids| {
                        on_part(EncodedPart {
                            span: origins.of(pretoken),
                            ids,
                            is_special: false,
                        });
                    });
            }
        });
    }

    /// The ids that merging gives for bytes that are one pretoken, whether they are a token as a
    /// whole or not; valid until the next call.
    pub fn merge(&mut self, pretoken: impl AsRef<[u8]>) -> &[PieceId] {
        self.ids.clear();
        let (cache, ids) = (&mut self.cache, &mut self.ids);
        self.bpe
            .encoder
            .sample_pretoken(pretoken.as_ref(), || false, cache, ids);
        &self.ids
    }
}
