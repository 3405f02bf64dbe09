//! The classes of transformers 5.24 that take a `.model`, and the stages that they make of it.
//!
//! | class | model | text is cut |
//! |---|---|---|
//! | `AlbertTokenizer`, `XLNetTokenizer` | unigram | at white space; quotes, accents and case are changed |
//! | `T5Tokenizer`, `VideoPrismTokenizer`, `XLMRobertaTokenizer`, `CamembertTokenizer`, `MBartTokenizer` | unigram | at white space |
//! | `BarthezTokenizer`, `BigBirdTokenizer`, `DebertaV2Tokenizer`, `MBart50Tokenizer`, `PegasusTokenizer`, `RemBertTokenizer`, `XGLMTokenizer` | unigram | at spaces |
//! | `NllbTokenizer`, `ReformerTokenizer` | BPE | at spaces |
//! | `Tipsv2Tokenizer` | BPE, bytes | at white space |
//! | `LlamaTokenizer`, `CodeLlamaTokenizer`, `GemmaTokenizer`, `Siglip2Tokenizer` | BPE, bytes | not at all |
//! | `TokenizersBackend`, `FNetTokenizer` | that of the file | as the file says |
//!
//! The others read the `.model` with SentencePiece itself, or cut text with code of their own.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::backend::{backend, unigram_backend};
use super::stages::{
    FolderPart, FolderStages, FolderTemplate, bpe, byte_decoder, metaspace, owned, replace_matches,
    replace_text, step, strip, unigram,
};
use super::{BACKEND, FolderSettings, FolderToken, unsupported};
use crate::formats::FormatError;
use crate::formats::folder::{ROBERTA_ROLES, TokenRole, role};
use crate::formats::tokenizer_json::{JsonModel, JsonText};
use crate::model::ModelType;

/// A class that makes a pipeline of a `.model`.
pub(super) struct Class {
    pub(super) name: &'static str,
    /// The file that it reads where there is no `tokenizer.model`.
    pub(super) file: Option<&'static str>,
    /// The values of `model_type` in `config.json` for which it is the class if none is named.
    pub(super) model_types: &'static [&'static str],
    /// The special tokens that it has by default.
    pub(super) roles: &'static [TokenRole],
    /// Whether the settings of the model count, rather than those of the class.
    pub(super) follows_model: bool,
    /// Whether it adds its special tokens a second time.
    pub(super) adds_twice: bool,
    /// The default of `add_bos_token`.
    pub(super) adds_bos: bool,
    pub(super) make:
        for<'s, 'm> fn(&'s FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError>,
}

/// A mask that takes the white space before it.
const fn mask(token: &'static str) -> TokenRole {
    TokenRole {
        lstrip: true,
        ..role("mask_token", token)
    }
}

const fn class(
    name: &'static str,
    file: Option<&'static str>,
    model_types: &'static [&'static str],
    roles: &'static [TokenRole],
    make: for<'s, 'm> fn(&'s FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError>,
) -> Class {
    Class {
        name,
        file,
        model_types,
        roles,
        follows_model: false,
        adds_twice: false,
        adds_bos: false,
        make,
    }
}

const SPIECE: Option<&str> = Some("spiece.model");
const BPE_MODEL: Option<&str> = Some("sentencepiece.bpe.model");

const BERT_ROLES: &[TokenRole] = &[
    role("bos_token", "[CLS]"),
    role("eos_token", "[SEP]"),
    role("unk_token", "<unk>"),
    role("sep_token", "[SEP]"),
    role("pad_token", "<pad>"),
    role("cls_token", "[CLS]"),
    role("mask_token", "[MASK]"),
];
const T5_ROLES: &[TokenRole] = &[
    role("eos_token", "</s>"),
    role("unk_token", "<unk>"),
    role("pad_token", "<pad>"),
];
/// [`ROBERTA_ROLES`] with a mask that takes the white space before it.
const FAIRSEQ_ROLES: &[TokenRole] = &[
    role("bos_token", "<s>"),
    role("eos_token", "</s>"),
    role("unk_token", "<unk>"),
    role("sep_token", "</s>"),
    role("pad_token", "<pad>"),
    role("cls_token", "<s>"),
    mask("<mask>"),
];
const LLAMA_ROLES: &[TokenRole] = &[
    role("bos_token", "<s>"),
    role("eos_token", "</s>"),
    role("unk_token", "<unk>"),
];
const GEMMA_ROLES: &[TokenRole] = &[
    role("bos_token", "<bos>"),
    role("eos_token", "<eos>"),
    role("unk_token", "<unk>"),
    role("pad_token", "<pad>"),
    role("mask_token", "<mask>"),
];

