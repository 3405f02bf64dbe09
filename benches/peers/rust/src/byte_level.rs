//! Crates for byte-level vocabularies. bpe-openai, tiktoken and toktok contain the vocabularies, so the
//! name of a file says which one; loading is not compared for these.

use std::path::Path;

use splintr::{AnyTokenizer, Backend, SpecialMode, SpecialPolicy};

use crate::hugging_face::HuggingFace;
use crate::{Batch, Peer, Refused, refused};

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
    const BATCHES: bool = true;

    fn load(model: &str) -> Result<Self, Refused> {
        match toktok::Tokenizer::builtin(encoding(model)) {
            Ok(tokenizer) => Ok(Self(tokenizer)),
            Err(_) => refused("has other vocabularies"),
        }
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        self.0.encode_into(line.as_bytes(), ids);
    }

    fn encode_batch(&mut self, lines: &[&str]) -> Batch {
        // The list of slices costs about a nanosecond a line.
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        Batch::Lines(self.0.encode_batch(&lines, 1, false))
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

/// Reads a tokenizer.json.
pub struct Snaptokens(snaptokens::Tokenizer);

impl Peer for Snaptokens {
    const BATCHES: bool = true;

    fn load(model: &str) -> Result<Self, Refused> {
        Ok(Self(snaptokens::Tokenizer::from_file(Path::new(model))?))
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        // An error shows in the digest.
        *ids = self.0.encode(line).unwrap_or_default();
    }

    fn encode_batch(&mut self, lines: &[&str]) -> Batch {
        let (ids, lengths) = self.0.encode_batch_ragged(lines, false).unwrap_or_default();
        Batch::Flat { ids, lengths }
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids, false).unwrap_or_default().into_bytes()
    }
}

/// Reads a `.tiktoken` file, with the pattern that the name of the file says, or a tokenizer.json.
pub struct Splintr(AnyTokenizer);

impl Peer for Splintr {
    const BATCHES: bool = true;

    fn load(model: &str) -> Result<Self, Refused> {
        let pattern = match encoding(model) {
            _ if model.ends_with(".json") => return Ok(Self(splintr::from_json_path(model)?)),
            "cl100k_base" => splintr::CL100K_BASE_PATTERN,
            "o200k_base" => splintr::O200K_BASE_PATTERN,
            _ => return refused("no pattern is known for this file"),
        };
        let ranks = splintr::Tokenizer::from_file(model, pattern, splintr::FxHashMap::default())?;
        Ok(Self(AnyTokenizer::new(Backend::Bpe(ranks), SpecialPolicy::default())))
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        // An error shows in the digest.
        *ids = self.0.encode_with(line, &SpecialMode::Ordinary).unwrap_or_default();
    }

    fn encode_batch(&mut self, lines: &[&str]) -> Batch {
        Batch::Lines(self.0.encode_batch_with(lines, &SpecialMode::Ordinary).unwrap_or_default())
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids).unwrap_or_default().into_bytes()
    }
}
