//! Folders that hold a `.model` and no `tokenizer.json`.
//!
//! Most classes of transformers 5 take the pieces out of the `.model` and build a pipeline of the
//! library tokenizers around them. Its stages are those of the class: of the model's own settings it
//! keeps the normalization rules, if that. Ids are those of this pipeline, which can differ from those
//! of SentencePiece: the class `LlamaTokenizer`, for example, prefers the piece with the smaller id
//! where SentencePiece prefers the one with the larger score, and `MBartTokenizer` leaves the
//! normalization rules out.
//!
//! The pipeline is built in five steps, those of `AutoTokenizer.from_pretrained`:
//!
//! 1. [`class_of_folder`]: the class, from `tokenizer_config.json` and `config.json`;
//! 2. [`FolderSettings::new`]: the arguments of the class, from the files beside the model;
//! 3. the class (`classes`): the stages;
//! 4. [`FolderSettings::additions`]: the added tokens, in the order in which they are added, which decides
//!    the ids of those that are no pieces;
//! 5. [`FolderSettings::template`]: what stands around texts.
//!
//! A folder with `tokenizer.model` alone gets the class `TokenizersBackend`, whose stages follow the
//! settings of the model. With another name, the class has to be given, as for transformers.

mod backend;
mod classes;
mod stages;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::classes::{CLASSES, Class};
use self::stages::{FolderPart, FolderStages, FolderTemplate};
use super::{CONFIG, ROLES, read_json};
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place};
use crate::formats::tokenizer_json::{JsonAddedToken, JsonPipeline, JsonText, with_equal_model};
use crate::model::Model;
use crate::piece::PieceKind;
use crate::pipeline::Pipeline;

/// The file that every class takes, before the one that it has a name for.
const COMMON_FILE: &str = "tokenizer.model";
const MODEL_CONFIG: &str = "config.json";
/// The class that follows the settings of the model.
const BACKEND: &str = "TokenizersBackend";
/// Other names of that class.
const BACKEND_NAMES: [&str; 4] = [BACKEND, "PreTrainedTokenizer", "BloomTokenizer", ""];
/// Values of `model_type` in `config.json` for which it takes the place of any class that is named.
const BACKEND_MODEL_TYPES: &str = "\
    EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 \
    ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 \
    gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared h2ovl_chat \
    hyperclovax hyperclovax_vlm internlm2 internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava \
    llava_next mimo_v2_flash minicpm3 minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 ministral \
    ministral3 mistral mistral3 mistral_large4 mixtral modernbert modernbert-decoder molmo molmo2 \
    nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 olmo_hybrid omniasr opencua openvla paddleocr_vl \
    pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral pocket_tts smolvlm stablelm step3_vl umt5 \
    vipllava voxtral voxtral_realtime xlm-roberta-xl";
/// Further values of `model_type` for which it is the class if none is named.
const UNMAPPED_MODEL_TYPES: [&str; 6] =
    ["", "jetmoe", "llama", "longt5", "paligemma", "vaultgemma"];
/// What `clean_up_tokenization_spaces` replaces in decoded text.
const CLEAN_UP: [[&str; 2]; 10] = [
    [" .", "."],
    [" ?", "?"],
    [" !", "!"],
    [" ,", ","],
    [" ' ", "'"],
    [" n't", "n't"],
    [" 'm", "'m"],
    [" 's", "'s"],
    [" 've", "'ve"],
    [" 're", "'re"],
];

/// A folder with a `.model`, of which `AutoTokenizer.from_pretrained` of transformers 5.24 makes a
/// pipeline.
pub(crate) struct ModelFolder {
    folder: PathBuf,
    class: &'static Class,
    config: Option<Value>,
    /// The `.model`.
    pub(crate) file: PathBuf,
}

