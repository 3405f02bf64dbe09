//! A SentencePiece model in memory: its pieces, and the specs that say how text is normalized.
//!
//! A [`Model`] comes from a `.model` file, from a trainer or from a [`ModelBuilder`], and never
//! changes; [`Model::edit`] makes a changed copy. Everything is checked once, when the model is
//! made, so nothing can fail later.
//!
//! This module is the only one that knows the file format:
//!
//! | file | job |
//! |---|---|
//! | `wire.rs` | protobuf's wire format: a cursor over fields, a writer |
//! | `spec.rs` | the messages `TrainerSpec` and `NormalizerSpec`, from tables of their fields |
//! | `file.rs` | whole files: pieces and specs, with a worked example |
//! | `canonical.rs` | the file as the reference would write it |
//! | `validate.rs` | the rules for pieces |
//! | `piece_lookup.rs` | text -> piece |
//! | `builder.rs` | models from pieces and specs |
//! | `editor.rs` | changed models that keep everything that is not changed |
//! | `restrict.rs` | models whose text gives only some of the pieces |
//! | `normalizer.rs` | specs -> normalizers |
//! | `text_normalizer.rs` | a normalizer without a vocabulary |
//! | `other_content.rs` | files that are no models: what they are |
//! | `vocab.rs` | the `.vocab` file |
//! | `proto.rs` | the messages as types of prost, for callers (feature `proto`) |
//!
//! Loading is linear in the file, with one hash for each piece; the charsmaps are parsed once and
//! shared.

#[cfg(feature = "proto")]
pub mod proto;
mod builder;
mod canonical;
mod editor;
mod error;
pub(crate) mod file;
mod model_type;
mod normalizer;
mod other_content;
mod piece_lookup;
mod spec;
pub(crate) mod text_normalizer;
pub(crate) mod validate;
mod vocab;
mod restrict;
pub(crate) mod wire;

use std::fmt;
#[cfg(feature = "train")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::builder::ModelBuilder;
pub use self::editor::{ModelEditor, PieceEntry};
pub use self::error::{ModelError, PieceProblem};
pub(crate) use self::file::Specs;
#[cfg(feature = "formats")]
pub(crate) use self::file::kind_number;
pub use self::model_type::{ModelType, ParseModelTypeError};
use self::normalizer::{charsmap_rules, parse_charsmap};
pub(crate) use self::other_content::MAGIC_BYTES;
pub use self::other_content::OtherContent;
use self::piece_lookup::PieceLookup;
pub use self::spec::{BytesList, NormalizerSpec, TrainerSpec};
use crate::normalize::charsmap::Charsmap;
#[cfg(feature = "train")]
use crate::output::WriteError;
#[cfg(feature = "train")]
use crate::output::write_files;
pub use crate::piece::ParsePieceKindError;
use crate::piece::{PieceHashes, PieceId, PieceKind, PieceTable};

/// Pieces, scores and everything else that a `.model` file holds.
///
/// Cloning copies the pieces; the bytes of the file and the charsmaps are shared.
///
/// ```
/// use spiece::{Model, ModelType, PieceKind};
///
/// let model = Model::open("testdata/golden/llama2.model")?;
/// assert_eq!(model.model_type(), ModelType::Bpe);
/// let id = model.piece_to_id("<s>").unwrap();
/// let piece = model.piece(id).unwrap();
/// assert_eq!(piece.kind, PieceKind::Control);
/// assert!(!model.normalizer_spec().remove_extra_whitespaces());
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Clone)]
pub struct Model {
    /// The bytes of the file that the model was read from, or would be written to. Unknown fields
    /// and the order of the fields are therefore kept when a model is saved.
    file: Arc<Vec<u8>>,
    pieces: PieceTable,
    lookup: PieceLookup,
    trainer_spec: TrainerSpec,
    normalizer_spec: NormalizerSpec,
    denormalizer_spec: Option<NormalizerSpec>,
    /// The normalizer's rules; `None` if text is not changed.
    charsmap: Option<Arc<Charsmap>>,
    denormalizer_charsmap: Option<Arc<Charsmap>>,
}

/// One piece of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Piece<'m> {
    /// Its id.
    pub id: PieceId,
    /// Its text, which need not be UTF-8.
    pub text: &'m [u8],
    /// Its score; encoding prefers higher scores.
    pub score: f32,
    /// Its kind.
    pub kind: PieceKind,
}

impl Model {
    /// A builder of models, without pieces.
    pub fn builder() -> ModelBuilder {
        ModelBuilder::new()
    }

