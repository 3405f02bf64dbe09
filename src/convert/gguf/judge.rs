//! Where llama.cpp gives other ids than SentencePiece.
//!
//! Input: a model. Output: a verdict on the ids that llama.cpp gives for its GGUF file, without BOS and EOS, and with
//! `parse_special` off. Cost: linear in the pieces, plus the encoding of control, byte and unused pieces.
//!
//! # Type `llama`
//! llama.cpp puts a space before the text, replaces spaces by the whitespace mark, and merges as SentencePiece does: the best
//! score first, the leftmost of equal ones. Characters without a piece become bytes. It differs in these points, each of which
//! is a reason:
//!
//! | reason | what llama.cpp does |
//! |---|---|
//! | `normalization_rules` | no charsmap is applied |
//! | `whitespace` | no spaces are removed, the whitespace mark always stands for a space and before a word |
//! | `user_defined_symbol` | symbols are found in the text before normalization, symbol after symbol, the longest first; a space is put before the text between them, and none before a symbol |
//! | `meta_piece` | control, unknown and byte pieces take part in merges |
//! | `unused_piece` | unused pieces are given |
//! | `unknown_character` | without byte pieces it fails |
//! | `piece_text` | texts end at a NUL |
//!
//! That a piece is ever merged is decided by merging its own text: merges within the text of a token are those of that text
//! alone, because a merge depends on nothing outside of its two symbols and their scores.
//!
//! Example: with the pieces `<s` and `>` and the control piece `<s>`, llama.cpp merges the text `<s>` to the control piece.
//!
//! # Type `t5`
//! Scores are added in 64 bits instead of 32, which is always a reason.
//!
//! Source: `src/llama-vocab.cpp` of llama.cpp.

use std::collections::HashMap;

use crate::convert::{Reason, ReasonKind, Verdict};
use crate::model::{Model, ModelType, Piece};
use crate::piece::PieceKind;
use crate::text::{WHITESPACE_MARK_STR, lossy_string};
use crate::tokenizer::Tokenizer;

/// Texts of pieces that llama.cpp takes for control pieces, whatever their type.
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

/// Texts of pieces that llama.cpp can take for user-defined symbols, whatever their type.
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
    let judge = Judge { model };
    if model.model_type() == ModelType::Unigram {
        let explanation =
            "llama.cpp adds the scores of unigram models in 64 bits, SentencePiece in 32 bits";
        verdict.add(Reason::new(ReasonKind::Rounding, explanation));
    } else {
        judge.normalization(&mut verdict);
        judge.merged_pieces(&mut verdict);
    }
    judge.whitespace(&mut verdict);
    judge.symbols(&mut verdict);
    judge.unknown_characters(&mut verdict);
    judge.piece_texts(&mut verdict);
    verdict
}

struct Judge<'m> {
    model: &'m Model,
}

impl<'m> Judge<'m> {
    fn pieces(&self, kind: PieceKind) -> impl Iterator<Item = Piece<'m>> + use<'m> {
        self.model.pieces().filter(move |piece| piece.kind == kind)
    }

    fn normalization(&self, verdict: &mut Verdict) {
        let spec = self.model.normalizer_spec();
        if spec.precompiled_charsmap().is_empty() {
            return;
        }
        let explanation = "llama.cpp applies no normalization rules to BPE models";
        let reason = Reason::new(ReasonKind::NormalizationRules, explanation);
        verdict.add(match self.changed_character() {
            Some(c) => reason.with_example(format!("a{c}a")),
            None => reason,
        });
    }

    /// A character that the rules change and that is no whitespace.
    fn changed_character(&self) -> Option<char> {
        let tokenizer = Tokenizer::new(self.model.clone());
        let plain = tokenizer.normalize("aa");
        let mut characters = ('\u{21}'..='\u{FFFF}').filter(|c| !c.is_whitespace());
        characters.find(|c| {
            let expected = plain.replacen("aa", &format!("a{c}a"), 1);
            tokenizer.normalize(format!("a{c}a")) != expected
        })
    }

    fn whitespace(&self, verdict: &mut Verdict) {
        let spec = self.model.normalizer_spec();
        let is_bpe = self.model.model_type() == ModelType::Bpe;
        let mut add = |explanation: &str, example: &str| {
            verdict.add(Reason::new(ReasonKind::Whitespace, explanation).with_example(example));
        };
        if is_bpe && spec.remove_extra_whitespaces() {
            add(
                "the model removes extra spaces, llama.cpp keeps them",
                " a  b ",
            );
        }
        if !spec.escape_whitespaces() {
            add(
                "the model keeps spaces as they are, llama.cpp replaces them by U+2581",
                "a b",
            );
        }
        if self.model.trainer_spec().treat_whitespace_as_suffix() {
            add(
                "the model puts the space behind words, llama.cpp before them",
                "a",
            );
        }
    }

    fn symbols(&self, verdict: &mut Verdict) {
        let kind = ReasonKind::UserDefinedSymbol;
        let symbols: Vec<Piece<'_>> = self.pieces(PieceKind::UserDefined).collect();
        if let Some(symbol) = symbols.first()
            && self.model.normalizer_spec().add_dummy_prefix()
        {
            let text = lossy_string(symbol.text);
            let explanation = format!(
                "llama.cpp puts a space behind user-defined symbols and none before them; the first of {} is {text:?}",
                symbols.len()
            );
            verdict.add(Reason::new(kind, explanation).with_example(format!("{text}a")));
        }
        if let Some((first, second, joined)) = overlapping(&symbols) {
            let explanation = format!(
                "the symbols {first:?} and {second:?} can overlap; llama.cpp looks for the longest first, SentencePiece for the leftmost"
            );
            verdict.add(Reason::new(kind, explanation).with_example(joined));
        }
        if let Some(symbol) = symbols.iter().find(|symbol| has_space(symbol.text)) {
            let text = lossy_string(symbol.text);
            let explanation = format!(
                "the symbol {text:?} has a space; llama.cpp looks for symbols before it replaces spaces, SentencePiece behind that"
            );
            let example = text.replace(WHITESPACE_MARK_STR, " ");
            verdict.add(Reason::new(kind, explanation).with_example(example));
        }
        self.renamed_pieces(verdict);
    }