impl ModelFolder {
    /// `None` if a folder has no `.model`.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>, FormatError> {
        let has = |name: &&str| folder.join(name).is_file();
        let named = CLASSES.iter().filter_map(|class| class.file);
        if !std::iter::once(COMMON_FILE)
            .chain(named)
            .any(|name| has(&name))
        {
            return Ok(None);
        }
        let config = read_json(folder, CONFIG)?;
        let class = class_of_folder(folder, config.as_ref())?;
        let file = [Some(COMMON_FILE), class.file]
            .into_iter()
            .flatten()
            .find(has);
        let Some(file) = file else {
            let is_named = text_field(config.as_ref(), "tokenizer_class").is_some();
            let class_name = if is_named { class.name } else { "missing" };
            let found = format!(
                "{class_name}, without {}",
                class.file.unwrap_or(COMMON_FILE)
            );
            let remedy = "name the class of the file that is there, or open that file itself";
            return Err(unsupported("tokenizer_class", found, remedy));
        };
        Ok(Some(Self {
            file: folder.join(file),
            folder: folder.to_owned(),
            class,
            config,
        }))
    }

    /// The pipeline of the model in the file.
    pub(crate) fn into_pipeline(self, model: &Model) -> Result<Pipeline, FormatError> {
        let pieces = ModelPieces::new(model, &self.file)?;
        let config = self.config.unwrap_or_default();
        FolderSettings::new(&self.folder, self.class, config, &pieces)?.into_pipeline()
    }
}

fn unsupported(field: &str, found: String, remedy: &'static str) -> FormatError {
    FormatError::Unsupported {
        format: FileFormat::Folder,
        place: Place::Field(format!("{CONFIG}: {field}")),
        found,
        remedy,
    }
}

fn text_field(json: Option<&Value>, name: &str) -> Option<String> {
    Some(json?.get(name)?.as_str()?.to_owned())
}

/// The class that `AutoTokenizer` chooses. `config.json` can overrule `tokenizer_config.json`.
fn class_of_folder(folder: &Path, config: Option<&Value>) -> Result<&'static Class, FormatError> {
    let model_config = read_json(folder, MODEL_CONFIG)?;
    let named = text_field(config, "tokenizer_class");
    let named = named.or_else(|| text_field(model_config.as_ref(), "tokenizer_class"));
    let named = named.map(|name| name.strip_suffix("Fast").map(str::to_owned).unwrap_or(name));
    let model_type = text_field(model_config.as_ref(), "model_type").unwrap_or_default();
    let of_name = |name: &str| CLASSES.iter().find(|class| class.name == name);
    let remedy = "name a class that has a tokenizer.model, save the folder with transformers 5 to get a tokenizer.json, \
         or open the .model file itself";
    let is_backend = BACKEND_MODEL_TYPES
        .split(' ')
        .any(|name| name == model_type);
    let name = match &named {
        Some(_) if is_backend => BACKEND,
        Some(name) if BACKEND_NAMES.contains(&&**name) => BACKEND,
        Some(name) => name,
        None => {
            let mut classes = CLASSES.iter();
            match classes.find(|class| class.model_types.contains(&&*model_type)) {
                Some(class) => class.name,
                None if is_backend || UNMAPPED_MODEL_TYPES.contains(&&*model_type) => BACKEND,
                None => {
                    let found =
                        format!("missing, and {MODEL_CONFIG} has the model_type {model_type:?}");
                    return Err(unsupported("tokenizer_class", found, remedy));
                }
            }
        }
    };
    of_name(name).ok_or_else(|| unsupported("tokenizer_class", format!("{name:?}"), remedy))
}

/// A piece, with its text as text.
#[derive(Debug, Clone, Copy)]
struct TextPiece<'m> {
    text: &'m str,
    score: f32,
    kind: PieceKind,
}

/// A model whose pieces are text.
struct ModelPieces<'m> {
    model: &'m Model,
    pieces: Vec<TextPiece<'m>>,
}

impl<'m> ModelPieces<'m> {
    fn new(model: &'m Model, path: &Path) -> Result<Self, FormatError> {
        let mut pieces = Vec::with_capacity(model.len());
        for piece in model.pieces() {
            let text = std::str::from_utf8(piece.text);
            let text = text.map_err(|_| FormatError::Unsupported {
                format: FileFormat::Folder,
                place: Place::Field(path.display().to_string()),
                found: format!("a model whose piece {} is not UTF-8", piece.id),
                remedy: "transformers cannot read it; open the file itself",
            })?;
            pieces.push(TextPiece {
                text,
                score: piece.score,
                kind: piece.kind,
            });
        }
        Ok(Self { model, pieces })
    }
}

