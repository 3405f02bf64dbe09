//! What the files beside a vocabulary say about it, in a folder without `tokenizer.json`: the class of
//! transformers, its settings, and the added tokens.
//!
//! | file | what is taken from it |
//! |---|---|
//! | `tokenizer_config.json` | `tokenizer_class`; `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` (BERT); `add_prefix_space`; `added_tokens_decoder`; the special tokens, such as `bos_token` |
//! | `added_tokens.json` | added tokens, if there is no `added_tokens_decoder` |
//! | `special_tokens_map.json` | the special tokens, before those of `tokenizer_config.json` |
//!
//! This is what `AutoTokenizer.from_pretrained` of transformers 5.24 does with such a folder. A class
//! that is not known is an error, unless the caller says how text is cut.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::FileFormat;
use super::bytes::{ByteFormatError, ByteFormatOptions, Place, json_error};
use crate::byte_bpe::{SpecialToken, TextForm};
use crate::pattern::Pretokenizer;
use crate::pipeline::BertNormalizer;

const CONFIG: &str = "tokenizer_config.json";

/// Classes of byte-level vocabularies, with their patterns, the forms of their texts, and the special
/// tokens that they have if no file names them.
const BYTE_LEVEL_CLASSES: [(&str, &str, TextForm, &[&str]); 6] = [
    ("GPT2Tokenizer", "gpt2", TextForm::AsIs, &["<|endoftext|>"]),
    ("Qwen2Tokenizer", "qwen2", TextForm::Nfc, &["<|endoftext|>"]),
    (
        "WhisperTokenizer",
        "gpt2",
        TextForm::AsIs,
        &["<|endoftext|>"],
    ),
    (
        "RobertaTokenizer",
        "gpt2",
        TextForm::AsIs,
        &["<s>", "</s>", "<unk>", "<pad>", "<mask>"],
    ),
    (
        "BartTokenizer",
        "gpt2",
        TextForm::AsIs,
        &["<s>", "</s>", "<unk>", "<pad>", "<mask>"],
    ),
    (
        "LongformerTokenizer",
        "gpt2",
        TextForm::AsIs,
        &["<s>", "</s>", "<unk>", "<pad>", "<mask>"],
    ),
];
/// Classes of the `vocab.txt` of BERT.
const BERT_CLASSES: [&str; 6] = [
    "BertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MobileBertTokenizer",
    "ConvBertTokenizer",
    "LayoutLMTokenizer",
];
/// The fields that name special tokens.
const ROLES: [&str; 8] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
    "additional_special_tokens",
];

/// The options for the vocabulary of a folder: those that are given, and for the rest what its files
/// say.
pub(crate) fn options_of_folder<'o>(
    folder: &Path,
    format: FileFormat,
    options: &'o ByteFormatOptions,
) -> Result<Cow<'o, ByteFormatOptions>, ByteFormatError> {
    let config = read_json(&folder.join(CONFIG))?;
    let added = read_json(&folder.join("added_tokens.json"))?;
    if config.is_none() && added.is_none() {
        return Ok(Cow::Borrowed(options));
    }
    let files = FolderFiles {
        config: config.unwrap_or_default(),
        added: added.unwrap_or_default(),
        roles: read_json(&folder.join("special_tokens_map.json"))?.unwrap_or_default(),
    };
    let mut options = options.clone();
    match format {
        FileFormat::VocabTxt => files.add_bert(&mut options)?,
        FileFormat::VocabMerges => files.add_byte_level(folder, &mut options)?,
        _ => {}
    }
    Ok(Cow::Owned(options))
}

/// The content of a file of JSON; `None` if there is no such file.
fn read_json(path: &Path) -> Result<Option<Value>, ByteFormatError> {
    let file = match std::fs::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            let path = path.to_owned();
            return Err(ByteFormatError::Read { path, source });
        }
    };
    let json = serde_json::from_slice(&file);
    json.map(Some)
        .map_err(|error| json_error(FileFormat::Folder, &error))
}

/// The files beside a vocabulary.
struct FolderFiles {
    config: Value,
    added: Value,
    roles: Value,
}

impl FolderFiles {
    /// The class, without the `Fast` at its end.
    fn class(&self) -> Option<&str> {
        let class = self.config.get("tokenizer_class")?.as_str()?;
        Some(class.strip_suffix("Fast").unwrap_or(class))
    }