    /// Pieces whose kind llama.cpp changes because of their texts.
    fn renamed_pieces(&self, verdict: &mut Verdict) {
        for piece in self.model.pieces() {
            let text = lossy_string(piece.text);
            let is_symbol = piece.kind == PieceKind::UserDefined;
            let is_changed = match is_symbol {
                true => TAKEN_FOR_CONTROL.contains(&&*text),
                false => TAKEN_FOR_SYMBOLS.contains(&&*text),
            };
            if is_changed {
                let what = if is_symbol {
                    "a control piece"
                } else {
                    "a user-defined symbol"
                };
                let explanation = format!("llama.cpp takes {text:?} for {what}");
                let reason = Reason::new(ReasonKind::UserDefinedSymbol, explanation);
                verdict.add(reason.with_example(text));
            }
        }
    }

    /// Pieces that llama.cpp merges to, and SentencePiece does not, or not for good.
    fn merged_pieces(&self, verdict: &mut Verdict) {
        let merging = Merging::new(self.model);
        for piece in self.model.pieces() {
            let (kind, explanation) = match piece.kind {
                PieceKind::Normal | PieceKind::UserDefined => continue,
                PieceKind::Unused => (ReasonKind::UnusedPiece, "llama.cpp gives the unused piece"),
                _ => (ReasonKind::MetaPiece, "llama.cpp merges text to the piece"),
            };
            // llama.cpp gives a NUL another text.
            if let Ok(text) = std::str::from_utf8(piece.text)
                && text != "\0"
                && merging.gives(text)
            {
                let reason = Reason::new(kind, format!("{explanation} {text:?}"));
                verdict.add(reason.with_example(text.replace(WHITESPACE_MARK_STR, " ")));
            }
        }
    }

    fn unknown_characters(&self, verdict: &mut Verdict) {
        let is_bpe = self.model.model_type() == ModelType::Bpe;
        if !is_bpe || self.model.trainer_spec().byte_fallback() {
            return;
        }
        let explanation = "without byte pieces llama.cpp fails for characters without a piece";
        verdict.add(Reason::new(ReasonKind::UnknownCharacter, explanation));
    }

    /// Pieces whose texts llama.cpp reads otherwise.
    fn piece_texts(&self, verdict: &mut Verdict) {
        for piece in self.model.pieces() {
            // A text of one NUL gets a name that no merge gives.
            let has_nul = piece.text.contains(&0) && piece.text != [0];
            if has_nul || std::str::from_utf8(piece.text).is_err() {
                let text = lossy_string(piece.text);
                let explanation = format!(
                    "the piece {} ({text:?}) has a NUL or is not UTF-8",
                    piece.id
                );
                verdict.add(Reason::new(ReasonKind::PieceText, explanation));
            }
        }
    }
}

fn has_space(text: &[u8]) -> bool {
    let mark = WHITESPACE_MARK_STR.as_bytes();
    text.contains(&b' ') || text.windows(mark.len()).any(|window| window == mark)
}

/// Two different symbols of which one ends as the other begins, and their union. Cost: the bytes of all symbols, squared for
/// each, in a hash table.
fn overlapping(symbols: &[Piece<'_>]) -> Option<(String, String, String)> {
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
    for (number, symbol) in symbols.iter().enumerate() {
        for start in 1..symbol.text.len() {
            let end = &symbol.text[start..];
            let others = by_beginning.get(end).into_iter().flatten();
            if let Some(other) = others.copied().find(|other| *other != number) {
                let other = symbols.get(other)?;
                let joined = [&symbol.text[..start], other.text].concat();
                let texts = [symbol.text, other.text, &joined].map(lossy_string);
                let [first, second, joined] = texts;
                return Some((first, second, joined));
            }
        }
    }
    None
}

/// Merging as llama.cpp does it: all pieces take part.
struct Merging<'m> {
    scores: HashMap<&'m [u8], f32>,
}

impl<'m> Merging<'m> {
    fn new(model: &'m Model) -> Self {
        let scores = model.pieces().map(|piece| (piece.text, piece.score));
        Merging {
            scores: scores.collect(),
        }
    }

    /// Whether the text becomes one symbol.
    fn gives(&self, text: &str) -> bool {
        let mut ends: Vec<usize> = text
            .char_indices()
            .map(|(start, _)| start)
            .skip(1)
            .collect();
        ends.push(text.len());
        while ends.len() > 1 {
            let Some(left) = self.best_pair(text.as_bytes(), &ends) else {
                return false;
            };
            ends.remove(left);
        }
        self.scores.contains_key(text.as_bytes())
    }

    /// The number of the left symbol of the best pair.
    fn best_pair(&self, text: &[u8], ends: &[usize]) -> Option<usize> {
        let mut best: Option<(f32, usize)> = None;
        let mut start = 0;
        for (left, pair) in ends.windows(2).enumerate() {
            if let Some(score) = self.scores.get(&text[start..pair[1]])
                && best.is_none_or(|(highest, _)| *score > highest)
            {
                best = Some((*score, left));
            }
            start = pair[0];
        }
        best.map(|(_, left)| left)
    }
}
