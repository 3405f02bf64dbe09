//! The protobuf messages of `.model` files, generated from `proto/sentencepiece_model.proto`, and their
//! conversion. Nothing outside of this module (but the training options, which a model records) knows
//! about the file format.

#![allow(missing_docs, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/sentencepiece.rs"));

use prost::Message;

use crate::error::ModelError;
use crate::piece::{PieceKind, PieceTable};
use model_proto::SentencePiece;
use model_proto::sentence_piece::Type;

impl From<Type> for PieceKind {
    fn from(kind: Type) -> PieceKind {
        match kind {
            Type::Normal => PieceKind::Normal,
            Type::Unknown => PieceKind::Unknown,
            Type::Control => PieceKind::Control,
            Type::UserDefined => PieceKind::UserDefined,
            Type::Unused => PieceKind::Unused,
            Type::Byte => PieceKind::Byte,
        }
    }
}

impl From<PieceKind> for Type {
    fn from(kind: PieceKind) -> Type {
        match kind {
            PieceKind::Normal => Type::Normal,
            PieceKind::Unknown => Type::Unknown,
            PieceKind::Control => Type::Control,
            PieceKind::UserDefined => Type::UserDefined,
            PieceKind::Unused => Type::Unused,
            PieceKind::Byte => Type::Byte,
        }
    }
}

/// The messages for the pieces of a table. The kind is written unless it is the default, as training does.
pub(crate) fn pieces_to_messages(pieces: &PieceTable) -> Vec<SentencePiece> {
    (0..pieces.len())
        .map(|id| {
            let kind = pieces.kind(id);
            SentencePiece {
                piece: Some(pieces.text(id).to_vec()),
                score: Some(pieces.score(id)),
                r#type: (kind != PieceKind::Normal).then_some(Type::from(kind) as i32),
            }
        })
        .collect()
}

/// Reads a spec, if there is one.
pub(crate) fn decode_spec<M: Message + Default>(
    bytes: Option<Vec<u8>>,
) -> Result<Option<M>, ModelError> {
    let decoded = bytes.map(|bytes| M::decode(bytes.as_slice())).transpose();
    decoded.map_err(|error| ModelError::Format {
        offset: 0,
        problem: {
            let _ = error;
            "a spec cannot be read"
        },
    })
}
