//! Tokens of pipelines that no text gives, where that can be said.
//!
//! A *text* is well-formed UTF-8. A token is decided by these steps, in this order:
//!
//! 1. *Witness.* A text made of the token gives it: its text alone, spelled as the steps before the
//!    model read it, or between other characters; of bytes that are a part of characters, with the bytes
//!    that complete these.
//! 2. *Proof.* Its bytes are no part of UTF-8, or no part that the model gets has the token's text, because a step gives no such
//!    character, cuts it in every text, or an added token is found in it; see
//!    `pipeline/part_texts.rs`. Or the model gives other tokens for it:
//!    * BPE: what is merged in a span does not depend on the text around it as long as no merge
//!      crosses the ends of the span, so a token that is not what its own text is merged to is never
//!      given. This holds if characters stand for themselves, without a prefix or suffix that depends
//!      on their place, and if nothing is merged with tokens of unknown text or bytes.
//!    * Unigram: the best path through a span does not depend on the text around it, but for the
//!      rounding of sums ([`UnreachablePiece::is_close`]).
//!    * WordPiece: parts of more characters than the model allows are unknown.
//!
//! What neither decides is *undecided*. For example, `Split` with an expression can cut a token or not,
//! depending on the text around it.
//!
//! # Cost
//! Most tokens are their own witness. The others take some texts each, and the first proof a second or
//! two.

use super::byte_level::Fragment;
use super::pieces_for_text;
use super::reachability::{UnreachablePiece, UnreachableReason};
use super::scores::ScoreSummary;
use super::word_pieces::WordPieceCounts;
use crate::base::byte_chars::spelled;
use crate::base::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::{PartEncoder, PartTexts, Pipeline, PipelineModel};
use crate::tokenizer::{Encoder, Tokenizer};

/// What is put before a token in step 1, and after it.
const BEFORE: [&str; 14] = [
    "", "a", " ", "a ", "1", ".", "x", "E", "s", "\n", "\u{e9}", "\u{43e}", "\u{4e2d}", "\u{3042}",
];
const AFTER: [&str; 6] = ["", "a", " a", "1", ".", "\u{4e2d}"];

/// The texts that are tried for a token of bytes that are a part of characters.
const MAX_COMPLETIONS: usize = 16;

/// What only pipelines have that are neither byte-level BPE nor a SentencePiece model.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PipelineInspection {
    /// Scores of normal pieces: range, ties, order; `None` for models without scores.
    pub scores: Option<ScoreSummary>,
    /// What the pieces are; `None` for other models than WordPiece.
    pub word_pieces: Option<WordPieceCounts>,
    /// Tokens for which neither a text that gives them nor a proof that there is none was found, by
    /// id.
    pub undecided: Vec<PieceId>,
}

/// Inspects a pipeline. Returns also the tokens that no text gives, by id.
pub(super) fn inspect_pipeline(
    tokenizer: &Tokenizer,
    pipeline: &Pipeline,
) -> (PipelineInspection, Vec<UnreachablePiece>) {
    let mut inspector = PipelineInspector {
        pipeline,
        encoder: tokenizer.encoder(),
        model: PartEncoder::new(pipeline),
        parts: PartTexts::new(pipeline),
        merges_are_local: merges_are_local(pipeline),
    };
    let mut found = PipelineInspection {
        scores: matches!(pipeline.model(), PipelineModel::Unigram(_))
            .then(|| ScoreSummary::new(tokenizer)),
        word_pieces: WordPieceCounts::new(pipeline),
        undecided: Vec::new(),
    };
    let mut unreachable = Vec::new();
    for piece in pieces_for_text(tokenizer) {
        let spelling = pipeline.text_of(piece.id.get()).unwrap_or_default();
        // Only the tokens of byte-level vocabularies are byte strings.
        let spelling = std::str::from_utf8(spelling).unwrap_or_default();
        if inspector.has_witness(piece.id, spelling) {
            continue;
        }
        // Added tokens are not given by the model, of which the proofs are.
        let is_of_model = piece.kind == PieceKind::Normal;
        let proof = is_of_model.then(|| inspector.proof(piece.id, spelling));
        match proof.flatten() {
            Some((reason, winner)) => unreachable.push(UnreachablePiece {
                id: piece.id,
                winner,
                reason,
                is_close: reason == UnreachableReason::OthersWin
                    && inspector.model.is_close(piece.id, spelling),
            }),
            None => found.undecided.push(piece.id),
        }
    }
    (found, unreachable)
}

