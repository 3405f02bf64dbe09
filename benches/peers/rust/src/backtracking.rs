//! The crate `bpe` of github/rust-gems: a linear-time encoder for byte-level vocabularies, which
//! are given in the order of the merges.
//!
//! A SentencePiece model merges characters, not bytes. It becomes a byte-level vocabulary in which
//! characters are merged first: tokens are the 256 bytes, then the prefixes of all characters of
//! the model, then these characters, then the pieces by score. A character that the model lacks
//! remains bytes, or a prefix that it shares with other characters, which stands for the ids of its
//! bytes.

use bpe::byte_pair_encoding::{BytePairEncoding, find_hash_factor_for_dictionary};
use std::collections::HashSet;

use crate::pieces::Pieces;
use crate::{Peer, Refused};

const SPACE: &str = "\u{2581}";

pub struct Backtracking {
    encoder: BytePairEncoding,
    /// The ids that each token stands for.
    ids: Vec<Vec<u32>>,
    prefix: bool,
    prepared: String,
}

impl Peer for Backtracking {
    const DECODES: bool = false;

    fn load(model: &str) -> Result<Backtracking, Refused> {
        let pieces = Pieces::read(model)?;
        let (tokens, ids) = tokens(&pieces);
        let factor = find_hash_factor_for_dictionary(tokens.iter().cloned());
        let encoder = BytePairEncoding::from_dictionary(tokens, Some(factor));
        Ok(Backtracking { encoder, ids, prefix: pieces.prefix, prepared: String::new() })
    }

    fn encode(&mut self, line: &str, ids: &mut Vec<u32>) {
        self.prepared.clear();
        if self.prefix && !line.is_empty() {
            self.prepared.push_str(SPACE);
        }
        for part in line.split_inclusive(' ') {
            match part.strip_suffix(' ') {
                Some(word) => self.prepared.extend([word, SPACE]),
                None => self.prepared.push_str(part),
            }
        }
        for token in self.encoder.encode_via_backtracking(self.prepared.as_bytes()) {
            match &self.ids[token as usize][..] {
                [id] => ids.push(*id),
                several => ids.extend(several),
            }
        }
    }

    /// Unused: its own decoder turns tokens into bytes and does not handle U+2581.
    fn decode(&self, _: &[u32]) -> Vec<u8> {
        Vec::new()
    }
}

/// The vocabulary in the order of the merges, and the ids that each token stands for.
fn tokens(pieces: &Pieces) -> (Vec<Vec<u8>>, Vec<Vec<u32>>) {
    let text = |id: &u32| pieces.texts[*id as usize].as_bytes();
    let is_character = |id: &u32| pieces.texts[*id as usize].chars().count() == 1;
    let (characters, merged): (Vec<u32>, Vec<u32>) = pieces.normal.iter().copied().partition(is_character);
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut ids: Vec<Vec<u32>> = pieces.bytes.iter().map(|id| vec![*id]).collect();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    for length in 2..4 {
        for character in characters.iter().map(text).filter(|character| character.len() > length) {
            if known.insert(character[..length].to_vec()) {
                tokens.push(character[..length].to_vec());
                ids.push(character[..length].iter().map(|byte| pieces.bytes[usize::from(*byte)]).collect());
            }
        }
    }
    for id in characters.iter().chain(&merged) {
        match text(id) {
            // Bytes are tokens already.
            [byte] => ids[usize::from(*byte)] = vec![*id],
            piece => {
                tokens.push(piece.to_vec());
                ids.push(vec![*id]);
            }
        }
    }
    (tokens, ids)
}
