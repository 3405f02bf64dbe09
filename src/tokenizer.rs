//! The facade: a model that encodes and decodes.
//!
//! In: a [`Model`]. Out: a [`Tokenizer`], which is built once and then shared by `&` among any number of
//! threads. It owns the tables that are made from the model (see [`encode`](crate::encode) and
//! [`decode`](crate::decode)) and lends buffers to the [`Encoder`]s that do the work; those that come back are
//! used again, so even single calls allocate only their result.

mod control;
mod encoder;
mod options;
mod parallel;
mod raw;

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use self::encoder::Scratch;
pub use self::encoder::{Encoder, Token, Tokens};
pub use self::options::{EncodeOptions, ExtraOption, SampleOptions};
use self::raw::RawLengths;
use crate::decode::Decoder;
pub use crate::decode::incremental::IncrementalDecoder;
use crate::encode::Segmenter;
use crate::encode::vocabulary::{NO_UNKNOWN, Vocabulary};
use crate::error::{DecodeError, EncodeError, ModelError};
use crate::model::Model;
use crate::model::validate::byte_of_piece;
use crate::normalize::Normalizer;
use crate::normalize::standalone::Normalized;
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::trie::BuildError;

/// The way from text to ids: with user-defined symbols, or as if there were none.
#[derive(Debug)]
struct Pipeline {
    normalizer: Normalizer,
    segmenter: Segmenter,
    /// Whether text need not be normalized; see [`Segmenter::takes_raw_text`].
    takes_raw_text: bool,
    /// Made when spans of raw text are asked for.
    raw_lengths: OnceLock<RawLengths>,
    /// Buffers of workers that are done.
    scratch: Mutex<Vec<Scratch>>,
}

/// The pieces with a meaning that a model may have.
#[derive(Debug, Clone, Copy)]
struct SpecialIds {
    unk: Option<PieceId>,
    bos: Option<PieceId>,
    eos: Option<PieceId>,
    pad: Option<PieceId>,
}

/// Encodes and decodes with a model, equal to SentencePiece 0.2.3.
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let ids = tokenizer.encode("Hello, world");
/// assert_eq!(tokenizer.decode(&ids)?, "Hello, world");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tokenizer {
    model: Model,
    pipeline: Pipeline,
    without_symbols: OnceLock<Result<Pipeline, BuildError>>,
    decoder: Decoder,
    /// The piece of each byte, in models with byte fallback.
    bytes: Option<Box<[PieceId; 256]>>,
    /// The id of unknown text.
    unknown: PieceId,
    special: SpecialIds,
}

impl Tokenizer {
    /// Makes a model's tables, with two threads of rayon's current pool.
    ///
    /// # Errors
    /// None for a model that was loaded or trained; the normalization tables are read again.
    pub fn new(model: Model) -> Result<Tokenizer, ModelError> {
        let tables = Tables::new(&model)?;
        Ok(Tokenizer::with_tables(model, tables))
    }

    fn with_tables(
        model: Model,
        Tables {
            pipeline,
            decoder,
            bytes,
        }: Tables,
    ) -> Tokenizer {
        Tokenizer {
            pipeline,
            without_symbols: OnceLock::new(),
            decoder,
            bytes,
            unknown: Vocabulary::new(&model, true).unknown(),
            special: SpecialIds::new(&model),
            model,
        }
    }

