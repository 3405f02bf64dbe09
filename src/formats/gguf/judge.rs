//! Where the ids of llama.cpp differ from those of SentencePiece.
//!
//! The verdict is on the ids that llama.cpp gives for the GGUF file of a model, without BOS and
//! EOS, and with `parse_special` off. Cost: linear in the pieces, plus encoding the texts of
//! control, unknown, byte and unused pieces, and quadratic in the length of each user-defined
//! symbol.
//!
//! # Type `llama`
//! llama.cpp puts a space before the text, replaces spaces by the whitespace mark, and merges as
//! SentencePiece does: the best score first, the leftmost among equal scores. Characters without a
//! piece become bytes. It differs in these points, each of which is a reason:
//!
//! | reason | what llama.cpp does |
//! |---|---|
//! | `normalization_rules` | no charsmap is applied |
//! | `whitespace` | no spaces are removed; spaces always become whitespace marks; the dummy prefix is always before the text |
//! | `user_defined_symbol` | they are found in the text before normalization, one symbol at a time, the longest first; a space is put before the text between them, but not before a symbol |
//! | `meta_piece` | control, unknown and byte pieces take part in merges |
//! | `unused_piece` | unused pieces are given |
//! | `unknown_character` | without byte pieces it fails |
//! | `piece_text` | texts end at a NUL |
//!
//! Whether any text is merged to a piece is decided by merging the piece's own text: the merges
//! within the text of a token are those of that text alone, because a merge depends only on its two
//! symbols and the score of the piece that it gives.
//!
//! Example: with the pieces `<s` and `>` and the control piece `<s>`, llama.cpp merges the text
//! `<s>` to the control piece.
//!
//! # Type `t5`
//! Scores are added in 64 bits instead of 32, which is always a reason. There is no byte fallback, and
//! text that begins like a user-defined symbol with a byte outside ASCII is not normalized.
//!
//! Source: `src/llama-vocab.cpp` of llama.cpp.

mod merging;

use std::collections::HashMap;