pub(super) const CLASSES: [Class; 23] = [
    class(
        "AlbertTokenizer",
        SPIECE,
        &["albert", "yoso"],
        BERT_ROLES,
        albert,
    ),
    Class {
        follows_model: true,
        ..class(
            "FNetTokenizer",
            SPIECE,
            &["fnet"],
            BERT_ROLES,
            unigram_backend,
        )
    },
    class(
        "BarthezTokenizer",
        BPE_MODEL,
        &["barthez"],
        FAIRSEQ_ROLES,
        barthez,
    ),
    class(
        "BigBirdTokenizer",
        SPIECE,
        &["big_bird"],
        &[
            role("bos_token", "<s>"),
            role("eos_token", "</s>"),
            role("unk_token", "<unk>"),
            role("sep_token", "[SEP]"),
            role("pad_token", "<pad>"),
            role("cls_token", "[CLS]"),
            mask("[MASK]"),
        ],
        big_bird,
    ),
    class(
        "CamembertTokenizer",
        BPE_MODEL,
        &["camembert"],
        FAIRSEQ_ROLES,
        camembert,
    ),
    Class {
        adds_bos: true,
        ..class(
            "CodeLlamaTokenizer",
            None,
            &["code_llama"],
            &[
                role("bos_token", "<s>"),
                role("eos_token", "</s>"),
                role("unk_token", "<unk>"),
                role("prefix_token", "▁<PRE>"),
                role("middle_token", "▁<MID>"),
                role("suffix_token", "▁<SUF>"),
                role("eot_token", "▁<EOT>"),
                role("fill_token", "<FILL_ME>"),
            ],
            code_llama,
        )
    },
    class(
        "DebertaV2Tokenizer",
        Some("spm.model"),
        &["deberta-v2"],
        &[
            role("bos_token", "[CLS]"),
            role("eos_token", "[SEP]"),
            role("unk_token", "[UNK]"),
            role("sep_token", "[SEP]"),
            role("pad_token", "[PAD]"),
            role("cls_token", "[CLS]"),
            role("mask_token", "[MASK]"),
        ],
        deberta_v2,
    ),
    class(
        "GemmaTokenizer",
        None,
        &[
            "diffusion_gemma",
            "gemma",
            "gemma2",
            "gemma3",
            "gemma3_text",
            "gemma3n",
            "gemma3n_text",
            "recurrent_gemma",
            "shieldgemma2",
            "t5gemma",
            "zaya",
        ],
        GEMMA_ROLES,
        gemma,
    ),
    class("Siglip2Tokenizer", None, &["siglip2"], GEMMA_ROLES, siglip2),
    class(
        "LlamaTokenizer",
        None,
        &["idefics", "idefics2"],
        LLAMA_ROLES,
        llama,
    ),
    class(
        "MBartTokenizer",
        BPE_MODEL,
        &["mbart"],
        FAIRSEQ_ROLES,
        mbart,
    ),
    class(
        "MBart50Tokenizer",
        BPE_MODEL,
        &["mbart50"],
        &[
            role("eos_token", "</s>"),
            role("unk_token", "<unk>"),
            role("sep_token", "</s>"),
            role("pad_token", "<pad>"),
            role("cls_token", "<s>"),
            mask("<mask>"),
        ],
        mbart50,
    ),
    class(
        "NllbTokenizer",
        BPE_MODEL,
        &["nllb", "nllb-moe"],
        &[
            role("bos_token", "<s>"),
            role("eos_token", "</s>"),
            role("unk_token", "<unk>"),
            role("sep_token", "</s>"),
            role("pad_token", "<pad>"),
            role("cls_token", "<s>"),
            TokenRole {
                normalized: true,
                ..mask("<mask>")
            },
        ],
        nllb,
    ),
    class(
        "PegasusTokenizer",
        SPIECE,
        &["pegasus"],
        &[
            role("eos_token", "</s>"),
            role("unk_token", "<unk>"),
            role("pad_token", "<pad>"),
            role("mask_token", "<mask_2>"),
        ],
        pegasus,
    ),
    Class {
        adds_twice: true,
        ..class(
            "ReformerTokenizer",
            SPIECE,
            &["reformer"],
            &[role("eos_token", "</s>"), role("unk_token", "<unk>")],
            reformer,
        )
    },
    Class {
        adds_twice: true,
        ..class(
            "RemBertTokenizer",
            Some("sentencepiece.model"),
            &["rembert"],
            BERT_ROLES,
            rembert,
        )
    },
    class(
        "T5Tokenizer",
        SPIECE,
        &[
            "mt5",
            "musicgen",
            "musicgen_melody",
            "switch_transformers",
            "t5",
        ],
        T5_ROLES,
        t5,
    ),
    class(
        "VideoPrismTokenizer",
        SPIECE,
        &["videoprism"],
        T5_ROLES,
        video_prism,
    ),
    class(
        "Tipsv2Tokenizer",
        None,
        &["tipsv2"],
        &[role("unk_token", "<unk>"), role("pad_token", "<pad>")],
        tipsv2,
    ),
    class(
        "XGLMTokenizer",
        None,
        &["xglm"],
        &[
            role("bos_token", "<s>"),
            role("eos_token", "</s>"),
            role("unk_token", "<unk>"),
            role("sep_token", "</s>"),
            role("pad_token", "<pad>"),
            role("cls_token", "<s>"),
        ],
        xglm,
    ),
    class(
        "XLMRobertaTokenizer",
        BPE_MODEL,
        &[
            "gte",
            "jina_embeddings_v3",
            "metaclip_2",
            "trocr",
            "xlm-roberta",
            "xmod",
        ],
        ROBERTA_ROLES,
        xlm_roberta,
    ),
    class(
        "XLNetTokenizer",
        SPIECE,
        &["xlnet"],
        &[
            role("bos_token", "<s>"),
            role("eos_token", "</s>"),
            role("unk_token", "<unk>"),
            role("sep_token", "<sep>"),
            role("pad_token", "<pad>"),
            role("cls_token", "<cls>"),
            mask("<mask>"),
        ],
        xlnet,
    ),
    Class {
        follows_model: true,
        ..class(BACKEND, None, &[], &[], backend)
    },
];

