//! Extension of byte-level vocabularies: of those of GPT, Llama 3, Qwen and of one's own.
//!
//! The method is that of [`Model::extend`](crate::Model::extend), with bytes for characters. The
//! corpus is cut into pretokens as the vocabulary cuts texts, the vocabulary encodes each distinct
//! pretoken, and the loop of training goes on with these tokens as symbols. The learned tokens have
//! the last ranks, in the order of learning, so that the words in memory are always segmented as
//! the vocabulary with the tokens so far would segment them.
//!
//! Ids: old tokens keep theirs; the learned ones follow after the highest id, that of special
//! tokens included, so that the order of the ranks is that of the ids, as in files of tiktoken.
//! Pairs that occur equally often are merged in the order of tokenizers, by the smallest ids.
//!
//! # Guarantees
//!
//! Those of models hold, and need no conditions, because there are neither unknown characters nor
//! unused pieces: G0 (old tokens, ids and ranks stay), G1, G2, G3 (where the pattern does not cut
//! the text of the token), G4, G5 (for the orders `hf` and `rustbpe`), G6.
//!
//! *Whole pretokens first.* Some vocabularies look each pretoken up as a whole before they merge
//! it. The proofs speak of merging; why they hold with the look-up, too:
//!
//! * A pretoken that is an old token was one token, and stays this one token.
//! * A pretoken that is a learned token is this token by merging as well (G3).
//! * All others are merged as without the look-up.
//!
//! So no pretoken gets a new boundary. Counts are those of the encoder, too: a pretoken that is a
//! token has no pairs.
//!
//! *Tokens that only the look-up finds*, 588 of Llama 3, are unfound in the sense of
//! `train/bpe/merge/old_pieces.rs`: merging gives them in no text, but it does once a learned token
//! is the missing half. They are then merged at once, since their ranks are better than that of the
//! learned token; learning does the same.
//!
//! Example: the vocabulary has the bytes and `ab`; the corpus is `abc` (3 times) and `bc` (4
//! times). Segmented they are `ab c` and `b c`. Learned are `bc` (4), which no text gives for the
//! bytes of `abc`, and then `abc` (3), made of `ab` and `c`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::{NonZeroU8, NonZeroU16, NonZeroUsize};

use super::continued::go_on_merging;
use super::slots::{IdSlots, check_multiple};
use super::tsv;
use super::{ExtendSize, ExtensionPiece};
use crate::adapt::error::ExtendError;
use crate::adapt::id_map::IdMap;
use crate::base::num::low_u32;
use crate::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken, SpecialToken};
use crate::encode::bpe::BpeCache;
use crate::formats::printable;
use crate::input::Document;
use crate::pattern::Pretokenizer;
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::Pipeline;
use crate::train::bpe::merge::LearnedMerge;
use crate::train::bpe::merge::continuation::Continuation;
use crate::train::bpe::merge::old_pieces::{UnfoundPiece, UnfoundPieces};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::{SegmentSink, WordBuffer};
use crate::train::bytes::{PretokenReader, SmallestIds, length_limit};
use crate::train::execution_config::ExecutionConfig;
use crate::train::observer::{Run, Stage};
use crate::train::split::SplitRules;
use crate::train::word_table::WordTable;
use crate::train::words::PretokenSource;
use crate::train::{Corpus, Event, InputFormat, Observer, Summary, TrainError};

/// Options of [`ByteBpe::extend`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ByteExtendOptions {
    /// How many tokens are learned. The size of a vocabulary is one more than the highest id.
    pub size: ExtendSize,
    /// Fill up with special tokens `<reserved_0>`, ... until the size of the vocabulary is a
    /// multiple of this number.
    pub multiple_of: Option<NonZeroUsize>,
    /// Pairs that occur less often are not merged. 0 and 1 allow all.
    pub min_frequency: u64,
    /// Learned tokens have fewer bytes than this, as in training. Tokens of two bytes are always
    /// allowed.
    pub max_token_length: Option<NonZeroU16>,
    /// Special tokens whose ids the first learned tokens take, in ascending order. Those that are
    /// not needed stay.
    pub reuse: Vec<PieceId>,
    /// Texts of special tokens to add; their ids come before those of learned tokens.
    pub special_tokens: Vec<String>,
    /// Learn tokens that cross the pretokens of the vocabulary.
    pub superwords: Option<Superwords>,
    /// What a text of files is, as in training.
    pub document: Option<Document>,
    /// Whether lines are texts, or texts with counts.
    pub input_format: InputFormat,
    /// The number of threads; `None` is the number of cores. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// What is told of the progress.
    pub observer: Observer,
}

