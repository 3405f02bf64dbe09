//! kitoken reads SentencePiece models itself.

use crate::{Peer, Refused};

pub struct Kitoken(kitoken::Kitoken);

impl Peer for Kitoken {
    fn load(model: &str) -> Result<Kitoken, Refused> {
        Ok(Kitoken(kitoken::Kitoken::from_sentencepiece_file(model)?))
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        // Text without a piece in the model is an error, which shows in the digest.
        *ids = self.0.encode(line, false).unwrap_or_default();
    }

    fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode(ids, false).unwrap_or_default()
    }
}
