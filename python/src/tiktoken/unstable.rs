//! Texts that can go on, and bytes that end inside a character.
//!
//! The last pretoken of a text is not certain: with more text, its bytes can become other tokens.
//! tiktoken returns the ids before it, and as *completions* the sequences of ids with which a
//! tokenized longer text can go on, up to the token that reaches the end of the text. It does not
//! find all of them in all cases; here the same ones are found:
//!
//! 1. each token that begins with the uncertain bytes;
//! 2. for each token that begins with a proper suffix of them: the ids of the rest and this token
//!    as one text, up to the end of the uncertain bytes. What is no text, because it ends inside a
//!    character, is merged without cuts;
//! 3. if the last character is white space: the ids of what is before it, then those of it alone,
//!    because `\s+(?!\S)` cuts there if a word follows.
//!
//! Example: after `hello fanta` the ids of `hello` are certain; of ` fanta`, ` fantastic` is a
//! completion of the first kind, and ` fant`, `asy` one of the second.

use std::collections::BTreeSet;

use spiece::byte_bpe::ByteBpe;
use spiece::{EncodeError, EncodeOptions, PieceId};

use super::CoreBpe;

/// The ids of a text that are certain, and all completions, sorted. The special tokens are found in
/// the text.
///
/// # Errors
/// There are too many special tokens.
pub(super) fn encode_with_completions(
    core: &CoreBpe,
    bpe: &ByteBpe,
    text: &str,
    special: Vec<String>,
) -> Result<(Vec<PieceId>, Vec<Vec<PieceId>>), EncodeError> {
    let (mut ids, certain) = encode_to_certain(core, text.as_bytes(), special)?;
    let uncertain = core.bytes_of(&ids[certain..]);
    ids.truncate(certain);
    // From here on, all text is ordinary text.
    let completions = completions(core, bpe, &uncertain);
    Ok((ids, completions.into_iter().collect()))
}

/// The ids of bytes that are not UTF-8. The last pretoken of the text before the first malformed
/// byte and all bytes from there on are one pretoken.
pub(super) fn encode_bytes(
    core: &CoreBpe,
    bpe: &ByteBpe,
    bytes: &[u8],
) -> Result<Vec<PieceId>, EncodeError> {
    let valid = bytes.utf8_chunks().next();
    let valid = valid.map_or(0, |chunk| chunk.valid().len());
    let (mut ids, certain) = encode_to_certain(core, &bytes[..valid], Vec::new())?;
    let mut rest = core.bytes_of(&ids[certain..]);
    rest.extend_from_slice(&bytes[valid..]);
    ids.truncate(certain);
    ids.extend(core.encode_pretoken(bpe, &rest));
    Ok(ids)
}

/// The ids of a text, and how many of them are certain: all but those of the last pretoken and, if
/// it begins with a token of spaces, all such tokens before it, which `\s*[\r\n]+` can join to it.
fn encode_to_certain(
    core: &CoreBpe,
    text: &[u8],
    special: Vec<String>,
) -> Result<(Vec<PieceId>, usize), EncodeError> {
    let mut ids = Vec::new();
    let mut certain = 0;
    let mut pretoken = None;
    let options = EncodeOptions::default().with_allowed_special(special.iter().map(String::as_str));
    let mut encoder = core.loaded.tokenizer.encoder_with(&options)?;
    for token in encoder.tokens(text) {
        if token.word() != pretoken {
            pretoken = token.word();
            certain = ids.len();
        }
        ids.push(token.id());
        // A special token is found wherever its text is.
        if special.iter().any(|it| it.as_bytes() == token.surface()) {
            certain = ids.len();
        }
    }
    let is_space = |id: &PieceId| {
        let bytes = core.bytes(*id);
        !core.special_ids.contains(id) && bytes.iter().all(|byte| b" \n\t".contains(byte))
    };
    if ids.get(certain).is_some_and(is_space) {
        while certain > 0 && is_space(&ids[certain - 1]) {
            certain -= 1;
        }
    }
    Ok((ids, certain))
}

/// The completions of bytes that follow what is certain.
fn completions(core: &CoreBpe, bpe: &ByteBpe, uncertain: &[u8]) -> BTreeSet<Vec<PieceId>> {
    let mut completions = BTreeSet::new();
    let mut encoder = core.loaded.tokenizer.encoder();
    if uncertain.is_empty() {
        return completions;
    }
    let tokens_with = |prefix: &[u8]| {
        let sorted = core.sorted();
        let first = sorted.partition_point(|id| core.bytes(*id) < prefix);
        let count = sorted[first..].partition_point(|id| core.bytes(*id).starts_with(prefix));
        &sorted[first..first + count]
    };
    completions.extend(tokens_with(uncertain).iter().map(|id| vec![*id]));
    for at in 1..uncertain.len() {
        let (before, suffix) = uncertain.split_at(at);
        for id in tokens_with(suffix) {
            let text = [before, core.bytes(*id)].concat();
            let ids = match std::str::from_utf8(&text) {
                Ok(text) => encoder.encode(text).to_vec(),
                Err(_) => bpe.merge_pretoken(&text),
            };
            let mut reached = 0;
            let lengths = ids.iter().map(|id| {
                reached += core.bytes(*id).len();
                reached
            });
            let inside = lengths.take_while(|end| *end < uncertain.len()).count();
            completions.insert(ids[..ids.len().min(inside + 1)].to_vec());
        }
    }
    let last = last_char(uncertain).filter(|last| last.is_whitespace());
    if let Some(last) = last
        && last.len_utf8() < uncertain.len()
    {
        let (before, space) = uncertain.split_at(uncertain.len() - last.len_utf8());
        let mut ids = bpe.merge_pretoken(before);
        ids.extend(bpe.merge_pretoken(space));
        completions.insert(ids);
    }
    completions
}

/// The last character, if the bytes end with a whole one.
fn last_char(bytes: &[u8]) -> Option<char> {
    let (_, text) = (1..=bytes.len().min(4)).find_map(|length| {
        let text = std::str::from_utf8(&bytes[bytes.len() - length..]).ok()?;
        Some((length, text))
    })?;
    text.chars().next_back()
}

impl CoreBpe {
    /// The bytes of ids.
    fn bytes_of(&self, ids: &[PieceId]) -> Vec<u8> {
        let bytes: Vec<&[u8]> = ids.iter().map(|id| self.bytes(*id)).collect();
        bytes.concat()
    }

    /// The ids of a pretoken: a token as a whole, or what its bytes are merged to.
    pub(super) fn encode_pretoken(&self, bpe: &ByteBpe, pretoken: &[u8]) -> Vec<PieceId> {
        let whole = self.loaded.tokenizer.piece_to_id(pretoken);
        let is_token = |id: &PieceId| !self.special_ids.contains(id) && self.bytes(*id) == pretoken;
        match whole.filter(is_token) {
            Some(id) => vec![id],
            None => bpe.merge_pretoken(pretoken),
        }
    }
}