impl ByteExtendOptions {
    /// Options without limits that learn so many tokens.
    pub fn new(size: ExtendSize) -> Self {
        Self {
            size,
            multiple_of: None,
            min_frequency: 0,
            max_token_length: None,
            reuse: Vec::new(),
            special_tokens: Vec::new(),
            superwords: None,
            document: None,
            input_format: InputFormat::default(),
            threads: None,
            observer: Observer::default(),
        }
    }
}

/// How tokens of several words are learned, as those of SuperBPE: see
/// [`ByteExtendOptions::superwords`].
///
/// The extended vocabulary cuts texts by [`pretokenizer`](Self::pretokenizer). Its old tokens are
/// merged before the learned ones, but across the former pretokens as well, so that some texts have
/// other old tokens than before. The guarantees compare with the vocabulary that has the new
/// pretokenizer already, which is also the one that divides the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Superwords {
    /// Takes the place of the pretokenizer of the vocabulary.
    /// [`Pretokenizer::named`]`("superbpe")` is that of SuperBPE.
    pub pretokenizer: Pretokenizer,
    /// The most words of a learned token: runs without spaces. Nor has it a space after a colon.
    pub max_words: NonZeroU8,
}

impl Superwords {
    /// Superwords of at most so many words within the pretokens of `pretokenizer`.
    pub fn new(pretokenizer: Pretokenizer, max_words: NonZeroU8) -> Self {
        Self {
            pretokenizer,
            max_words,
        }
    }
}

/// A byte-level vocabulary after [`ByteBpe::extend`].
#[derive(Debug)]
pub struct ExtendedBytes {
    bpe: ByteBpe,
    ids: IdMap,
    tokens: Vec<ExtensionPiece>,
}

impl ByteBpe {
    /// Adds tokens that continued training learns from `corpus`. Old ids stay, and no text gets a
    /// new boundary between tokens, so never more of them; the module page of
    /// `adapt/extend/bytes.rs` has the reasons.
    ///
    /// The corpus is cut by the pattern of the vocabulary. Its special tokens are left out,
    /// wherever they occur. Memory grows with the distinct pretokens; with
    /// [`superwords`](ByteExtendOptions::superwords), these are as long as lines.
    ///
    /// ```
    /// use spiece::adapt::{ByteExtendOptions, ExtendSize};
    /// use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer};
    /// use spiece::Corpus;
    ///
    /// let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2")?;
    /// let trainer = ByteTrainer::new(ByteTrainOptions::new(258, pretokenizer))?;
    /// let bpe = trainer.train(Corpus::texts(["low lower"]))?;
    /// let options = ByteExtendOptions::new(ExtendSize::Learn(1));
    /// let extended = bpe.extend(Corpus::texts(["new lower low"]), &options)?;
    /// assert_eq!(extended.bpe().vocab_size(), 259);
    /// let new = extended.tokens()[0].id;
    /// assert_eq!(extended.bpe().id_to_bytes(new), Some(&b" low"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The corpus cannot be read or does not give as many tokens, or the options do not fit the
    /// vocabulary. [`TrainError::Cancelled`] if the observer asks to stop.
    pub fn extend(
        &self,
        corpus: Corpus<'_>,
        options: &ByteExtendOptions,
    ) -> Result<ExtendedBytes, ExtendError> {
        check_multiple(options.multiple_of)?;
        let mut parts = self.parts();
        if let Some(superwords) = &options.superwords {
            parts.pretokenizer = superwords.pretokenizer.clone();
        }
        let reused = reused(&parts, options)?;
        let base_len = add_special_tokens(self, &mut parts, options)?;
        let wanted = options.size.learned(base_len, reused.len())?;
        if base_len.saturating_add(wanted) > Self::MAX_ID as usize {
            return Err(ExtendError::TooManyPieces);
        }
        let reused: BTreeSet<PieceId> = reused.into_iter().take(wanted).collect();
        let is_reused = |id: u32| reused.contains(&PieceId::new(id));
        parts.special_tokens.retain(|token| !is_reused(token.id));
        let base = Self::new(parts.clone())?;
        let (learned, summary) = learn(&base, corpus, options, wanted)?;
        let texts = parts.special_tokens.iter();
        let texts = texts.map(|token| token.text.clone().into_bytes()).collect();
        let base_texts = (base_len, &texts);
        let slots = IdSlots::new(base_texts, reused, learned.len(), options.multiple_of);
        add_learned(&mut parts, &learned, &slots);
        let bpe = Self::new(parts)?;
        options.observer.report(Event::Finished(&summary))?;
        Ok(ExtendedBytes {
            ids: slots.id_map(self.vocab_size(), bpe.vocab_size()),
            tokens: extension_tokens(&base, &learned, &slots),
            bpe,
        })
    }
}