    /// Reads a `.model` file, checks it and makes its tables, with two threads of rayon's current pool.
    ///
    /// # Errors
    /// The file cannot be read, is not a model, or is one that the reference refuses. The error names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Tokenizer, ModelError> {
        let path = path.as_ref();
        let tokenizer = Tokenizer::new(Model::open(path)?);
        tokenizer.map_err(|error| error.in_file(path))
    }

    /// The same for the bytes of a `.model` file, which are copied.
    ///
    /// # Errors
    /// They are not a model, or one that the reference refuses.
    pub fn from_bytes(bytes: &[u8]) -> Result<Tokenizer, ModelError> {
        Tokenizer::new(Model::from_bytes(bytes)?)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The ids of `text`, which need not be UTF-8.
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Vec<PieceId> {
        let mut ids = Vec::new();
        self.encoder().encode_into(text, &mut ids);
        ids
    }

    /// The ids of `text`, each with the part of the text that it stands for.
    pub fn encode_to_tokens(&self, text: impl AsRef<[u8]>) -> Vec<Token> {
        self.encoder().tokens(text.as_ref()).as_slice().to_vec()
    }

    /// The number of ids that `text` has.
    pub fn count(&self, text: impl AsRef<[u8]>) -> usize {
        self.encoder().count(text)
    }

    /// `text` as pieces are made of, with marks for spaces.
    pub fn normalize(&self, text: impl AsRef<[u8]>) -> String {
        lossy_string(self.encoder().normalize(text))
    }

    /// `text` as pieces are made of, and which part of it comes from where.
    pub fn normalize_with_offsets(&self, text: impl AsRef<[u8]>) -> Normalized {
        let mut normalized = Normalized {
            text: Vec::new(),
            origins: Vec::new(),
        };
        let Normalized {
            text: bytes,
            origins,
        } = &mut normalized;
        self.pipeline
            .normalizer
            .normalize_with_offsets(text.as_ref(), bytes, origins);
        normalized
    }

    /// A worker that encodes text after text and allocates nothing once it is warm.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder::new(self, &self.pipeline)
    }

    /// A worker with options.
    ///
    /// # Errors
    /// Options that ask for a piece which the model does not have.
    pub fn encoder_with(&self, options: &EncodeOptions) -> Result<Encoder<'_>, EncodeError> {
        self.check_extra(&options.extra)?;
        let pipeline = if options.user_defined_symbols {
            &self.pipeline
        } else {
            self.pipeline_without_symbols()?
        };
        Encoder::new(self, pipeline).with_options(options)
    }

    /// The text of `ids`.
    ///
    /// # Errors
    /// An id that the model does not have.
    pub fn decode(&self, ids: &[PieceId]) -> Result<String, DecodeError> {
        let bytes = self.decode_to_bytes(ids)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| lossy_string(error.as_bytes())))
    }

    /// The text of `ids` byte for byte: the pieces of a strange model need not be UTF-8.
    ///
    /// # Errors
    /// An id that the model does not have.
    pub fn decode_to_bytes(&self, ids: &[PieceId]) -> Result<Vec<u8>, DecodeError> {
        let mut text = Vec::with_capacity(ids.len() * 5);
        self.decode_into(ids, &mut text)?;
        Ok(text)
    }

    /// Appends the text of `ids` to `text`.
    ///
    /// # Errors
    /// An id that the model does not have; `text` is then as it was.
    pub fn decode_into(&self, ids: &[PieceId], text: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.check_ids(ids)?;
        let (mut state, start) = (crate::decode::State::default(), text.len());
        for id in ids {
            self.decoder.push(id.index(), &mut state, text);
        }
        self.decoder.finish(&mut state, start, text);
        Ok(())
    }

    /// The text of pieces that are given by their texts; text that is no piece stands for itself.
    pub fn decode_pieces<P: AsRef<[u8]>>(&self, pieces: &[P]) -> String {
        let (mut text, mut state) = (Vec::new(), crate::decode::State::default());
        for piece in pieces {
            let index = self.piece_to_id(piece).map(PieceId::index);
            self.decoder
                .push_text(piece.as_ref(), index, &mut state, &mut text);
        }
        self.decoder.finish(&mut state, 0, &mut text);
        lossy_string(&text)
    }

    /// Applies extra options to ids, as the reference's decoder does before it decodes: only the order shows in
    /// the text.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut ids = tokenizer.encode("one two");
    /// tokenizer.apply_extra(&spiece::ExtraOption::parse_list("bos:eos")?, &mut ids)?;
    /// assert_eq!(ids.first().copied(), tokenizer.bos_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An option asks for a piece that the model does not have; the ids are then as they were.
    pub fn apply_extra(
        &self,
        extra: &[ExtraOption],
        ids: &mut Vec<PieceId>,
    ) -> Result<(), EncodeError> {
        self.check_extra(extra)?;
        self.add_extra(extra, ids, 0);
        Ok(())
    }

    /// Applies extra options to the ids from `start` on.
    fn add_extra(&self, extra: &[ExtraOption], ids: &mut Vec<PieceId>, start: usize) {
        for option in extra {
            match option {
                ExtraOption::Bos => self
                    .special
                    .bos
                    .into_iter()
                    .for_each(|id| ids.insert(start, id)),
                ExtraOption::Eos => ids.extend(self.special.eos),
                ExtraOption::Reverse => ids[start..].reverse(),
                ExtraOption::UnkPiece => {}
            }
        }
    }

    /// A decoder that takes ids as they come.
    pub fn incremental_decoder(&self) -> IncrementalDecoder<'_> {
        IncrementalDecoder::new(self)
    }

    /// The id of the piece with this text. In models that have it both as a part of text and as a control or
    /// byte piece it is the latter.
    pub fn piece_to_id(&self, piece: impl AsRef<[u8]>) -> Option<PieceId> {
        self.model.piece_to_id(piece)
    }

    /// The id of the unknown piece.
    pub fn unk_id(&self) -> Option<PieceId> {
        self.special.unk
    }

    /// The id of the piece for the beginning of a text.
    pub fn bos_id(&self) -> Option<PieceId> {
        self.special.bos
    }

    /// The id of the piece for the end of a text.
    pub fn eos_id(&self) -> Option<PieceId> {
        self.special.eos
    }

    /// The id of the piece for padding.
    pub fn pad_id(&self) -> Option<PieceId> {
        self.special.pad
    }

    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Whether all `ids` are the model's.
    pub(crate) fn check_ids(&self, ids: &[PieceId]) -> Result<(), DecodeError> {
        match ids.iter().find(|id| id.index() >= self.decoder.len()) {
            Some(id) => Err(DecodeError {
                id: *id,
                pieces: self.decoder.len(),
            }),
            None => Ok(()),
        }
    }

    /// Whether the model has the pieces that the options ask for.
    fn check_extra(&self, extra: &[ExtraOption]) -> Result<(), EncodeError> {
        let trainer_spec = self.model.trainer_spec();
        for option in extra {
            let (id, option, piece) = match option {
                ExtraOption::Bos => (self.special.bos, "bos", trainer_spec.bos_piece()),
                ExtraOption::Eos => (self.special.eos, "eos", trainer_spec.eos_piece()),
                _ => continue,
            };
            if id.is_none() {
                return Err(EncodeError::NoSuchPiece {
                    option,
                    piece: lossy_string(piece),
                });
            }
        }
        Ok(())
    }

    fn pipeline_without_symbols(&self) -> Result<&Pipeline, EncodeError> {
        if self.pipeline.normalizer.symbols().is_empty() {
            return Ok(&self.pipeline);
        }
        let pipeline = self.without_symbols.get_or_init(|| {
            Pipeline::new(
                &self.model,
                &self.pipeline.normalizer,
                self.bytes.as_deref(),
                false,
            )
        });
        pipeline.as_ref().map_err(|_| EncodeError::TooLarge {
            what: "pieces in the model",
        })
    }
}

