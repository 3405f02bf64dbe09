//! Why a file cannot be opened, converted or written.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::byte_bpe::ByteBpeError;
use crate::error::reading_remedy;
use crate::formats::{FileFormat, Verdict};
use crate::model::{ModelError, ModelType};
use crate::pattern::PatternError;
use crate::pipeline::PipelineError;

/// Why a file cannot be opened, converted or written: which component of it, the reason, and what to
/// do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; {}", path.display(), reading_remedy(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Half of a vocabulary was given without a path at which the other half can be found.
    #[error(
        "vocab.json and merges.txt (encoder.json and vocab.bpe) belong together; open the folder with both, or one of them \
         by its path"
    )]
    Half,
    /// The file does not have the form that its beginning indicates, or it is damaged.
    #[error("not a valid {format} file: {place}: {problem}")]
    Syntax {
        /// The format.
        format: FileFormat,
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
    },
    /// Two tokens have the same bytes.
    #[error(
        "{format}: {place}: the token {token} has the id {first} already; each token has one id, remove one of the two"
    )]
    DuplicateToken {
        /// The format.
        format: FileFormat,
        /// Where the second one stands.
        place: Place,
        /// The token.
        token: String,
        /// The id of the first one.
        first: u32,
    },
    /// Two tokens have the same id.
    #[error(
        "{format}: {place}: the id {id} belongs to another token; give each token an id of its own"
    )]
    DuplicateId {
        /// The format.
        format: FileFormat,
        /// Where the second one stands.
        place: Place,
        /// The id.
        id: u32,
    },
    /// An id or rank is too large.
    #[error("{format}: {place}: the id {id} is larger than {limit}; number the tokens from 0 on")]
    IdTooLarge {
        /// The format.
        format: FileFormat,
        /// Where.
        place: Place,
        /// The id.
        id: u64,
        /// The largest id that is allowed.
        limit: u32,
    },
    /// A byte is no token, so that some text has no ids.
    #[error(
        "{format}: the byte 0x{byte:02X} is no token, so that some text has no ids; a byte-level vocabulary has all 256 bytes \
         (train with `initial_alphabet=ByteLevel.alphabet()`)"
    )]
    MissingByte {
        /// The format.
        format: FileFormat,
        /// The first byte that is missing.
        byte: u8,
    },
    /// A merge names a token that does not exist.
    #[error(
        "{format}: {place}: the merge needs the token {token}, which is not in the vocabulary; the two lists do not belong together"
    )]
    UnknownToken {
        /// The format.
        format: FileFormat,
        /// Where the merge stands.
        place: Place,
        /// The token.
        token: String,
    },
    /// An added token has another id than its program gives it.
    #[error(
        "{format}: {place}: tokenizers gives the added token {token:?} the id {given}, whatever the file says ({stated}); \
         correct the id, or list the added tokens in the order of their ids"
    )]
    AddedTokenId {
        /// The format.
        format: FileFormat,
        /// Where.
        place: Place,
        /// The text of the token.
        token: String,
        /// The id in the file.
        stated: u32,
        /// The id that `tokenizers` gives it.
        given: u32,
    },
    /// The file has no pattern, and is none of the files whose pattern is known.
    #[error(
        "{format} files have no pattern, and this is none of the published files whose pattern is known; \
         give the pattern that the vocabulary was trained with, for example gpt2"
    )]
    NoPattern {
        /// The format.
        format: FileFormat,
    },
    /// The file names a pattern that is not known here.
    #[error(
        "{format}: {place}: the pattern {name:?} is not known; give the pattern that the vocabulary was trained with, \
         for example gpt2"
    )]
    UnknownPattern {
        /// The format.
        format: FileFormat,
        /// Where.
        place: Place,
        /// The name.
        name: String,
    },
    /// A pattern, or special tokens, were given for a file that has its own.
    #[error(
        "{format} files say themselves how text is cut and normalized; leave out the pattern and the special tokens"
    )]
    PatternGiven {
        /// The format.
        format: FileFormat,
    },
    /// A role was given to a text that is no added token.
    #[error(
        "{role} is {text:?}, which is no special token of the tokenizer, so that other programs would add it; name one of its special tokens"
    )]
    RoleOfNoToken {
        /// The role.
        role: String,
        /// The text.
        text: String,
    },
    /// A version of Unicode was given for a file that has no normalization forms of tokenizers.
    #[error(
        "{format} files do not normalize text as tokenizers does; leave out the version of Unicode"
    )]
    UnicodeGiven {
        /// The format.
        format: FileFormat,
    },
    /// An option of BERT's `vocab.txt` was given for another file.
    #[error(
        "{format} files are not asked whether text becomes lower case; leave out the options lowercase and bert_normalizer, \
         which are for BERT's vocab.txt"
    )]
    BertOptionGiven {
        /// The format.
        format: FileFormat,
    },
    /// The pattern cannot be used.
    #[error("{format}: {place}: {source}")]
    Pattern {
        /// The format.
        format: FileFormat,
        /// Where it stands.
        place: Place,
        /// Why.
        source: PatternError,
    },
    /// The file asks for something that is not supported.
    #[error("{format}: {place} is {found}, which is not supported; {remedy}")]
    Unsupported {
        /// The format.
        format: FileFormat,
        /// Where.
        place: Place,
        /// Its value.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The format cannot hold a part of the vocabulary.
    #[error("{format} files cannot hold {what}; {remedy}")]
    NoForm {
        /// The format.
        format: FileFormat,
        /// The part.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The file does not have the format that its first bytes indicate, or it is damaged, in a place
    /// that the problem names.
    #[error("not a valid {format} file: {problem}")]
    Damaged {
        /// The format.
        format: FileFormat,
        /// What is wrong, and where.
        problem: String,
    },
    /// A component of a `tokenizer.json` is malformed, or asks for what is not there.
    #[error("{}: {component}: {problem}", FileFormat::TokenizerJson)]
    Component {
        /// The component, as a path into the file.
        component: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The stages do not go together.
    #[error("{}: {source}", FileFormat::TokenizerJson)]
    Pipeline {
        /// Why.
        #[from]
        source: PipelineError,
    },
    /// A format does not hold the pipeline.
    #[error("{format} files cannot hold this tokenizer: {component} is {found}; {remedy}")]
    CannotHold {
        /// The format that was to be written.
        format: FileFormat,
        /// The component of the pipeline, as a path into a `tokenizer.json`.
        component: String,
        /// What it is.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The format has no models of this type.
    #[error(
        "{format} has no form for {model_type} models; BPE and unigram models can be converted"
    )]
    ModelType {
        /// The type of the model.
        model_type: ModelType,
        /// The format.
        format: FileFormat,
    },
    /// A file that is read as a model asks for something that SentencePiece models cannot express.
    #[error(
        "{format}: {component} is {found}, which a SentencePiece model cannot express; {remedy}"
    )]
    NoModel {
        /// The format.
        format: FileFormat,
        /// The field or component.
        component: String,
        /// Its value.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The piece of an option does not exist.
    #[error("{option} names the piece {piece:?}, which the model does not have; list its pieces")]
    NoSuchPiece {
        /// The option.
        option: &'static str,
        /// The text of the piece.
        piece: String,
    },
    /// Ids can differ from those of the program that the file is made for, and the caller asked for
    /// equal ids.
    #[error("{verdict}\nthe functions that return a verdict convert it all the same")]
    NotExact {
        /// The reasons.
        verdict: Verdict,
    },
    /// The parts are no byte-level vocabulary.
    #[error("the vocabulary: {0}")]
    Parts(#[from] ByteBpeError),
    /// The converted model would not be a model.
    #[error("the converted model: {0}")]
    Model(#[from] ModelError),
}

impl FormatError {
    /// Whether the file has no pattern, so that a [`ByteFormatOptions`](super::ByteFormatOptions) with
    /// one opens it.
    pub fn lacks_pattern(&self) -> bool {
        matches!(self, Self::NoPattern { .. } | Self::UnknownPattern { .. })
    }

    pub(in crate::formats) fn no_form(
        format: FileFormat,
        what: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self::NoForm {
            format,
            what: what.into(),
            remedy,
        }
    }

    /// About a component of a `tokenizer.json`.
    pub(in crate::formats) fn component(
        component: impl Into<String>,
        problem: impl Into<String>,
    ) -> Self {
        Self::Component {
            component: component.into(),
            problem: problem.into(),
        }
    }

    /// Whether the file is not what its start says, or damaged.
    pub(crate) fn is_syntax(&self) -> bool {
        matches!(self, Self::Syntax { .. } | Self::Damaged { .. })
    }
}

/// Where in a file something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(usize),
    /// An entry of a list, counted from 0.
    Entry {
        /// The path of the list, such as `model.merges`.
        list: &'static str,
        /// The position.
        index: usize,
    },
    /// A field, such as `config.pattern`.
    Field(String),
}

impl Place {
    /// The entry of a list.
    pub(in crate::formats) fn entry(list: &'static str, index: usize) -> Self {
        Self::Entry { list, index }
    }

    /// A field.
    pub(in crate::formats) fn field(path: &str) -> Self {
        Self::Field(path.to_owned())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("the file"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Entry { list, index } => write!(f, "{list}[{index}]"),
            Self::Field(path) => f.write_str(path),
        }
    }
}

/// The error for something that is malformed.
pub(super) fn syntax(format: FileFormat, place: Place, problem: impl ToString) -> FormatError {
    FormatError::Syntax {
        format,
        place,
        problem: problem.to_string(),
    }
}

/// The error for JSON that cannot be parsed; the message has line and column.
pub(super) fn json_error(format: FileFormat, error: &serde_json::Error) -> FormatError {
    syntax(format, Place::File, error)
}
