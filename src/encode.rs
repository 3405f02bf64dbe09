//! Normalized text -> ids: one segmenter for each type of model.
//!
//! In: a normalized line. Out: ids, in which unknown text still stands as it was cut: in BPE, unigram and
//! char models one unknown id for each unknown character, in word models one for each unknown word. So the
//! place of every id follows from the ids alone, and the [`tokenizer`](crate::tokenizer) joins or takes apart
//! the unknown ones.

pub(crate) mod bpe;
mod bigrams;
mod bloom_filter;
mod char;
mod chunk_cache;
pub(crate) mod unigram;
pub(crate) mod vocabulary;
mod word;

use std::sync::Arc;

use self::bpe::{BpeCache, BpeEncoder};
use self::char::Char;
use self::unigram::{Unigram, UnigramScratch};
use self::vocabulary::Vocabulary;
use self::word::Word;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceTable};
use crate::text::char_length;
use crate::trie::BuildError;
use crate::trie::prefix::PrefixTrie;

/// A model, ready to segment normalized text.
#[derive(Debug)]
pub(crate) enum Segmenter {
    Bpe(Box<BpeEncoder>),
    Unigram(Unigram),
    Word(Word),
    Char(Char),
}

/// Buffers that one thread reuses from line to line.
#[derive(Debug, Default)]
pub(crate) struct SegmentScratch {
    pub(crate) bpe: BpeCache,
    pub(crate) unigram: UnigramScratch,
}

impl Segmenter {
    /// The segmenter for a model, with its user-defined symbols or as if it had none; and the symbols.
    ///
    /// # Errors
    /// The user-defined symbols are too large for a trie.
    pub(crate) fn new(
        model: &Model,
        has_symbols: bool,
    ) -> Result<(Segmenter, Arc<PrefixTrie>), BuildError> {
        let vocabulary = Vocabulary::new(model, has_symbols);
        let symbols = Arc::new(PrefixTrie::with_values(vocabulary.symbols())?);
        let segmenter = match model.model_type() {
            ModelType::Bpe => {
                Segmenter::Bpe(Box::new(BpeEncoder::new(&vocabulary, Arc::clone(&symbols))))
            }
            ModelType::Unigram => Segmenter::Unigram(Unigram::new(&vocabulary)),
            ModelType::Word => Segmenter::Word(Word::new(&vocabulary)),
            ModelType::Char => Segmenter::Char(Char::new(&vocabulary, Arc::clone(&symbols))),
        };
        Ok((segmenter, symbols))
    }

    /// Appends the ids of `text`; `pieces` are the model's.
    pub(crate) fn segment(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        scratch: &mut SegmentScratch,
        out: &mut Vec<PieceId>,
    ) {
        match self {
            Segmenter::Bpe(bpe) => bpe.encode(pieces, text, &mut scratch.bpe, out),
            Segmenter::Unigram(unigram) => unigram.segment(text, &mut scratch.unigram, out),
            Segmenter::Word(word) => word.segment(pieces, text, out),
            Segmenter::Char(char) => char.segment(pieces, text, out),
        }
    }

    /// Whether text can be segmented as the caller gave it, if spaces become marks and nothing else changes.
    pub(crate) fn takes_raw_text(&self) -> bool {
        matches!(self, Segmenter::Bpe(bpe) if bpe.accepts_raw_text())
    }

    /// How much of `rest` an unknown id at its start stands for.
    pub(crate) fn unknown_length(&self, rest: &[u8]) -> usize {
        match self {
            Segmenter::Word(_) => Word::length(rest),
            _ => char_length(rest),
        }
    }

    /// How much of `rest` a piece of `length` bytes at its start stands for: more than itself if it ends
    /// inside of a character, which all ways through a unigram model take whole.
    #[inline]
    pub(crate) fn piece_length(&self, length: usize, rest: &[u8]) -> usize {
        match self {
            Segmenter::Unigram(unigram) => unigram.whole_length(length, rest),
            _ => length,
        }
    }
}
