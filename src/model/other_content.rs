//! Files that are given for a model and are none: what they are, and what to do.
//!
//! A file is looked at after it was refused as a model, so that no model is ever taken for
//! something else. Only the files that can be too large to be read as a whole, such as weights, are
//! recognized before that; see [`OtherContent::of_start`].

use std::fmt;
use std::path::Path;

/// What a file that is no model contains.
///
/// ```
/// use spiece::model::OtherContent;
/// use spiece::{Model, OpenError};
///
/// let error = Model::from_bytes(b"version https://git-lfs.github.com/spec/v1\n").unwrap_err();
/// assert!(matches!(error, OpenError::NotATokenizer { content: OtherContent::GitLfsPointer }));
/// assert!(error.to_string().contains("git lfs pull"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherContent {
    /// Nothing.
    Empty,
    /// A folder.
    Folder {
        /// The name of a model file in it.
        model: Option<&'static str>,
    },
    /// The pointer that git has in place of a large file.
    GitLfsPointer,
    /// HTML or XML.
    WebPage,
    /// The pieces and ranks of a tiktoken tokenizer, such as Llama 3's.
    TiktokenRanks,
    /// A GGUF file, which this build cannot read.
    Gguf,
    /// A `tokenizer.json`, which this build cannot read.
    TokenizerJson,
    /// A `tokenizer_config.json` or `special_tokens_map.json` of transformers.
    TokenizerConfig,
    /// A `config.json` of transformers.
    ModelConfig,
    /// A `vocab.json`: pieces and ids.
    VocabJson,
    /// The words of a `Tokenizer` of Keras.
    KerasTokenizer,
    /// Other JSON.
    OtherJson,
    /// The `.vocab` file that training writes beside the `.model` file.
    VocabFile,
    /// Other text.
    Text,
    /// Weights of a model: a safetensors file, or a checkpoint of PyTorch.
    Weights,
    /// A compressed file or an archive.
    Compressed,
}

/// The names that model files have in most folders, the most usual first.
const MODEL_NAMES: [&str; 5] = [
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "sentencepiece.model",
    "tokenizer.json",
];

/// The number of bytes at the start of a file that tell whether it is text.
const START_BYTES: usize = 1 << 16;
/// The number of bytes at its start that [`OtherContent::of_start`] looks at.
pub(crate) const MAGIC_BYTES: usize = 512;

impl OtherContent {
    /// What a refused file contains; `None` if it is not known.
    pub(crate) fn of_file(file: &[u8]) -> Option<Self> {
        if file.is_empty() {
            return Some(Self::Empty);
        }
        if let Some(content) = Self::of_start(file) {
            return Some(content);
        }
        if file.starts_with(b"GGUF") {
            return (!cfg!(feature = "formats")).then_some(Self::Gguf);
        }
        // Pickles of PyTorch begin with their protocol, 2 or later.
        if matches!(file, [0x80, 2..=5, b'}' | b'c' | b'(' | 0x8A | 0x95, ..]) {
            return Some(Self::Weights);
        }
        let compressed: [&[u8]; 3] = [b"\x28\xB5\x2F\xFD", b"BZh", b"\xFD7zXZ\0"];
        if compressed.iter().any(|magic| file.starts_with(magic)) {
            return Some(Self::Compressed);
        }
        Self::of_text(start_of_text(file)?)
    }

