//! WordPiece: the tokenizers of BERT and of many models for embeddings.
//!
//! A text is encoded in these steps, as the library tokenizers does with a `BertNormalizer`, a
//! `BertPreTokenizer` and a model `WordPiece`:
//!
//! 1. Special tokens that the caller allows are cut out.
//! 2. What remains is normalized ([`BertNormalizer`]).
//! 3. It is cut into words at white space, which belongs to none, and at punctuation, of which each
//!    character is a word.
//! 4. Each word becomes the longest pieces from left to right, or the unknown piece.
//!
//! **Chunks.** Steps 2 and 3 are carried out for each chunk of raw text on its own, so that a
//! cache can have the ids of chunks. A chunk is a character of white space, punctuation or (if each
//! is a word) Chinese, or a run of others. Cutting there is exact: such a character does not wait
//! to be sorted with the marks around it, since its combining class is 0 and its decomposition has
//! no mark; and normalized it is what it was, a boundary of words. A chunk can have several
//! words: `≠` has the decomposition `=` and a mark.
//!
//! Example: `Hello, Zoë!` has the chunks `Hello`, `,`, ` `, `Zoë` and `!`, and the words `hello`,
//! `,`, `zoe` and `!`. With the pieces `hello`, `zo` and `##e` the second name is `zo` `##e`.
//!
//! Bytes that are no part of well-formed UTF-8 are U+FFFD, which cleaning removes.

pub(crate) mod classes;
mod error;
mod normalize;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use self::classes::{CHINESE, PUNCTUATION, REMOVED, SPACE, class, first_char};
pub use self::error::WordPieceError;
pub use self::normalize::BertNormalizer;
use self::normalize::NormalizedText;
use crate::base::TextArena;
use crate::byte_bpe::{ByteBpeError, MIN_PART_BYTES};
pub use crate::decode::words::WordDecoding;
use crate::encode::bpe::BpeCache;
use crate::encode::wordpiece::{WordPieceEncoder, encode_chunks};
use crate::piece::{MAX_TEXT_BYTES, PieceId};
use crate::special::{Cutter, Segment, SpecialNames, SpecialSet, SpecialToken};

/// What a [`WordPiece`] is made of.
///
/// ```
/// use spiece::wordpiece::{WordPiece, WordPieceParts};
/// use spiece::{Tokenizer, TokenizerConfig};
///
/// let pieces = ["[UNK]", "hello", "zo", "##e"].map(str::to_owned);
/// let parts = WordPieceParts::new(pieces.into_iter().zip(0..).collect());
/// # #[cfg(feature = "nfc")] {
/// let words = WordPiece::new(parts)?;
/// let tokenizer = Tokenizer::of_words(words, TokenizerConfig::default());
/// assert_eq!(tokenizer.encode("Hello Zoë!"), [1.into(), 2.into(), 3.into(), 0.into()]);
/// assert_eq!(tokenizer.decode([1_u32, 2, 3])?, "hello zoe");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct WordPieceParts {
    /// Texts and ids of the pieces. Of two with the same text, the last one counts.
    pub pieces: Vec<(String, u32)>,
    /// The special tokens. One may have the id of a piece with the same text.
    pub special_tokens: Vec<SpecialToken>,
    /// The piece of unknown words.
    pub unknown: String,
    /// The prefix of pieces that go on with a word.
    pub prefix: String,
    /// Words of more characters are unknown.
    pub max_chars: usize,
    /// What is done to texts first.
    pub normalizer: BertNormalizer,
    /// The ids that begin and end a text, for options that ask for them.
    pub text_ends: [Option<PieceId>; 2],
    /// How ids become text.
    pub decoding: WordDecoding,
}

impl WordPieceParts {
    /// These pieces, and everything else as in uncased BERT models, but no special tokens.
    pub fn new(pieces: Vec<(String, u32)>) -> Self {
        Self {
            pieces,
            special_tokens: Vec::new(),
            unknown: "[UNK]".to_owned(),
            prefix: "##".to_owned(),
            max_chars: 100,
            normalizer: BertNormalizer::default(),
            text_ends: [None; 2],
            decoding: WordDecoding::default(),
        }
    }
}

