//! A model that was read and not yet checked.
//!
//! The check looks at every piece, and so do those who make tables of them. Neither needs the other: the tables can
//! be made meanwhile, and are thrown away with the model if it is refused.

use std::path::Path;
use std::sync::Arc;

use super::text_index::TextIndex;
use super::{Model, proto, validate, wire};
use crate::error::ModelError;

/// A model that may still break a rule.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Finds no pieces by their texts yet.
    model: Model,
}

impl Draft {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read or is no model.
    pub(crate) fn open(path: &Path) -> Result<Draft, ModelError> {
        let file = std::fs::read(path).map_err(|source| ModelError::Read {
            path: path.to_owned(),
            source,
        })?;
        Draft::read(file).map_err(|error| error.in_file(path))
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// They are no model.
    pub(crate) fn read(file: Vec<u8>) -> Result<Draft, ModelError> {
        let wire::Parts {
            mut pieces,
            trainer_spec,
            normalizer_spec,
            denormalizer_spec,
        } = wire::read(&file)?;
        let specs = proto::ModelProto {
            trainer_spec: proto::decode_spec(trainer_spec)?,
            normalizer_spec: proto::decode_spec(normalizer_spec)?,
            denormalizer_spec: proto::decode_spec(denormalizer_spec)?,
            ..proto::ModelProto::default()
        };
        if specs
            .trainer_spec
            .as_ref()
            .is_some_and(|spec| spec.byte_fallback())
        {
            pieces.retire_text(b"\0");
        }
        Ok(Draft {
            model: Model {
                pieces,
                specs,
                file: Some(Arc::new(file)),
                index: TextIndex::new(false, 0),
            },
        })
    }

    /// Whether a piece is longer than the check allows. All other models can be made tables of in bounded time.
    pub(crate) fn breaks_piece_limit(&self) -> bool {
        let table = self.model.table();
        (0..table.len()).any(|id| table.text(id).len() >= validate::MAX_PIECE_BYTES)
    }

    /// The model as it may be refused: good for tables that nobody uses before [`Self::check`] has passed.
    pub(crate) fn unchecked(&self) -> &Model {
        &self.model
    }

    /// Checks the model; the index of its pieces, which the check needs and the model will.
    ///
    /// # Errors
    /// The piece and the rule that it breaks.
    pub(crate) fn check(&self) -> Result<TextIndex, ModelError> {
        validate::validate(&self.model)
    }

    /// The model, given the index that its check gave.
    pub(crate) fn checked(self, index: TextIndex) -> Model {
        Model {
            index,
            ..self.model
        }
    }

    /// The model, if it passes the check.
    ///
    /// # Errors
    /// See [`Self::check`].
    pub(crate) fn into_model(self) -> Result<Model, ModelError> {
        let index = self.check()?;
        Ok(self.checked(index))
    }
}