/// A token that is added, before it is known whether it is special.
#[derive(Debug, Clone, PartialEq)]
struct FolderToken {
    text: String,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    /// `None`: if it is not special.
    normalized: Option<bool>,
    special: bool,
}

impl FolderToken {
    /// A special token that is given as text.
    fn special(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: None,
            special: true,
        }
    }

    /// A token as text, or as an object with its properties.
    fn of_json(json: &Value) -> Option<Self> {
        if let Some(text) = json.as_str() {
            return Some(Self::special(text));
        }
        let flag = |name: &str| json.get(name).and_then(Value::as_bool);
        Some(Self {
            text: json.get("content")?.as_str()?.to_owned(),
            single_word: flag("single_word").unwrap_or_default(),
            lstrip: flag("lstrip").unwrap_or_default(),
            rstrip: flag("rstrip").unwrap_or_default(),
            normalized: flag("normalized"),
            special: flag("special").unwrap_or_default(),
        })
    }
}

/// A special token that has a role.
struct NamedToken {
    field: String,
    token: FolderToken,
}

/// The arguments of a class.
struct FolderSettings<'m> {
    class: &'static Class,
    pieces: &'m ModelPieces<'m>,
    /// The fields of the configuration.
    fields: Map<String, Value>,
    /// The added tokens that are listed with their ids, in the order of the ids.
    listed: Vec<(u64, FolderToken)>,
    /// The special tokens with a role, in the order in which they are added.
    named: Vec<NamedToken>,
    /// Further special tokens; `None` leaves them to the class.
    extra: Option<Vec<FolderToken>>,
}

impl<'m> FolderSettings<'m> {
    fn unknown_id(&self) -> u32 {
        u32::try_from(self.pieces.model.trainer_spec().unk_id()).unwrap_or(u32::MAX)
    }

