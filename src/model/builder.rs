//! Models from parts.
//!
//! Pieces and specs are checked by the rules for loaded models, and the file of the model is
//! written, which gives the same model when it is loaded.

use std::fmt;

use super::spec::{NormalizerSpec, TrainerSpec};
use super::{Model, ModelType, Specs};
use crate::model::ModelError;
use crate::piece::{PieceId, PieceKind, PieceTable};

/// Builds a [`Model`] from pieces and specs.
///
/// ```
/// use spiece::{Model, ModelType, PieceKind, Tokenizer};
///
/// let mut builder = Model::builder();
/// builder.model_type(ModelType::Bpe);
/// builder.piece("<unk>", 0.0, PieceKind::Unknown);
/// for (rank, text) in ["ab", "▁", "a", "b"].into_iter().enumerate() {
///     builder.piece(text, -(rank as f32), PieceKind::Normal);
/// }
/// let model = builder.build()?;
/// let tokenizer = Tokenizer::from_bytes(&model.to_bytes())?;
/// let ids: Vec<u32> = tokenizer.encode("abb").into_iter().map(u32::from).collect();
/// assert_eq!(ids, [2, 1, 4]); // ▁ ab b
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Clone, Default)]
pub struct ModelBuilder {
    pieces: PieceTable,
    trainer_spec: TrainerSpec,
    normalizer_spec: NormalizerSpec,
    denormalizer_spec: Option<NormalizerSpec>,
}

impl ModelBuilder {
    /// A builder without pieces; every field of the specs is absent, which means its default.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a piece, whose id is the number of pieces before it.
    pub fn piece(&mut self, text: impl AsRef<[u8]>, score: f32, kind: PieceKind) -> &mut Self {
        self.pieces.push(text.as_ref(), score, kind);
        self
    }

    /// Adds the 256 byte pieces `<0x00>` to `<0xFF>` with score 0, and turns byte fallback on.
    pub fn byte_pieces(&mut self) -> &mut Self {
        for byte in 0..=u8::MAX {
            self.piece(format!("<0x{byte:02X}>"), 0.0, PieceKind::Byte);
        }
        self.trainer_spec.byte_fallback = Some(true);
        self
    }

    /// The id that the next piece gets.
    pub fn next_id(&self) -> PieceId {
        PieceId::from_index(self.pieces.len())
    }

    /// Sets the algorithm. The default is unigram, as in the file format.
    pub fn model_type(&mut self, model_type: ModelType) -> &mut Self {
        self.trainer_spec.model_type = Some(model_type);
        self
    }

    /// Sets whether one space is added before (or after) the text. The default is true.
    pub fn add_dummy_prefix(&mut self, add: bool) -> &mut Self {
        self.normalizer_spec.add_dummy_prefix = Some(add);
        self
    }

    /// Sets whether spaces at both ends and repeated spaces are removed. The default is true.
    pub fn remove_extra_whitespaces(&mut self, remove: bool) -> &mut Self {
        self.normalizer_spec.remove_extra_whitespaces = Some(remove);
        self
    }

    /// Sets whether spaces become U+2581. The default is true.
    pub fn escape_whitespaces(&mut self, escape: bool) -> &mut Self {
        self.normalizer_spec.escape_whitespaces = Some(escape);
        self
    }

    /// Sets the normalization rules: their name, which is only recorded, and their precompiled
    /// charsmap.
    pub fn normalization_rules(&mut self, name: &str, charsmap: &[u8]) -> &mut Self {
        self.normalizer_spec.set_rules(name, charsmap);
        self
    }

    /// The fields of the trainer spec, to be changed: special ids and pieces, `unk_surface`,
    /// `byte_fallback`, ... If `vocab_size` stays `None`, the number of pieces is written.
    pub fn trainer_spec_mut(&mut self) -> &mut TrainerSpec {
        &mut self.trainer_spec
    }

    /// The fields of the normalizer spec, to be changed.
    pub fn normalizer_spec_mut(&mut self) -> &mut NormalizerSpec {
        &mut self.normalizer_spec
    }

    /// The fields of the denormalizer spec, to be changed. A model that was built without a call of
    /// this method has no denormalizer.
    pub fn denormalizer_spec_mut(&mut self) -> &mut NormalizerSpec {
        self.denormalizer_spec.get_or_insert_default()
    }