/// The ids to reuse; each is that of a special token only.
fn reused(
    parts: &ByteBpeParts,
    options: &ByteExtendOptions,
) -> Result<BTreeSet<PieceId>, ExtendError> {
    let mut special: HashSet<u32> = parts.special_tokens.iter().map(|token| token.id).collect();
    for token in &parts.tokens {
        special.remove(&token.id);
    }
    let is_special = |id: &PieceId| special.contains(&id.get());
    match options.reuse.iter().find(|id| !is_special(id)) {
        Some(id) => Err(ExtendError::NotSpecial { id: *id }),
        None => Ok(options.reuse.iter().copied().collect()),
    }
}

/// Adds the special tokens of the options, and returns the number of ids.
fn add_special_tokens(
    bpe: &ByteBpe,
    parts: &mut ByteBpeParts,
    options: &ByteExtendOptions,
) -> Result<usize, ExtendError> {
    let mut size = bpe.vocab_size();
    for text in &options.special_tokens {
        let is_special = parts.special_tokens.iter().any(|token| token.text == *text);
        if is_special || bpe.bytes_to_id(text).is_some() {
            return Err(ExtendError::PieceExists {
                piece: text.clone(),
                kind: match is_special {
                    true => PieceKind::Control,
                    false => PieceKind::Normal,
                },
            });
        }
        let id = PieceId::from_index(size).get();
        parts
            .special_tokens
            .push(SpecialToken::new(text.as_str(), id));
        size += 1;
    }
    Ok(size)
}

/// Learns `wanted` tokens.
fn learn(
    base: &ByteBpe,
    corpus: Corpus<'_>,
    options: &ByteExtendOptions,
    wanted: usize,
) -> Result<(Vec<LearnedMerge>, Summary), ExtendError> {
    if wanted == 0 {
        return Ok((Vec::new(), Summary::default()));
    }
    let mut work = ExecutionConfig::of_machine();
    if let Some(threads) = options.threads {
        work.set_threads(threads);
    }
    let mut run = Run::new(&options.observer, work.thread_pool()?);
    let pipeline = Pipeline::from(base.clone());
    let found = pipeline.found(|_| true, true);
    let reader = PretokenReader {
        source: PretokenSource::Pipeline {
            pipeline: &pipeline,
            found: &found,
        },
        document: options.document,
        input_format: options.input_format,
        work: &work,
    };
    let words = reader.count(corpus, &mut run)?;
    run.reporter.start(Stage::Merging)?;
    let learned = merge(base, words, options, wanted, (&work, &mut run))?;
    run.summary.merges = learned.len();
    run.summary.pieces = base.vocab_size() + learned.len();
    let available = learned.len();
    if available < wanted {
        return Err(ExtendError::TooFewPieces { wanted, available });
    }
    Ok((learned, run.summary))
}

