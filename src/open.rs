//! Models and tokenizers from files and bytes, in any format that this build reads.
//!
//! The content decides which format a file has, not its name: bytes that begin with `{"version"`,
//! for example, are taken for a `tokenizer.json`, and what is no other format for a `.model` file.
//! This module stands above the model, the tokenizer and the other formats, which do not know of
//! it.

mod error;

#[cfg(feature = "formats")]
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use self::error::OpenError;

#[cfg(feature = "formats")]
use crate::formats::{
    self, ByteFormatOptions, ByteVocabulary, Converted, FileContent, FileFormat, FormatError,
    GgufContent, OpenedFile, Verdict,
};
use crate::model::{MAGIC_BYTES, Model, OtherContent, file};
use crate::tokenizer::Tokenizer;
#[cfg(feature = "formats")]
use crate::tokenizer::{NoModelError, TokenizerConfig};

impl Model {
    /// Reads a `.model` file, or with the feature `formats` a `tokenizer.json` that is equal to one, or
    /// the header of a GGUF file.
    ///
    /// # Errors
    /// The file cannot be read ([`OpenError::Read`]), or its content is refused
    /// ([`OpenError::InFile`]); see [`Model::from_bytes`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_path(path.as_ref())
    }

    /// The generic function would be compiled again, with all that it calls, where it is called; so
    /// would those below.
    fn open_path(path: &Path) -> Result<Self, OpenError> {
        #[cfg(feature = "formats")]
        return Converted::<Self>::open_path(path)?
            .into_exact()
            .map_err(|error| OpenError::from(error).in_file(path));
        #[cfg(not(feature = "formats"))]
        Self::open_model_file(path)
    }

    /// Reads a `.model` file, and no other format.
    fn open_model_file(path: &Path) -> Result<Self, OpenError> {
        Self::of_content(read_file(path)?).map_err(|error| error.in_file(path))
    }

    /// Reads and checks the bytes of a `.model` file. The bytes are copied.
    ///
    /// With the feature `formats`, it also reads the bytes of a `tokenizer.json` whose ids
    /// are equal for all text; for other files use `Model::from_tokenizer_json`, which returns the
    /// reasons. It also reads a GGUF file.
    ///
    /// # Errors
    /// SentencePiece would refuse to load the model too. The error names the piece or spec and the
    /// rule that it breaks.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, OpenError> {
        let file = bytes.to_vec();
        #[cfg(feature = "formats")]
        return Ok(Converted::<Self>::from_content(file)?.into_exact()?);
        #[cfg(not(feature = "formats"))]
        Self::of_content(file)
    }

    /// The model of the content of a `.model` file.
    fn of_content(content: Vec<u8>) -> Result<Self, OpenError> {
        let parsed = file::read(&content);
        let has_pieces = parsed.as_ref().is_ok_and(|(pieces, _)| pieces.len() > 0);
        if !has_pieces && let Some(content) = OtherContent::of_file(&content) {
            return Err(OpenError::NotATokenizer { content });
        }
        Ok(Self::from_parsed(content, parsed?)?)
    }
}