    /// Builds the model. The builder can be used again.
    ///
    /// # Errors
    /// A rule for models is broken; see [`Model::from_bytes`].
    pub fn build(&self) -> Result<Model, ModelError> {
        Model::from_unchecked_parts(self.pieces.clone(), self.specs())
    }

    /// The specs of the model.
    fn specs(&self) -> Specs {
        let mut trainer_spec = self.trainer_spec.clone();
        if trainer_spec.vocab_size.is_none() {
            trainer_spec.vocab_size = i32::try_from(self.pieces.len()).ok();
        }
        Specs {
            trainer: Some(trainer_spec),
            normalizer: Some(self.normalizer_spec.clone()),
            denormalizer: self.denormalizer_spec.clone(),
        }
    }
}

impl fmt::Debug for ModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelBuilder")
            .field("pieces", &self.pieces.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PieceProblem;

    fn builder() -> ModelBuilder {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        builder.piece("a", -1.0, PieceKind::Normal);
        builder
    }

    #[test]
    fn built_models_have_the_values_that_were_set() {
        let mut builder = builder();
        builder.add_dummy_prefix(false);
        builder.trainer_spec_mut().unk_surface = Some(b"?".to_vec());
        let model = builder.build().unwrap();
        assert_eq!(model.len(), 2);
        assert_eq!(model.model_type(), ModelType::Bpe);
        assert_eq!(model.trainer_spec().vocab_size(), 2);
        assert_eq!(model.trainer_spec().unk_surface(), b"?");
        assert!(!model.normalizer_spec().add_dummy_prefix());
        assert!(model.denormalizer_spec().is_none());
        assert_eq!(model.piece_to_id("a"), Some(PieceId::new(1)));
    }

    #[test]
    fn built_models_equal_those_that_are_loaded_from_their_files() {
        let mut builder = builder();
        builder.byte_pieces();
        // A NUL becomes an unused piece.
        builder.piece("\0", -2.0, PieceKind::Normal);
        builder.piece("z", f32::NAN, PieceKind::Unused);
        builder.normalization_rules("own", &[]);
        let spec = builder.trainer_spec_mut();
        spec.unk_surface = Some(Vec::new());
        spec.pad_id = Some(-1);
        builder.denormalizer_spec_mut().add_dummy_prefix = Some(false);
        let built = builder.build().unwrap();
        let loaded = Model::from_bytes(&built.to_bytes()).unwrap();
        let parts = |model: &Model| {
            let pieces: Vec<_> = model
                .pieces()
                .map(|piece| (piece.text.to_vec(), piece.score.to_bits(), piece.kind))
                .collect();
            let specs = (
                model.trainer_spec().clone(),
                model.normalizer_spec().clone(),
                model.denormalizer_spec().cloned(),
            );
            format!("{pieces:?} {specs:?}")
        };
        assert_eq!(parts(&built), parts(&loaded));
        let nul = built.pieces().find(|piece| piece.text == [0]).unwrap();
        assert_eq!(nul.kind, PieceKind::Unused);
    }

    #[test]
    fn build_checks_the_rules_for_files() {
        let no_unknown = Model::builder().build().unwrap_err();
        assert!(matches!(no_unknown, ModelError::NoUnknownPiece));
        let problem_of = |text: &str| {
            let mut builder = builder();
            builder.piece(text, 0.0, PieceKind::Normal);
            match builder.build().unwrap_err() {
                ModelError::Piece { id: 2, problem, .. } => problem,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(problem_of("a"), PieceProblem::Duplicate);
        assert_eq!(problem_of(""), PieceProblem::Empty);
        assert_eq!(problem_of("x\0"), PieceProblem::Nul);
        let mut broken = builder();
        broken.normalization_rules("own", b"abc");
        let error = broken.build().unwrap_err();
        assert!(matches!(error, ModelError::Charsmap { .. }), "{error:?}");
    }

    #[test]
    fn byte_pieces_turn_byte_fallback_on() {
        let mut builder = builder();
        assert_eq!(builder.next_id(), PieceId::new(2));
        let model = builder.byte_pieces().build().unwrap();
        assert_eq!(model.len(), 258);
        assert!(model.trainer_spec().byte_fallback());
    }
}