/// The tables that are made from a model.
struct Tables {
    pipeline: Pipeline,
    decoder: Decoder,
    bytes: Option<Box<[PieceId; 256]>>,
}

impl Tables {
    fn new(model: &Model) -> Result<Tables, ModelError> {
        let trainer_spec = model.trainer_spec();
        let normalizer = model.normalizer();
        let bytes = trainer_spec.byte_fallback().then(|| byte_ids(model));
        let (pipeline, decoder) = rayon::join(
            || Pipeline::new(model, &normalizer, bytes.as_deref(), true),
            || Decoder::new(model),
        );
        let pipeline = pipeline.map_err(|_| ModelError::TrieTooLarge)?;
        Ok(Tables {
            pipeline,
            decoder,
            bytes,
        })
    }
}

impl Pipeline {
    fn new(
        model: &Model,
        normalizer: &Normalizer,
        bytes: Option<&[PieceId; 256]>,
        has_symbols: bool,
    ) -> Result<Pipeline, BuildError> {
        let (segmenter, symbols) = Segmenter::new(model, has_symbols)?;
        let normalizer = normalizer.clone().with_symbols(symbols);
        let is_byte = |id: &PieceId| {
            model
                .piece(*id)
                .is_some_and(|piece| piece.kind == PieceKind::Byte)
        };
        let has_bytes = bytes.is_none_or(|bytes| bytes.iter().all(is_byte));
        let takes_raw_text =
            has_bytes && segmenter.takes_raw_text() && normalizer.only_marks_spaces();
        Ok(Pipeline {
            normalizer,
            segmenter,
            takes_raw_text,
            raw_lengths: OnceLock::new(),
            scratch: Mutex::default(),
        })
    }

    /// Buffers for a worker.
    fn take_scratch(&self) -> Scratch {
        self.scratch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    /// Takes buffers back.
    fn give_scratch(&self, scratch: Scratch) {
        self.scratch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(scratch);
    }
}

impl SpecialIds {
    /// A name that is empty in the file is the default name; a piece of another kind does not count.
    fn new(model: &Model) -> SpecialIds {
        let spec = model.trainer_spec();
        let find = |given: &[u8], default: &str, kind| {
            let text = if given.is_empty() {
                default.as_bytes()
            } else {
                given
            };
            let id = model.piece_to_id(text)?;
            model
                .piece(id)
                .filter(|piece| piece.kind == kind)
                .map(|piece| piece.id)
        };
        // The reference takes any name that is no piece for the unknown piece.
        let unk_is_taken = |id: &PieceId| {
            let text = if spec.unk_piece().is_empty() {
                b"<unk>"
            } else {
                spec.unk_piece()
            };
            model.piece_to_id(text).is_none_or(|found| found == *id)
        };
        let unknown = Vocabulary::new(model, true).unknown();
        SpecialIds {
            unk: Some(unknown).filter(|id| *id != NO_UNKNOWN && unk_is_taken(id)),
            bos: find(spec.bos_piece(), "<s>", PieceKind::Control),
            eos: find(spec.eos_piece(), "</s>", PieceKind::Control),
            pad: find(spec.pad_piece(), "<pad>", PieceKind::Control),
        }
    }
}

/// The piece of each byte.
fn byte_ids(model: &Model) -> Box<[PieceId; 256]> {
    let mut ids = Box::new([NO_UNKNOWN; 256]);
    for piece in model.pieces().filter(|piece| piece.kind == PieceKind::Byte) {
        if let Some(byte) = byte_of_piece(piece.text) {
            ids[usize::from(byte)] = piece.id;
        }
    }
    ids
}
