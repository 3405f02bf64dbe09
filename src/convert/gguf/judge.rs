//! Where the ids of llama.cpp differ from those of SentencePiece.
//!
//! Input: a model. Output: a verdict on the ids that llama.cpp gives for its GGUF file, without BOS
//! and EOS, and with `parse_special` off. Cost: linear in the pieces, plus encoding the texts of
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
//! Scores are added in 64 bits instead of 32, which is always a reason.
//!
//! Source: `src/llama-vocab.cpp` of llama.cpp.

mod merging;

use std::collections::HashMap;

use self::merging::Merging;
use crate::convert::{Reason, ReasonKind, Verdict};
use crate::model::{Model, ModelType, Piece};
use crate::piece::PieceKind;
use crate::text::{WHITESPACE_MARK_STR, lossy_string};
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
    let verdict = Verdict::default();
    let mut judge = Judge { model, verdict };
    if model.model_type() == ModelType::Unigram {
        judge.rounding();
    } else {
        judge.normalization();
        judge.merged_pieces();
    }
    judge.whitespace();
    judge.symbols();
    judge.renamed_pieces();
    judge.unknown_characters();
    judge.piece_texts();
    judge.verdict
}

struct Judge<'m> {
    model: &'m Model,
    verdict: Verdict,
}

impl Judge<'_> {
    fn rounding(&mut self) {
        self.add(
            ReasonKind::Rounding,
            "llama.cpp adds the scores of unigram models in 64 bits, SentencePiece in 32 bits",
        );
    }

    fn add(&mut self, kind: ReasonKind, explanation: &str) {
        self.verdict.add(Reason::new(kind, explanation));
    }

    fn normalization(&mut self) {
        let charsmap = self.model.normalizer_spec().precompiled_charsmap();
        if charsmap.is_empty() {
            return;
        }
        let explanation = "llama.cpp applies no normalization rules to BPE models";
        let reason = Reason::new(ReasonKind::NormalizationRules, explanation);
        let example = self.changed_text();
        self.verdict.add(Reason { example, ..reason });
    }

    /// A text with a non-whitespace character that the rules change.
    fn changed_text(&self) -> Option<String> {
        let tokenizer = Tokenizer::new(self.model.clone());
        let plain = tokenizer.normalize("aa");
        let characters = ('\u{21}'..='\u{FFFF}').filter(|c| !c.is_whitespace());
        let mut texts = characters.map(|c| format!("a{c}a"));
        texts.find(|text| tokenizer.normalize(text) != plain.replacen("aa", text, 1))
    }

    /// Adds the pieces that llama.cpp merges text to and SentencePiece does not, or splits again.
    fn merged_pieces(&mut self) {
        let merging = Merging::new(self.model);
        let pieces = self.model.pieces();
        self.add_all(pieces.filter_map(|piece| merging.wrong_merge(&piece)));
    }

    fn add_all(&mut self, reasons: impl Iterator<Item = Reason>) {
        reasons.for_each(|reason| self.verdict.add(reason));
    }

    fn whitespace(&mut self) {
        let spec = self.model.normalizer_spec();
        if self.is_bpe() && spec.remove_extra_whitespaces() {
            let explanation = "the model removes extra spaces, llama.cpp keeps them";
            self.add_whitespace(explanation, " a  b ");
        }
        if !spec.escape_whitespaces() {
            let explanation =
                "the model keeps spaces as they are, llama.cpp replaces them by U+2581";
            self.add_whitespace(explanation, "a b");
        }
        if self.model.trainer_spec().treat_whitespace_as_suffix() {
            let explanation = "the model puts the space behind words, llama.cpp before them";
            self.add_whitespace(explanation, "a");
        }
    }

    fn add_whitespace(&mut self, explanation: &str, example: &str) {
        let reason = Reason::new(ReasonKind::Whitespace, explanation);
        self.verdict.add(reason.with_example(example));
    }

    fn symbols(&mut self) {
        let pieces = self.model.pieces();
        let symbols: Vec<Piece<'_>> = pieces.filter(is_symbol).collect();
        let reasons = [
            self.space_at_symbol(&symbols),
            SymbolOverlap::find(&symbols).map(|overlap| overlap.reason()),
            self.symbol_with_space(&symbols),
        ];
        self.add_all(reasons.into_iter().flatten());
    }

    fn space_at_symbol(&self, symbols: &[Piece<'_>]) -> Option<Reason> {
        let symbol = symbols.first()?;
        if !self.model.normalizer_spec().add_dummy_prefix() {
            return None;
        }
        let text = lossy_string(symbol.text);
        let explanation = format!(
            "llama.cpp puts a space behind user-defined symbols and none before them; the first of {} is {text:?}",
            symbols.len()
        );
        Some(symbol_reason(explanation).with_example(format!("{text}a")))
    }

    fn symbol_with_space(&self, symbols: &[Piece<'_>]) -> Option<Reason> {
        if !self.model.normalizer_spec().escape_whitespaces() {
            return None;
        }
        let symbol = symbols.iter().find(|symbol| has_space(symbol.text))?;
        let text = lossy_string(symbol.text);
        let rule = match text.contains(' ') {
            true => "llama.cpp finds it in text with spaces, SentencePiece never",
            false => {
                "llama.cpp finds it in text with spaces only, SentencePiece also in text with U+2581"
            }
        };
        let explanation = format!("the symbol {text:?} has a space; {rule}");
        Some(symbol_reason(explanation).with_example(text))
    }

    /// Adds the pieces whose kind llama.cpp changes because of their texts.
    fn renamed_pieces(&mut self) {
        let pieces = self.model.pieces();
        self.add_all(pieces.filter_map(|piece| renaming(&piece)));
    }

    fn unknown_characters(&mut self) {
        if !self.is_bpe() || self.model.trainer_spec().byte_fallback() {
            return;
        }
        let explanation = "without byte pieces llama.cpp fails for characters without a piece";
        self.add(ReasonKind::UnknownCharacter, explanation);
    }

    fn is_bpe(&self) -> bool {
        self.model.model_type() == ModelType::Bpe
    }

    /// Adds the pieces whose texts llama.cpp reads differently.
    fn piece_texts(&mut self) {
        let pieces = self.model.pieces();
        let pieces = pieces.filter(|piece| is_read_otherwise(piece.text));
        self.add_all(pieces.map(|piece| text_reason(&piece)));
    }
}

/// Whether llama.cpp reads the text of a piece differently.
fn is_read_otherwise(text: &[u8]) -> bool {
    // A text of one NUL gets another text that no merge gives.
    let has_nul = text.contains(&0) && text != [0];
    has_nul || std::str::from_utf8(text).is_err()
}

fn text_reason(piece: &Piece<'_>) -> Reason {
    let id = piece.id;
    let text = lossy_string(piece.text);
    let explanation = format!("the piece {id} ({text:?}) has a NUL or is not UTF-8");
    Reason::new(ReasonKind::PieceText, explanation)
}

fn is_symbol(piece: &Piece<'_>) -> bool {
    piece.kind == PieceKind::UserDefined
}

fn symbol_reason(explanation: String) -> Reason {
    Reason::new(ReasonKind::UserDefinedSymbol, explanation)
}

fn has_space(text: &[u8]) -> bool {
    let mark = WHITESPACE_MARK_STR.as_bytes();
    text.contains(&b' ') || text.windows(mark.len()).any(|window| window == mark)
}

/// The text with spaces for whitespace marks.
fn with_spaces(text: &str) -> String {
    text.replace(WHITESPACE_MARK_STR, " ")
}

/// The reason if llama.cpp treats a piece as one of another kind.
fn renaming(piece: &Piece<'_>) -> Option<Reason> {
    let kind = other_kind(piece)?;
    let text = lossy_string(piece.text);
    let reason = symbol_reason(format!("llama.cpp takes {text:?} for {kind}"));
    Some(reason.with_example(text))
}

/// The kind that llama.cpp gives a piece because of its text, if it is another one.
fn other_kind(piece: &Piece<'_>) -> Option<&'static str> {
    let text = lossy_string(piece.text);
    let (texts, kind) = match is_symbol(piece) {
        true => (TAKEN_FOR_CONTROL, "a control piece"),
        false => (TAKEN_FOR_SYMBOLS, "a user-defined symbol"),
    };
    texts.contains(&text.as_str()).then_some(kind)
}

/// Two different symbols such that the first one ends with a prefix of the second one.
struct SymbolOverlap<'m> {
    first: &'m [u8],
    second: &'m [u8],
    /// Where the second one begins in the first one.
    start: usize,
}

impl<'m> SymbolOverlap<'m> {
    /// Two symbols that can overlap. Cost: hashes all prefixes and suffixes, so quadratic in the
    /// length of each symbol.
    fn find(symbols: &[Piece<'m>]) -> Option<Self> {
        let by_beginning = by_beginning(symbols);
        for (number, symbol) in symbols.iter().enumerate() {
            for start in 1..symbol.text.len() {
                let others = by_beginning.get(&symbol.text[start..]);
                let mut others = others.into_iter().flatten();
                if let Some(other) = others.find(|other| **other != number) {
                    return Some(Self {
                        first: symbol.text,
                        second: symbols.get(*other)?.text,
                        start,
                    });
                }
            }
        }
        None
    }

    fn reason(&self) -> Reason {
        let first = lossy_string(self.first);
        let second = lossy_string(self.second);
        let explanation = format!(
            "the symbols {first:?} and {second:?} can overlap; llama.cpp looks for the longest first, SentencePiece for the leftmost"
        );
        symbol_reason(explanation).with_example(self.joined())
    }

    /// The text of both.
    fn joined(&self) -> String {
        let start = &self.first[..self.start];
        lossy_string(&[start, self.second].concat())
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