use self::merging::Merging;
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::formats::{Reason, ReasonKind, Verdict};
use crate::model::{Model, ModelType, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::Tokenizer;

/// Texts of pieces that llama.cpp treats as control pieces, whatever their type.
const TAKEN_FOR_CONTROL: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
    "<|eom_id|>",
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "[PAD]",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<fim_repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "</s>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "[e~[",
];

/// Texts of pieces that llama.cpp can treat as user-defined symbols, whatever their type.
const TAKEN_FOR_SYMBOLS: &[&str] = &[
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|constrain|>",
    "<|end|>",
];

/// The verdict on a model of type BPE or unigram.
pub(super) fn verdict(model: &Model) -> Verdict {
    let mut verdict = Verdict::default();
    let is_bpe = model.model_type() == ModelType::Bpe;
    let spec = model.normalizer_spec();
    if !is_bpe {
        verdict.add(Reason::new(
            ReasonKind::Rounding,
            "llama.cpp adds the scores of unigram models in 64 bits, SentencePiece in 32 bits",
        ));
        if model.trainer_spec().byte_fallback() {
            let explanation = "llama.cpp has no byte fallback in unigram models, and gives the unknown piece instead";
            let mut reason = Reason::new(ReasonKind::UnknownCharacter, explanation);
            reason.example = text_of_bytes(model);
            verdict.add(reason);
        }
    } else {
        if !spec.precompiled_charsmap().is_empty() {
            let explanation = "llama.cpp applies no normalization rules to BPE models";
            let mut reason = Reason::new(ReasonKind::NormalizationRules, explanation);
            reason.example = changed_text(model, |_| true);
            verdict.add(reason);
        }
        // Pieces that llama.cpp merges text to and SentencePiece does not, or splits again.
        let merging = Merging::new(model);
        for reason in model
            .pieces()
            .filter_map(|piece| merging.wrong_merge(&piece))
        {
            verdict.add(reason);
        }
    }
    let symbols: Vec<Piece<'_>> = model.pieces().filter(is_symbol).collect();
    let mut reasons = whitespace_reasons(model);
    reasons.extend(symbol_reasons(model, &symbols));
    verdict.add_all(reasons);
    verdict.add_all(
        model
            .pieces()
            .filter_map(|piece| other_kind(&lossy_string(piece.text), is_symbol(&piece))),
    );
    if is_bpe && !model.trainer_spec().byte_fallback() {
        verdict.add(Reason::new(
            ReasonKind::UnknownCharacter,
            "without byte pieces llama.cpp fails for characters without a piece",
        ));
    }
    for Piece { id, text, .. } in model.pieces() {
        // A text of one NUL gets another text that no merge gives.
        let has_nul = text.contains(&0) && text != [0];
        if has_nul || std::str::from_utf8(text).is_err() {
            let text = lossy_string(text);
            let explanation = format!("the piece {id} ({text:?}) has a NUL or is not UTF-8");
            verdict.add(Reason::new(ReasonKind::PieceText, explanation));
        }
    }
    verdict
}

/// Where llama.cpp adds, keeps or replaces other spaces.
fn whitespace_reasons(model: &Model) -> Vec<Reason> {
    let is_bpe = model.model_type() == ModelType::Bpe;
    let spec = model.normalizer_spec();
    let whitespace = [
        (
            is_bpe && spec.remove_extra_whitespaces(),
            "the model removes extra spaces, llama.cpp keeps them",
            " a  b ",
        ),
        (
            !is_bpe && keeps_marks(model),
            "the model removes U+2581 at the end of a text, llama.cpp keeps it",
            "a\u{2581}",
        ),
        (
            !spec.escape_whitespaces(),
            "the model keeps spaces as they are, llama.cpp replaces them by U+2581",
            "a b",
        ),
        (
            model.trainer_spec().treat_whitespace_as_suffix(),
            "the model puts the space after words, llama.cpp before them",
            "a",
        ),
    ];
    let whitespace = whitespace.into_iter().filter(|(differs, ..)| *differs);
    whitespace
        .map(|(_, explanation, example)| {
            Reason::new(ReasonKind::Whitespace, explanation).with_example(example)
        })
        .collect()
}

/// Whether U+2581 in a text is removed at its end alone: rules can make a space of it.
fn keeps_marks(model: &Model) -> bool {
    let spec = model.normalizer_spec();
    if !spec.remove_extra_whitespaces() || !spec.escape_whitespaces() {
        return false;
    }
    let tokenizer = Tokenizer::new(model.clone());
    tokenizer.normalize("\u{2581}a") != tokenizer.normalize("a")
}

/// Where llama.cpp finds user-defined symbols that SentencePiece does not find, or the reverse.
fn symbol_reasons(model: &Model, symbols: &[Piece<'_>]) -> Vec<Reason> {
    let spec = model.normalizer_spec();
    let mut reasons = Vec::new();
    if let Some(first) = symbols.first().filter(|_| spec.add_dummy_prefix()) {
        let text = lossy_string(first.text);
        let explanation = format!(
            "llama.cpp puts a space after user-defined symbols and none before them; the first of {} is {text:?}",
            symbols.len()
        );
        reasons.push(symbol_reason(explanation).with_example(format!("{text}a")));
    }
    reasons.extend(overlap_reason(model, symbols));
    if model.model_type() == ModelType::Unigram {
        let mut others = symbols
            .iter()
            .filter(|symbol| symbol.text.first().is_some_and(|byte| !byte.is_ascii()));
        let unnormalized = others.find_map(|symbol| {
            let begins_alike =
                |c: char| c.encode_utf8(&mut [0; 4]).as_bytes().first() == symbol.text.first();
            Some((symbol, changed_text(model, begins_alike)?))
        });
        if let Some((symbol, example)) = unnormalized {
            let text = lossy_string(symbol.text);
            let explanation = format!(
                "llama.cpp does not normalize text that begins with the first byte of a user-defined symbol, such as {text:?}"
            );
            reasons.push(symbol_reason(explanation).with_example(example));
        }
    }
    let mut spaced = symbols.iter().filter(|_| spec.escape_whitespaces());
    if let Some(symbol) = spaced.find(|symbol| has_space(symbol.text)) {
        let text = lossy_string(symbol.text);
        let rule = match text.contains(' ') {
            true => "llama.cpp finds it in text with spaces, SentencePiece never",
            false => {
                "llama.cpp finds it in text with spaces only, SentencePiece also in text with U+2581"
            }
        };
        let explanation = format!("the symbol {text:?} has a space; {rule}");
        reasons.push(symbol_reason(explanation).with_example(text));
    }
    reasons
}

/// A text with a character without a piece, which becomes bytes.
fn text_of_bytes(model: &Model) -> Option<String> {
    let tokenizer = Tokenizer::new(model.clone());
    let is_byte = |id: &PieceId| {
        model
            .piece(*id)
            .is_some_and(|piece| piece.kind == PieceKind::Byte)
    };
    let mut texts = ('\u{21}'..='\u{FFFF}').map(String::from);
    texts.find(|text| tokenizer.encode(text).iter().any(is_byte))
}

/// A text with a non-whitespace character of some that the rules of a model change.
fn changed_text(model: &Model, is_one: impl Fn(char) -> bool) -> Option<String> {
    let tokenizer = Tokenizer::new(model.clone());
    let plain = tokenizer.normalize("aa");
    let characters = ('\u{21}'..='\u{FFFF}').filter(|c| !c.is_whitespace() && is_one(*c));
    let mut texts = characters.map(|c| format!("a{c}a"));
    texts.find(|text| tokenizer.normalize(text) != plain.replacen("aa", text, 1))
}

fn is_symbol(piece: &Piece<'_>) -> bool {
    piece.kind == PieceKind::UserDefined
}

fn symbol_reason(explanation: String) -> Reason {
    Reason::new(ReasonKind::UserDefinedSymbol, explanation)
}

fn has_space(text: &[u8]) -> bool {
    text.contains(&b' ') || memchr::memmem::find(text, WHITESPACE_MARK_STR.as_bytes()).is_some()
}

/// The text with spaces for whitespace marks.
fn with_spaces(text: &str) -> String {
    text.replace(WHITESPACE_MARK_STR, " ")
}

/// The reason if llama.cpp gives a token another kind because of its text.
pub(super) fn other_kind(text: &str, is_symbol: bool) -> Option<Reason> {
    let (texts, kind) = match is_symbol {
        true => (
            TAKEN_FOR_CONTROL,
            "a control piece, which it does not find in text",
        ),
        false => (
            TAKEN_FOR_SYMBOLS,
            "a user-defined symbol, which it finds in every text",
        ),
    };
    texts
        .contains(&text)
        .then(|| symbol_reason(format!("llama.cpp takes {text:?} for {kind}")).with_example(text))
}

/// Two different symbols such that the first one ends with a prefix of the second one.
struct SymbolOverlap<'m> {
    first: &'m [u8],
    second: &'m [u8],
    /// Where the second one begins in the first one.
    start: usize,
}

/// The reason if two symbols can overlap. The example is a text that is cut in other places, if one of two
/// symbols is.
fn overlap_reason(model: &Model, symbols: &[Piece<'_>]) -> Option<Reason> {
    let overlaps = SymbolOverlap::some(symbols);
    let first = overlaps.first()?;
    let tokenizer = Tokenizer::new(model.clone());
    let mut longest_first: Vec<&[u8]> = symbols.iter().map(|symbol| symbol.text).collect();
    longest_first.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let ids = |parts: Vec<&[u8]>| {
        parts
            .iter()
            .flat_map(|it| tokenizer.encode(it))
            .collect::<Vec<_>>()
    };
    let differs = |overlap: &&SymbolOverlap<'_>| {
        let text = overlap.text();
        let is_within =
            |symbol: &&&[u8]| !symbol.is_empty() && memchr::memmem::find(&text, symbol).is_some();
        let symbols: Vec<&[u8]> = longest_first.iter().filter(is_within).copied().collect();
        let leftmost = cut_leftmost(&text, &symbols);
        let longest = cut_longest_first(&text, &symbols);
        leftmost != longest && ids(leftmost) != ids(longest)
    };
    let differing = overlaps.iter().find(differs);
    let shown = differing.unwrap_or(first);
    let first = lossy_string(shown.first);
    let second = lossy_string(shown.second);
    let mut reason = symbol_reason(format!(
        "the symbols {first:?} and {second:?} can overlap; llama.cpp looks for the longest first, SentencePiece for the leftmost"
    ));
    reason.example = differing.map(|overlap| lossy_string(&overlap.text()));
    Some(reason)
}

/// The parts of a text that SentencePiece makes: at each place the longest symbol.
fn cut_leftmost<'t>(text: &'t [u8], longest_first: &[&[u8]]) -> Vec<&'t [u8]> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < text.len() {
        match longest_first
            .iter()
            .find(|symbol| text[at..].starts_with(symbol))
        {
            Some(symbol) => {
                parts.extend([&text[begin..at], &text[at..at + symbol.len()]]);
                at += symbol.len();
                begin = at;
            }
            None => at += 1,
        }
    }
    parts.push(&text[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The parts that llama.cpp makes: one symbol after the other cuts what the ones before have left.
fn cut_longest_first<'t>(text: &'t [u8], longest_first: &[&[u8]]) -> Vec<&'t [u8]> {
    // With whether they are symbols.
    let mut parts = vec![(text, false)];
    for symbol in longest_first {
        let before = std::mem::take(&mut parts);
        for (part, is_symbol) in before {
            let mut begin = 0;
            for at in memchr::memmem::find_iter(part, symbol).filter(|_| !is_symbol) {
                parts.push((&part[begin..at], false));
                begin = at + symbol.len();
                parts.push((&part[at..begin], true));
            }
            parts.push((&part[begin..], is_symbol));
        }
    }
    let parts = parts.into_iter().map(|(part, _)| part);
    parts.filter(|part| !part.is_empty()).collect()
}