    /// An editor that makes a changed copy of the model and keeps what is not changed, unknown
    /// fields included.
    pub fn edit(&self) -> ModelEditor {
        ModelEditor::new(self)
    }

    /// Reads and checks the content of a `.model` file.
    pub(crate) fn from_file(file: Vec<u8>) -> Result<Self, ModelError> {
        let parsed = file::read(&file)?;
        Self::from_parsed(file, parsed)
    }

    /// Makes a model of unchecked pieces and specs, and checks them by the rules for files.
    fn from_unchecked_parts(pieces: PieceTable, specs: Specs) -> Result<Self, ModelError> {
        (0..pieces.len()).try_for_each(|id| file::check_not_empty(id, pieces.text(id)))?;
        let file = file::write(&pieces, &specs);
        Self::from_parsed(file, (pieces, specs))
    }

    /// Checks the content of a file, with what [`file::read`] has read of it.
    pub(crate) fn from_parsed(
        file: Vec<u8>,
        (mut pieces, specs): (PieceTable, Specs),
    ) -> Result<Self, ModelError> {
        let trainer_spec = specs.trainer.unwrap_or_default();
        if trainer_spec.byte_fallback() {
            // The reference ignores such a piece in models with byte fallback.
            pieces.retire_text(b"\0");
        }
        validate::validate(&pieces, &trainer_spec)?;
        let specs = Specs {
            trainer: Some(trainer_spec),
            ..specs
        };
        Self::assemble(file, pieces, specs)
    }

    /// A model of pieces and specs that a trainer made. Most rules for pieces are not checked: a
    /// trainer obeys them, except that its pieces can be too long to be loaded again.
    ///
    /// # Errors
    /// A charsmap is damaged, there are too many pieces, a trie of them would be too large, or two
    /// of them have the same text.
    #[cfg(any(feature = "train", test))]
    pub(crate) fn from_parts(pieces: PieceTable, specs: Specs) -> Result<Self, ModelError> {
        validate::check_count(pieces.len())?;
        validate::check_tries(&pieces, specs.model_type())?;
        let file = file::write(&pieces, &specs);
        Self::assemble(file, pieces, specs)
    }

    /// Parses the charsmaps, makes the lookup of pieces by text and puts everything together.
    ///
    /// # Errors
    /// A charsmap is damaged, or two pieces have the same text.
    fn assemble(file: Vec<u8>, pieces: PieceTable, specs: Specs) -> Result<Self, ModelError> {
        let normalizer_spec = specs.normalizer.unwrap_or_default();
        let denormalizer_spec = specs.denormalizer;
        let trainer_spec = specs.trainer.unwrap_or_default();
        let charsmap = parse_charsmap(Some(&normalizer_spec), "normalizer_spec")?;
        let denormalizer_charsmap =
            parse_charsmap(denormalizer_spec.as_ref(), "denormalizer_spec")?;
        Ok(Self {
            file: Arc::new(file),
            lookup: validate::unique_texts(&pieces, trainer_spec.model_type())?,
            pieces,
            trainer_spec,
            normalizer_spec,
            denormalizer_spec,
            charsmap,
            denormalizer_charsmap,
        })
    }

    /// The bytes of the model's file. For a model that was read, these are the bytes that were
    /// read.
    pub fn to_bytes(&self) -> Vec<u8> {
        Vec::clone(&self.file)
    }

    /// The content of the model's `.vocab` file: one line for each piece, with a tab and the score
    /// if `with_scores` is true.
    pub fn to_vocab(&self, with_scores: bool) -> Vec<u8> {
        vocab::vocab_lines(&self.pieces, with_scores)
    }

