//! Which special token plays which role, such as the beginning of a text, for programs that ask for it.
//!
//! A `tokenizer.json` of version 1.0 does not say it. Files of version 2.0 do (`role_to_token`), and so do the files beside a
//! tokenizer in a folder of transformers, which are where it is written to.

use std::collections::BTreeMap;

use crate::byte_bpe::SpecialToken;
use crate::formats::FormatError;

/// The roles of transformers.
pub const TOKEN_ROLES: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// The texts of tokens by their roles, which are those of [`TOKEN_ROLES`].
pub type TokenRoles = BTreeMap<String, String>;

/// The roles of a file with these added tokens: those that are `given`, and of those that the source knows the ones whose
/// tokens are added tokens. transformers makes others into added tokens, which are cut out of text.
///
/// # Errors
/// A given token is no added token.
pub(super) fn checked_roles(
    added: &[SpecialToken],
    known: &TokenRoles,
    given: &TokenRoles,
) -> Result<TokenRoles, FormatError> {
    let is_added = |text: &str| added.iter().any(|token| token.text == text);
    if let Some((role, text)) = given.iter().find(|(_, text)| !is_added(text)) {
        return Err(FormatError::RoleOfNoToken {
            role: role.clone(),
            text: text.clone(),
        });
    }
    let known = known.iter().filter(|(_, text)| is_added(text));
    let roles = known.chain(given);
    Ok(roles
        .map(|(role, text)| (role.clone(), text.clone()))
        .collect())
}