/// Whether what BPE merges in a span is decided by the characters of the span.
fn merges_are_local(pipeline: &Pipeline) -> bool {
    let PipelineModel::Bpe(bpe) = pipeline.model() else {
        return false;
    };
    let options = bpe.options();
    let affixes = [
        &options.continuing_subword_prefix,
        &options.end_of_word_suffix,
    ];
    let byte = |byte: u8| bpe.vocabulary().id(&format!("<0x{byte:02X}>"));
    let bytes = (0..=u8::MAX).filter_map(byte);
    let mut made: Vec<u32> = bytes.filter(|_| options.byte_fallback).collect();
    made.extend(pipeline.model().unknown());
    affixes.into_iter().flatten().all(String::is_empty)
        && !bpe
            .merges()
            .iter()
            .any(|merge| [merge.left, merge.right].iter().any(|id| made.contains(id)))
}

struct PipelineInspector<'t> {
    pipeline: &'t Pipeline,
    encoder: Encoder<'t>,
    model: PartEncoder<'t>,
    parts: PartTexts<'t>,
    merges_are_local: bool,
}

impl PipelineInspector<'_> {
    /// The texts of parts that a token can stand for.
    fn part_texts(&self, spelling: &str) -> Vec<String> {
        let (prefix, suffix) = match self.pipeline.model() {
            PipelineModel::WordPiece(words) => (Some(words.prefix()), None),
            PipelineModel::Bpe(bpe) => {
                let options = bpe.options();
                let [prefix, suffix] = [
                    &options.continuing_subword_prefix,
                    &options.end_of_word_suffix,
                ];
                (prefix.as_deref(), suffix.as_deref())
            }
            _ => (None, None),
        };
        let mut texts = vec![spelling];
        if let Some(rest) = prefix.and_then(|prefix| spelling.strip_prefix(prefix)) {
            texts.push(rest);
        }
        for text in texts.clone() {
            texts.extend(suffix.and_then(|suffix| text.strip_suffix(suffix)));
        }
        texts.sort_unstable();
        texts.dedup();
        texts.into_iter().map(str::to_owned).collect()
    }

    /// The bytes that a part of a byte-level pipeline is spelled for.
    fn spelled(&self, part: &str) -> Option<Vec<u8>> {
        spelled(part).filter(|_| self.pipeline.is_byte_level())
    }

    /// Whether a text of step 1 gives the token.
    fn has_witness(&mut self, id: PieceId, spelling: &str) -> bool {
        let mut texts = Vec::new();
        for part in self.part_texts(spelling) {
            if let Some(bytes) = self.spelled(&part)
                && let Some(fragment) = Fragment::new(&bytes)
            {
                texts.extend(fragment.texts(MAX_COMPLETIONS));
            }
            if part.contains(WHITESPACE_MARK) {
                let with_spaces = part.replace(WHITESPACE_MARK_STR, " ");
                texts.extend(with_spaces.strip_prefix(' ').map(str::to_owned));
                texts.push(with_spaces);
            }
            texts.push(part);
        }
        let mut tried = String::new();
        BEFORE.iter().any(|before| {
            AFTER.iter().any(|after| {
                texts.iter().any(|text| {
                    tried.clear();
                    tried.extend([before, text.as_str(), after]);
                    self.encoder.encode(&tried).contains(&id)
                })
            })
        })
    }

    /// Whether a text is a continuation of WordPiece, and is always cut from the text that it would
    /// continue.
    fn is_cut_off(&self, spelling: &str, text: &str) -> bool {
        let continues =
            matches!(self.pipeline.model(), PipelineModel::WordPiece(_)) && text != spelling;
        let first = text.chars().next();
        continues && first.is_some_and(|first| self.parts.cuts_always_before(first))
    }

    /// Why no text gives a token, and what its own text gives.
    fn proof(&mut self, id: PieceId, spelling: &str) -> Option<(UnreachableReason, Vec<PieceId>)> {
        let by_model = self.model.encode(spelling);
        let loses = match self.pipeline.model() {
            PipelineModel::Bpe(_) => self.merges_are_local,
            PipelineModel::Unigram(_) => true,
            _ => false,
        };
        if spelling.is_empty() || (loses && by_model != [id]) {
            return Some((UnreachableReason::OthersWin, by_model));
        }
        let texts = self.part_texts(spelling);
        if let PipelineModel::WordPiece(words) = self.pipeline.model()
            && texts
                .iter()
                .all(|text| text.chars().count() > words.max_chars())
        {
            return Some((UnreachableReason::OthersWin, by_model));
        }
        let is_utf8 = |text: &String| {
            let bytes = self.spelled(text);
            bytes.is_none_or(|bytes| Fragment::new(&bytes).is_some())
        };
        if !texts.iter().any(is_utf8) {
            return Some((UnreachableReason::NotUtf8, Vec::new()));
        }
        // All of what the token can stand for is in no part; the reason is that of the first one.
        let reasons = texts.iter().map(|text| {
            if self.parts.cuts_always(text) || self.is_cut_off(spelling, text) {
                Some(UnreachableReason::Pattern)
            } else if self.parts.has_added_token(text) {
                Some(UnreachableReason::AddedToken)
            } else if self.parts.lacks_a_character_of(text) {
                Some(UnreachableReason::Form)
            } else {
                None
            }
        });
        let reasons: Option<Vec<UnreachableReason>> = reasons.collect();
        let reason = *reasons?.first()?;
        Some((reason, self.encoder.encode(spelling).to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::inspect::{Inspection, InspectionDetails, UnreachableReason};
    use crate::tokenizer::Tokenizer;

    /// The tokens that are unreachable, with the reasons, and those that are undecided.
    fn inspected(file: &Value) -> (Vec<(String, UnreachableReason)>, Vec<String>) {
        let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
        let found = Inspection::new(&tokenizer).unwrap();
        let text = |id| {
            String::from_utf8_lossy(tokenizer.id_to_piece(id).unwrap_or_default()).into_owned()
        };
        let unreachable = found.unreachable.iter();
        let unreachable = unreachable
            .map(|piece| (text(piece.id), piece.reason))
            .collect();
        let InspectionDetails::Pipeline(details) = &found.details else {
            panic!("{:?}", found.details);
        };
        let undecided = details.undecided.iter().map(|id| text(*id)).collect();
        (unreachable, undecided)
    }

    #[test]
    fn tokens_that_no_text_gives_have_the_reason_that_is_theirs() {
        let vocab =
            json!({"[UNK]": 0, "a": 1, "A": 2, "a1": 3, "##b": 4, "12": 5, "a b": 6, "xy": 7});
        let file = json!({
            "added_tokens": [{"id": 7, "content": "xy", "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": true, "special": false}],
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": true}]},
            "model": {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]",
                "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
        });
        let (unreachable, undecided) = inspected(&file);
        let expected = [
            ("A", UnreachableReason::Form),
            ("a1", UnreachableReason::Pattern),
            ("12", UnreachableReason::Pattern),
            ("a b", UnreachableReason::Pattern),
        ];
        assert_eq!(
            unreachable,
            expected.map(|(text, reason)| (text.to_owned(), reason))
        );
        assert!(undecided.is_empty(), "{undecided:?}");
    }

    #[test]
    fn continuations_that_are_always_cut_off_are_unreachable() {
        let mut file = json!({
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {"[UNK]": 0, "!": 1, "##!": 2, "\u{4e2d}": 3, "##\u{4e2d}": 4, "q": 5, "##\u{3042}": 6, "##\u{3042}\u{4e2d}": 7}},
        });
        let (unreachable, undecided) = inspected(&file);
        let expected = ["[UNK]", "##!", "##\u{4e2d}"]
            .map(|text| (text.to_owned(), UnreachableReason::Pattern));
        assert_eq!(unreachable, expected[1..]);
        assert_eq!(undecided, ["##\u{3042}", "##\u{3042}\u{4e2d}"]);
        // Here Chinese characters are as others, and punctuation is not cut from punctuation.
        file["normalizer"]["handle_chinese_chars"] = json!(false);
        file["pre_tokenizer"] = json!({"type": "Whitespace"});
        file["model"]["vocab"]["a"] = json!(8);
        let (unreachable, undecided) = inspected(&file);
        assert!(unreachable.is_empty(), "{unreachable:?}");
        assert!(undecided.is_empty(), "{undecided:?}");
    }

    #[test]
    fn tokens_that_lose_to_others_are_unreachable_and_splits_by_expressions_leave_some_undecided() {
        let bpe = json!({
            "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "c"}, "behavior": "Isolated", "invert": false},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "bb": 3, "abb": 4, "c": 5, "ac": 6},
                "merges": ["a b", "b b", "a bb", "a c"]},
        });
        let (unreachable, undecided) = inspected(&bpe);
        assert_eq!(
            unreachable,
            [("abb".to_owned(), UnreachableReason::OthersWin)]
        );
        assert_eq!(undecided, ["ac"]);
        let unigram = json!({
            "model": {"type": "Unigram", "unk_id": 0,
                "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["ab", -2.5], ["ba", -1.5], ["aa", -2.0]]},
        });
        let (unreachable, undecided) = inspected(&unigram);
        assert_eq!(
            unreachable,
            [("ab".to_owned(), UnreachableReason::OthersWin)]
        );
        assert!(undecided.is_empty(), "{undecided:?}");
    }
}
