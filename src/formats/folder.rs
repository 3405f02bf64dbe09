//! What the files beside a vocabulary say about it, in a folder without `tokenizer.json`: the class of
//! transformers, its settings, and the added tokens.
//!
//! | file | what is taken from it |
//! |---|---|
//! | `tokenizer_config.json` | `tokenizer_class`; `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` (BERT); `add_prefix_space`; `added_tokens_decoder`; the special tokens, such as `bos_token` |
//! | `added_tokens.json` | added tokens, if there is no `added_tokens_decoder` |
//! | `special_tokens_map.json` | the special tokens, before those of `tokenizer_config.json` |
//!
//! A role that no file names has the token of the class. This is what `AutoTokenizer.from_pretrained` of transformers 5.24 does with such a folder. A class
//! that is not known is an error, unless the caller says how text is cut.

mod sentencepiece;

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

pub(crate) use self::sentencepiece::ModelFolder;
use super::FileFormat;
use super::bytes::ByteFormatOptions;
use super::roles::{TOKEN_ROLES as ROLES, TokenRoles};
use crate::byte_bpe::{SpecialToken, TextForm};
use crate::formats::error::{FormatError, Place, syntax};
use crate::pattern::Pretokenizer;
use crate::pipeline::BertNormalizer;

const CONFIG: &str = "tokenizer_config.json";

/// A class of byte-level vocabularies.
struct ByteLevelClass {
    name: &'static str,
    /// The name of the pattern.
    pattern: &'static str,
    text_form: TextForm,
    /// The tokens of the roles that no file names.
    roles: &'static [TokenRole],
    /// Whether each part of a text can get a space before it, which is not supported.
    spaces_parts: bool,
}

/// A special token of a class.
struct TokenRole {
    field: &'static str,
    token: &'static str,
    lstrip: bool,
    normalized: bool,
}

const fn role(field: &'static str, token: &'static str) -> TokenRole {
    TokenRole {
        field,
        token,
        lstrip: false,
        normalized: false,
    }
}

/// A class whose texts are cut as those of GPT-2.
const fn like_gpt2(name: &'static str, roles: &'static [TokenRole]) -> ByteLevelClass {
    ByteLevelClass {
        name,
        pattern: "gpt2",
        text_form: TextForm::AsIs,
        roles,
        spaces_parts: false,
    }
}

const GPT2_ROLES: &[TokenRole] = &[
    role("bos_token", "<|endoftext|>"),
    role("eos_token", "<|endoftext|>"),
    role("unk_token", "<|endoftext|>"),
];
const ROBERTA_ROLES: &[TokenRole] = &[
    role("bos_token", "<s>"),
    role("eos_token", "</s>"),
    role("unk_token", "<unk>"),
    role("sep_token", "</s>"),
    role("pad_token", "<pad>"),
    role("cls_token", "<s>"),
    role("mask_token", "<mask>"),
];
const BYTE_LEVEL_CLASSES: [ByteLevelClass; 6] = [
    like_gpt2("GPT2Tokenizer", GPT2_ROLES),
    like_gpt2("WhisperTokenizer", GPT2_ROLES),
    like_gpt2("RobertaTokenizer", ROBERTA_ROLES),
    like_gpt2("BartTokenizer", ROBERTA_ROLES),
    like_gpt2("LongformerTokenizer", ROBERTA_ROLES),
    ByteLevelClass {
        name: "Qwen2Tokenizer",
        pattern: "qwen2",
        text_form: TextForm::Nfc,
        roles: &[
            role("eos_token", "<|endoftext|>"),
            role("unk_token", "<|endoftext|>"),
            role("pad_token", "<|endoftext|>"),
        ],
        spaces_parts: true,
    },
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
/// The fields that list further ones, which come after them.
const LISTS: [&str; 2] = ["additional_special_tokens", "extra_special_tokens"];

/// The `model_type` that `config.json` in a folder names.
///
/// # Errors
/// The file cannot be read, or is not JSON.
pub fn model_type_of_folder(folder: &Path) -> Result<Option<String>, FormatError> {
    let config = read_json(folder, "config.json")?.unwrap_or_default();
    let model_type = config.get("model_type").and_then(Value::as_str);
    Ok(model_type.map(str::to_owned))
}

/// The options for the vocabulary of a folder: those that are given, and for the rest what its files
/// say.
pub(crate) fn options_of_folder<'o>(
    folder: &Path,
    format: FileFormat,
    options: &'o ByteFormatOptions,
) -> Result<Cow<'o, ByteFormatOptions>, FormatError> {
    let config = read_json(folder, CONFIG)?;
    let added = read_json(folder, "added_tokens.json")?;
    if config.is_none() && added.is_none() {
        return Ok(Cow::Borrowed(options));
    }
    let files = FolderFiles {
        config: config.unwrap_or_default(),
        added: added.unwrap_or_default(),
        roles: read_json(folder, "special_tokens_map.json")?.unwrap_or_default(),
    };
    let mut options = options.clone();
    match format {
        FileFormat::VocabTxt => files.add_bert(&mut options)?,
        FileFormat::VocabMerges => files.add_byte_level(folder, &mut options)?,
        _ => {}
    }
    Ok(Cow::Owned(options))
}

