//! Byte-level BPE by rank, for parts in the characters that stand for bytes.
//!
//! Most texts take the path of [`byte_path`](crate::pipeline) and never become such characters; here
//! are those that the normalizer changes.

use std::sync::OnceLock;

use super::{ModelToken, ModelVocabulary};
use crate::base::byte_chars::{append_bytes, printable};
use crate::byte_bpe::ByteBpe;
use crate::encode::bpe::BpeCache;
use crate::piece::PieceId;

/// A byte-level vocabulary whose tokens merge by their ranks.
#[derive(Debug)]
pub struct ByteModel {
    bpe: ByteBpe,
    /// Made when it is first needed.
    vocabulary: OnceLock<ModelVocabulary>,
}

/// The cache, made when it is first needed.
pub(super) type ByteState = Option<Box<BpeCache>>;

impl ByteModel {
    pub(crate) fn new(bpe: ByteBpe) -> Self {
        Self {
            bpe,
            vocabulary: OnceLock::new(),
        }
    }

    /// The vocabulary with its bytes.
    pub fn byte_bpe(&self) -> &ByteBpe {
        &self.bpe
    }

    /// The tokens in the characters that stand for their bytes.
    pub fn vocabulary(&self) -> &ModelVocabulary {
        self.vocabulary.get_or_init(|| {
            let tokens = self.bpe.tokens();
            let texts: Vec<(String, u32)> = tokens
                .map(|(bytes, id)| (printable(bytes), id.get()))
                .collect();
            ModelVocabulary::new(texts.iter().map(|(text, id)| (&text[..], *id)))
        })
    }

    /// Appends the tokens of a part.
    pub(super) fn encode(&self, part: &str, state: &mut ByteState, out: &mut Vec<ModelToken>) {
        let mut ids = Vec::new();
        let cache = state.get_or_insert_default();
        self.bpe.encode_pretoken(&bytes_of(part), cache, &mut ids);
        self.push_tokens(part, &ids, out);
    }

    /// Appends the tokens of a part if some merges are skipped.
    pub(super) fn sample(
        &self,
        part: &str,
        skips_merge: &mut dyn FnMut() -> bool,
        state: &mut ByteState,
        out: &mut Vec<ModelToken>,
    ) {
        let mut ids = Vec::new();
        let cache = state.get_or_insert_default();
        let encoder = self.bpe.encoder();
        encoder.sample_pretoken(&bytes_of(part), skips_merge, cache, &mut ids);
        self.push_tokens(part, &ids, out);
    }

    fn push_tokens(&self, part: &str, ids: &[PieceId], out: &mut Vec<ModelToken>) {
        let mut at = 0;
        for id in ids {
            let bytes = self.bpe.id_to_bytes(*id).unwrap_or_default().len();
            let chars = part[at..].chars().take(bytes);
            let end = at + chars.map(char::len_utf8).sum::<usize>();
            out.push(ModelToken::new(id.get(), at..end));
            at = end;
        }
    }
}

/// The bytes that the characters of a part stand for.
fn bytes_of(part: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(part.len());
    append_bytes(part, &mut bytes);
    bytes
}