/// The languages of mBART; mBART-50 has further ones.
const MBART_LANGUAGES: [&str; 25] = [
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN",
    "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO",
    "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN",
];
const FURTHER_LANGUAGES: [&str; 27] = [
    "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK",
    "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
    "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI",
];

/// A class that cuts text at white space and puts the whitespace mark before each part.
fn at_white_space(scheme: &str) -> Vec<Value> {
    vec![step("WhitespaceSplit"), metaspace(scheme, true)]
}

/// A token before and one after a text, with a further one between two.
fn around(before: &str, after: &str, between: &[&str], second: u32) -> [Vec<FolderPart>; 2] {
    let token = |text: &str, type_id| FolderPart::FolderToken(text.to_owned(), type_id);
    let single = vec![token(before, 0), FolderPart::First(0), token(after, 0)];
    let between = between.iter().map(|text| token(text, 0));
    let pair = single.iter().cloned().chain(between);
    let pair = pair.chain([FolderPart::Second(second), token(after, second)]);
    [single.clone(), pair.collect()]
}

/// Tokens before a text, or two, and tokens after.
fn enclosing(before: &[&str], after: &[&str]) -> [Vec<FolderPart>; 2] {
    let tokens = |texts: &[&str]| -> Vec<FolderPart> {
        texts
            .iter()
            .map(|text| FolderPart::FolderToken((*text).to_owned(), 0))
            .collect()
    };
    let parts = |texts: &[FolderPart]| [&tokens(before)[..], texts, &tokens(after)].concat();
    [
        parts(&[FolderPart::First(0)]),
        parts(&[FolderPart::First(0), FolderPart::Second(0)]),
    ]
}