/// A WordPiece tokenizer; see the [module page](self). To encode with it, make a
/// [`Tokenizer`](crate::Tokenizer::of_words).
///
/// [`WordPieceParts`] has an example.
pub struct WordPiece {
    encoder: WordPieceEncoder,
    normalizer: BertNormalizer,
    /// The bits of classes that divide chunks, and of those that do not because they are removed.
    divides: u8,
    is_removed: u8,
    prefix: String,
    max_chars: usize,
    special: Cutter,
    /// The tokens that are found in every text.
    found_always: SpecialSet,
    /// The texts of all ids.
    texts: TextArena,
    ids: HashMap<String, PieceId>,
    unknown: PieceId,
    text_ends: [Option<PieceId>; 2],
    decoding: WordDecoding,
}

/// A part of a text between special tokens, or a special token.
enum WordPiecePart<'p> {
    /// Raw text, and where it begins.
    Raw(&'p [u8], usize),
    /// A range of text that was normalized because special tokens were looked for in it, and where
    /// the raw text of all of it begins.
    Normalized(&'p NormalizedText, Range<usize>, usize),
    Special(PieceId, Range<usize>),
}

impl WordPiece {
    /// The highest id that a piece may have. The limit bounds the memory of a vocabulary with gaps.
    pub const MAX_ID: u32 = (1 << 24) - 1;

    /// A tokenizer of these parts.
    ///
    /// # Errors
    /// The pieces are no vocabulary; see the variants of [`WordPieceError`].
    pub fn new(parts: WordPieceParts) -> Result<Self, WordPieceError> {
        let normalizer = parts.normalizer;
        if normalizer.strips_accents() && !cfg!(feature = "nfc") {
            return Err(WordPieceError::NoNfc);
        }
        let mut ids = HashMap::with_capacity(parts.pieces.len());
        for (text, id) in parts.pieces {
            ids.insert(text, id);
        }
        let mut pieces: Vec<(&str, u32)> = ids.iter().map(|(text, id)| (&**text, *id)).collect();
        pieces.sort_unstable_by_key(|(_, id)| *id);
        let with_nul = pieces.iter().find(|(text, _)| text.contains('\0'));
        if let Some((_, id)) = with_nul.filter(|_| !normalizer.clean_text) {
            return Err(WordPieceError::Nul { id: *id });
        }
        let Some(unknown) = ids.get(&parts.unknown).copied().map(PieceId::new) else {
            let text = parts.unknown;
            return Err(WordPieceError::NoUnknown { text });
        };
        let bytes = pieces.iter().map(|(text, _)| text.len()).sum::<usize>();
        if bytes > MAX_TEXT_BYTES {
            return Err(WordPieceError::TooLarge);
        }
        let encoder = WordPieceEncoder::new(&pieces, &parts.prefix, unknown, parts.max_chars);
        let encoder = encoder.map_err(|_| WordPieceError::TooLarge)?;
        let texts = texts_by_id(&pieces, &parts.special_tokens)?;
        let mut ids: HashMap<String, PieceId> = ids
            .into_iter()
            .map(|(text, id)| (text, PieceId::new(id)))
            .collect();
        for token in &parts.special_tokens {
            ids.insert(token.text.clone(), PieceId::new(token.id));
        }
        let special = Cutter::new(parts.special_tokens).map_err(ByteBpeError::from)?;
        let none = (&SpecialNames::None, true);
        let normalize = |text: &str| normalized(&normalizer, text);
        let found_always = SpecialSet::new(&special.tokens, normalize, none);
        Ok(Self {
            found_always: found_always.map_err(ByteBpeError::from)?,
            encoder,
            divides: SPACE
                | PUNCTUATION
                | if normalizer.handle_chinese_chars {
                    CHINESE
                } else {
                    0
                },
            is_removed: if normalizer.clean_text { REMOVED } else { 0 },
            normalizer,
            prefix: parts.prefix,
            max_chars: parts.max_chars,
            special,
            texts,
            ids,
            unknown,
            text_ends: parts.text_ends,
            decoding: parts.decoding,
        })
    }

    /// The number of ids: one more than the highest. Some of them may have no piece.
    pub fn vocab_size(&self) -> usize {
        self.texts.len()
    }

    /// The text of a piece or special token; `None` if none has the id.
    pub fn id_to_bytes(&self, id: PieceId) -> Option<&[u8]> {
        if id.index() >= self.texts.len() {
            return None;
        }
        let text = self.texts.get(id.index());
        // An id without a piece has an empty text, but a vocabulary may have the empty piece.
        (!text.is_empty() || self.ids.get("") == Some(&id)).then_some(text)
    }

    /// The id of the piece or special token with this text.
    pub fn bytes_to_id(&self, text: impl AsRef<[u8]>) -> Option<PieceId> {
        self.ids
            .get(std::str::from_utf8(text.as_ref()).ok()?)
            .copied()
    }

    /// The id of unknown words.
    pub fn unknown(&self) -> PieceId {
        self.unknown
    }

    /// The ids that begin and end a text, for options that ask for them.
    pub fn text_ends(&self) -> [Option<PieceId>; 2] {
        self.text_ends
    }

    /// The normalizer.
    pub fn normalizer(&self) -> BertNormalizer {
        self.normalizer
    }

    /// The special tokens, in the order in which they were given.
    pub fn special_tokens(&self) -> &[SpecialToken] {
        &self.special.tokens
    }

    /// The texts of special tokens for decoding, as tokenizers has them: those that are found in
    /// normalized text are normalized; `None` for those that are left out.
    pub(crate) fn decoded_special_tokens(&self) -> HashMap<PieceId, Option<Vec<u8>>> {
        let tokens = self.special_tokens();
        let special = tokens.iter().filter(|token| token.special);
        let left_out: HashSet<&[u8]> = special.map(|token| token.text.as_bytes()).collect();
        let texts = tokens.iter().map(|token| {
            let text = match token.normalized {
                true => normalized(&self.normalizer, &token.text),
                false => token.text.clone().into_bytes(),
            };
            let text = (!left_out.contains(&text[..])).then_some(text);
            (PieceId::new(token.id), text)
        });
        texts.collect()
    }

    pub(crate) fn decoding(&self) -> &WordDecoding {
        &self.decoding
    }

    /// The special tokens that are found in texts; added tokens that are not special only if
    /// `finds_added`.
    pub(crate) fn special_set_with(
        &self,
        allowed: &SpecialNames,
        finds_added: bool,
    ) -> Result<SpecialSet, ByteBpeError> {
        let normalize = |text: &str| normalized(&self.normalizer, text);
        let allowed = (allowed, finds_added);
        Ok(SpecialSet::new(&self.special.tokens, normalize, allowed)?)
    }

    /// The tokens that are found in every text.
    pub(crate) fn found_always(&self) -> &SpecialSet {
        &self.found_always
    }

    /// Appends the ids of a text.
    pub(crate) fn encode_into(
        &self,
        text: &[u8],
        special: &SpecialSet,
        cache: &mut BpeCache,
        ids: &mut Vec<PieceId>,
    ) {
        self.for_each_part(text, special, |part| match part {
            WordPiecePart::Special(id, _) => ids.push(id),
            WordPiecePart::Raw(text, _) => self.encode_part(text, cache, ids),
            WordPiecePart::Normalized(text, range, _) => {
                self.encode_normalized(&text.text[range], ids)
            }
        });
    }

    /// Appends the ids of raw text without special tokens.
    pub(crate) fn encode_part(&self, part: &[u8], cache: &mut BpeCache, ids: &mut Vec<PieceId>) {
        let mut normalized = NormalizedText::default();
        encode_chunks(part, self.chunks(part), cache, ids, |chunk, ids| {
            self.normalizer.normalize(chunk, &mut normalized);
            self.encode_normalized(&normalized.text, ids);
        });
    }

    /// Appends the ids of normalized text without special tokens.
    fn encode_normalized(&self, text: &[u8], ids: &mut Vec<PieceId>) {
        words(text, |word| {
            self.encoder.encode_word(&text[word], ids);
        });
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
        self.for_each_part(text, special, |part| match part {
            WordPiecePart::Special(id, _) => ids.push(id),
            WordPiecePart::Normalized(text, range, _) => {
                self.encode_normalized(&text.text[range], ids)
            }
            WordPiecePart::Raw(text, _) => {
                let mut parts = Vec::new();
                let mut rest = text;
                while !rest.is_empty() {
                    let (part, others) = rest.split_at(self.division(rest));
                    parts.push(part);
                    rest = others;
                }
                ids.extend(encode_parts(&parts));
            }
        });
    }

    /// The end of the first part of a long text: where a chunk begins.
    fn division(&self, text: &[u8]) -> usize {
        let mut at = MIN_PART_BYTES.min(text.len());
        while at < text.len() {
            // A byte inside a character is U+FFFD here, which is no boundary.
            let (c, width) = first_char(&text[at..]);
            if self.is_boundary(class(c)) {
                return at;
            }
            at += width;
        }
        text.len()
    }

    /// Passes the ids of a text with their spans in it.
    pub(crate) fn for_each_token(
        &self,
        text: &[u8],
        special: &SpecialSet,
        mut on_token: impl FnMut(PieceId, Range<usize>),
    ) {
        let mut normalized = NormalizedText::default();
        self.for_each_part(text, special, |part| match part {
            WordPiecePart::Special(id, span) => on_token(id, span),
            WordPiecePart::Normalized(text, range, start) => {
                self.for_each_normalized_token(text, range, |id, span| {
                    on_token(id, start + span.start..start + span.end);
                });
            }
            WordPiecePart::Raw(text, start) => {
                for chunk in self.chunks(text) {
                    let start = start + chunk.start;
                    self.normalizer.normalize(&text[chunk], &mut normalized);
                    let all = 0..normalized.text.len();
                    self.for_each_normalized_token(&normalized, all, |id, span| {
                        on_token(id, start + span.start..start + span.end);
                    });
                }
            }
        });
    }

    /// Passes the ids of a range of normalized text with their spans in the raw text.
    fn for_each_normalized_token(
        &self,
        text: &NormalizedText,
        range: Range<usize>,
        mut on_token: impl FnMut(PieceId, Range<usize>),
    ) {
        let mut ids = Vec::new();
        words(&text.text[range.clone()], |word| {
            ids.clear();
            let mut at = range.start + word.start;
            let end = range.start + word.end;
            let has_pieces = self.encoder.encode_word(&text.text[at..end], &mut ids);
            let mut prefix_bytes = 0;
            for id in &ids {
                let length = match has_pieces {
                    true => self.texts.get(id.index()).len() - prefix_bytes,
                    false => end - at,
                };
                on_token(*id, text.origin(&(at..at + length)));
                at += length;
                prefix_bytes = self.prefix.len();
            }
        });
    }

    /// Appends the normalized text, and the origin of each byte and of the end.
    pub(crate) fn normalize(
        &self,
        text: &[u8],
        out: &mut Vec<u8>,
        mut origins: Option<&mut Vec<usize>>,
    ) {
        let mut push = |bytes: &[u8], starts: &mut dyn Iterator<Item = usize>| {
            out.extend_from_slice(bytes);
            if let Some(origins) = &mut origins {
                origins.extend(starts);
            }
        };
        self.for_each_part(text, &self.found_always, |part| match part {
            WordPiecePart::Special(_, span) => push(&text[span.clone()], &mut span.into_iter()),
            WordPiecePart::Raw(raw, start) => {
                let mut normalized = NormalizedText::default();
                self.normalizer.normalize(raw, &mut normalized);
                let mut starts = normalized.starts().iter().map(|at| start + at);
                push(&normalized.text, &mut starts);
            }
            WordPiecePart::Normalized(text, range, start) => {
                let starts = text.starts()[range.clone()].iter();
                push(&text.text[range], &mut starts.map(|at| start + at));
            }
        });
        if let Some(origins) = origins {
            origins.push(text.len());
        }
    }

    /// Step 1 of the [module page](self).
    fn for_each_part(
        &self,
        text: &[u8],
        special: &SpecialSet,
        mut on_part: impl FnMut(WordPiecePart<'_>),
    ) {
        let id = |index: usize| PieceId::new(self.special.tokens[index].id);
        self.special.cut(&special.as_is, text, |segment| {
            let range = match segment {
                Segment::Special(index, range) => {
                    return on_part(WordPiecePart::Special(id(index), range));
                }
                Segment::Text(range) => range,
            };
            let start = range.start;
            if special.normalized.is_empty() {
                return on_part(WordPiecePart::Raw(&text[range], start));
            }
            let mut normalized = NormalizedText::default();
            self.normalizer.normalize(&text[range], &mut normalized);
            self.special
                .cut(&special.normalized, &normalized.text, |segment| {
                    on_part(match segment {
                        Segment::Text(range) => {
                            WordPiecePart::Normalized(&normalized, range, start)
                        }
                        Segment::Special(index, range) => {
                            let origin = normalized.origin(&range);
                            WordPiecePart::Special(
                                id(index),
                                start + origin.start..start + origin.end,
                            )
                        }
                    });
                });
        });
    }

    /// Whether a character of raw text is a chunk of its own.
    #[inline]
    fn is_boundary(&self, class: u8) -> bool {
        class & self.divides != 0 && class & self.is_removed == 0
    }

    /// The chunks of raw text, without spaces and line ends.
    fn chunks<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = Range<usize>> + 't {
        let mut at = 0;
        std::iter::from_fn(move || {
            while matches!(text.get(at)?, b' ' | b'\n' | b'\t' | b'\r') {
                at += 1;
            }
            let start = at;
            while at < text.len() {
                let (c, width) = first_char(&text[at..]);
                if self.is_boundary(class(c)) {
                    if at == start {
                        at += width;
                    }
                    break;
                }
                at += width;
            }
            Some(start..at)
        })
    }
}

/// Everything but the pieces.
impl std::fmt::Debug for WordPiece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordPiece")
            .field("normalizer", &self.normalizer)
            .field("prefix", &self.prefix)
            .field("max_chars", &self.max_chars)
            .field("unknown", &self.unknown)
            .field("text_ends", &self.text_ends)
            .field("decoding", &self.decoding)
            .finish_non_exhaustive()
    }
}

