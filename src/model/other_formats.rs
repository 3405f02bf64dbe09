//! Models in the file formats of other programs.
//!
//! Input: the bytes of a file. Output: its model if it is a `tokenizer.json` or a GGUF file whose
//! ids are equal for all text; `None` for any other file, which is then read as a `.model` file.
//! For example, bytes that begin with `{"version"` are taken for a `tokenizer.json`. See
//! [`convert`](crate::convert) for how such files are read.
//!
//! Cost: that of reading the format; for all other files, a look at the first bytes.

use crate::convert::{ConvertedModel, FileFormat};
use crate::error::ModelError;
use crate::model::Model;

impl Model {
    /// The model of a file that is recognized as a format other than `.model`; `None` for all other
    /// files.
    ///
    /// # Errors
    /// The file cannot be converted, or has other ids for some text.
    pub(super) fn from_other_format(file: &[u8]) -> Result<Option<Self>, ModelError> {
        let read = match FileFormat::of_content(file) {
            #[cfg(feature = "tokenizer-json")]
            FileFormat::TokenizerJson => Self::from_tokenizer_json(file),
            #[cfg(feature = "gguf")]
            FileFormat::Gguf => Self::from_gguf(file),
            _ => return Ok(None),
        };
        let refused = |error| ModelError::of_refused_file(error, file);
        let exact = read.and_then(ConvertedModel::into_exact);
        exact.map(Some).map_err(refused)
    }
}