/// How many overlaps are tried for an example.
const MAX_OVERLAPS: usize = 200;

impl<'m> SymbolOverlap<'m> {
    /// Pairs of symbols that can overlap. All prefixes and suffixes are hashed, which is quadratic in
    /// the length of each symbol.
    fn some(symbols: &[Piece<'m>]) -> Vec<Self> {
        let by_beginning = by_beginning(symbols);
        let mut found = Vec::new();
        for (number, symbol) in symbols.iter().enumerate() {
            for start in 1..symbol.text.len() {
                let others = by_beginning.get(&symbol.text[start..]);
                let others = others.into_iter().flatten();
                let others = others.filter(|other| **other != number);
                found.extend(others.map(|other| Self {
                    first: symbol.text,
                    second: symbols[*other].text,
                    start,
                }));
                if found.len() >= MAX_OVERLAPS {
                    return found;
                }
            }
        }
        found
    }

    /// The text in which they do.
    fn text(&self) -> Vec<u8> {
        [&self.first[..self.start], self.second].concat()
    }
}

/// For each proper prefix of a symbol, the indexes of one or two symbols that have it.
fn by_beginning<'m>(symbols: &[Piece<'m>]) -> HashMap<&'m [u8], Vec<usize>> {
    let mut by_beginning: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (number, symbol) in symbols.iter().enumerate() {
        for length in 1..symbol.text.len() {
            let beginning = by_beginning.entry(&symbol.text[..length]);
            let numbers = beginning.or_default();
            // Two are enough: one of them is another symbol.
            if numbers.len() < 2 {
                numbers.push(number);
            }
        }
    }
    by_beginning
}