    /// Writes the model's file atomically: an interrupted call leaves the old file or none.
    ///
    /// # Errors
    /// The file system refuses; the file is then not changed.
    #[cfg(feature = "train")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        write_files(&[(path.as_ref(), &self.file)])
    }

    /// Writes `PREFIX.model` and `PREFIX.vocab`, as training does: each file is the old one or the
    /// new one at any time, and `.model` changes last. The `.vocab` has scores unless the model
    /// records `vocabulary_output_piece_score=false`.
    ///
    /// # Errors
    /// The file system refuses; the files are then not changed.
    #[cfg(feature = "train")]
    pub fn save_with_vocab(&self, prefix: impl AsRef<Path>) -> Result<(), WriteError> {
        let prefix = prefix.as_ref();
        let with_scores = self.trainer_spec().vocabulary_output_piece_score();
        let vocab = self.to_vocab(with_scores);
        write_files(&[
            (&with_ending(prefix, ".model"), &self.file),
            (&with_ending(prefix, ".vocab"), &vocab),
        ])
    }

    /// The number of pieces; all ids are below it.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The piece with this id; `None` if the model has no such piece.
    pub fn piece(&self, id: PieceId) -> Option<Piece<'_>> {
        let index = id.index();
        (index < self.len()).then(|| self.piece_at(index))
    }

    /// All pieces, by id.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        (0..self.len()).map(|index| self.piece_at(index))
    }

    /// The id of the unknown piece; a model has at most one. All pieces are searched.
    #[cfg(feature = "formats")]
    pub(crate) fn unknown_piece(&self) -> Option<PieceId> {
        let mut unknown = self.pieces.ids_of(PieceKind::Unknown);
        unknown.next().map(PieceId::from_index)
    }

    /// The piece at an index below [`Model::len`].
    fn piece_at(&self, index: usize) -> Piece<'_> {
        Piece {
            id: PieceId::from_index(index),
            text: self.pieces.text(index),
            score: self.pieces.score(index),
            kind: self.pieces.kind(index),
        }
    }

    /// The id of the piece with this text. If a piece for text and an unknown, control or byte
    /// piece have the same text (impossible in BPE models), this is the id of the latter. It takes
    /// one or two hash lookups.
    pub fn piece_to_id(&self, text: impl AsRef<[u8]>) -> Option<PieceId> {
        self.lookup.get(&self.pieces, text.as_ref())
    }

    /// The pieces of a BPE model by the hashes of their texts.
    pub(crate) fn hashes(&self) -> Option<&Arc<PieceHashes>> {
        match &self.lookup {
            PieceLookup::Bpe(hashes) => Some(hashes),
            PieceLookup::Other { .. } => None,
        }
    }

    /// The model's normalization rules, sorted by what they replace: pairs of a source and its
    /// replacement. Models that do not change text have none.
    ///
    /// # Errors
    /// The table of rules is cyclic, which happens only in damaged or hostile files. Such a model
    /// can still be used.
    pub fn normalization_rules(&self) -> Result<Vec<(String, String)>, ModelError> {
        charsmap_rules(self.charsmap.as_deref())
    }

    /// The self-tests of the file: texts, and their pieces with spaces between them.
    #[cfg(feature = "formats")]
    pub(crate) fn self_tests(&self) -> Vec<(&[u8], &[u8])> {
        file::self_tests(&self.file)
    }

    /// The algorithm that the model is made for.
    pub fn model_type(&self) -> ModelType {
        self.trainer_spec.model_type()
    }

    /// How the model was trained.
    pub fn trainer_spec(&self) -> &TrainerSpec {
        &self.trainer_spec
    }

    /// How text is normalized before it is encoded.
    pub fn normalizer_spec(&self) -> &NormalizerSpec {
        &self.normalizer_spec
    }

    /// How decoded text is changed; `None` if the model has no denormalizer spec.
    pub fn denormalizer_spec(&self) -> Option<&NormalizerSpec> {
        self.denormalizer_spec.as_ref()
    }

    /// The texts, scores and kinds of the pieces.
    pub(crate) fn table(&self) -> &PieceTable {
        &self.pieces
    }
}

/// The path `prefix` with `ending` at the end of its name.
#[cfg(feature = "train")]
fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A short description: type, number of pieces and size of the file.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("model_type", &self.model_type())
            .field("pieces", &self.len())
            .field("file_bytes", &self.file.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Model;

    fn golden(name: &str) -> Vec<u8> {
        let root = env!("CARGO_MANIFEST_DIR");
        std::fs::read(format!("{root}/testdata/golden/{name}.model")).unwrap()
    }

    #[test]
    fn the_debug_form_is_short() {
        let model = Model::from_bytes(&golden("llama2")).unwrap();
        assert!(format!("{model:?}").len() < 200, "{model:?}");
        assert!(format!("{:?}", model.edit()).len() < 200);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_damaged_file_is_refused_or_kept_as_it_is(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
            name in prop::sample::select(vec!["exhausted", "hostile_bytes", "delimiter_letter"]),
        ) {
            let mut file = golden(name);
            for (at, byte) in damage {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Ok(model) = Model::from_bytes(&file) {
                prop_assert!(model.to_bytes() == file);
                prop_assert!(model.edit().finish().unwrap().to_bytes() == file);
            }
        }
    }
}
