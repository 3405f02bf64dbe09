//! Byte-level vocabularies in GGUF files: the vocabularies `gpt2` of llama.cpp.
//!
//! | part of the vocabulary | field |
//! |---|---|
//! | how text is cut | `tokenizer.ggml.pre`, a name that stands for expressions in the source code of llama.cpp (`patterns`) |
//! | tokens | `tokenizer.ggml.tokens`, in printable characters; special tokens as they are; ids without a token are `[PADid]` of the type unused |
//! | special tokens | the types control, and user-defined for those that are found in every text |
//! | merges | `tokenizer.ggml.merges`, with a space between the two parts |
//! | whether pretokens are looked up | nothing: it depends on the name of the pattern |
//! | which tokens begin and end texts | `tokenizer.ggml.bos_token_id`, `.eos_token_id`: those with a usual name |
//!
//! llama.cpp writes the expressions in its own way, and some are approximations. So a file that is
//! written has reasons ([`deviations`]), whereas the ids of a file that is read are those of the
//! tokenizer that its name stands for.

use super::header::{GgufValue, Header};
use super::judge::other_kind;
use super::patterns::{DEFAULT, GgufCuts, GgufPattern, PATTERNS};
use super::write::{FieldWriter, I32, TEXT, U32, push_text};
use super::{MODEL, TOKENS, TYPES};
use crate::byte_bpe::{ByteBpe, ByteBpeParts, SpecialToken, TextForm};
use crate::formats::Converted;
use crate::formats::bytes::{
    ByteFiles, ByteFormatOptions, ByteVocabulary, PretokenRule, PrintableVocabulary, RankedTokens,
    as_it_is_reasons, printable, spelled,
};
use crate::formats::error::{FormatError, Place, syntax};
use crate::formats::tokenizer_json::{Placement, vocabulary};
use crate::formats::{FileFormat, Reason, ReasonKind};
use crate::pattern::Pretokenizer;

const FORMAT: FileFormat = FileFormat::Gguf;
const PRE: &str = "tokenizer.ggml.pre";
const MERGES: &str = "tokenizer.ggml.merges";
/// The name of the vocabularies.
const GPT2: &str = "gpt2";

/// The numbers of the types of tokens.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;

/// The usual names of tokens that begin and end texts.
const BEGINS: [&str; 5] = [
    "<|begin_of_text|>",
    "<s>",
    "[BOS]",
    "<|startoftext|>",
    "<｜begin▁of▁sentence｜>",
];
const ENDS: [&str; 6] = [
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "[EOS]",
    "<|return|>",
    "<｜end▁of▁sentence｜>",
];

/// A byte-level vocabulary as a file without tensors.
///
/// # Errors
/// llama.cpp has no name for the pattern, or two tokens have the same text.
pub(in crate::formats) fn write(tokens: &RankedTokens<'_>) -> Result<ByteFiles, FormatError> {
    let bpe = tokens.bpe;
    let special = tokens.special_by_id();
    let (vocab, more_special) = vocabulary(FORMAT, tokens, Placement::All)?;
    // A special token that can be a pretoken.
    let mut found = more_special.iter().filter_map(|token| {
        let text = spelled(&token.text)?;
        bpe.pretokenizer()
            .may_cut_out(&text)
            .then_some(&*token.text)
    });
    let found = found.next();
    let pattern = pattern_of(bpe, tokens, found.is_some())?;
    let mut texts = Vec::new();
    let mut types = Vec::new();
    let mut count = 0;
    let mut add = |text: &str, number: i32| {
        push_text(&mut texts, text.as_bytes());
        types.extend(number.to_le_bytes());
    };
    for (text, id) in &vocab.0 {
        while count < *id {
            add(&format!("[PAD{count}]"), UNUSED);
            count += 1;
        }
        let at = special.binary_search_by_key(id, |token| token.id);
        let number = match at.ok().and_then(|at| special.get(at)) {
            None => NORMAL,
            Some(token) if token.special => CONTROL,
            Some(_) => USER_DEFINED,
        };
        add(text, number);
        count += 1;
    }
    let mut merges = Vec::new();
    let mut merge_count = 0;
    for (parts, _) in tokens.merges() {
        let [left, right] = parts.map(|part| printable(tokens.bytes(part)));
        push_text(&mut merges, format!("{left} {right}").as_bytes());
        merge_count += 1;
    }
    let mut fields = FieldWriter::default();
    fields.text("general.architecture", GPT2);
    fields.text(MODEL, GPT2);
    fields.text(PRE, pattern.names.first().copied().unwrap_or_default());
    fields.array(TOKENS, TEXT, count as usize, &texts);
    fields.array(TYPES, I32, count as usize, &types);
    fields.array(MERGES, TEXT, merge_count, &merges);
    let id_of = |names: &[&str]| {
        let named = names
            .iter()
            .find_map(|name| special.iter().find(|it| it.text == *name));
        named.map(|token| token.id)
    };
    let end = id_of(&ENDS);
    for (role, id) in [("bos", id_of(&BEGINS).or(end)), ("eos", end)] {
        if let Some(id) = id {
            let name = format!("tokenizer.ggml.{role}_token_id");
            fields.field(&name, U32, &id.to_le_bytes());
        }
    }
    // Some patterns put BOS before the text by default.
    fields.bool("tokenizer.ggml.add_bos_token", false);
    fields.bool("tokenizer.ggml.add_eos_token", false);
    let mut written = ByteFiles::one("vocabulary.gguf", fields.into_file());
    written.add_reasons(deviations(pattern.cuts));
    written.add_reasons(tokens.rule_reason(pattern.rule));
    if let (PretokenRule::LookUpFirst, Some(text)) = (pattern.rule, found) {
        let explanation = format!(
            "llama.cpp finds the special token {text:?} as a pretoken, although it is not allowed"
        );
        written.add_reasons([Reason::new(ReasonKind::MetaPiece, explanation)]);
    }
    written.add_reasons(text_reasons(bpe));
    Ok(written)
}

