//! User-defined symbols of BPE models as added tokens.
//!
//! Input: a BPE model. Output: the symbols that become added tokens, and reasons where they are found in other texts than
//! SentencePiece finds them.
//!
//! SentencePiece looks for symbols in the normalized text, at each position the longest one. `tokenizers` does the same with
//! added tokens that are `normalized`, if their texts are not changed by the normalizers. Besides, SentencePiece's normalizer
//! does not change symbols in the raw text; that matters only if it would change them.

use super::super::order::named;
use super::super::{Reason, ReasonKind};
use super::normalization::{has_suffix, normalized_symbol, trimmed_symbol};
use crate::model::Model;
use crate::model::Piece;
use crate::piece::PieceKind;
use crate::text::lossy_string;

/// SentencePiece considers at most so many symbols that begin at the same position.
const MAX_NESTED_SYMBOLS: usize = 64;

/// Symbols as added tokens.
#[derive(Debug, Default)]
pub(super) struct JsonSymbols<'m> {
    /// The symbols that become added tokens, by id.
    pub(super) added: Vec<Piece<'m>>,
    pub(super) reasons: Vec<Reason>,
}

impl<'m> JsonSymbols<'m> {
    /// The symbols of a BPE model.
    pub(super) fn new(model: &'m Model) -> Self {
        let mut symbols = JsonSymbols::default();
        let user_defined = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::UserDefined);
        for piece in user_defined {
            symbols.add(model, piece);
        }
        symbols.add_reason_for_whole_text(model);
        symbols.add_reason_for_nesting(model);
        symbols
    }

    /// The texts of the added tokens.
    pub(super) fn texts(&self) -> Vec<&'m str> {
        let texts = self.added.iter();
        texts
            .filter_map(|piece| std::str::from_utf8(piece.text).ok())
            .collect()
    }

    fn add(&mut self, model: &Model, piece: Piece<'m>) {
        let Ok(text) = std::str::from_utf8(piece.text) else {
            let explanation = format!(
                "the user-defined symbol {} is not UTF-8",
                named(model, piece.id)
            );
            self.reasons
                .push(Reason::new(ReasonKind::PieceText, explanation));
            return;
        };
        let after_rules = by_rules(model, text);
        if after_rules != text.as_bytes() {
            let explanation = format!(
                "the normalization rules change the user-defined symbol {}, which SentencePiece protects from them",
                named(model, piece.id)
            );
            self.reasons
                .push(Reason::new(ReasonKind::UserDefinedSymbol, explanation).with_example(text));
            // For an added token whose normalized text is empty, `tokenizers` allocates memory without limit, or panics.
            if trimmed_symbol(model, &lossy_string(&after_rules)).is_empty() {
                return;
            }
        }
        if model.normalizer_spec().escape_whitespaces() && text.contains(' ') {
            self.add_symbol_with_space(model, piece);
            return;
        }
        if normalized_symbol(model, text) != text {
            let explanation = format!(
                "the treatment of whitespace changes the user-defined symbol {}, so that it is not found",
                named(model, piece.id)
            );
            self.reasons.push(
                Reason::new(ReasonKind::UserDefinedSymbol, explanation)
                    .with_example(format!("a{text}a")),
            );
            return;
        }
        self.added.push(piece);
    }

    /// A symbol with a space is never found in normalized text, where spaces are marks. It only keeps its spaces.
    fn add_symbol_with_space(&mut self, model: &Model, piece: Piece<'m>) {
        if !model.normalizer_spec().remove_extra_whitespaces() {
            return;
        }
        let explanation = format!(
            "SentencePiece does not remove spaces of the user-defined symbol {}",
            named(model, piece.id)
        );
        self.reasons
            .push(Reason::new(ReasonKind::UserDefinedSymbol, explanation));
    }

    /// A text that is a symbol gets no dummy prefix; see `normalization`.
    fn add_reason_for_whole_text(&mut self, model: &Model) {
        if !model.normalizer_spec().add_dummy_prefix() || has_suffix(model) {
            return;
        }
        let Some(first) = self.texts().first().copied() else {
            return;
        };
        let explanation = format!(
            "a text that consists of one user-defined symbol only, such as {first:?}, gets no dummy prefix; {} symbols are concerned",
            self.added.len()
        );
        self.reasons
            .push(Reason::new(ReasonKind::UserDefinedSymbol, explanation).with_example(first));
    }

    fn add_reason_for_nesting(&mut self, model: &Model) {
        let is_symbol = |text: &[u8]| {
            let id = model.piece_to_id(text);
            id.is_some_and(|id| model.table().kind(id.index()) == PieceKind::UserDefined)
        };
        if self.added.len() <= MAX_NESTED_SYMBOLS {
            return;
        }
        let nested = self.added.iter().find(|piece| {
            let ends = 1..=piece.text.len();
            ends.filter(|end| is_symbol(&piece.text[..*end])).count() > MAX_NESTED_SYMBOLS
        });
        if let Some(piece) = nested {
            let explanation = format!(
                "SentencePiece considers {MAX_NESTED_SYMBOLS} user-defined symbols at a position, and {} begins with more",
                named(model, piece.id)
            );
            self.reasons
                .push(Reason::new(ReasonKind::UserDefinedSymbol, explanation));
        }
    }
}

/// A text as the normalization rules of a model change it.
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

#[cfg(test)]
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
