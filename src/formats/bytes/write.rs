//! Byte-level vocabularies in the files of other programs.

use super::ranked::RankedTokens;
use super::written::{ByteFileOptions, ByteFiles};
use super::{minbpe, tiktoken, vocab_merges};
use crate::byte_bpe::ByteBpe;
use crate::formats::error::FormatError;
use crate::formats::model_type::{has_stages_of_qwen, reason_of_model_type};
use crate::formats::{FileFormat, TokenRoles, gguf, read_pipeline, tokenizer_json};

impl ByteBpe {
    /// The vocabulary in the files of a format.
    ///
    /// | format | bytes | refused |
    /// |---|---|---|
    /// | [`TokenizerJson`](FileFormat::TokenizerJson) | those of `Tokenizer.save` of tokenizers 0.23.3 | patterns that mean something else to Oniguruma and have no other form; special tokens with the text of another token |
    /// | [`Folder`](FileFormat::Folder) | a `tokenizer.json`, with a `tokenizer_config.json` for transformers | the same |
    /// | [`VocabMerges`](FileFormat::VocabMerges) | those of `tokenizer.model.save` | special tokens with the text of another token |
    /// | [`Tiktoken`](FileFormat::Tiktoken) | those of `dump_tiktoken_bpe` of tiktoken 0.14.0 | ids in another order than that of the merges |
    /// | [`Gguf`](FileFormat::Gguf) | a header with the vocabulary `gpt2` | patterns for which llama.cpp has no name |
    /// | [`Minbpe`](FileFormat::Minbpe) | those of `save` of minbpe | other ids than the bytes by value and the merges from 256 on; special tokens with white space |
    ///
    /// ```
    /// use spiece::formats::{ByteFileOptions, ByteFormatOptions, ByteVocabulary, FileFormat};
    ///
    /// let file = b"minbpe v1\n\n0\n97 98\n256 99\n";
    /// let read = ByteVocabulary::from_bytes(file, &ByteFormatOptions::default())?.unwrap();
    /// let bpe = read.into_bpe()?;
    /// let written = bpe.to_format(FileFormat::TokenizerJson, &ByteFileOptions::default())?;
    /// assert!(written.verdict.is_exact());
    /// let (name, json) = &written.files[0];
    /// assert_eq!(*name, "tokenizer.json");
    /// let back = ByteVocabulary::from_bytes(json, &ByteFormatOptions::default())?.unwrap();
    /// assert_eq!(back.value.parts.tokens[257], bpe.parts().tokens[257]);
    /// # Ok::<(), spiece::formats::FormatError>(())
    /// ```
    ///
    /// Each token is merged once.
    ///
    /// # Errors
    /// [`FormatError::NoForm`]: the format cannot hold a part of the vocabulary, or no
    /// byte-level vocabulary. [`FormatError::AddedTokenId`]
    pub fn to_format(
        &self,
        format: FileFormat,
        options: &ByteFileOptions,
    ) -> Result<ByteFiles, FormatError> {
        let tokens = RankedTokens::new(self);
        match format {
            FileFormat::TokenizerJson => tokenizer_json::write_byte_level(&tokens, options),
            FileFormat::Folder => {
                let mut folder = tokenizer_json::write_byte_level(&tokens, options)?;
                let roles = options.checked_roles(self.special_tokens(), &TokenRoles::new())?;
                let chat_template = options.chat_template.as_deref();
                let config = tokenizer_json::config_of_tokens(&roles, chat_template);
                folder.files.insert(0, ("tokenizer_config.json", config));
                let model_type = options.model_type.as_deref();
                folder.add_reasons(reason_of_model_type(model_type, has_stages_of_qwen(self)));
                Ok(folder)
            }
            FileFormat::TokenizerJson2 => {
                let mut version_1 = tokenizer_json::write_byte_level(&tokens, options)?;
                let (_, file) = version_1.files.swap_remove(0);
                let mut version_2 = read_pipeline(&file)?.to_format(format, options)?;
                version_2.add_reasons(version_1.verdict.reasons().iter().cloned());
                Ok(version_2)
            }
            FileFormat::Tiktoken => tiktoken::write(&tokens),
            FileFormat::VocabMerges => vocab_merges::write(&tokens),
            FileFormat::Minbpe => minbpe::write(&tokens),
            FileFormat::Model | FileFormat::VocabTxt => Err(FormatError::no_form(
                format,
                "a byte-level vocabulary, whose tokens are bytes and not characters",
                "write a tokenizer.json, .tiktoken or GGUF; minbpe's .model is the format minbpe",
            )),
            FileFormat::Gguf => gguf::write_byte_level(&tokens),
            _ => Err(FormatError::no_form(
                format,
                "this vocabulary",
                "write a tokenizer.json",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
