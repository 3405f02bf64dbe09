//! The parts of a SentencePiece model, for peers that cannot read such models.

use sentencepiece_model::{ModelType, SentencePieceModel, Type};

use crate::{Refused, refused};

/// The BPE model of a file.
pub struct Pieces {
    /// All pieces in the order of their ids.
    pub texts: Vec<String>,
    /// The ids of the byte pieces in the order of the bytes.
    pub bytes: Vec<u32>,
    /// The ids of the other pieces that text can become, best score first: the order of the merges.
    pub normal: Vec<u32>,
    /// Whether a space is put before the text.
    pub prefix: bool,
}

impl Pieces {
    /// Reads a model. Refuses a model whose normalization does more than replace spaces by U+2581.
    pub fn read(path: &str) -> Result<Pieces, Refused> {
        let model = SentencePieceModel::from_file(path)?;
        let (Some(trainer), Some(normalizer)) = (model.trainer(), model.normalizer()) else {
            return refused("a model without specifications");
        };
        if trainer.model_type() != ModelType::Bpe || !trainer.byte_fallback() {
            return refused("not a BPE model with byte fallback");
        }
        if !normalizer.precompiled_charsmap().is_empty()
            || normalizer.remove_extra_whitespaces()
            || !normalizer.escape_whitespaces()
            || trainer.treat_whitespace_as_suffix()
        {
            return refused("a model with normalization rules");
        }
        let ids = |wanted: Type| {
            let pieces = model.pieces().iter().zip(0u32..);
            pieces.filter(move |(piece, _)| piece.r#type() == wanted).map(|(_, id)| id).collect::<Vec<u32>>()
        };
        if !ids(Type::UserDefined).is_empty() || !ids(Type::Unused).is_empty() {
            return refused("a model with user-defined or unused pieces");
        }
        let score = |id: &u32| model.pieces()[*id as usize].score();
        let mut normal = ids(Type::Normal);
        normal.sort_by(|a, b| score(b).total_cmp(&score(a)));
        let texts = model.pieces().iter().map(|piece| piece.piece().to_owned()).collect();
        Ok(Pieces { texts, bytes: ids(Type::Byte), normal, prefix: normalizer.add_dummy_prefix() })
    }
}