    fn unknown_class(&self, remedy: &'static str) -> ByteFormatError {
        ByteFormatError::Unsupported {
            format: FileFormat::Folder,
            place: Place::Field(format!("{CONFIG}: tokenizer_class")),
            found: format!("{:?}", self.class().unwrap_or_default()),
            remedy,
        }
    }

    fn bool(&self, name: &str) -> Option<bool> {
        self.config.get(name)?.as_bool()
    }

    fn add_bert(&self, options: &mut ByteFormatOptions) -> Result<(), ByteFormatError> {
        if options.bert_normalizer.is_some() {
            return Ok(());
        }
        if self
            .class()
            .is_some_and(|class| !BERT_CLASSES.contains(&class))
        {
            return Err(self.unknown_class(
                "open a tokenizer.json that transformers has saved, or vocab.txt itself",
            ));
        }
        options.bert_normalizer = Some(BertNormalizer {
            clean_text: true,
            handle_chinese_chars: self.bool("tokenize_chinese_chars").unwrap_or(true),
            strip_accents: self.bool("strip_accents"),
            lowercase: self.bool("do_lower_case").unwrap_or(true),
        });
        Ok(())
    }

    fn add_byte_level(
        &self,
        folder: &Path,
        options: &mut ByteFormatOptions,
    ) -> Result<(), ByteFormatError> {
        let class = self.class();
        let known = BYTE_LEVEL_CLASSES
            .iter()
            .find(|(name, ..)| Some(*name) == class);
        if known.is_none() && class.is_some() && options.pretokenizer.is_none() {
            return Err(self.unknown_class(
                "open a tokenizer.json that transformers has saved, or give the pattern",
            ));
        }
        let mut default_tokens: &[&str] = &[];
        if let Some((_, pattern, text_form, tokens)) = known {
            if options.pretokenizer.is_none() {
                options.pretokenizer = Pretokenizer::named(pattern);
            }
            options.text_form = Some(*text_form);
            default_tokens = tokens;
        }
        options.adds_prefix_space = self.bool("add_prefix_space");
        if options.special_tokens.is_none() {
            let vocab = read_json(&folder.join("vocab.json"))?;
            let vocab = match vocab {
                Some(vocab) => vocab,
                None => read_json(&folder.join("encoder.json"))?.unwrap_or_default(),
            };
            options.special_tokens = Some(self.special_tokens(&vocab, default_tokens));
        }
        Ok(())
    }

    /// The added and special tokens. Those without an id have that of the vocabulary, or the next one.
    fn special_tokens(&self, vocab: &Value, default_tokens: &[&str]) -> Vec<SpecialToken> {
        let mut special: Vec<SpecialToken> = Vec::new();
        for token in self.named_tokens() {
            if !special.iter().any(|other| other.text == token.text) {
                special.push(token);
            }
        }
        if special.is_empty() {
            let in_vocab = default_tokens
                .iter()
                .filter(|text| vocab.get(**text).is_some());
            special.extend(in_vocab.map(|text| SpecialToken::new(*text, 0)));
        }
        let id_of = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let mut tokens: Vec<SpecialToken> = Vec::new();
        for (id, json) in self
            .config
            .get("added_tokens_decoder")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if let (Ok(id), Some(token)) = (id.parse(), token_of(json)) {
                tokens.push(SpecialToken { id, ..token });
            }
        }
        if tokens.is_empty() {
            for (text, id) in self.added.as_object().into_iter().flatten() {
                if let Some(id) = id_of(id) {
                    let special = special.iter().any(|token| token.text == *text);
                    let token = SpecialToken::new(text, id);
                    tokens.push(SpecialToken {
                        special,
                        normalized: !special,
                        ..token
                    });
                }
            }
        }
        let known: HashMap<String, u32> = tokens
            .iter()
            .map(|token| (token.text.clone(), token.id))
            .collect();
        let largest = vocab
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, id)| id_of(id))
            .max();
        let largest = known.values().copied().chain(largest).max();
        let mut next = largest.map_or(0, |largest| largest.saturating_add(1));
        for token in special {
            if known.contains_key(&token.text) {
                continue;
            }
            let id = vocab.get(&token.text).and_then(id_of).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            tokens.push(SpecialToken { id, ..token });
        }
        tokens.sort_by_key(|token| token.id);
        tokens
    }

    /// The special tokens that the files name by their roles.
    fn named_tokens(&self) -> impl Iterator<Item = SpecialToken> {
        let files = [&self.roles, &self.config].into_iter();
        let values = files.flat_map(|file| ROLES.iter().filter_map(|role| file.get(*role)));
        let tokens = values.flat_map(|value| match value {
            Value::Array(tokens) => tokens.iter().collect(),
            token => vec![token],
        });
        tokens.filter_map(token_of).map(|token| SpecialToken {
            special: true,
            normalized: false,
            ..token
        })
    }
}

