//! A SentencePiece model in memory: its pieces, and the specs that say how text is prepared for them.
//!
//! A [`Model`] comes from a [`Trainer`](crate::Trainer) or a file and does not change. A file is checked
//! once, when it is read (see `model/validate.rs`); what passed cannot fail later.

pub(crate) mod draft;
mod model_type;
pub(crate) mod normalizer;
pub(crate) mod proto;
mod text_index;
pub(crate) mod validate;
mod vocab;
mod wire;

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use prost::Message;

use self::draft::Draft;
pub use self::model_type::ModelType;
use self::text_index::TextIndex;
use crate::error::ModelError;
#[cfg(feature = "train")]
use crate::error::WriteError;
use crate::normalize::charsmap::Charsmap;
#[cfg(feature = "train")]
use crate::output::write_files;
use crate::piece::{PieceId, PieceKind, PieceTable};
use crate::text::lossy_string;

/// Pieces, scores and everything else that a `.model` file holds.
#[derive(Debug, Clone)]
pub struct Model {
    pieces: PieceTable,
    /// The whole file but for the pieces.
    specs: proto::ModelProto,
    /// The file that the model was read from. A model never changes, so this is what saving it writes:
    /// fields that no release knows and any order of fields come back as they were.
    file: Option<Arc<Vec<u8>>>,
    index: TextIndex,
}

/// One piece of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Piece<'m> {
    /// Its id.
    pub id: PieceId,
    /// Its text; nothing promises that the text of a file is UTF-8.
    pub text: &'m [u8],
    /// Its score: the higher, the sooner it is used.
    pub score: f32,
    /// What it is for.
    pub kind: PieceKind,
}

impl Model {
    /// Pieces and the file's other content, from a trainer.
    pub(crate) fn from_parts(pieces: PieceTable, specs: proto::ModelProto) -> Model {
        let is_bpe = specs
            .trainer_spec
            .as_ref()
            .is_some_and(|spec| ModelType::from(spec.model_type()) == ModelType::Bpe);
        let index = TextIndex::of(is_bpe, &pieces);
        Model {
            pieces,
            specs,
            file: None,
            index,
        }
    }

    /// Reads a `.model` file.
    ///
    /// # Errors
    /// The file cannot be read, is no model, or breaks a rule; see [`Model::from_bytes`].
    pub fn open(path: impl AsRef<Path>) -> Result<Model, ModelError> {
        let path = path.as_ref();
        let model = Draft::open(path)?.into_model();
        model.map_err(|error| error.in_file(path))
    }

    /// Reads the bytes of a `.model` file and checks them. Cost: linear.
    ///
    /// # Errors
    /// What the reference refuses to load is refused, with the piece and the rule that it breaks.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, ModelError> {
        Draft::read(bytes.to_vec())?.into_model()
    }

    /// Reads a model from whatever can be read, to its end; see [`Model::from_bytes`].
    ///
    /// # Errors
    /// Reading fails, or what was read is refused.
    pub fn from_reader(mut reader: impl Read) -> Result<Model, ModelError> {
        let mut bytes = Vec::new();
        reader
            .read_to_end(&mut bytes)
            .map_err(|source| ModelError::Stream { source })?;
        Draft::read(bytes)?.into_model()
    }

    /// The bytes of the model's file. For a model that was read these are the bytes that were read.
    pub fn to_bytes(&self) -> Vec<u8> {
        if let Some(file) = &self.file {
            return Vec::clone(file);
        }
        let mut message = self.specs.clone();
        message.pieces = proto::pieces_to_messages(&self.pieces);
        message.encode_to_vec()
    }

    /// The text of the model's `.vocab` file: a piece a line, with a tab and its score behind it if
    /// `with_scores`.
    pub fn to_vocab(&self, with_scores: bool) -> Vec<u8> {
        vocab::vocab_lines(&self.pieces, with_scores)
    }

    /// Writes the model's file, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses; the file is then as it was.
    #[cfg(feature = "train")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        write_files(&[(path.as_ref(), &self.to_bytes())])
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The piece with this id.
    pub fn piece(&self, id: PieceId) -> Option<Piece<'_>> {
        let index = id.index();
        (index < self.len()).then(|| Piece {
            id,
            text: self.pieces.text(index),
            score: self.pieces.score(index),
            kind: self.pieces.kind(index),
        })
    }

    /// The piece with this text. In models that have it both as a part of text and as a control or byte piece
    /// it is the latter.
    pub(crate) fn find(&self, text: &[u8]) -> Option<PieceId> {
        self.index.get(&self.pieces, text).map(PieceId::new)
    }

    /// All pieces, by id.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        (0..self.len()).filter_map(|index| self.piece(PieceId::new(u32::try_from(index).ok()?)))
    }

    /// The rules by which the model normalizes text: what is replaced, and what by, in order. There are none
    /// in models that leave text as it is.
    ///
    /// # Errors
    /// The rules of a hostile file can have no end.
    pub fn normalization_rules(&self) -> Result<Vec<(String, String)>, ModelError> {
        let spec = self.normalizer_spec();
        let field = "normalizer_spec";
        let failed = |source| ModelError::Charsmap { field, source };
        if spec.precompiled_charsmap().is_empty() {
            return Ok(Vec::new());
        }
        let charsmap = Charsmap::from_bytes(spec.precompiled_charsmap())
            .map_err(|error| failed(error.into()))?;
        let rules = charsmap.rules().ok_or_else(|| {
            failed("cyclic rule table; the model file is damaged, get a fresh copy".into())
        })?;
        Ok(rules
            .into_iter()
            .map(|(source, target)| (lossy_string(&source), lossy_string(&target)))
            .collect())
    }

    /// The algorithm that the model is made for.
    pub fn model_type(&self) -> ModelType {
        self.trainer_spec().model_type().into()
    }

    /// The texts, scores and kinds of the pieces.
    pub(crate) fn table(&self) -> &PieceTable {
        &self.pieces
    }

    pub(crate) fn trainer_spec(&self) -> &proto::TrainerSpec {
        static ABSENT: LazyLock<proto::TrainerSpec> = LazyLock::new(Default::default);
        self.specs.trainer_spec.as_ref().unwrap_or(&ABSENT)
    }

    pub(crate) fn normalizer_spec(&self) -> &proto::NormalizerSpec {
        static ABSENT: LazyLock<proto::NormalizerSpec> = LazyLock::new(Default::default);
        self.specs.normalizer_spec.as_ref().unwrap_or(&ABSENT)
    }

    pub(crate) fn denormalizer_spec(&self) -> Option<&proto::NormalizerSpec> {
        self.specs.denormalizer_spec.as_ref()
    }
}