/// The pattern of a vocabulary. `has_special_pretokens` says whether a special token can be a pretoken.
fn pattern_of(
    bpe: &ByteBpe,
    tokens: &RankedTokens<'_>,
    has_special_pretokens: bool,
) -> Result<&'static GgufPattern, FormatError> {
    let pretokenizer = bpe.pretokenizer();
    let mut patterns: Vec<_> = PATTERNS
        .iter()
        .filter(|it| it.cuts.are_those_of(pretokenizer))
        .collect();
    // Of two patterns that differ in the rule for pretokens, the one that fits.
    patterns.sort_by_key(|it| {
        let finds_special = it.rule == PretokenRule::LookUpFirst && has_special_pretokens;
        u8::from(tokens.rule_reason(it.rule).is_some()) + u8::from(finds_special)
    });
    patterns.first().copied().ok_or_else(|| {
        let what = "the pattern, for which llama.cpp has no name";
        let remedy = "it has names for the patterns of GPT-2, GPT-4o, Llama 3, Qwen 2, tekken, Kimi K2, DeepSeek V3 and DeepSeek Coder; write a tokenizer.json";
        FormatError::no_form(FORMAT, what, remedy)
    })
}

/// Where llama.cpp cuts text in another way than the pattern says. Whether ids differ then depends on
/// the tokens, so that there is no example.
fn deviations(cuts: GgufCuts) -> impl Iterator<Item = Reason> {
    let contraction = "llama.cpp takes an apostrophe with U+017F for no contraction";
    let marks = "llama.cpp cuts words with combining marks in another way, as in nearly every line of Hindi or Thai";
    let explanations = match cuts {
        GgufCuts::Named("llama3" | "qwen2") => vec![contraction],
        GgufCuts::Named("o200k") => vec![contraction, marks],
        GgufCuts::Named("tekken") => vec![marks],
        GgufCuts::Named("kimi") => vec![contraction, marks],
        _ => Vec::new(),
    };
    let version =
        "llama.cpp has no letters, marks and digits that are new in Unicode 16, such as U+10D40";
    let explanations = std::iter::once(version).chain(explanations);
    explanations.map(|explanation| Reason::new(ReasonKind::Pattern, explanation))
}

/// Reasons of normalization and of added tokens. Those that are found in every text are found by
/// llama.cpp, too.
fn text_reasons(bpe: &ByteBpe) -> Vec<Reason> {
    let mut reasons = as_it_is_reasons("llama.cpp", bpe, |token: &SpecialToken| {
        token.lstrip
            || token.rstrip
            || token.single_word
            || token.normalized && bpe.text_form() == TextForm::Nfc
    });
    let special = bpe.special_tokens().iter();
    reasons.extend(special.filter_map(|token| other_kind(&token.text, !token.special)));
    reasons
}