/// A token as its text, or as an object with its properties.
fn token_of(json: &Value) -> Option<SpecialToken> {
    if let Some(text) = json.as_str() {
        return Some(SpecialToken::new(text, 0));
    }
    let flag = |name: &str| json.get(name).and_then(Value::as_bool).unwrap_or_default();
    Some(SpecialToken {
        text: json.get("content")?.as_str()?.to_owned(),
        id: 0,
        special: flag("special"),
        normalized: flag("normalized"),
        lstrip: flag("lstrip"),
        rstrip: flag("rstrip"),
        single_word: flag("single_word"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;
    use crate::base::byte_chars::printable;

    fn folder(files: &[(&str, String)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    fn vocab() -> String {
        let bytes = (0..=255_u8).map(|byte| (printable(&[byte]), Value::from(byte)));
        Value::Object(bytes.collect()).to_string()
    }

    #[test]
    fn added_tokens_and_the_pattern_come_from_the_files_beside() {
        let config = |class: &str, more: &str| {
            (
                "tokenizer_config.json",
                format!("{{\"tokenizer_class\": \"{class}\"{more}}}"),
            )
        };
        let base = [
            ("vocab.json", vocab()),
            ("merges.txt", "#version: 0.2\n".to_owned()),
        ];
        let decoder =
            ", \"added_tokens_decoder\": {\"256\": {\"content\": \"<box>\", \"special\": false}}";
        let added = ("added_tokens.json", "{\"<box>\": 256}".to_owned());
        for more in [
            vec![config("GPT2Tokenizer", decoder)],
            vec![config("GPT2TokenizerFast", ""), added],
        ] {
            let folder = folder(&[base.to_vec(), more].concat());
            let tokenizer = Tokenizer::open(folder.path()).unwrap();
            assert_eq!(
                tokenizer.encode("a<box>b"),
                [97.into(), 256.into(), 98.into()]
            );
        }
        let named = config("GPT2Tokenizer", ", \"eos_token\": \"</s>\"");
        let tokenizer =
            Tokenizer::open(folder(&[base.to_vec(), vec![named]].concat()).path()).unwrap();
        assert_eq!(tokenizer.piece_to_id("</s>"), Some(256.into()));
        let prefix = config("RobertaTokenizer", ", \"add_prefix_space\": true");
        let tokenizer =
            Tokenizer::open(folder(&[base.to_vec(), vec![prefix]].concat()).path()).unwrap();
        assert_eq!(tokenizer.encode("a"), [32.into(), 97.into()]);
        let other = folder(&[base.to_vec(), vec![config("OtherTokenizer", "")]].concat());
        let error = Tokenizer::open(other.path()).unwrap_err().to_string();
        assert!(
            error.contains("tokenizer_class is \"OtherTokenizer\""),
            "{error}"
        );
    }

    #[test]
    fn a_list_of_pieces_is_normalized_as_its_class_says() {
        let vocab = ("vocab.txt", "[UNK]\nA\na\nB\n".to_owned());
        for (config, expected) in [
            ("{}", 2_u32),
            (
                "{\"do_lower_case\": false, \"tokenizer_class\": \"BertTokenizer\"}",
                1,
            ),
            ("{\"do_lower_case\": true}", 2),
        ] {
            let folder = folder(&[vocab.clone(), ("tokenizer_config.json", config.to_owned())]);
            let tokenizer = Tokenizer::open(folder.path()).unwrap();
            assert_eq!(tokenizer.encode("A"), [expected.into()], "{config}");
        }
    }
}
