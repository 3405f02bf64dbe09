//! sentencepiece-rust reads SentencePiece models itself.

use sentencepiece_rust::SentencePieceProcessor;

use crate::{Peer, Refused};

pub struct SentencePieceRust(SentencePieceProcessor);

impl Peer for SentencePieceRust {
    fn load(model: &str) -> Result<SentencePieceRust, Refused> {
        Ok(SentencePieceRust(SentencePieceProcessor::open(model)?))
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        // An error shows in the digest.
        ids.extend(self.0.encode(line).unwrap_or_default().into_iter().map(|id| u32::try_from(id).unwrap_or(u32::MAX)));
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        let ids: Vec<i32> = ids.iter().map(|id| i32::try_from(*id).unwrap_or(-1)).collect();
        self.0.decode(&ids).unwrap_or_default().into_bytes()
    }
}