/// The vocabulary in a header; `None` if it is not byte-level.
///
/// # Errors
/// A field is missing or malformed, or the pattern is not known.
pub(super) fn read(
    header: &Header,
    options: &ByteFormatOptions,
) -> Result<Option<Converted<ByteVocabulary>>, FormatError> {
    if !matches!(header.get(MODEL), Some(GgufValue::Text(name)) if name == GPT2.as_bytes()) {
        return Ok(None);
    }
    let typed = typed_tokens(header)?;
    let special = typed
        .iter()
        .filter(|(_, _, number)| matches!(*number, CONTROL | USER_DEFINED | UNKNOWN));
    let special = special.map(|(text, id, number)| SpecialToken {
        special: *number != USER_DEFINED,
        ..SpecialToken::new(*text, *id)
    });
    let merges = texts_of(header, MERGES)?;
    let pairs = merges.into_iter().enumerate().map(|(index, merge)| {
        let parts = merge.split_once(' ');
        match parts.filter(|(left, right)| !left.is_empty() && !right.contains(' ')) {
            Some((left, right)) => Ok([left, right]),
            None => Err(syntax(
                FORMAT,
                Place::entry(MERGES, index),
                "a merge is two tokens with a space between",
            )),
        }
    });
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let (pretokenizer, rule) = cuts_of(header, options)?;
    let parts = ByteBpeParts {
        special_tokens: special.collect(),
        whole_pretokens_first: rule == Some(PretokenRule::LookUpFirst),
        ..ByteBpeParts::new(pretokenizer)
    };
    let vocab = typed.iter().map(|(text, id, _)| (*text, *id));
    let mut vocabulary = PrintableVocabulary::new(FORMAT, TOKENS, vocab)?;
    vocabulary.add_merges(pairs.into_iter(), |index| Place::entry(MERGES, index))?;
    ByteVocabulary::of_printable(vocabulary, parts).map(Some)
}

/// The texts of a field that must be there.
fn texts_of<'h>(header: &'h Header, field: &str) -> Result<Vec<&'h str>, FormatError> {
    let invalid = |problem| syntax(FORMAT, Place::field(field), problem);
    match header.get(field) {
        Some(GgufValue::Texts(texts)) => texts
            .iter()
            .map(|text| str::from_utf8(text).map_err(|_| invalid("it is not UTF-8")))
            .collect(),
        _ => Err(invalid("it is missing or no list of texts")),
    }
}

/// The tokens with their ids and the numbers of their types, without the unused ones.
fn typed_tokens(header: &Header) -> Result<Vec<(&str, u32, i32)>, FormatError> {
    let texts = texts_of(header, TOKENS)?;
    let types = match header.get(TYPES) {
        Some(GgufValue::Integers(types)) if types.len() == texts.len() => &types[..],
        None => &[][..],
        Some(_) => {
            let problem = "it is no list with a number for each token";
            return Err(syntax(FORMAT, Place::field(TYPES), problem));
        }
    };
    let type_of = |at: usize| types.get(at).copied().unwrap_or(NORMAL);
    let typed = texts.into_iter().zip(0..).enumerate();
    let typed = typed.map(|(at, (text, id))| (text, id, type_of(at)));
    Ok(typed
        .filter(|(text, _, number)| *number != UNUSED && !text.is_empty())
        .collect())
}

/// How text is cut, by the name of the pattern or by the options, and the rule of a known name.
fn cuts_of(
    header: &Header,
    options: &ByteFormatOptions,
) -> Result<(Pretokenizer, Option<PretokenRule>), FormatError> {
    options.refuse_bert(FORMAT)?;
    let name = match header.get(PRE) {
        Some(GgufValue::Text(name)) => str::from_utf8(name).unwrap_or_default(),
        _ => DEFAULT,
    };
    let known = PATTERNS.iter().find(|it| it.names.contains(&name));
    // llama.cpp warns that its default is a guess: who knows better may say so.
    let known = known.filter(|_| name != DEFAULT || options.pretokenizer.is_none());
    let known_cuts = known.and_then(|it| it.cuts.pretokenizer());
    let pretokenizer = match (known_cuts, &options.pretokenizer) {
        (Some(pretokenizer), _) => {
            options.refuse_pattern(FORMAT)?;
            pretokenizer
        }
        (None, Some(pretokenizer)) => pretokenizer.clone(),
        (None, None) => {
            return Err(FormatError::UnknownPattern {
                format: FORMAT,
                place: Place::field(PRE),
                name: name.to_owned(),
            });
        }
    };
    Ok((pretokenizer, known.map(|it| it.rule)))
}