/// The content of a file of JSON in a folder; `None` if there is no such file.
fn read_json(folder: &Path, name: &str) -> Result<Option<Value>, FormatError> {
    let path = folder.join(name);
    let file = match std::fs::read(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(FormatError::Read { path, source }),
    };
    let json = serde_json::from_slice(&file);
    json.map(Some)
        .map_err(|error| syntax(FileFormat::Folder, Place::field(name), error))
}

/// The roles that the files of a folder name: `special_tokens_map.json`, and for the others
/// `tokenizer_config.json`.
///
/// # Errors
/// A file cannot be read, or is not JSON.
pub fn roles_of_folder(folder: &Path) -> Result<TokenRoles, FormatError> {
    let mut roles = TokenRoles::new();
    for name in ["tokenizer_config.json", "special_tokens_map.json"] {
        let json = read_json(folder, name)?.unwrap_or_default();
        let named = ROLES.iter().filter_map(|role| {
            let token = token_of(json.get(role)?)?;
            Some(((*role).to_owned(), token.text))
        });
        roles.extend(named);
    }
    Ok(roles)
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

    fn unsupported(&self, field: &str, remedy: &'static str) -> FormatError {
        FormatError::Unsupported {
            format: FileFormat::Folder,
            place: Place::Field(format!("{CONFIG}: {field}")),
            found: self.config.get(field).unwrap_or(&Value::Null).to_string(),
            remedy,
        }
    }

    fn bool(&self, name: &str) -> Option<bool> {
        self.config.get(name)?.as_bool()
    }

    fn add_bert(&self, options: &mut ByteFormatOptions) -> Result<(), FormatError> {
        if options.bert_normalizer.is_some() {
            return Ok(());
        }
        if self
            .class()
            .is_some_and(|class| !BERT_CLASSES.contains(&class))
        {
            return Err(self.unsupported(
                "tokenizer_class",
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
    ) -> Result<(), FormatError> {
        let name = self.class();
        let class = BYTE_LEVEL_CLASSES.iter().find(|it| Some(it.name) == name);
        if class.is_none() && name.is_some() && options.pretokenizer.is_none() {
            return Err(self.unsupported(
                "tokenizer_class",
                "open a tokenizer.json that transformers has saved, or give the pattern",
            ));
        }
        let adds_prefix_space = self.bool("add_prefix_space");
        if let Some(class) = class {
            if class.spaces_parts && adds_prefix_space == Some(true) {
                return Err(self.unsupported(
                    "add_prefix_space",
                    "this class puts a space before each part of a text; open a tokenizer.json that transformers has saved",
                ));
            }
            if options.pretokenizer.is_none() {
                options.pretokenizer = Pretokenizer::named(class.pattern);
            }
            options.text_form = Some(class.text_form);
        }
        options.adds_prefix_space = adds_prefix_space;
        if options.special_tokens.is_none() {
            let vocab = match read_json(folder, "vocab.json")? {
                Some(vocab) => vocab,
                None => read_json(folder, "encoder.json")?.unwrap_or_default(),
            };
            let roles = class.map_or(&[][..], |class| class.roles);
            let tokens = self.special_tokens(&vocab, roles);
            // Without a class, a published vocabulary is known with its special tokens.
            options.special_tokens = (class.is_some() || !tokens.is_empty()).then_some(tokens);
        }
        Ok(())
    }

    /// The added tokens, and the special tokens that are not among them. These have the id of the
    /// vocabulary, or the next one.
    fn special_tokens(&self, vocab: &Value, roles: &[TokenRole]) -> Vec<SpecialToken> {
        let special = self.tokens_of_roles(roles);
        let mut tokens = self.added_tokens(&special);
        let in_vocab = vocab.as_object().into_iter().flatten();
        let in_vocab = in_vocab.filter_map(|(_, id)| id_of(id));
        let largest = in_vocab.chain(tokens.iter().map(|token| token.id)).max();
        let mut next = largest.map_or(0, |largest| largest.saturating_add(1));
        for token in special {
            if tokens.iter().any(|other| other.text == token.text) {
                continue;
            }
            let id = vocab.get(&token.text).and_then(id_of).unwrap_or_else(|| {
                next = next.saturating_add(1);
                next - 1
            });
            tokens.push(SpecialToken { id, ..token });
        }
        tokens.sort_by_key(|token| token.id);
        tokens
    }

    /// The added tokens with their ids.
    fn added_tokens(&self, special: &[SpecialToken]) -> Vec<SpecialToken> {
        let by_id = self.config.get("added_tokens_decoder");
        if let Some(by_id) = by_id.and_then(Value::as_object) {
            let tokens = by_id.iter().filter_map(|(id, json)| {
                let id = id.parse().ok()?;
                Some(SpecialToken {
                    id,
                    ..token_of(json)?
                })
            });
            return tokens.collect();
        }
        let by_text = self.added.as_object().into_iter().flatten();
        let tokens = by_text.filter_map(|(text, id)| {
            let is_special = special.iter().any(|token| token.text == *text);
            Some(SpecialToken {
                special: is_special,
                normalized: !is_special,
                ..SpecialToken::new(text, id_of(id)?)
            })
        });
        tokens.collect()
    }

    /// The special tokens that the files name by their roles, or the class for roles that no file
    /// names. Their ids are not known.
    fn tokens_of_roles(&self, roles: &[TokenRole]) -> Vec<SpecialToken> {
        let mut tokens: Vec<SpecialToken> = Vec::new();
        for field in ROLES.into_iter().chain(LISTS) {
            let named = self.roles.get(field).or_else(|| self.config.get(field));
            let found = match named {
                Some(Value::Array(list)) => list.iter().filter_map(token_of).collect(),
                Some(token) => token_of(token).into_iter().collect(),
                None => {
                    let of_class = roles.iter().filter(|role| role.field == field);
                    let of_class = of_class.map(|role| SpecialToken::new(role.token, 0));
                    of_class.collect::<Vec<_>>()
                }
            };
            for token in found {
                if !tokens.iter().any(|other| other.text == token.text) {
                    tokens.push(SpecialToken {
                        special: true,
                        normalized: false,
                        ..token
                    });
                }
            }
        }
        tokens
    }
}

fn id_of(json: &Value) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
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
            assert_eq!(tokenizer.encode("a<box>b"), [97, 256, 98]);
        }
        let named = config("GPT2Tokenizer", ", \"eos_token\": \"</s>\"");
        let tokenizer =
            Tokenizer::open(folder(&[base.to_vec(), vec![named]].concat()).path()).unwrap();
        // `bos_token` and `unk_token` have the token of the class, which the vocabulary lacks.
        assert_eq!(tokenizer.piece_to_id("<|endoftext|>"), Some(256.into()));
        assert_eq!(tokenizer.piece_to_id("</s>"), Some(257.into()));
        let prefix = config("RobertaTokenizer", ", \"add_prefix_space\": true");
        let tokenizer =
            Tokenizer::open(folder(&[base.to_vec(), vec![prefix]].concat()).path()).unwrap();
        assert_eq!(tokenizer.encode("a"), [32, 97]);
        let spaced = config("Qwen2Tokenizer", ", \"add_prefix_space\": true");
        let spaced = folder(&[base.to_vec(), vec![spaced]].concat());
        let error = Tokenizer::open(spaced.path()).unwrap_err().to_string();
        assert!(error.contains("add_prefix_space is true"), "{error}");
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
            assert_eq!(tokenizer.encode("A"), [expected], "{config}");
        }
    }
}
