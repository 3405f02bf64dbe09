//! Reasons that the added tokens of a `tokenizer.json` give.
//!
//! `tokenizers` can find the tokens in other texts than SentencePiece finds their pieces, or put
//! the dummy prefix elsewhere. Example: an added token that removes the spaces beside it has no
//! equal in SentencePiece. See `symbols` for those that SentencePiece finds in the same texts.

use super::Import;
use crate::base::WHITESPACE_MARK;
use crate::byte_bpe::SpecialToken;
use crate::formats::{Reason, ReasonKind};
use crate::model::ModelType;

impl Import<'_> {
    pub(super) fn add_reasons_of_added_tokens(&mut self) {
        let added = self.added;
        let mut tokens = added.iter();
        if let Some(token) = tokens.find(|token| token.lstrip || token.rstrip || token.single_word)
        {
            let kind = match token.special {
                true => ReasonKind::MetaPiece,
                false => ReasonKind::UserDefinedSymbol,
            };
            self.reason(
                kind,
                format!(
                    "the added token {:?} removes whitespace beside it, or is found as a whole word only",
                    token.text
                ),
            );
        }

        let symbols: Vec<&SpecialToken> = added.iter().filter(|token| !token.special).collect();
        let Some(first) = symbols.first() else {
            return;
        };
        let text = &*first.text;
        let mut add = |explanation: String, example: Option<String>| {
            let reason = Reason::new(ReasonKind::UserDefinedSymbol, explanation);
            self.verdict.add(Reason { example, ..reason });
        };

        if self.model_type == ModelType::Unigram {
            add(
                format!(
                    "tokenizers finds {text:?} and the other added tokens before everything else; SentencePiece gives them scores"
                ),
                None,
            );
        }

        if symbols
            .iter()
            .any(|token| token.normalized != first.normalized)
        {
            let explanation = "some added tokens are found in raw text, others in normalized text; SentencePiece finds all in normalized text";
            add(explanation.to_owned(), None);
        }

        let flags = &self.flags;
        let has_prefix = flags.add_dummy_prefix && !flags.excepts_symbols;
        if flags.excepts_symbols || has_prefix && first.normalized {
            add(
                format!(
                    "a text that consists of the added token {text:?} only gets no dummy prefix, or the token is found after one only"
                ),
                Some(text.to_owned()),
            );
        } else if has_prefix {
            add(
                format!("tokenizers puts a dummy prefix after the added token {text:?}"),
                Some(format!("{text}a")),
            );
        }

        let changes_spaces = flags.escape_whitespaces || flags.remove_extra_whitespaces;
        let is_changed = |text: &str| {
            let has_mark = text.contains(WHITESPACE_MARK);
            text.contains(' ') && changes_spaces
                || has_mark && (flags.remove_extra_whitespaces || !first.normalized)
        };
        if let Some(token) = symbols.iter().find(|token| is_changed(&token.text)) {
            add(
                format!(
                    "the added token {:?} has whitespace, which normalization changes",
                    token.text
                ),
                None,
            );
        }
    }
}
