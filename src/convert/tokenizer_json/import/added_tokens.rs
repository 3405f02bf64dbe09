//! Reasons that the added tokens of a `tokenizer.json` give.
//!
//! Input: the added tokens and the flags of the normalization. Output: reasons where `tokenizers`
//! finds the tokens in other texts than SentencePiece finds their pieces, or puts the dummy prefix
//! elsewhere. Example: an added token that removes the spaces beside it has no equal in
//! SentencePiece. See `symbols` for those that SentencePiece finds in the same texts. Cost: linear.

use super::Import;
use crate::convert::tokenizer_json::components::JsonFlags;
use crate::convert::tokenizer_json::parse::JsonAddedToken;
use crate::convert::{Reason, ReasonKind};
use crate::model::ModelType;
use crate::text::WHITESPACE_MARK;

impl Import<'_, '_> {
    pub(super) fn add_reasons_of_added_tokens(&mut self) {
        let file = self.file;
        self.add_reasons(reason_of_context(file.tokens()));
        let symbols = file.symbols();
        if let Some(first) = symbols.first() {
            let reasons = self.symbol_reasons(first, &symbols);
            self.add_reasons(reasons.into_iter().flatten());
        }
    }

    fn symbol_reasons(
        &self,
        first: &JsonAddedToken<'_>,
        symbols: &[&JsonAddedToken<'_>],
    ) -> [Option<Reason>; 4] {
        [
            reason_of_scores(self.model_type, &first.content),
            reason_of_mixed_text(first, symbols),
            self.flags.reason_of_prefix(first),
            self.flags.reason_of_whitespace(first.normalized, symbols),
        ]
    }
}

/// The reason if a token is found in some surroundings only, or takes whitespace with it.
fn reason_of_context(tokens: &[JsonAddedToken<'_>]) -> Option<Reason> {
    let token = tokens.iter().find(|token| depends_on_context(token))?;
    let explanation = format!(
        "the added token {:?} removes whitespace beside it, or is found as a whole word only",
        &*token.content
    );
    Some(Reason::new(kind_of_reason(token), explanation))
}

fn depends_on_context(token: &JsonAddedToken<'_>) -> bool {
    token.lstrip || token.rstrip || token.single_word
}

fn kind_of_reason(token: &JsonAddedToken<'_>) -> ReasonKind {
    match token.special {
        true => ReasonKind::MetaPiece,
        false => ReasonKind::UserDefinedSymbol,
    }
}

fn symbol_reason(explanation: impl Into<String>) -> Reason {
    Reason::new(ReasonKind::UserDefinedSymbol, explanation)
}

/// The reason if the symbols of SentencePiece have scores.
fn reason_of_scores(model_type: ModelType, first: &str) -> Option<Reason> {
    if model_type != ModelType::Unigram {
        return None;
    }
    Some(symbol_reason(format!(
        "tokenizers finds {first:?} and the other added tokens before everything else; SentencePiece gives them scores"
    )))
}

/// The reason if some symbols are found in raw text and others in normalized text.
fn reason_of_mixed_text(
    first: &JsonAddedToken<'_>,
    symbols: &[&JsonAddedToken<'_>],
) -> Option<Reason> {
    let explanation = "some added tokens are found in raw text, others in normalized text; SentencePiece finds all in normalized text";
    let is_other = |token: &&JsonAddedToken<'_>| token.normalized != first.normalized;
    symbols
        .iter()
        .any(is_other)
        .then(|| symbol_reason(explanation))
}

impl JsonFlags {
    /// The reason if the dummy prefix stands at other places than in SentencePiece, beside a
    /// symbol.
    fn reason_of_prefix(&self, first: &JsonAddedToken<'_>) -> Option<Reason> {
        let has_prefix = self.add_dummy_prefix && !self.excepts_symbols;
        if self.excepts_symbols || has_prefix && first.normalized {
            Some(reason_of_lone_symbol(&first.content))
        } else {
            has_prefix.then(|| reason_of_inner_prefix(&first.content))
        }
    }
    /// The reason if normalization changes a symbol. `is_normalized`: whether symbols are found in
    /// normalized text.
    fn reason_of_whitespace(
        &self,
        is_normalized: bool,
        symbols: &[&JsonAddedToken<'_>],
    ) -> Option<Reason> {
        let is_changed = |text: &str| self.changes(text) || !is_normalized && has_mark(text);
        let token = symbols.iter().find(|token| is_changed(&token.content))?;
        let explanation = format!(
            "the added token {:?} has whitespace, which normalization changes",
            &*token.content
        );
        Some(symbol_reason(explanation))
    }

    /// Whether the treatment of whitespace can change a text.
    fn changes(&self, text: &str) -> bool {
        text.contains(' ') && self.changes_spaces()
            || has_mark(text) && self.remove_extra_whitespaces
    }

    fn changes_spaces(&self) -> bool {
        self.escape_whitespaces || self.remove_extra_whitespaces
    }
}

fn reason_of_lone_symbol(symbol: &str) -> Reason {
    let explanation = format!(
        "a text that consists of the added token {symbol:?} only gets no dummy prefix, or the token is found behind one only"
    );
    symbol_reason(explanation).with_example(symbol)
}

fn reason_of_inner_prefix(symbol: &str) -> Reason {
    let explanation = format!("tokenizers puts a dummy prefix behind the added token {symbol:?}");
    symbol_reason(explanation).with_example(format!("{symbol}a"))
}

fn has_mark(text: &str) -> bool {
    text.contains(WHITESPACE_MARK)
}
