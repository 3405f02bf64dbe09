//! Hugging Face's tokenizers, given a `tokenizer.json` that is equivalent to the SentencePiece
//! model: its pieces, its merges by score, U+2581 for spaces, and byte fallback.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokenizers::pipeline::{EncodeOptions, PipelineToken, PipelineTokenizer};

use crate::pieces::Pieces;
use crate::{Peer, Refused};

pub struct HuggingFace {
    tokenizer: PipelineTokenizer,
    options: EncodeOptions,
    tokens: Vec<PipelineToken>,
}

impl HuggingFace {
    /// A tokenizer of a `tokenizer.json` in the form of this release.
    pub fn of_json(definition: &str) -> Result<HuggingFace, Refused> {
        let tokenizer = tokenizers::from_json(definition).map_err(|error| Refused(error.to_string()))?;
        let options = EncodeOptions::no_specials();
        Ok(HuggingFace { tokenizer, options, tokens: Vec::new() })
    }
}

impl Peer for HuggingFace {
    fn load(model: &str) -> Result<HuggingFace, Refused> {
        let pieces = Pieces::read(model)?;
        HuggingFace::of_json(&definition(&pieces).to_string())
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        self.tokens.clear();
        // An error shows in the digest.
        if self.tokenizer.encode_into(line, &self.options, &mut self.tokens).is_ok() {
            ids.extend_from_slice(PipelineToken::cast_slice(&self.tokens));
        }
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.tokenizer.decode(ids, false).unwrap_or_default().into_bytes()
    }
}

fn definition(pieces: &Pieces) -> Value {
    let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
    let vocab: HashMap<&str, usize> = pieces.texts.iter().map(String::as_str).zip(0..).collect();
    let mut normalizers = vec![replace(" ", "\u{2581}")];
    let mut decoders = vec![replace("\u{2581}", " "), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
    if pieces.prefix {
        normalizers.insert(0, json!({"type": "Prepend", "prepend": "\u{2581}"}));
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    json!({
        "version": "2.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "byte_level": false,
            "vocab": vocab, "merges": merges(pieces),
        },
    })
}

/// All pairs of pieces that merge to a piece, by the score of that piece, then by the ranks of the
/// two.
fn merges(pieces: &Pieces) -> Vec<[&str; 2]> {
    let rank: HashMap<&str, usize> =
        pieces.normal.iter().map(|id| pieces.texts[*id as usize].as_str()).zip(0..).collect();
    let mut merges = Vec::new();
    for id in &pieces.normal {
        let piece = pieces.texts[*id as usize].as_str();
        let cuts = piece.char_indices().skip(1).map(|(cut, _)| piece.split_at(cut));
        let mut parts: Vec<(usize, usize, [&str; 2])> =
            cuts.filter_map(|(a, b)| Some((*rank.get(a)?, *rank.get(b)?, [a, b]))).collect();
        parts.sort_unstable();
        merges.extend(parts.into_iter().map(|(.., pair)| pair));
    }
    merges
}
