//! Models in the file formats of other programs.
//!
//! Input: the bytes of a file. Output: its model if it is a `tokenizer.json` or a GGUF file whose
//! ids are equal for all text; `None` for any other file, which is then read as a `.model` file.
//! For example, bytes that begin with `{"version"` are taken for a `tokenizer.json`. See
//! [`convert`](crate::convert) for how such files are read.
//!
//! Cost: that of reading the format; for all other files, a look at the first bytes.

#[cfg(feature = "convert")]
use crate::convert::{ConvertedModel, FileFormat};
#[cfg(feature = "tokenizer-json")]
use crate::error::ConvertError;
use crate::error::ModelError;
#[cfg(feature = "tokenizer-json")]
use crate::join::join;
use crate::model::Model;

impl Model {
    /// The model of a file that is recognized as a format other than `.model`; `None` for all other
    /// files.
    ///
    /// # Errors
    /// The file cannot be converted, or has other ids for some text.
    pub(super) fn from_other_format(file: &[u8]) -> Result<Option<Self>, ModelError> {
        let found = Self::from_other_format_with(file, |_| ())?;
        Ok(found.map(|(model, ())| model))
    }

    /// Like [`Model::from_other_format`], but also calls `make_tables`; for a `tokenizer.json`,
    /// another thread determines the verdict meanwhile. The tables are dropped if the model is
    /// refused.
    #[cfg(feature = "convert")]
    pub(crate) fn from_other_format_with<T>(
        file: &[u8],
        make_tables: impl FnOnce(&Self) -> T,
    ) -> Result<Option<(Self, T)>, ModelError> {
        let found = match FileFormat::of_content(file) {
            #[cfg(feature = "tokenizer-json")]
            FileFormat::TokenizerJson => Self::from_tokenizer_json_with(file, make_tables),
            #[cfg(feature = "gguf")]
            FileFormat::Gguf => {
                let model = Self::from_gguf(file).and_then(ConvertedModel::into_exact);
                model.map(|model| {
                    let tables = make_tables(&model);
                    (model, tables)
                })
            }
            _ => return Ok(None),
        };
        let refused = |error| ModelError::of_refused_file(error, file);
        found.map(Some).map_err(refused)
    }

    /// The same without support for other formats.
    #[cfg(not(feature = "convert"))]
    pub(crate) fn from_other_format_with<T>(
        _: &[u8],
        _: impl FnOnce(&Self) -> T,
    ) -> Result<Option<(Self, T)>, ModelError> {
        Ok(None)
    }

    /// The model of a `tokenizer.json` whose ids are equal for all text, and its tables.
    #[cfg(feature = "tokenizer-json")]
    fn from_tokenizer_json_with<T>(
        file: &[u8],
        make_tables: impl FnOnce(&Self) -> T,
    ) -> Result<(Self, T), ConvertError> {
        let read = Self::read_tokenizer_json(file)?;
        let (tables, verdict) = join(|| make_tables(&read.model), || read.verdict());
        let converted = ConvertedModel {
            verdict: verdict?,
            model: read.model,
        };
        Ok((converted.into_exact()?, tables))
    }
}
