//! Whether a raw sentence can be prepared in chunks, and which chunks need no preparation at all.
//!
//! For example, with the default options "to be or not to be" is four different words, each of
//! which is normalized once: the preparation of the sentence, `▁to▁be▁or▁not▁to▁be`, is the
//! concatenation of the preparations of its words, `▁to`, `▁be`, `▁or` and `▁not`. With
//! `split_by_whitespace=false` the piece `▁to▁be` is possible. The sentence is then prepared as a
//! whole.

use crate::base::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::model::ModelType;
use crate::train::meta_pieces::MetaPieces;
use crate::train::options::TrainOptions;
use crate::train::prepare::Preparation;

/// How a raw sentence is divided into chunks that can be prepared one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkRule {
    /// Not at all: rules or pieces cross spaces.
    Sentence,
    /// Into the words between spaces. Each is prepared like a sentence: spaces are collapsed, and
    /// every word gets a whitespace mark before it.
    Words,
    /// Into words with the spaces before them; `dummy_prefix` puts one before the sentence.
    SpacedWords { dummy_prefix: bool },
}

impl ChunkRule {
    /// The rule for these options. The conditions keep the meaning of spaces local:
    /// * no piece crosses a space: `split_by_whitespace`, whitespace as prefix, no pre-tokenizer,
    ///   no meta piece or delimiter with whitespace in it;
    /// * no normalization rule crosses a space: no key of the charsmap has a space in it, and
    ///   nothing is replaced by a whitespace mark;
    /// * collapsing spaces needs the dummy prefix, or the first word would differ from the others,
    ///   and rules without two spaces in a row in their replacement, which are kept before another
    ///   word and trimmed at the end of a sentence.
    ///
    /// If runs of whitespace may be pieces, a sentence in which the rules extend a run across two
    /// chunks is prepared as a whole; see
    /// [`Normalizer::extends_run_by_raw_space`](crate::normalize::Normalizer).
    pub(super) fn of(options: &TrainOptions, preparation: &Preparation, meta: &MetaPieces) -> Self {
        let charsmap = preparation.normalizer.charsmap();
        // Only continued training has models that do not mark spaces.
        let are_local = preparation.normalizer.options().escape_whitespaces
            && pieces_are_local(options, preparation, meta)
            && charsmap.is_none_or(|charsmap| {
                !charsmap.any_key_contains(b' ')
                    && !charsmap.replacements_contain(WHITESPACE_MARK_STR.as_bytes())
            });
        if !are_local {
            return Self::Sentence;
        }
        let dummy_prefix = options.add_dummy_prefix;
        match (options.remove_extra_whitespaces, dummy_prefix) {
            (true, true) if charsmap.is_some_and(|map| map.replacements_contain(b"  ")) => {
                Self::Sentence
            }
            (true, true) => Self::Words,
            (true, false) => Self::Sentence,
            (false, _) => Self::SpacedWords { dummy_prefix },
        }
    }

    /// The whitespace marks before a word with this many spaces before it in its chunk.
    pub(super) fn whitespace_marks(self, spaces: usize) -> usize {
        match self {
            Self::Words => 1,
            _ => spaces,
        }
    }
}

/// Whether no piece and no boundary depends on the text on the other side of a space.
pub(crate) fn pieces_are_local(
    options: &TrainOptions,
    preparation: &Preparation,
    meta: &MetaPieces,
) -> bool {
    (options.split_by_whitespace || options.model_type == ModelType::Word)
        && !options.treat_whitespace_as_suffix
        && preparation.pretokenizer.is_none()
        && !preparation.delimiter.contains(WHITESPACE_MARK)
        && !meta.texts().any(|piece| piece.contains(WHITESPACE_MARK))
}

/// The ASCII characters that preparation leaves unchanged in text that consists of them: no rule of
/// the normalizer, no meta piece and no delimiter begins with one.
pub(super) struct PlainBytes([bool; 256]);

impl PlainBytes {
    pub(super) fn of(preparation: &Preparation, meta: &MetaPieces) -> Self {
        let mut plain = [false; 256];
        let is_unchanged = |byte: u8| {
            let charsmap = preparation.normalizer.charsmap();
            charsmap.is_none_or(|charsmap| charsmap.leads().plain_length(&[byte; 2]) > 0)
        };
        let begins = |text: &str, byte| text.as_bytes().first() == Some(&byte);
        for byte in (0..=0x7f).filter(|byte| *byte != b' ') {
            plain[usize::from(byte)] = is_unchanged(byte)
                && !meta.texts().any(|piece| begins(piece, byte))
                && !begins(&preparation.delimiter, byte);
        }
        Self(plain)
    }

    /// Whether all bytes of `text` are plain.
    #[inline]
    pub(super) fn make_up(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.0[usize::from(*byte)])
    }
}
