//! User-defined symbols of BPE models as added tokens.
//!
//! SentencePiece looks for symbols in the normalized text, at each position the longest one.
//! `tokenizers` does the same with added tokens that are `normalized`, if the normalizers do not
//! change their texts. In addition, SentencePiece's normalizer leaves symbols in the raw text
//! unchanged, which matters only for symbols that the rules would change.

use super::super::order::named;
use super::super::{Reason, ReasonKind};
use super::normalization::{has_prefix, normalized_symbol, trimmed_symbol};
use super::{kind_of, pieces_of_kind};
use crate::base::lossy_string;
use crate::model::{Model, Piece};
use crate::piece::PieceKind;

/// The largest number of symbols at one position that SentencePiece considers.
const MAX_NESTED_SYMBOLS: usize = 64;

/// Symbols as added tokens.
#[derive(Debug)]
pub(super) struct JsonSymbols<'m> {
    model: &'m Model,
    /// The symbols that become added tokens, by id.
    pub(super) added: Vec<Piece<'m>>,
    pub(super) reasons: Vec<Reason>,
}

impl<'m> JsonSymbols<'m> {
    /// The symbols of a BPE model.
    pub(super) fn new(model: &'m Model) -> Self {
        let mut symbols = JsonSymbols {
            model,
            added: Vec::new(),
            reasons: Vec::new(),
        };
        for piece in pieces_of_kind(model, PieceKind::UserDefined) {
            symbols.add(piece);
        }
        // A text that is a symbol gets no dummy prefix; see `normalization`.
        let texts = symbols.texts();
        if let Some(first) = texts.first().filter(|_| has_prefix(model)) {
            let explanation = format!(
                "a text that consists of one user-defined symbol only, such as {first:?}, gets no dummy prefix; {} symbols are concerned",
                texts.len()
            );
            let reason = symbol_reason(explanation).with_example(*first);
            symbols.reasons.push(reason);
        }
        symbols.reasons.extend(symbols.reason_of_nesting());
        symbols
    }

    fn add(&mut self, piece: Piece<'m>) {
        let model = self.model;
        let spec = model.normalizer_spec();
        let name = || named(model, piece.id);
        let Ok(text) = std::str::from_utf8(piece.text) else {
            let explanation = format!("the user-defined symbol {} is not UTF-8", name());
            return self
                .reasons
                .push(Reason::new(ReasonKind::PieceText, explanation));
        };
        let after_rules = by_rules(model, text);
        if after_rules != text.as_bytes() {
            let reason = symbol_reason(format!(
                "the normalization rules change the user-defined symbol {}, which SentencePiece protects from them",
                name()
            ));
            self.reasons.push(reason.with_example(text));
            // For an added token whose normalized text is empty, `tokenizers` allocates memory
            // without limit, or panics.
            if trimmed_symbol(model, &lossy_string(&after_rules)).is_empty() {
                return;
            }
        }
        if spec.escape_whitespaces() && text.contains(' ') {
            // It is never found in normalized text, where spaces are marks. It only keeps its
            // spaces.
            if spec.remove_extra_whitespaces() {
                self.reasons.push(symbol_reason(format!(
                    "SentencePiece does not remove spaces of the user-defined symbol {}",
                    name()
                )));
            }
        } else if normalized_symbol(model, text) != text {
            let reason = symbol_reason(format!(
                "the treatment of whitespace changes the user-defined symbol {}, so that it is not found",
                name()
            ));
            self.reasons.push(reason.with_example(format!("a{text}a")));
        } else {
            self.added.push(piece);
        }
    }

    /// The texts of the added tokens.
    pub(super) fn texts(&self) -> Vec<&'m str> {
        let texts = self.added.iter();
        texts
            .filter_map(|piece| std::str::from_utf8(piece.text).ok())
            .collect()
    }

    fn reason_of_nesting(&self) -> Option<Reason> {
        if self.added.len() <= MAX_NESTED_SYMBOLS {
            return None;
        }
        let is_symbol = |text: &[u8]| {
            let id = self.model.piece_to_id(text);
            id.is_some_and(|id| kind_of(self.model, id) == PieceKind::UserDefined)
        };
        let symbols_at_start = |text: &[u8]| {
            let ends = 1..=text.len();
            ends.filter(|end| is_symbol(&text[..*end])).count()
        };
        let mut added = self.added.iter();
        let nested = added.find(|piece| symbols_at_start(piece.text) > MAX_NESTED_SYMBOLS)?;
        Some(symbol_reason(format!(
            "SentencePiece considers {MAX_NESTED_SYMBOLS} user-defined symbols at a position, and {} begins with more",
            named(self.model, nested.id)
        )))
    }
}

fn symbol_reason(explanation: String) -> Reason {
    Reason::new(ReasonKind::UserDefinedSymbol, explanation)
}

/// A text after the normalization rules of a model.
fn by_rules(model: &Model, text: &str) -> Vec<u8> {
    let normalizer = model.normalizer();
    let mut result = Vec::new();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (target, length) = normalizer.next(rest);
        result.extend_from_slice(target);
        rest = &rest[length..];
    }
    result
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;
    use crate::{ModelType, NormalizerSpec};

    /// A model whose rules replace a line feed by a space, which is then removed.
    fn model(is_suffix: bool) -> Model {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        *builder.normalizer_spec_mut() = NormalizerSpec::named("nmt_nfkc").unwrap();
        builder.add_dummy_prefix(true);
        builder.trainer_spec_mut().treat_whitespace_as_suffix = Some(is_suffix);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for text in [
            "\n",
            "\u{fffd}\u{fffd}",
            "a\u{fffd}b",
            "ab",
            "ab\u{2581}",
            "\u{2581}",
        ] {
            builder.piece(text, 0.0, PieceKind::UserDefined);
        }
        builder.build().unwrap()
    }

    #[test]
    fn symbols_whose_normalized_text_is_empty_are_no_added_tokens() {
        for (is_suffix, expected) in [(false, vec![3, 4]), (true, vec![5])] {
            let model = model(is_suffix);
            let symbols = JsonSymbols::new(&model);
            let added: Vec<u32> = symbols.added.iter().map(|piece| piece.id.get()).collect();
            assert_eq!(added, expected);
            for text in ["\\n", "\u{fffd}\u{fffd}"] {
                let is_named = |reason: &Reason| reason.explanation.contains(text);
                assert!(symbols.reasons.iter().any(is_named), "{text:?}");
            }
        }
    }
}