    fn new(
        folder: &Path,
        class: &'static Class,
        config: Value,
        pieces: &'m ModelPieces<'m>,
    ) -> Result<Self, FormatError> {
        let mut fields = match config {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let is_set = |value: Option<&Value>| match value {
            None | Some(Value::Null) => false,
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            Some(_) => true,
        };
        if !is_set(fields.get("extra_special_tokens"))
            && let Some(tokens) = fields.remove("additional_special_tokens")
        {
            fields.insert("extra_special_tokens".to_owned(), tokens);
        }
        let mut listed: Vec<(u64, FolderToken)> = Vec::new();
        if let Some(by_id) = fields.get("added_tokens_decoder") {
            let by_id = by_id.as_object().into_iter().flatten();
            listed
                .extend(by_id.filter_map(|(id, json)| {
                    Some((id.parse().ok()?, FolderToken::of_json(json)?))
                }));
        } else {
            // Older files.
            let map = read_json(folder, "special_tokens_map.json")?.unwrap_or_default();
            for (field, value) in map.as_object().into_iter().flatten() {
                let value = match (&field[..], value) {
                    // The class reads its own list.
                    ("additional_special_tokens", _) => continue,
                    ("extra_special_tokens", Value::Array(more)) => {
                        let known = fields.get("extra_special_tokens").and_then(Value::as_array);
                        let mut list = known.cloned().unwrap_or_default();
                        for token in more {
                            if !list.contains(token) {
                                list.push(token.clone());
                            }
                        }
                        Value::Array(list)
                    }
                    (_, Value::Object(token)) if field != "extra_special_tokens" => {
                        let mut token = token.clone();
                        token.insert("special".to_owned(), json!(true));
                        Value::Object(token)
                    }
                    (_, value) => value.clone(),
                };
                fields.insert(field.clone(), value);
            }
            let added = read_json(folder, "added_tokens.json")?.unwrap_or_default();
            // Tokens of `tokenizer_config.json` count only as texts: those that are objects are none yet.
            let text = |json: &Value| match json.get("__type") {
                None => FolderToken::of_json(json).map(|token| token.text),
                Some(_) => None,
            };
            let roles = ROLES.iter().filter_map(|role| text(fields.get(*role)?));
            let extra = fields.get("extra_special_tokens").and_then(Value::as_array);
            let extra = extra.into_iter().flatten().filter_map(text);
            let special: Vec<String> = roles.chain(extra).collect();
            for (text, id) in added.as_object().into_iter().flatten() {
                let Some(id) = id.as_u64() else { continue };
                let is_special = special.contains(text);
                listed.push((
                    id,
                    FolderToken {
                        special: is_special,
                        normalized: Some(!is_special),
                        ..FolderToken::special(text)
                    },
                ));
            }
        }
        listed.sort_by_key(|(id, _)| *id);
        for role in ROLES {
            let Some(token) = fields.get(role).and_then(FolderToken::of_json) else {
                continue;
            };
            let listed = listed
                .iter()
                .rev()
                .find(|(_, other)| other.text == token.text);
            if let Some((_, listed)) = listed {
                fields.insert(role.to_owned(), json_of(listed));
            }
        }
        let mut settings = Self {
            class,
            pieces,
            fields,
            listed,
            named: Vec::new(),
            extra: None,
        };
        settings.find_named();
        Ok(settings)
    }

    /// The special tokens with a role: those of the files, and of the class where they have none.
    fn find_named(&mut self) {
        let mut named: Vec<NamedToken> = Vec::new();
        for field in ROLES {
            let role = self.class.roles.iter().find(|role| role.field == field);
            let of_class = role.map(|role| role.token.to_owned());
            let default = self.default_of_model(field).or(of_class);
            let token = match (self.fields.get(field), default) {
                (Some(json), _) => {
                    FolderToken::of_json(json).map(|token| (token, json.is_string()))
                }
                (None, default) => default.map(|text| (FolderToken::special(text), true)),
            };
            let Some((mut token, is_text)) = token else {
                continue;
            };
            if let Some(role) = role.filter(|_| is_text) {
                token.lstrip = role.lstrip;
                token.normalized = role.normalized.then_some(true);
            }
            named.push(NamedToken {
                field: field.to_owned(),
                token,
            });
        }
        // Tokens of models, such as those for images.
        let of_class = self
            .class
            .roles
            .iter()
            .filter(|role| !ROLES.contains(&role.field));
        for role in of_class {
            named.push(NamedToken {
                field: role.field.to_owned(),
                token: FolderToken::special(role.token),
            });
        }
        let own = self
            .fields
            .iter()
            .filter(|(field, _)| field.ends_with("_token") && !ROLES.contains(&&***field));
        let of_extra = match self.fields.get("extra_special_tokens") {
            Some(Value::Object(tokens)) => Some(tokens),
            _ => None,
        };
        for (field, json) in own.chain(of_extra.into_iter().flatten()) {
            let Some(token) = FolderToken::of_json(json) else {
                continue;
            };
            match named.iter_mut().find(|it| it.field == *field) {
                Some(known) => known.token = token,
                None => named.push(NamedToken {
                    field: field.clone(),
                    token,
                }),
            }
        }
        self.named = named;
        self.extra = match self.fields.get("extra_special_tokens") {
            None | Some(Value::Object(_)) => None,
            Some(list) => {
                let list = list.as_array().into_iter().flatten();
                Some(list.filter_map(FolderToken::of_json).collect())
            }
        };
    }

    /// The default that the model has, for classes that follow it.
    fn default_of_model(&self, field: &str) -> Option<String> {
        let spec = self.pieces.model.trainer_spec();
        let (id, piece) = match field {
            "bos_token" => (spec.bos_id(), spec.bos_piece()),
            "eos_token" => (spec.eos_id(), spec.eos_piece()),
            "unk_token" => (spec.unk_id(), spec.unk_piece()),
            _ => return None,
        };
        let is_given = self.class.follows_model && id >= 0;
        is_given.then(|| String::from_utf8_lossy(piece).into_owned())
    }

    /// A setting that is true or false; null is false.
    fn bool(&self, field: &str, default: bool) -> bool {
        match self.fields.get(field) {
            None => default,
            Some(value) => value.as_bool().unwrap_or_default(),
        }
    }

    fn number(&self, field: &str, default: u64) -> u64 {
        let value = self.fields.get(field).and_then(Value::as_u64);
        value.unwrap_or(default)
    }

    /// The text of an argument, as Python writes it.
    fn text(&self, field: &str, default: &str) -> String {
        match self.fields.get(field) {
            None => default.to_owned(),
            Some(json) => {
                FolderToken::of_json(json).map_or_else(|| "None".to_owned(), |token| token.text)
            }
        }
    }

    /// The text of a special token.
    fn role(&self, field: &str) -> Option<&str> {
        let named = self.named.iter().find(|named| named.field == field)?;
        Some(&named.token.text)
    }

    /// The control pieces and user-defined symbols of the model, which are extra tokens.
    fn symbols(&self) -> Vec<FolderToken> {
        let pieces = self.pieces.pieces.iter();
        let symbols = pieces
            .filter(|piece| matches!(piece.kind, PieceKind::Control | PieceKind::UserDefined));
        let symbols = symbols.map(|piece| FolderToken {
            special: piece.kind == PieceKind::Control,
            normalized: Some(false),
            ..FolderToken::special(piece.text)
        });
        symbols.collect()
    }

    /// The tokens that are added, in their order; the last of equal texts counts.
    fn additions(&self, extra: Vec<FolderToken>) -> Vec<FolderToken> {
        let listed: Vec<FolderToken> = self.listed.iter().map(|(_, token)| token.clone()).collect();
        let named = self.named.iter().map(|named| named.token.clone());
        let more = named.chain(self.extra.clone().unwrap_or(extra));
        if self.class.adds_twice {
            // The second time, all become special, and those that are listed are not left out.
            let more = more.map(|token| FolderToken {
                special: true,
                ..token
            });
            return listed.into_iter().chain(more).collect();
        }
        let is_listed = |token: &FolderToken| listed.iter().any(|other| other.text == token.text);
        let more: Vec<FolderToken> = more.filter(|token| !is_listed(token)).collect();
        let mut tokens = [listed, more].concat();
        for token in &mut tokens {
            token.special |= self
                .named
                .iter()
                .any(|named| named.token.text == token.text);
        }
        tokens
    }

    fn into_pipeline(self) -> Result<Pipeline, crate::formats::FormatError> {
        let FolderStages {
            normalizer,
            pre_tokenizer,
            mut decoder,
            model,
            extra,
            template,
            listed,
        } = (self.class.make)(&self)?;
        let mut settings = self;
        if let Some(listed) = listed {
            settings.listed = listed;
        }
        // The vocabulary with the ids that tokens get: those of their pieces, or the next ones.
        let vocab = model.vocab.as_ref();
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut next = 0;
        for (text, id) in vocab.into_iter().flat_map(|vocab| vocab.ids()) {
            ids.insert(text.to_owned(), id);
        }
        if let Some(vocab) = vocab {
            next = u32::try_from(vocab.len()).unwrap_or(u32::MAX);
        }
        let mut added = Vec::new();
        for token in settings.additions(extra) {
            if token.text.is_empty() {
                continue;
            }
            let id = *ids.entry(token.text.clone()).or_insert_with(|| {
                next += 1;
                next - 1
            });
            added.push(JsonAddedToken {
                id,
                content: JsonText(Cow::Owned(token.text)),
                single_word: token.single_word,
                lstrip: token.lstrip,
                rstrip: token.rstrip,
                normalized: token.normalized.unwrap_or(!token.special),
                special: token.special,
            });
        }
        let template = settings.template(template, &ids)?;
        let is_bpe = model.kind.as_deref() == Some("BPE");
        if settings.bool("clean_up_tokenization_spaces", false)
            && (!is_bpe
                || settings.bool(
                    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
                    false,
                ))
        {
            decoder.push(json!({"type": "Fuse"}));
            decoder.extend(CLEAN_UP.map(|[from, to]| stages::replace_text(from, to)));
        }
        let file = JsonPipeline {
            added_tokens: added,
            normalizer: Some(json!({"type": "Sequence", "normalizers": normalizer})),
            pre_tokenizer: Some(json!({"type": "Sequence", "pretokenizers": pre_tokenizer})),
            post_processor: Some(template),
            decoder: Some(json!({"type": "Sequence", "decoders": decoder})),
            model,
            ..JsonPipeline::default()
        };
        file.into_pipeline(None).map(with_equal_model)
    }

    /// What stands around texts, as a component.
    fn template(
        &self,
        template: FolderTemplate,
        ids: &HashMap<String, u32>,
    ) -> Result<Value, FormatError> {
        let by_settings = || {
            let ends = |flag: &str, field: &str, default: bool| {
                let text = self.role(field).filter(|_| self.bool(flag, default));
                text.map(str::to_owned)
            };
            let bos = ends("add_bos_token", "bos_token", self.class.adds_bos);
            let eos = ends("add_eos_token", "eos_token", false);
            let part = |token: &Option<String>, type_id| {
                token
                    .clone()
                    .map(|text| FolderPart::FolderToken(text, type_id))
            };
            let single: Vec<FolderPart> =
                [part(&bos, 0), Some(FolderPart::First(0)), part(&eos, 0)]
                    .into_iter()
                    .flatten()
                    .collect();
            let second = [part(&bos, 1), Some(FolderPart::Second(1)), part(&eos, 1)]
                .into_iter()
                .flatten();
            let pair = single.iter().cloned().chain(second).collect();
            [single, pair]
        };
        let asked =
            self.fields.contains_key("add_bos_token") || self.fields.contains_key("add_eos_token");
        let [single, pair] = match template {
            FolderTemplate::BySettings => by_settings(),
            FolderTemplate::UnlessSet(_) if asked => by_settings(),
            FolderTemplate::UnlessSet(parts) | FolderTemplate::Fixed(parts) => parts,
        };
        let mut special = Map::new();
        for part in single.iter().chain(&pair) {
            let FolderPart::FolderToken(text, _) = part else {
                continue;
            };
            let unknown = || self.role("unk_token").and_then(|token| ids.get(token));
            let Some(id) = ids.get(text).or_else(unknown) else {
                return Err(unsupported(
                    "tokenizer_class",
                    format!(
                        "{}, which puts the piece {text:?} around texts that the model lacks",
                        self.class.name
                    ),
                    "add the piece to added_tokens_decoder, or name another class",
                ));
            };
            special.insert(
                text.clone(),
                json!({"id": text, "ids": [id], "tokens": [text]}),
            );
        }
        let components = |parts: &[FolderPart]| -> Vec<Value> {
            parts.iter().map(FolderPart::component).collect()
        };
        Ok(json!({
            "type": "TemplateProcessing",
            "single": components(&single),
            "pair": components(&pair),
            "special_tokens": special,
        }))
    }
}

fn json_of(token: &FolderToken) -> Value {
    json!({
        "content": token.text,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;
    use crate::tokenizer::EncodeOptions;

    const TEXT: &str = "Hello  world, it's <new>x</s> ";

    /// A folder with a model and files of JSON.
    fn folder(model: &str, name: &str, files: &[(&str, Value)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden");
        std::fs::copy(golden.join(model), folder.path().join(name)).unwrap();
        for (name, json) in files {
            std::fs::write(folder.path().join(name), json.to_string()).unwrap();
        }
        folder
    }

    /// The ids with those of special tokens, the text of the ids, and what stands around texts.
    fn results(folder: &Path) -> (Vec<u32>, String, [Vec<u32>; 2]) {
        let tokenizer = Tokenizer::open(folder).unwrap();
        let pipeline = tokenizer.pipeline().unwrap();
        let special = pipeline.added_tokens().iter().filter(|token| token.special);
        let special: Vec<String> = special.map(|token| token.text.clone()).collect();
        let options = EncodeOptions::default().with_allowed_special(special);
        let mut encoder = tokenizer.encoder_with(&options).unwrap();
        let ids: Vec<u32> = encoder.encode(TEXT).iter().map(|id| id.get()).collect();
        let text = tokenizer.decode(&ids).unwrap();
        let ends = pipeline.text_ends();
        (ids, text, [ends.before.clone(), ends.after.clone()])
    }

    /// The expected values are those of transformers 5.24.0.
    #[test]
    fn classes_make_the_pipelines_of_transformers() {
        let class = |name: &str| json!({"tokenizer_class": name});
        let of_model = [
            608, 462, 1929, 1925, 1918, 281, 439, 1929, 1933, 1934, 304, 1923, 3474, 1931, 1918,
            63, 587, 1946, 65, 2474, 2, 1918, 1918,
        ];
        let new = json!({"content": "<new>", "special": false, "normalized": false, "lstrip": true, "rstrip": false,
            "single_word": false});
        let with_token = json!({"tokenizer_class": "LlamaTokenizer", "legacy": true, "add_bos_token": true,
            "added_tokens_decoder": {"32000": new}});
        let t5 = json!({"tokenizer_class": "T5Tokenizer", "extra_ids": 2, "clean_up_tokenization_spaces": true});
        let cases = [
            (
                "llama2.model",
                "tokenizer.model",
                vec![],
                of_model.to_vec(),
                "Hello  world, it's <new>x</s>  ",
                [vec![], vec![]],
            ),
            (
                "llama2.model",
                "tokenizer.model",
                vec![(CONFIG, class("LlamaTokenizer"))],
                of_model[..22].to_vec(),
                "Hello  world, it's <new>x</s> ",
                [vec![], vec![]],
            ),
            (
                "llama2.model",
                "tokenizer.model",
                vec![(CONFIG, with_token)],
                [&of_model[..14], &[4000, 1031, 2, 1918]].concat(),
                "Hello  world, it's<new> x</s> ",
                [vec![1], vec![]],
            ),
            (
                "llama2.model",
                "tokenizer.model",
                vec![
                    (CONFIG, class("LlamaTokenizer")),
                    (MODEL_CONFIG, json!({"model_type": "mistral"})),
                ],
                of_model.to_vec(),
                "Hello  world, it's <new>x</s>  ",
                [vec![], vec![]],
            ),
            (
                "nfkc.model",
                "spiece.model",
                vec![(CONFIG, t5)],
                vec![
                    675, 2, 367, 139, 659, 7, 144, 750, 13, 684, 2, 700, 361, 572, 709, 879, 698, 2,
                ],
                "</s>ello world, it</s>s <new>x</s>",
                [vec![], vec![2]],
            ),
            (
                "nfkc.model",
                "sentencepiece.bpe.model",
                vec![
                    (CONFIG, class("XLMRobertaTokenizerFast")),
                    ("added_tokens.json", json!({"<new>": 5000})),
                ],
                vec![
                    676, 3, 368, 140, 660, 8, 145, 751, 14, 685, 3, 701, 902, 40, 2,
                ],
                "<unk>ello world, it<unk>s<new> x</s>",
                [vec![0], vec![2]],
            ),
        ];
        for (model, name, files, ids, text, ends) in cases {
            let folder = folder(model, name, &files);
            let found = results(folder.path());
            assert_eq!(found, (ids, text.to_owned(), ends), "{model} {files:?}");
        }
    }

    #[test]
    fn folders_that_no_class_fits_are_refused_with_the_reason() {
        let class = |name: &str| vec![(CONFIG, json!({"tokenizer_class": name}))];
        for (name, files, expected) in [
            (
                "tokenizer.model",
                class("MarianTokenizer"),
                "tokenizer_class is \"MarianTokenizer\"",
            ),
            (
                "spiece.model",
                vec![],
                "tokenizer_class is missing, without tokenizer.model",
            ),
            (
                "spiece.model",
                class("LlamaTokenizer"),
                "tokenizer_class is LlamaTokenizer, without tokenizer.model",
            ),
            (
                "spiece.model",
                vec![(MODEL_CONFIG, json!({"model_type": "bert"}))],
                "tokenizer_class is missing, and config.json has the model_type \"bert\"",
            ),
            (
                "spiece.model",
                class("CamembertTokenizer"),
                "without sentencepiece.bpe.model",
            ),
            (
                "sentencepiece.bpe.model",
                class("CamembertTokenizer"),
                "the class needs a unigram model",
            ),
            (
                "spiece.model",
                class("AlbertTokenizer"),
                "the model has no piece \"[CLS]\"",
            ),
        ] {
            let folder = folder("llama2.model", name, &files);
            let error = Tokenizer::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