/// ModelPieces that a class puts before those of the model, whose first ones it drops.
fn with_first<'m>(
    settings: &FolderSettings<'m>,
    first: impl IntoIterator<Item = String>,
    dropped: usize,
) -> Vec<(JsonText<'m>, f64)> {
    let first = first.into_iter().map(|text| (owned(text), 0.0));
    first
        .chain(settings.pieces.scores().into_iter().skip(dropped))
        .collect()
}

/// The pieces of the programs of fairseq: four special ones, and the model's from the fourth on.
fn fairseq<'m>(settings: &FolderSettings<'m>, first: &str) -> Vec<(JsonText<'m>, f64)> {
    let defaults = [
        (first, "<s>"),
        ("pad_token", "<pad>"),
        ("eos_token", "</s>"),
        ("unk_token", "<unk>"),
    ];
    let special = defaults.map(|(field, token)| settings.text(field, token));
    with_first(settings, special, 3)
}

fn special(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<FolderToken> {
    texts.into_iter().map(FolderToken::special).collect()
}

/// The number of a piece with this text and the score 0.
fn unscored(vocab: &[(JsonText<'_>, f64)], text: &str, from: usize) -> Option<u32> {
    let mut pieces = vocab.iter().skip(from);
    let at = pieces.position(|(piece, score)| **piece == *text && *score == 0.0)?;
    u32::try_from(at + from).ok()
}

/// Quotes, accents and case.
fn bert_like(settings: &FolderSettings<'_>, drops_accents: bool, lowers: bool) -> Vec<Value> {
    let quotes = [replace_text("``", "\""), replace_text("''", "\"")];
    let accents = [step("NFKD"), step("StripAccents")];
    let steps = quotes
        .into_iter()
        .chain(accents.into_iter().filter(|_| drops_accents));
    let steps = steps.chain(lowers.then(|| step("Lowercase")));
    steps.chain(settings.pieces.rules()).collect()
}

fn albert<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = settings.always_or("never");
    let [cls, sep] = ["cls_token", "sep_token"].map(|field| {
        settings.text(
            field,
            match field {
                "cls_token" => "[CLS]",
                _ => "[SEP]",
            },
        )
    });
    for token in [&cls, &sep] {
        if !settings
            .pieces
            .pieces
            .iter()
            .any(|piece| piece.text == token)
        {
            let found = format!(
                "{}, and the model has no piece {token:?}",
                settings.class.name
            );
            let remedy = "name the class that the model was made for";
            return Err(unsupported("tokenizer_class", found, remedy));
        }
    }
    Ok(FolderStages {
        normalizer: bert_like(
            settings,
            !settings.bool("keep_accents", false),
            settings.bool("do_lower_case", true),
        ),
        pre_tokenizer: at_white_space(scheme),
        decoder: vec![metaspace(scheme, true)],
        model: unigram(settings.pieces.scores(), 1, false),
        extra: settings.symbols(),
        template: FolderTemplate::UnlessSet(around(&cls, &sep, &[], 1)),
        listed: None,
    })
}

fn xlnet<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let [sep, cls] = ["sep_token", "cls_token"].map(|field| settings.role_text(field));
    let token = |text: &str, type_id| FolderPart::FolderToken(text.to_owned(), type_id);
    Ok(FolderStages {
        normalizer: bert_like(settings, true, settings.bool("do_lower_case", false)),
        pre_tokenizer: at_white_space("always"),
        decoder: vec![metaspace("always", true)],
        model: unigram(settings.pieces.scores(), settings.unknown_id(), false),
        extra: settings.symbols(),
        template: FolderTemplate::Fixed([
            vec![FolderPart::First(0), token(&sep, 0), token(&cls, 2)],
            vec![
                FolderPart::First(0),
                token(&sep, 0),
                FolderPart::Second(1),
                token(&sep, 1),
                token(&cls, 2),
            ],
        ]),
        listed: None,
    })
}

/// The unknown piece that the model names.
fn t5<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let eos = settings.role_text("eos_token");
    let token = || FolderPart::FolderToken(eos.clone(), 0);
    Ok(FolderStages {
        template: FolderTemplate::Fixed([
            vec![FolderPart::First(0), token()],
            vec![
                FolderPart::First(0),
                token(),
                FolderPart::Second(0),
                token(),
            ],
        ]),
        ..with_sentinels(settings)?
    })
}