/// The bytes of a file. Folders, and large files that are no models, are refused by their start.
fn read_file(path: &Path) -> Result<Vec<u8>, OpenError> {
    let not_a_tokenizer = |content| OpenError::NotATokenizer { content }.in_file(path);
    let unreadable = |source| match path.is_dir() {
        true => not_a_tokenizer(OtherContent::of_folder(path)),
        false => OpenError::Read {
            path: path.to_owned(),
            source,
        },
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let start = file.by_ref().take(MAGIC_BYTES as u64);
    { start }.read_to_end(&mut bytes).map_err(unreadable)?;
    if let Some(content) = OtherContent::of_start(&bytes) {
        return Err(not_a_tokenizer(content));
    }
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

impl Tokenizer {
    /// Reads a `.model` file, checks it and makes its tables. With the feature `formats` it also reads
    /// what `open_with` lists.
    ///
    /// # Errors
    /// The file cannot be read, is no tokenizer, or is one that its own program refuses; see
    /// [`OpenError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        #[cfg(feature = "formats")]
        return Self::open_with(path, &ByteFormatOptions::default());
        #[cfg(not(feature = "formats"))]
        Model::open(path).map(Self::new)
    }

    /// Reads a file or a folder in any format, recognized by its content: a `.model`, GGUF, a
    /// `tokenizer.json` with any components of tokenizers 0.23.3, the byte-level vocabularies of tiktoken
    /// (`.tiktoken`), Mistral (`tekken.json`), minbpe, and GPT-2 (`vocab.json` with `merges.txt`), and
    /// the `vocab.txt` of BERT. Folders open as `AutoTokenizer` of transformers 5.24 opens them.
    /// `options` has what some of these files lack.
    ///
    /// ```
    /// use spiece::formats::ByteFormatOptions;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("small.model");
    /// std::fs::write(&path, "minbpe v1\n\n0\n97 98\n256 99\n")?;
    /// let tokenizer = spiece::Tokenizer::open_with(&path, &ByteFormatOptions::default())?;
    /// assert_eq!(tokenizer.encode("abcd"), [257, 100]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open). What other files than `.model` lack is an [`OpenError::Format`];
    /// options for a file that needs none are refused.
    #[cfg(feature = "formats")]
    pub fn open_with(
        path: impl AsRef<Path>,
        options: &ByteFormatOptions,
    ) -> Result<Self, OpenError> {
        Self::open_path(path.as_ref(), options)
    }

    #[cfg(feature = "formats")]
    fn open_path(path: &Path, options: &ByteFormatOptions) -> Result<Self, OpenError> {
        let Some(file) = OpenedFile::open(path, &formats::FILES_OF_FOLDERS)? else {
            if let Some(file) = OpenedFile::open(path, &formats::RANKS_OF_FOLDERS)?
                && file.format == FileFormat::Tiktoken
            {
                let file_path = file.path.clone();
                let opened = Self::of_opened(file, options);
                return opened.map_err(|error| error.in_file(&file_path));
            }
            let in_folder = |error| OpenError::from(error).in_file(path);
            if let Some(folder) = formats::ModelFolder::find(path).map_err(in_folder)? {
                let model = Model::open_model_file(&folder.file)?;
                let pipeline = folder.into_pipeline(&model).map_err(in_folder)?;
                options.refuse_pattern(FileFormat::Folder)?;
                options.refuse_unicode(FileFormat::Folder)?;
                return Ok(Self::from_pipeline(pipeline, TokenizerConfig::default()));
            }
            // The error says which folder it is.
            return Model::open_path(path).map(Self::new);
        };
        let file_path = file.path.clone();
        let options = match path.is_dir() {
            true => formats::options_of_folder(path, file.format, options),
            false => Ok(Cow::Borrowed(options)),
        };
        let options = options.map_err(|error| OpenError::from(error).in_file(path))?;
        Self::of_opened(file, &options).map_err(|error| error.in_file(&file_path))
    }

    #[cfg(feature = "formats")]
    fn of_opened(file: OpenedFile, options: &ByteFormatOptions) -> Result<Self, OpenError> {
        if let Some(content) = OtherContent::of_start(file.start()) {
            return Err(OpenError::NotATokenizer { content });
        }
        options.refuse_unicode(file.format)?;
        // The weights are not read.
        if file.format == FileFormat::Gguf {
            return Self::of_gguf(file.reader(), options);
        }
        Self::of_content(file.read()?, options)
    }

    /// A tokenizer of the content of a file.
    #[cfg(feature = "formats")]
    fn of_content(
        content: FileContent<'_>,
        options: &ByteFormatOptions,
    ) -> Result<Self, OpenError> {
        let config = TokenizerConfig::default();
        let bytes = &content.bytes[..];
        match content.format {
            FileFormat::TokenizerJson => {
                let pipeline = formats::read_pipeline_with(bytes, options.unicode);
                let pipeline = pipeline.map_err(|error| match OtherContent::of_file(bytes) {
                    Some(content) if error.is_syntax() => OpenError::NotATokenizer { content },
                    _ => error.into(),
                })?;
                options.refuse_pattern(content.format)?;
                Ok(Self::from_pipeline(pipeline, config))
            }
            FileFormat::VocabTxt => {
                let pipeline = formats::read_vocab_txt(bytes, options)?;
                Ok(Self::from_pipeline(pipeline, config))
            }
            FileFormat::Gguf => Self::of_gguf(bytes, options),
            _ => match ByteVocabulary::of_content(&content, options)? {
                Some(vocabulary) => Ok(Self::from_pipeline(vocabulary.into_bpe()?, config)),
                None => {
                    let model = Model::of_content(content.bytes.into_owned())?;
                    options.refuse_pattern(FileFormat::Model)?;
                    Ok(Self::new(model))
                }
            },
        }
    }

    #[cfg(feature = "formats")]
    fn of_gguf(reader: impl Read, options: &ByteFormatOptions) -> Result<Self, OpenError> {
        match GgufContent::read(reader, options)? {
            GgufContent::Bytes(vocabulary) => {
                let bpe = vocabulary.into_bpe()?;
                Ok(Self::from_pipeline(bpe, TokenizerConfig::default()))
            }
            GgufContent::Model(converted) => {
                let model = converted.into_exact()?;
                options.refuse_pattern(FileFormat::Gguf)?;
                Ok(Self::new(model))
            }
        }
    }

    /// Like [`open`](Tokenizer::open), for the bytes of a file, which are copied.
    ///
    /// ```
    /// let bytes = std::fs::read("testdata/golden/llama2.model")?;
    /// let tokenizer = spiece::Tokenizer::from_bytes(&bytes)?;
    /// assert_eq!(tokenizer.model().map(spiece::Model::len), Some(tokenizer.vocab_size()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The bytes are not a model, or are a model that the reference refuses.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, OpenError> {
        #[cfg(feature = "formats")]
        return Self::from_bytes_with(bytes, &ByteFormatOptions::default());
        #[cfg(not(feature = "formats"))]
        Model::from_bytes(bytes).map(Self::new)
    }

    /// The bytes of a file of which [`from_bytes`](Tokenizer::from_bytes) makes an equal tokenizer:
    /// the `.model` file, or the `tokenizer.json` of a pipeline
    /// ([`to_tokenizer_json`](crate::pipeline::Pipeline::to_tokenizer_json)), which has the version 2.0 if
    /// its normalization forms are those of Unicode 17.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let copy = spiece::Tokenizer::from_bytes(&tokenizer.to_bytes()?)?;
    /// assert_eq!(copy.encode("the right"), tokenizer.encode("the right"));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    ///
    /// # Errors
    /// A byte-level vocabulary that no `tokenizer.json` holds: its pattern has no form that means
    /// the same to Oniguruma, or tokenizers would give a special token another id. A pipeline with the
    /// forms of Unicode 17 and a component that version 2.0 does not have.
    pub fn to_bytes(&self) -> Result<Vec<u8>, OpenError> {
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline() {
            return Ok(pipeline.to_file()?);
        }
        Ok(self.require_model()?.to_bytes())
    }

    /// Like [`open_with`](Tokenizer::open_with), for the bytes of a file, which are copied.
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    #[cfg(feature = "formats")]
    pub fn from_bytes_with(bytes: &[u8], options: &ByteFormatOptions) -> Result<Self, OpenError> {
        Self::of_content(FileContent::of_bytes(bytes), options)
    }
}