    /// The content of a file that begins with these bytes, if it can be large and no message of
    /// protobuf begins with them.
    pub(crate) fn of_start(start: &[u8]) -> Option<Self> {
        match start {
            // Checkpoints of PyTorch are zip files that begin with `NAME/data.pkl`.
            [b'P', b'K', 3, 4, rest @ ..] => {
                let name = &rest[..rest.len().min(256)];
                match memchr::memmem::find(name, b"/data.pkl") {
                    Some(_) => Some(Self::Weights),
                    None => Some(Self::Compressed),
                }
            }
            [0x1F, 0x8B, 8, ..] => Some(Self::Compressed),
            // Safetensors: the length of a JSON object in 64 bits, and the object.
            [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(Self::Weights),
            _ => None,
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{FEFF}').trim_start();
        if text.starts_with("version https://git-lfs") {
            return Some(Self::GitLfsPointer);
        }
        if text.starts_with("<!") || text.starts_with("<?xml") || text.starts_with("<html") {
            return Some(Self::WebPage);
        }
        // Keras writes JSON, and most programs write that as a text in JSON.
        let keras = text.trim_start_matches('"').replace("\\\"", "\"");
        if keras.starts_with("{\"class_name\": \"Tokenizer\"") {
            return Some(Self::KerasTokenizer);
        }
        if begins_json(text) {
            return Self::of_json(text);
        }
        let mut lines = text.lines().take(4).filter(|line| !line.is_empty());
        if lines.clone().all(is_tiktoken_rank) {
            return Some(Self::TiktokenRanks);
        }
        if lines
            .all(|line| matches!(line.rsplit_once('\t'), Some((_, n)) if n.parse::<f64>().is_ok()))
        {
            return Some(Self::VocabFile);
        }
        Some(Self::Text)
    }

    fn of_json(text: &str) -> Option<Self> {
        let has_key = |key: &str| text.contains(&format!("\"{key}\""));
        if has_key("added_tokens") || has_key("model") {
            // A damaged `tokenizer.json` has an error of its own.
            return (!cfg!(feature = "formats")).then_some(Self::TokenizerJson);
        }
        if [
            "tokenizer_class",
            "added_tokens_decoder",
            "bos_token",
            "eos_token",
        ]
        .into_iter()
        .any(has_key)
        {
            Some(Self::TokenizerConfig)
        } else if has_key("architectures") || has_key("model_type") {
            Some(Self::ModelConfig)
        } else if is_text_and_number(text) {
            Some(Self::VocabJson)
        } else {
            Some(Self::OtherJson)
        }
    }

    /// The content of a path that is a folder.
    pub(crate) fn of_folder(path: &Path) -> Self {
        let mut names = MODEL_NAMES.into_iter();
        Self::Folder {
            model: names.find(|name| path.join(name).is_file()),
        }
    }
}

/// The start of a text file; `None` for other files.
fn start_of_text(file: &[u8]) -> Option<&str> {
    let start = &file[..file.len().min(START_BYTES)];
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // The last character may be cut off.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    text.chars().all(is_text).then_some(text)
}

/// Whether a line is a piece in base64, a space and a rank.
fn is_tiktoken_rank(line: &str) -> bool {
    let Some((piece, rank)) = line.split_once(' ') else {
        return false;
    };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    !piece.is_empty()
        && piece.len() % 4 == 0
        && piece.bytes().all(is_base64)
        && rank.parse::<u32>().is_ok()
}

/// Whether a text begins like a JSON object or array, and not like a section of TOML or of an INI
/// file, `[package]`.
fn begins_json(text: &str) -> bool {
    let Some(array) = text.strip_prefix('[') else {
        return text.starts_with('{');
    };
    let first = array.trim_start_matches(|c: char| c == '[' || c.is_whitespace());
    let literals = ["true", "false", "null"];
    first.is_empty()
        || first.starts_with(|c: char| "\"{]-".contains(c) || c.is_ascii_digit())
        || literals.iter().any(|literal| first.starts_with(literal))
}

/// Whether the first member of a JSON object is a number.
fn is_text_and_number(json: &str) -> bool {
    let Some((_, value)) = json.split_once("\":") else {
        return false;
    };
    value.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// What the file is, and what to do.
impl fmt::Display for OtherContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the file is empty; fetch or train the model again",
            Self::Folder { model: Some(name) } => {
                return write!(f, "this is a folder; name the file {name} in it");
            }
            Self::Folder { model: None } => {
                "this is a folder without a tokenizer; name its file, such as tokenizer.json or tokenizer.model"
            }
            Self::GitLfsPointer => {
                "this is a git-lfs pointer in place of the file; fetch the file with `git lfs pull`"
            }
            Self::WebPage => {
                "this is a web page; download the file itself (on huggingface.co: /resolve/ instead of /blob/ in the address, and a token for models with restricted access)"
            }
            Self::TiktokenRanks => {
                "this is a vocabulary of tiktoken (as in Llama 3's tokenizer.model), and no SentencePiece model; open it as a tokenizer, which needs spiece with the feature formats"
            }
            Self::Gguf => {
                "this is a GGUF file; build spiece with the feature formats, or convert it to a .model"
            }
            Self::TokenizerJson => {
                "this is a tokenizer.json; build spiece with the feature formats, or convert it to a .model"
            }
            Self::TokenizerConfig => {
                "this is a configuration of transformers, which has no pieces; name the tokenizer.model or tokenizer.json beside it"
            }
            Self::ModelConfig => {
                "this is the config.json of a language model; name the tokenizer.model or tokenizer.json beside it"
            }
            Self::VocabJson => {
                "this is a list of pieces and ids, without scores and merges; name the tokenizer.model or tokenizer.json beside it"
            }
            Self::KerasTokenizer => {
                "these are the words of a Tokenizer of Keras, which numbers words at spaces; spiece does not run it"
            }
            Self::OtherJson => {
                "this is JSON, but no tokenizer.json; name a .model file or a tokenizer.json"
            }
            Self::VocabFile => {
                "this is a .vocab file, a list of the pieces; name the .model file beside it"
            }
            Self::Text => {
                "this is a text file; name the tokenizer, such as a .model file or a tokenizer.json"
            }
            Self::Weights => {
                "these are the weights of a language model; name the tokenizer.json or tokenizer.model beside them"
            }
            Self::Compressed => {
                "this is a compressed file or an archive; unpack it and name the tokenizer in it"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, OpenError};

    fn content(error: &OpenError) -> OtherContent {
        match error.without_path() {
            OpenError::NotATokenizer { content } => content.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_that_are_no_models_are_named() {
        use OtherContent::*;
        let safetensors = b"\x46\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"}}";
        let rows: &[(&[u8], OtherContent)] = &[
            (b"", Empty),
            (
                b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 499723\n",
                GitLfsPointer,
            ),
            (b"<!DOCTYPE html>\n<html lang=\"en\"></html>", WebPage),
            (b"\n<html><body>404</body></html>", WebPage),
            (b"IQ== 0\nIg== 1\nIw== 2\nJA== 3\nJQ== 4\n", TiktokenRanks),
            (b"\x1f\x8b\x08\0\0\0\0\0", Compressed),
            (b"\x28\xb5\x2f\xfd\0\0", Compressed),
            (b"PK\x03\x04\x14\0\0\0\0\0\0\0a.model", Compressed),
            (b"PK\x03\x04\0\0\x08\x08\0\0\0\0archive/data.pkl", Weights),
            (safetensors, Weights),
            (b"\x80\x02}q\0X\x01\0\0\0a", Weights),
            (b"<unk>\t0\n<s>\t0\n\xe2\x96\x81the\t-3.25\n", VocabFile),
            (b"Hello world\nsome text\n", Text),
            (b"#version: 0.2\nt h\nth e\n", Text),
            (b"Entry not found", Text),
            (
                b"{\"add_bos_token\": true, \"tokenizer_class\": \"LlamaTokenizer\"}",
                TokenizerConfig,
            ),
            (b"{\"bos_token\": \"<s>\"}", TokenizerConfig),
            (
                b"{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\"}",
                ModelConfig,
            ),
            (b"{\n  \"<unk>\": 0, \"a\": 1}", VocabJson),
            (b"{\"error\": \"Entry not found\"}", OtherJson),
            (
                b"\"{\\\"class_name\\\": \\\"Tokenizer\\\", \\\"config\\\": {}}\"",
                KerasTokenizer,
            ),
            (
                b"{\"class_name\": \"Tokenizer\", \"config\": {}}",
                KerasTokenizer,
            ),
            (b"[\"a\"]", OtherJson),
            (b"[ [1, 2]]", OtherJson),
            (b"[null]", OtherJson),
            (b"[package]\nname = \"a\"", Text),
            (b"[[bin]]\nname = \"a\"", Text),
            #[cfg(not(feature = "formats"))]
            (b"GGUF\x03\0\0\0", Gguf),
            #[cfg(not(feature = "formats"))]
            (b"{\"version\": \"1.0\", \"model\": {}}", TokenizerJson),
        ];
        let folder = std::env::temp_dir();
        for (number, (file, expected)) in rows.iter().enumerate() {
            assert_eq!(
                content(&Model::from_bytes(file).unwrap_err()),
                *expected,
                "row {number}"
            );
            let name = format!("spiece-other-content-{}-{number}", std::process::id());
            let path = folder.join(name);
            std::fs::write(&path, file).unwrap();
            let opened = [
                Model::open(&path).map(drop).unwrap_err(),
                #[cfg(feature = "formats")]
                crate::formats::Converted::<Model>::open(&path)
                    .map(drop)
                    .unwrap_err(),
            ];
            std::fs::remove_file(&path).unwrap();
            for error in opened {
                let message = error.to_string();
                assert!(message.contains("spiece-other-content"), "{message}");
                assert!(message.ends_with(&expected.to_string()), "{message}");
                assert_eq!(content(&error), *expected, "row {number}");
            }
        }
    }

    #[test]
    fn folders_are_named_with_the_model_in_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = Model::open(root.join("testdata")).unwrap_err();
        assert_eq!(content(&error), OtherContent::Folder { model: None });
        let folder = std::env::temp_dir().join(format!("spiece-folder-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("tokenizer.model"), b"").unwrap();
        let error = Model::open(&folder).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
        let model = Some("tokenizer.model");
        assert_eq!(content(&error), OtherContent::Folder { model });
    }

    #[test]
    fn damaged_models_are_not_taken_for_text() {
        let root = env!("CARGO_MANIFEST_DIR");
        let file = std::fs::read(format!("{root}/testdata/golden/llama2.model")).unwrap();
        for end in [10, 100, 1000, file.len() - 1] {
            let error = Model::from_bytes(&file[..end]).unwrap_err();
            assert!(!matches!(error, OpenError::NotATokenizer { .. }), "{error}");
        }
    }

    /// `<unk>`, `a`, `a`: refused by SentencePiece, too.
    const TWICE: &[u8] =
        b"\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x03\x0a\x01a\x0a\x03\x0a\x01a\x12\x02\x18\x02";

    #[test]
    fn the_remedy_for_a_file_that_breaks_a_rule_is_one_that_reads_the_file() {
        let path = std::env::temp_dir().join(format!("spiece-twice-{}", std::process::id()));
        std::fs::write(&path, TWICE).unwrap();
        let error = Model::open(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(
            error.contains("piece 2 \"a\"") && error.contains("ModelProto"),
            "{error}"
        );
        #[cfg(feature = "proto")]
        {
            use prost::Message;
            let mut message = crate::model::proto::ModelProto::decode(TWICE).unwrap();
            message.pieces[2].piece = Some(b"b".to_vec());
            assert!(Model::from_bytes(&message.encode_to_vec()).is_ok());
        }
    }
}