fn video_prism<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    with_sentinels(settings)
}

/// The sentinels of T5 stand after the pieces, the last one first.
fn with_sentinels<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let count = settings.number("extra_ids", 100);
    let sentinels = || (0..count).map(|number| format!("<extra_id_{number}>"));
    let mut vocab = settings.pieces.scores();
    let texts: Vec<String> = sentinels().collect();
    vocab.extend(texts.into_iter().rev().map(|text| (owned(text), 0.0)));
    let mut extra = settings.symbols();
    let of_model = extra
        .iter()
        .filter(|token| token.text.contains("<extra_id_"))
        .count();
    if of_model == 0 {
        extra.extend(special(sentinels()));
    } else if count > 0 && of_model as u64 != count {
        let found = format!("{count}, and the model has {of_model} pieces for them");
        return Err(unsupported(
            "extra_ids",
            found,
            "give the number of the pieces, or 0",
        ));
    }
    Ok(FolderStages {
        normalizer: settings.pieces.rules().into_iter().collect(),
        pre_tokenizer: at_white_space("always"),
        decoder: vec![metaspace("always", true)],
        model: unigram(vocab, 2, false),
        extra,
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn xlm_roberta<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = settings.always_or("never");
    let mut vocab = fairseq(settings, "bos_token");
    vocab.push((owned(settings.text("mask_token", "<mask>")), 0.0));
    let [bos, eos] = ["bos_token", "eos_token"].map(|field| settings.role_text(field));
    Ok(FolderStages {
        normalizer: settings.pieces.rules().into_iter().collect(),
        pre_tokenizer: at_white_space(scheme),
        decoder: vec![metaspace(scheme, true)],
        model: unigram(vocab, 3, false),
        extra: settings.symbols(),
        template: FolderTemplate::Fixed(around(&bos, &eos, &[&eos], 0)),
        listed: None,
    })
}

/// The type of the model decides for the classes that have no algorithm of their own.
fn refuse_bpe(settings: &FolderSettings<'_>) -> Result<(), FormatError> {
    let model_type = settings.pieces.model.model_type();
    if model_type == ModelType::Unigram {
        return Ok(());
    }
    let found = format!(
        "{}, and the model is of the type {model_type}",
        settings.class.name
    );
    Err(unsupported(
        "tokenizer_class",
        found,
        "the class needs a unigram model; name another class",
    ))
}

fn camembert<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    refuse_bpe(settings)?;
    let scheme = settings.always_or("never");
    let unknown = settings.text("unk_token", "<unk>");
    let mut vocab = with_first(
        settings,
        [
            "<s>NOTUSED".to_owned(),
            settings.text("pad_token", "<pad>"),
            "</s>NOTUSED".to_owned(),
            unknown.clone(),
            "<unk>NOTUSED".to_owned(),
        ],
        1,
    );
    if let Some((_, score)) = vocab.get_mut(4) {
        *score = -100.0;
    }
    vocab.push((owned(settings.text("mask_token", "<mask>")), 0.0));
    let unk_id = vocab.iter().position(|(text, _)| **text == *unknown);
    let unk_id = unk_id
        .and_then(|at| u32::try_from(at).ok())
        .unwrap_or_default();
    let [bos, eos] = ["bos_token", "eos_token"].map(|field| settings.role_text(field));
    Ok(FolderStages {
        normalizer: settings.pieces.rules().into_iter().collect(),
        pre_tokenizer: at_white_space(scheme),
        decoder: vec![metaspace(scheme, true)],
        model: unigram(vocab, unk_id, false),
        extra: settings.symbols(),
        template: FolderTemplate::Fixed(around(&bos, &eos, &[&eos], 0)),
        listed: None,
    })
}

fn mbart<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let mut vocab = fairseq(settings, "bos_token");
    vocab.extend(MBART_LANGUAGES.map(|language| (owned(language), 0.0)));
    vocab.push((owned(settings.text("mask_token", "<mask>")), 0.0));
    let source = settings
        .fields
        .get("src_lang")
        .and_then(Value::as_str)
        .unwrap_or("en_XX");
    let eos = settings.role_text("eos_token");
    Ok(FolderStages {
        normalizer: Vec::new(),
        pre_tokenizer: at_white_space("always"),
        decoder: vec![metaspace("always", true)],
        model: unigram(vocab, 3, false),
        extra: [special(MBART_LANGUAGES), settings.symbols()].concat(),
        template: FolderTemplate::Fixed(enclosing(&[], &[&eos, source])),
        listed: None,
    })
}

