//! Byte-level `tokenizer.json` files.
//!
//! A file is byte-level if its normalizer or a pre-tokenizer is `ByteLevel`. It is a byte-level
//! vocabulary, which can be trained further, changed and written to other formats, if its pipeline has
//! the stages of one:
//!
//! | component | here |
//! |---|---|
//! | normalizer `NFC` | [`TextForm::Nfc`](crate::byte_bpe::TextForm::Nfc) |
//! | pre-tokenizers `Split` with a regular expression or a text, before `ByteLevel` | splits, one after the other |
//! | `Digits` | the split at numbers |
//! | `ByteLevel` with `use_regex` | the pattern of GPT-2 after the splits |
//! | `ByteLevel` with `add_prefix_space`, as the only one | a space before every text that does not begin with one |
//! | model `BPE` | tokens in the order of their merges (`encode::bpe::merge_list`) |
//! | `ignore_merges` | pretokens that are a token are looked up first |
//! | added tokens | special tokens with their flags |
//!
//! Post-processors put special tokens around the ids or change offsets, and decoders concern neither ids
//! nor the text they stand for. `unk_token`, `fuse_unk` and `byte_fallback` have no effect, since every
//! byte is a token.

mod write;

pub(super) use self::write::name_of_behavior;
pub(in crate::formats) use self::write::{Placement, vocabulary, write_byte_level};
use super::post_processor::ReadPostProcessor;
use super::{JsonPipeline, dropout_reason, length_reasons};
use crate::formats::bytes::{ByteFormatOptions, ByteVocabulary};
use crate::formats::error::{FormatError, Place};
use crate::formats::{Converted, FileFormat, Verdict};

const FORMAT: FileFormat = FileFormat::TokenizerJson;

/// Reads a file; `None` if it is not byte-level.
pub(in crate::formats) fn read_byte_level(
    json: &str,
    options: &ByteFormatOptions,
) -> Result<Option<Converted<ByteVocabulary>>, FormatError> {
    // Almost all other files do not have the name at all, and are parsed by their own reader only.
    if memchr::memmem::find(json.as_bytes(), b"\"ByteLevel\"").is_none() {
        return Ok(None);
    }
    let file = JsonPipeline::parse(json)?;
    let post_processor = file.post_processor.clone();
    let pipeline = file.into_pipeline(None)?;
    if !pipeline.is_byte_level() {
        return Ok(None);
    }
    options.refuse_pattern(FORMAT)?;
    let Some(bpe) = pipeline.byte_bpe() else {
        let obstacle = pipeline.obstacle_of_bytes();
        return Err(FormatError::Unsupported {
            format: FORMAT,
            place: Place::Field(obstacle.component),
            found: obstacle.found,
            remedy: "byte-level vocabularies have NFC or no normalizer, splits before ByteLevel, and a BPE model without prefixes and suffixes; a Tokenizer runs every file",
        });
    };
    let mut verdict = Verdict::default();
    verdict.add_all(dropout_reason(&pipeline));
    verdict.add_all(length_reasons(&pipeline));
    Ok(Some(Converted {
        value: ByteVocabulary {
            parts: bpe.parts(),
            post_processor: post_processor.map(ReadPostProcessor::new),
        },
        verdict,
    }))
}
