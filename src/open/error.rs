//! The error of opening models and tokenizers.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::reading_remedy;
#[cfg(feature = "formats")]
use crate::formats::FormatError;
use crate::model::{ModelError, OtherContent};
use crate::tokenizer::NoModelError;

/// A file, or bytes, of which no model or tokenizer can be made.
///
/// Errors of functions that take a path name the file: either [`OpenError::Read`], or
/// [`OpenError::InFile`] around the error that the bytes of the file would give.
///
/// ```
/// use spiece::{Model, ModelError, OpenError};
///
/// // Field 1 (a piece) claims five bytes, but only two follow.
/// let error = Model::from_bytes(b"\x0a\x05ab").unwrap_err();
/// assert!(matches!(error, OpenError::Model(ModelError::Format { offset: 0, .. })));
/// let error = Model::open("no such file").unwrap_err();
/// assert!(matches!(error, OpenError::Read { .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file was read, but its content was refused.
    InFile {
        /// The file.
        path: PathBuf,
        /// Why the content was refused.
        source: Box<Self>,
    },
    /// The content is no tokenizer, but something else that is known.
    NotATokenizer {
        /// What it is.
        content: OtherContent,
    },
    /// The content of a `.model` file is damaged or breaks a rule.
    Model(ModelError),
    /// A model was asked for, and the content is another tokenizer.
    NoModel(NoModelError),
    /// A file in another format, such as `tokenizer.json`, is damaged, is not supported, or has no
    /// equivalent model.
    #[cfg(feature = "formats")]
    Format(FormatError),
}

/// How the pieces of a file are changed that breaks a rule.
const FILE_REMEDY: &str = " (SentencePiece refuses this file, too; make the model again, or change its pieces as messages: ModelProto in sentencepiece_model_pb2 of the Python package sentencepiece, or the feature proto of the crate spiece)";

impl OpenError {
    /// The error without the name of the file: that of its content.
    ///
    /// ```
    /// use spiece::model::OtherContent;
    /// use spiece::{OpenError, Tokenizer};
    ///
    /// let error = Tokenizer::open("LICENSE-MIT").unwrap_err();
    /// let content = OtherContent::Text;
    /// assert!(matches!(error.without_path(), OpenError::NotATokenizer { content: found } if *found == content));
    /// ```
    pub fn without_path(&self) -> &Self {
        match self {
            Self::InFile { source, .. } => source,
            error => error,
        }
    }

    /// The same error with the name of the file, unless it names one.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Read { .. } | Self::InFile { .. } => self,
            error => Self::InFile {
                path: path.to_owned(),
                source: Box::new(error),
            },
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => {
                let remedy = reading_remedy(source);
                write!(f, "cannot read {}: {source}; {remedy}", path.display())
            }
            Self::InFile { path, source } => {
                write!(f, "{}: {source}", path.display())?;
                match &**source {
                    // `spiece edit` and `Model::edit` do not open such a file either.
                    Self::Model(error) if error.breaks_rule() => f.write_str(FILE_REMEDY),
                    _ => Ok(()),
                }
            }
            // JSON never was a file of SentencePiece.
            Self::NotATokenizer { content } => write!(f, "not a tokenizer: {content}"),
            Self::Model(error) => error.fmt(f),
            Self::NoModel(error) => error.fmt(f),
            #[cfg(feature = "formats")]
            Self::Format(error) => error.fmt(f),
        }
    }
}

impl Error for OpenError {
    /// The cause; variants whose message is that of what they hold have the cause of that.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::InFile { source, .. } => Some(source),
            Self::NotATokenizer { .. } => None,
            Self::Model(error) => error.source(),
            Self::NoModel(error) => error.source(),
            #[cfg(feature = "formats")]
            Self::Format(error) => error.source(),
        }
    }
}

impl From<ModelError> for OpenError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<NoModelError> for OpenError {
    fn from(error: NoModelError) -> Self {
        Self::NoModel(error)
    }
}

#[cfg(feature = "formats")]
impl From<FormatError> for OpenError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Read { path, source } => Self::Read { path, source },
            error => Self::Format(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, Tokenizer};

    /// The messages of an error and its causes.
    fn chain(error: &OpenError) -> Vec<String> {
        let error: &(dyn Error + 'static) = error;
        let causes = std::iter::successors(Some(error), |error| (**error).source());
        causes.map(ToString::to_string).collect()
    }

    #[test]
    fn each_variant_has_its_message_and_causes() {
        let missing = Model::open("no such file").unwrap_err();
        let OpenError::Read { source, .. } = &missing else {
            panic!("{missing:?}")
        };
        let message = format!("cannot read no such file: {source}; check its name and permissions");
        assert_eq!(chain(&missing), [message, source.to_string()]);

        let page = Tokenizer::from_bytes(b"<!DOCTYPE html>").unwrap_err();
        let content = OtherContent::WebPage;
        assert_eq!(chain(&page), [format!("not a tokenizer: {content}")]);

        for (other, message) in [
            (
                NoModelError::ByteLevel,
                "the tokenizer is byte-level BPE; this needs a SentencePiece model",
            ),
            (
                NoModelError::WordPiece,
                "the tokenizer has a WordPiece vocabulary; this needs a SentencePiece model",
            ),
            (
                NoModelError::Pipeline,
                "the tokenizer is a pipeline of a tokenizer.json, and no SentencePiece model; \
                 this needs a .model file",
            ),
        ] {
            assert_eq!(chain(&OpenError::from(other)), [message]);
        }

        let refused = OpenError::from(ModelError::NoUnknownPiece);
        let inner = ModelError::NoUnknownPiece.to_string();
        assert_eq!(chain(&refused), [inner.as_str()]);
        let refused = refused
            .in_file(Path::new("a.model"))
            .in_file(Path::new("b"));
        let message = format!("a.model: {inner}{FILE_REMEDY}");
        assert_eq!(chain(&refused), [message, inner]);
    }

    #[test]
    fn the_cause_of_a_charsmap_is_that_of_the_model_error() {
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/testdata/run/refused/charsmap_size.model");
        let error = Model::open(path).unwrap_err();
        let OpenError::Model(ModelError::Charsmap { field, source }) = error.without_path() else {
            panic!("{error:?}")
        };
        let [_, in_file, cause] = &chain(&error)[..] else {
            panic!("{error:?}")
        };
        assert_eq!(*in_file, format!("{field}: {source}"));
        assert_eq!(*cause, source.to_string());
    }

    #[cfg(feature = "formats")]
    #[test]
    fn the_error_of_a_tokenizer_json_is_a_format_error() {
        let file = r#"{"version": "1.0", "added_tokens": [], "model": {"type": "Unheard"}}"#;
        let error = Tokenizer::from_bytes(file.as_bytes()).unwrap_err();
        let OpenError::Format(FormatError::Component { component, .. }) = &error else {
            panic!("{error:?}")
        };
        assert!(component.starts_with("model"), "{component}");
        let message = error.to_string();
        assert!(message.starts_with("tokenizer.json: model"), "{message}");
        assert_eq!(chain(&error), [message.as_str()]);

        let error = error.in_file(Path::new("t.json"));
        assert_eq!(error.to_string(), format!("t.json: {message}"));
        assert_eq!(chain(&error)[1..], [message]);
        assert!(matches!(error.without_path(), OpenError::Format(_)));

        let source = io::ErrorKind::NotFound.into();
        let path = PathBuf::from("x");
        let unread = OpenError::from(FormatError::Read { path, source });
        assert!(matches!(unread, OpenError::Read { .. }), "{unread:?}");
    }
}