/// Passes the words of normalized text.
#[inline]
fn words(text: &[u8], mut on_word: impl FnMut(Range<usize>)) {
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        let (c, width) = first_char(&text[at..]);
        let class = class(c);
        if class & (SPACE | PUNCTUATION) != 0 {
            if start < at {
                on_word(start..at);
            }
            if class & PUNCTUATION != 0 {
                on_word(at..at + width);
            }
            start = at + width;
        }
        at += width;
    }
    if start < at {
        on_word(start..at);
    }
}

/// A text in normalized form.
fn normalized(normalizer: &BertNormalizer, text: &str) -> Vec<u8> {
    let mut out = NormalizedText::default();
    normalizer.normalize(text.as_bytes(), &mut out);
    out.text
}

/// The text of each id.
fn texts_by_id(
    pieces: &[(&str, u32)],
    special: &[SpecialToken],
) -> Result<TextArena, WordPieceError> {
    let pieces = pieces.iter().map(|(text, id)| (*id, text.as_bytes()));
    let special = special
        .iter()
        .map(|token| (token.id, token.text.as_bytes()));
    let mut by_id: Vec<(u32, &[u8])> = pieces.chain(special).collect();
    by_id.sort_unstable();
    by_id.dedup();
    if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(WordPieceError::RepeatedId { id: pair[0].0 });
    }
    let highest = by_id.last().map_or(0, |(id, _)| *id);
    if highest > WordPiece::MAX_ID {
        return Err(WordPieceError::IdTooLarge { id: highest });
    }
    Ok(TextArena::by_id(&by_id))
}