fn mbart50<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let languages: Vec<&str> = MBART_LANGUAGES
        .into_iter()
        .chain(FURTHER_LANGUAGES)
        .collect();
    let mut vocab = fairseq(settings, "cls_token");
    vocab.extend(languages.iter().map(|language| (owned(*language), 0.0)));
    vocab.push((owned(settings.text("mask_token", "<mask>")), 0.0));
    let source = settings
        .fields
        .get("src_lang")
        .and_then(Value::as_str)
        .unwrap_or("en_XX");
    let eos = settings.role_text("eos_token");
    Ok(FolderStages {
        normalizer: { settings.pieces.rules() }
            .into_iter()
            .chain([replace_matches(" {2,}", " ")])
            .collect(),
        pre_tokenizer: vec![metaspace("always", true)],
        decoder: vec![metaspace("always", true)],
        model: unigram(vocab, 3, false),
        extra: [settings.symbols(), special(languages)].concat(),
        template: FolderTemplate::Fixed(enclosing(&[source], &[&eos])),
        listed: None,
    })
}

fn barthez<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    refuse_bpe(settings)?;
    let scheme = settings.always_or("never");
    Ok(FolderStages {
        normalizer: vec![
            replace_matches("\\s{2,}|[\\n\\r\\t]", " "),
            step("NFC"),
            strip(false, true),
        ],
        pre_tokenizer: vec![metaspace(scheme, true)],
        decoder: vec![metaspace(scheme, true)],
        model: unigram(settings.pieces.scores(), 3, false),
        extra: settings.symbols(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn big_bird<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = settings.always_or("never");
    let vocab = settings.pieces.scores();
    let unk_id = unscored(&vocab, &settings.role_text("unk_token"), 0).unwrap_or(100);
    let [cls, sep] = ["cls_token", "sep_token"].map(|field| settings.role_text(field));
    Ok(FolderStages {
        normalizer: vec![strip(false, false), replace_matches(" {2,}", "▁")],
        pre_tokenizer: vec![metaspace(scheme, true)],
        decoder: vec![metaspace(scheme, true)],
        model: unigram(vocab, unk_id, false),
        extra: settings.symbols(),
        template: FolderTemplate::Fixed(around(&cls, &sep, &[], 1)),
        listed: None,
    })
}

fn deberta_v2<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = settings.always_or("first");
    let vocab = settings.pieces.scores();
    let unknown = unscored(&vocab, &settings.role_text("unk_token"), 0);
    let unk_id = unknown.unwrap_or_else(|| settings.unknown_id());
    let [cls, sep] = ["cls_token", "sep_token"].map(|field| settings.role_text(field));
    let lowers = settings
        .bool("do_lower_case", false)
        .then(|| step("Lowercase"));
    let spaces = [
        replace_matches("\\s{2,}|[\\n\\r\\t]", " "),
        step("NFC"),
        strip(false, true),
    ];
    let punctuation = settings.bool("split_by_punct", false);
    let punctuation = punctuation.then(|| json!({"type": "Punctuation", "behavior": "Isolated"}));
    Ok(FolderStages {
        normalizer: lowers.into_iter().chain(spaces).collect(),
        pre_tokenizer: punctuation
            .into_iter()
            .chain([metaspace(scheme, true)])
            .collect(),
        decoder: vec![metaspace(scheme, true)],
        model: unigram(vocab, unk_id, false),
        extra: settings.symbols(),
        template: FolderTemplate::Fixed(around(&cls, &sep, &[], 1)),
        listed: None,
    })
}

fn rembert<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = settings.always_or("never");
    let mut normalizer = bert_like(
        settings,
        !settings.bool("keep_accents", true),
        settings.bool("do_lower_case", false),
    );
    normalizer.insert(2, replace_matches(" {2,}", " "));
    Ok(FolderStages {
        normalizer,
        pre_tokenizer: vec![metaspace(scheme, true)],
        decoder: vec![metaspace(scheme, true)],
        model: unigram(settings.pieces.scores(), 2, false),
        extra: settings.symbols(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn xglm<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = settings.always_or("never");
    let eos = settings.role_text("eos_token");
    let token = || FolderPart::FolderToken(eos.clone(), 0);
    let made_up = (0..7).map(|number| format!("<madeupword{number}>"));
    Ok(FolderStages {
        normalizer: { settings.pieces.rules() }
            .into_iter()
            .chain([replace_matches(" {2,}", " ")])
            .collect(),
        pre_tokenizer: vec![metaspace(scheme, true)],
        decoder: vec![metaspace(scheme, true)],
        model: unigram(settings.pieces.scores(), 3, false),
        extra: [settings.symbols(), special(made_up)].concat(),
        template: FolderTemplate::Fixed([
            vec![token(), FolderPart::First(0)],
            vec![
                token(),
                FolderPart::First(0),
                token(),
                token(),
                FolderPart::Second(0),
            ],
        ]),
        listed: None,
    })
}

fn pegasus<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let offset = settings.number("offset", 103);
    let unknown = || (2..offset).map(|number| format!("<unk_{number}>"));
    // The defaults of the two masks are exchanged where the pieces are made.
    let [mask, sentence] = [("mask_token", "<mask_1>"), ("mask_token_sent", "<mask_2>")]
        .map(|(field, token)| settings.text(field, token));
    let first = [("pad_token", "<pad>"), ("eos_token", "</s>")];
    let first = first
        .map(|(field, token)| settings.text(field, token))
        .into_iter();
    let masks = [
        (mask != "None").then_some(&mask),
        (sentence != "None" && sentence != mask).then_some(&sentence),
    ];
    let first: Vec<String> = first.chain(masks.into_iter().flatten().cloned()).collect();
    let unscored_count = first.len();
    let mut vocab = with_first(settings, first.into_iter().chain(unknown()), 2);
    let unknown_count = usize::try_from(offset.saturating_sub(2)).unwrap_or(usize::MAX);
    for (_, score) in vocab.iter_mut().skip(unscored_count).take(unknown_count) {
        *score = -100.0;
    }
    let text = settings.role_text("unk_token");
    let Some(unk_id) = unscored(&vocab, &text, 1) else {
        let found = format!("{text:?}, which the model lacks as a piece with the score 0");
        return Err(unsupported(
            "unk_token",
            found,
            "name the unknown piece of the model",
        ));
    };
    let spaces = replace_matches(" {2,}", " ");
    let eos = settings.role_text("eos_token");
    let sentence = match settings.fields.get("mask_token_sent") {
        Some(Value::Null) => None,
        _ => Some(settings.text("mask_token_sent", "<mask_1>")),
    };
    Ok(FolderStages {
        normalizer: vec![
            settings
                .pieces
                .rules()
                .unwrap_or_else(|| replace_matches("\\n", " ")),
            spaces,
        ],
        pre_tokenizer: vec![metaspace("always", true)],
        decoder: vec![metaspace("always", true)],
        model: unigram(vocab, unk_id, false),
        extra: special(sentence.into_iter().chain(unknown())),
        template: FolderTemplate::Fixed(enclosing(&[], &[&eos])),
        listed: None,
    })
}

fn nllb<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let defaults = [
        ("bos_token", "<s>"),
        ("pad_token", "<pad>"),
        ("eos_token", "</s>"),
        ("unk_token", "<unk>"),
    ];
    let mut vocab: Vec<(JsonText<'m>, u32)> = Vec::new();
    for (text, id) in defaults
        .map(|(field, token)| settings.text(field, token))
        .into_iter()
        .zip(0..)
    {
        vocab.retain(|(known, _)| **known != *text);
        vocab.push((owned(text), id));
    }
    let first = vocab.len();
    let own = settings.pieces.ids();
    let is_first: HashSet<String> = vocab.iter().map(|(text, _)| text.to_string()).collect();
    let own = own
        .into_iter()
        .filter(|(text, _)| !is_first.contains(&**text));
    vocab.extend(
        own.zip(first..)
            .filter_map(|((text, _), id)| Some((text, u32::try_from(id).ok()?))),
    );
    let rules = settings.pieces.rules();
    let spaces = rules.is_some().then(|| replace_matches(" {2,}", " "));
    let source = settings
        .fields
        .get("src_lang")
        .and_then(Value::as_str)
        .unwrap_or("eng_Latn");
    let eos = settings.role_text("eos_token");
    Ok(FolderStages {
        normalizer: rules.into_iter().chain(spaces).collect(),
        pre_tokenizer: vec![metaspace("always", true)],
        decoder: vec![metaspace("always", true)],
        model: bpe(
            vocab,
            settings.pieces.merges_by_id(),
            Some(settings.text("unk_token", "<unk>")),
            false,
        ),
        extra: settings.symbols(),
        template: FolderTemplate::Fixed(match settings.bool("legacy_behaviour", false) {
            true => enclosing(&[], &[&eos, source]),
            false => enclosing(&[source], &[&eos]),
        }),
        listed: None,
    })
}

/// The pieces as BPE merges, which the classes order by ids.
fn pieces_with_merges<'m>(
    settings: &FolderSettings<'m>,
    unk_token: Option<String>,
    byte_fallback: bool,
) -> JsonModel<'m> {
    let pieces = settings.pieces;
    bpe(
        pieces.ids(),
        pieces.merges_by_id(),
        unk_token,
        byte_fallback,
    )
}