#[cfg(feature = "formats")]
impl Converted<Model> {
    /// Reads a file in any format that this build reads, recognized by its content, with the
    /// verdict. The ids of a `.model` file are equal by definition.
    ///
    /// # Errors
    /// The file cannot be read, or is no model.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_path(path.as_ref())
    }

    fn open_path(path: &Path) -> Result<Self, OpenError> {
        // The weights of a GGUF file are not read.
        if let Some(read) = Model::read_gguf(path) {
            return read.map_err(|error| OpenError::from(error).in_file(path));
        }
        let file = read_file(path)?;
        Self::from_content(file).map_err(|error| error.in_file(path))
    }

    fn from_content(file: Vec<u8>) -> Result<Self, OpenError> {
        let read: Option<Result<Self, FormatError>> = match FileFormat::of_content(&file) {
            FileFormat::TokenizerJson => Some(Model::from_tokenizer_json(&file)),
            FileFormat::Gguf => Some(Model::from_gguf(&file[..])),
            FileFormat::VocabTxt => return Err(NoModelError::WordPiece.into()),
            _ => None,
        };
        let Some(read) = read else {
            let model = Model::of_content(file)?;
            let verdict = Verdict::default();
            return Ok(Self {
                value: model,
                verdict,
            });
        };
        read.map_err(|error| match (&error, OtherContent::of_file(&file)) {
            (error, Some(content)) if error.is_syntax() => OpenError::NotATokenizer { content },
            _ => error.into(),
        })
    }
}
