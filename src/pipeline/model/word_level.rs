//! Word level: a part is a token, or unknown.

use super::{ModelToken, ModelVocabulary, NoUnknownToken};

/// A vocabulary of whole parts.
#[derive(Debug)]
pub struct WordLevelModel {
    vocabulary: ModelVocabulary,
    unknown_token: String,
    unknown: Option<u32>,
}

impl WordLevelModel {
    /// A part that is no token is `unknown_token`.
    pub fn new(vocabulary: ModelVocabulary, unknown_token: impl Into<String>) -> Self {
        let unknown_token = unknown_token.into();
        Self {
            unknown: vocabulary.id(&unknown_token),
            vocabulary,
            unknown_token,
        }
    }

    /// The tokens with their ids.
    pub fn vocabulary(&self) -> &ModelVocabulary {
        &self.vocabulary
    }

    /// The text of the token for other parts.
    pub fn unknown_token(&self) -> &str {
        &self.unknown_token
    }

    pub(super) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    pub(super) fn encode(
        &self,
        part: &str,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        let id = self.vocabulary.id(part).or(self.unknown);
        out.push(ModelToken::new(id.ok_or(NoUnknownToken)?, 0..part.len()));
        Ok(())
    }
}
