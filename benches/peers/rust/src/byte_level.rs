//! Crates for byte-level vocabularies. Except tokenizers they contain the vocabularies of OpenAI,
//! so a file `cl100k_base.tiktoken` only names one of them; loading is not measured for these.

use std::path::Path;

use crate::hugging_face::HuggingFace;
use crate::{Peer, Refused, refused};

/// The name of an encoding: the file without its extension.
fn encoding(model: &str) -> &str {
    Path::new(model).file_stem().and_then(|stem| stem.to_str()).unwrap_or(model)
}

/// github/rust-gems: backtracking over valid pairs of tokens.
pub struct BpeOpenai(&'static bpe_openai::Tokenizer);

impl Peer for BpeOpenai {
    fn load(model: &str) -> Result<Self, Refused> {
        match encoding(model) {
            "cl100k_base" => Ok(Self(bpe_openai::cl100k_base())),
            "o200k_base" => Ok(Self(bpe_openai::o200k_base())),
            _ => refused("has other vocabularies"),
        }
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        *ids = self.0.encode(line);
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids).unwrap_or_default().into_bytes()
    }
}

/// The crate that is called tiktoken, which is not OpenAI's.
pub struct Tiktoken(&'static tiktoken::CoreBpe);

impl Peer for Tiktoken {
    fn load(model: &str) -> Result<Self, Refused> {
        tiktoken::get_encoding(encoding(model)).map(Self).ok_or_else(|| Refused("has other vocabularies".to_owned()))
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        *ids = self.0.encode(line);
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids)
    }
}

pub struct Toktok(toktok::Tokenizer);

impl Peer for Toktok {
    fn load(model: &str) -> Result<Self, Refused> {
        match toktok::Tokenizer::builtin(encoding(model)) {
            Ok(tokenizer) => Ok(Self(tokenizer)),
            Err(_) => refused("has other vocabularies"),
        }
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        *ids = self.0.encode(line.as_bytes());
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids)
    }
}

/// Hugging Face's tokenizers, with a tokenizer.json as it is.
pub struct HuggingFaceJson(HuggingFace);

impl Peer for HuggingFaceJson {
    fn load(model: &str) -> Result<Self, Refused> {
        if !model.ends_with(".json") {
            return refused("reads tokenizer.json only");
        }
        // A file of today has to be brought to the form that this release reads.
        let definition = tokenizers::canonicalize_file(model)?;
        HuggingFace::of_json(&definition).map(Self)
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        self.0.encode(line, ids);
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids)
    }
}