/// Goes on with merging where the vocabulary ends.
fn merge(
    base: &ByteBpe,
    words: WordTable,
    options: &ByteExtendOptions,
    wanted: usize,
    (work, run): (&ExecutionConfig, &mut Run),
) -> Result<Vec<LearnedMerge>, TrainError> {
    // Symbols are numbered by id, so that their order is that of the ids.
    let tokens: Vec<(&[u8], PieceId)> = base.tokens().collect();
    let mut by_id: Vec<(PieceId, usize)> = Vec::with_capacity(tokens.len());
    by_id.extend(tokens.iter().zip(0..).map(|((_, id), rank)| (*id, rank)));
    by_id.sort_unstable();
    let rules = SplitRules::of_bytes(length_limit(options.max_token_length));
    let rules = match &options.superwords {
        None => rules,
        Some(superwords) => rules.with_superwords(superwords.max_words),
    };
    let texts = by_id.iter().map(|(_, rank)| tokens[*rank].0);
    let symbols = SymbolArena::of_byte_strings(texts, &rules);
    // Zero where no token has the id.
    let mut symbol_of = vec![Symbol(0); base.vocab_size()];
    let mut unfound = Vec::new();
    let merges = base.last_merges();
    for ((id, rank), symbol) in by_id.iter().zip((0..).map(Symbol)) {
        symbol_of[id.index()] = symbol;
        let text = tokens[*rank].0;
        if text.len() > 1 && merges[*rank].is_none() {
            let rank = low_u32(*rank as u64);
            unfound.push((text, UnfoundPiece { symbol, rank }));
        }
    }
    let unfound = UnfoundPieces::new(unfound.into_iter());
    let words = run.pool.install(|| {
        let segment = |(cache, ids): &mut (BpeCache, Vec<PieceId>),
                       pretoken: &[u8],
                       sink: &mut SegmentSink<'_>| {
            ids.clear();
            base.encode_pretoken(pretoken, cache, ids);
            for id in ids {
                sink.symbol(symbol_of[id.index()]);
            }
        };
        WordBuffer::of_segments(
            words,
            &work.hasher,
            || (BpeCache::default(), Vec::new()),
            segment,
        )
    })?;
    let continuation =
        Continuation::new(Vec::new(), unfound).with_min_frequency(options.min_frequency);
    let special = HashMap::new();
    let order = SmallestIds { special: &special };
    let merging = (&rules, order, &work.hasher);
    go_on_merging(merging, (symbols, words), continuation, wanted, run)
}

/// Adds the learned tokens and the padding.
fn add_learned(parts: &mut ByteBpeParts, learned: &[LearnedMerge], slots: &IdSlots) {
    let learned = learned.iter().zip(slots.learned());
    let tokens = learned.map(|(token, id)| ByteToken {
        bytes: token.text.clone(),
        id: id.get(),
    });
    parts.tokens.extend(tokens);
    let padding = slots.padding();
    parts
        .special_tokens
        .extend(padding.map(|(text, id)| SpecialToken::new(text, id.get())));
}

/// What became of the learned tokens.
fn extension_tokens(
    base: &ByteBpe,
    learned: &[LearnedMerge],
    slots: &IdSlots,
) -> Vec<ExtensionPiece> {
    let mut cache = BpeCache::default();
    let learned = learned.iter().zip(slots.learned());
    let piece = |(token, id): (&LearnedMerge, PieceId)| {
        let mut replaced = Vec::new();
        base.encode_pretoken(&token.text, &mut cache, &mut replaced);
        ExtensionPiece {
            id,
            count: token.count,
            replaced,
        }
    };
    learned.map(piece).collect()
}

impl ExtendedBytes {
    /// The extended vocabulary.
    pub fn bpe(&self) -> &ByteBpe {
        &self.bpe
    }

    /// The extended vocabulary, without the rest.
    pub fn into_bpe(self) -> ByteBpe {
        self.bpe
    }

    /// How old and new ids correspond: old ids stay, but for those that were reused.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// The learned tokens, in the order of learning.
    pub fn tokens(&self) -> &[ExtensionPiece] {
        &self.tokens
    }

    /// A line for each learned token: id, bytes as the characters that stand for them in a
    /// `tokenizer.json`, the old ids that it replaces with spaces between them, and its count,
    /// separated by tabs. A line with these names comes first.
    pub fn to_tsv(&self) -> Vec<u8> {
        let text = |id| printable(self.bpe.id_to_bytes(id).unwrap_or_default());
        tsv(&self.tokens, |id| text(id).into_bytes())
    }
}

#[cfg(test)]
pub(in crate::adapt) mod tests;