fn reformer<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let rules = settings.pieces.rules();
    let spaces = rules.is_some().then(|| replace_matches(" {2,}", " "));
    Ok(FolderStages {
        normalizer: rules.into_iter().chain(spaces).collect(),
        pre_tokenizer: vec![metaspace("always", true)],
        decoder: vec![metaspace("always", true)],
        model: pieces_with_merges(settings, Some(settings.text("unk_token", "<unk>")), false),
        extra: settings.symbols(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn tipsv2<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let lowers = settings
        .bool("do_lower_case", true)
        .then(|| step("Lowercase"));
    Ok(FolderStages {
        normalizer: lowers.into_iter().chain(settings.pieces.rules()).collect(),
        pre_tokenizer: at_white_space("always"),
        decoder: vec![
            metaspace("always", true),
            step("ByteFallback"),
            step("Fuse"),
        ],
        model: pieces_with_merges(settings, None, true),
        extra: settings.symbols(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

/// Whether `add_prefix_space` is left to the class, or asked for.
fn prefixes_space(settings: &FolderSettings<'_>) -> bool {
    let asked = settings
        .fields
        .get("add_prefix_space")
        .and_then(Value::as_bool);
    asked.unwrap_or(true)
}

fn llama<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let prefixes = prefixes_space(settings);
    let scheme = match (prefixes, settings.bool("legacy", false)) {
        (false, _) => "never",
        (true, true) => "always",
        (true, false) => "first",
    };
    Ok(FolderStages {
        normalizer: Vec::new(),
        pre_tokenizer: vec![metaspace(scheme, false)],
        decoder: byte_decoder(prefixes),
        model: pieces_with_merges(settings, None, true),
        extra: settings.symbols(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn code_llama<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let scheme = match prefixes_space(settings) {
        true => "first",
        false => "never",
    };
    let of_class = ["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>", "<FILL_ME>"];
    Ok(FolderStages {
        normalizer: Vec::new(),
        pre_tokenizer: vec![metaspace(scheme, false)],
        decoder: byte_decoder(true),
        model: pieces_with_merges(settings, Some(settings.text("unk_token", "<unk>")), true),
        extra: [settings.symbols(), special(of_class)].concat(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn gemma<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    Ok(FolderStages {
        normalizer: vec![replace_text(" ", "▁")],
        pre_tokenizer: vec![json!({
            "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false
        })],
        decoder: byte_decoder(false),
        model: pieces_with_merges(settings, Some(settings.text("unk_token", "<unk>")), true),
        extra: settings.symbols(),
        template: FolderTemplate::BySettings,
        listed: None,
    })
}

fn siglip2<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    Ok(FolderStages {
        normalizer: vec![step("Lowercase"), replace_text(" ", "▁")],
        ..gemma(settings)?
    })
}
