//! What only byte-level vocabularies have, and their tokens that no text gives.
//!
//! A *text* here is well-formed UTF-8, as tiktoken and the library tokenizers take it. These steps
//! decide nearly all tokens; t is a token and its bytes:
//!
//! 1. *Witness.* Encoding the text t gives t alone.
//! 2. *Proof.* No text gives t, because
//!    * no text has the bytes t: they are no part of well-formed UTF-8;
//!    * an added token that every text may contain is found in t;
//!    * the text t is not in the form of the vocabulary, and then no longer text in this form has it;
//!    * merging the bytes t gives other tokens. What is merged in a span of a pretoken does not depend
//!      on the bytes around it as long as no merge crosses the ends of the span, so t can only be found
//!      by looking up a whole pretoken, and the vocabulary does not do this, or the pattern makes no
//!      such pretoken;
//!    * the pattern cuts t in every text: see `pattern/within.rs`.
//! 3. *Witness again.* t is encoded between other characters, or with the bytes that complete its
//!    first and last character. If one of these texts gives t, it is reachable; if not, it remains
//!    undecided.
//!
//! # Examples
//! * In cl100k the token `0xC0` is a byte of no UTF-8 text.
//! * Merging gives other tokens for 588 tokens of Llama 3, which are found as whole pretokens.
//! * A token `1234` is never given with a pattern that has `\p{N}{1,3}`.
//!
//! # Cost
//! One encoding of each token, and at most [`MAX_WITNESSES`] texts for each token that is not its own
//! witness, [`MAX_ALL_WITNESSES`] for all: a few seconds.

use memchr::memmem;

use super::reachability::{UnreachablePiece, UnreachableReason};
use crate::byte_bpe::ByteBpe;
use crate::pattern::UncutStrings;
use crate::piece::PieceId;
use crate::tokenizer::{Encoder, Tokenizer, TokenizerConfig};

/// The texts that are tried for one token in step 3.
const MAX_WITNESSES: usize = 1 << 16;
/// The texts that are tried for all tokens in step 3.
const MAX_ALL_WITNESSES: usize = 1 << 22;
/// What is put after a token in step 3; before it, each ASCII character and nothing.
const AFTER: [&str; 9] = ["", "a", "A", "1", " ", "\n", ".", "'", " a"];

/// What only byte-level vocabularies have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ByteInspection {
    /// Tokens that are found only by looking up whole pretokens, since merging gives other tokens; by
    /// rank.
    pub only_whole: Vec<PieceId>,
    /// Tokens for which neither a text that gives them nor a proof that there is none was found; by
    /// rank.
    pub undecided: Vec<PieceId>,
}

/// How a token can be found.
enum Reachability {
    Reachable,
    /// As a whole pretoken alone.
    OnlyWhole,
    Unreachable(UnreachableReason, Vec<PieceId>),
    Undecided,
}

/// Inspects a vocabulary. Returns also the tokens that no text gives, by id.
pub(super) fn inspect_bytes(bpe: &ByteBpe) -> (ByteInspection, Vec<UnreachablePiece>) {
    let tokenizer = Tokenizer::from_pipeline(bpe.clone(), TokenizerConfig::default());
    let mut inspector = ByteInspector {
        bpe,
        encoder: tokenizer.encoder(),
        uncut: None,
        witnesses_left: MAX_ALL_WITNESSES,
    };
    let mut found = ByteInspection::default();
    let mut unreachable = Vec::new();
    for (bytes, id) in bpe.tokens() {
        match inspector.reachability(id, bytes) {
            Reachability::Reachable => {}
            Reachability::OnlyWhole => found.only_whole.push(id),
            Reachability::Undecided => found.undecided.push(id),
            Reachability::Unreachable(reason, winner) => unreachable.push(UnreachablePiece {
                id,
                winner,
                reason,
                is_close: false,
            }),
        }
    }
    unreachable.sort_by_key(|piece| piece.id);
    (found, unreachable)
}

struct ByteInspector<'t> {
    bpe: &'t ByteBpe,
    encoder: Encoder<'t>,
    /// Made when it is first needed.
    uncut: Option<UncutStrings>,
    witnesses_left: usize,
}

impl ByteInspector<'_> {
    fn reachability(&mut self, id: PieceId, bytes: &[u8]) -> Reachability {
        let is_utf8 = std::str::from_utf8(bytes).is_ok();
        let is_merged = self.bpe.merge_pretoken(bytes) == [id];
        if is_utf8 && self.encoder.encode(bytes) == [id] {
            return match is_merged {
                true => Reachability::Reachable,
                false => Reachability::OnlyWhole,
            };
        }
        let Some(fragment) = Fragment::new(bytes) else {
            return Reachability::Unreachable(UnreachableReason::NotUtf8, Vec::new());
        };
        if self.has_added_token(bytes) {
            let winner = self.encoder.encode(bytes).to_vec();
            return Reachability::Unreachable(UnreachableReason::AddedToken, winner);
        }
        if !self.bpe.is_in_form(fragment.characters) {
            let winner = self.encoder.encode(bytes).to_vec();
            return Reachability::Unreachable(UnreachableReason::Form, winner);
        }
        let pretokenizer = self.bpe.pretokenizer();
        let mut uncut = self
            .uncut
            .take()
            .unwrap_or_else(|| UncutStrings::new(pretokenizer));
        // Pretokens of UTF-8 are UTF-8.
        let may_be_whole = self.bpe.looks_up_pretokens() && is_utf8 && !uncut.is_never_whole(bytes);
        let is_cut = uncut.cuts_always(bytes);
        self.uncut = Some(uncut);
        if !is_merged && !may_be_whole {
            let winner = self.bpe.merge_pretoken(bytes);
            return Reachability::Unreachable(UnreachableReason::OthersWin, winner);
        }
        if is_cut {
            let winner = self.encoder.encode(bytes).to_vec();
            return Reachability::Unreachable(UnreachableReason::Pattern, winner);
        }
        match (self.has_witness(id, &fragment), is_merged) {
            (false, _) => Reachability::Undecided,
            (true, true) => Reachability::Reachable,
            (true, false) => Reachability::OnlyWhole,
        }
    }

    /// Whether the bytes have the text of an added token that is found wherever it stands. Another one
    /// that is found instead begins before it and takes its first byte.
    fn has_added_token(&self, bytes: &[u8]) -> bool {
        let added = self.bpe.special_tokens().iter();
        let mut added = added.filter(|token| {
            let is_found = !token.special && !token.single_word;
            is_found && (!token.normalized || self.bpe.is_in_form(&token.text))
        });
        added.any(|token| memmem::find(bytes, token.text.as_bytes()).is_some())
    }

    /// Whether a text of step 3 gives the token.
    fn has_witness(&mut self, id: PieceId, fragment: &Fragment<'_>) -> bool {
        let Fragment {
            head,
            characters,
            tail,
        } = fragment;
        let limit = MAX_WITNESSES.min(self.witnesses_left);
        let mut tried = 0;
        let mut gives = |text: &[u8]| {
            tried += 1;
            self.encoder.encode(text).contains(&id)
        };
        let non_ascii = || ('\u{80}'..=char::MAX).map(|c| c.to_string().into_bytes());
        let found = match (head.is_empty(), characters.is_empty(), tail.is_empty()) {
            // Whole characters: other characters before and after them.
            (true, _, true) => {
                let before = (0..=b'~').map(|byte| vec![byte]).chain([Vec::new()]);
                let mut texts = before.flat_map(|before| {
                    AFTER.map(|after| {
                        [&before[..], characters.as_bytes(), after.as_bytes()].concat()
                    })
                });
                texts.any(|text| gives(&text))
            }
            // Bytes within one character.
            (false, true, true) => {
                let has_bytes = |c: &Vec<u8>| memmem::find(&c[1..], head).is_some();
                let mut texts = non_ascii().filter(has_bytes).take(limit);
                texts.any(|text| gives(&text))
            }
            (false, _, true) => {
                let ends = |c: &Vec<u8>| c.ends_with(head);
                let mut texts = non_ascii().filter(ends).take(limit);
                texts.any(|c| gives(&[&c, characters.as_bytes()].concat()))
            }
            (true, _, false) => {
                let begins = |c: &Vec<u8>| c.starts_with(tail);
                let mut texts = non_ascii().filter(begins).take(limit);
                texts.any(|c| gives(&[characters.as_bytes(), &c].concat()))
            }
            (false, _, false) => {
                let ends: Vec<Vec<u8>> = non_ascii().filter(|c| c.ends_with(head)).collect();
                let begins = non_ascii().filter(|c| c.starts_with(tail));
                let mut texts = begins
                    .flat_map(|after| ends.iter().map(move |before| (before, after.clone())))
                    .take(limit);
                texts.any(|(before, after)| {
                    gives(&[&before[..], characters.as_bytes(), &after].concat())
                })
            }
        };
        self.witnesses_left = self.witnesses_left.saturating_sub(tried);
        found
    }
}

/// Bytes of UTF-8 text: the end of a character, whole characters, and the beginning of one. The end
/// and the beginning may be missing. If there are whole characters or a beginning, the end is the end of a
/// character; if not, it may be its middle.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fragment<'b> {
    head: &'b [u8],
    characters: &'b str,
    tail: &'b [u8],
}

impl<'b> Fragment<'b> {
    /// `None` if no UTF-8 text has the bytes.
    pub(super) fn new(bytes: &'b [u8]) -> Option<Self> {
        let is_continuation = |byte: &&u8| **byte & 0xC0 == 0x80;
        let head = bytes.iter().take_while(is_continuation).count();
        // Any three continuation bytes are the end of a character of four bytes.
        if head > 3 {
            return None;
        }
        let (head, rest) = bytes.split_at(head);
        if std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_some()) {
            return None;
        }
        let characters = rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let tail = &rest[characters.len()..];
        Some(Self {
            head,
            characters,
            tail,
        })
    }

    /// Texts with the bytes, at most `limit` of them.
    pub(super) fn texts(&self, limit: usize) -> Vec<String> {
        let characters = self.characters;
        let non_ascii = || ('\u{80}'..=char::MAX).map(|c| c.to_string());
        let ends = |c: &String| c.as_bytes().ends_with(self.head);
        let begins = |c: &String| c.as_bytes().starts_with(self.tail);
        match (
            self.head.is_empty(),
            characters.is_empty(),
            self.tail.is_empty(),
        ) {
            (true, _, true) => vec![characters.to_owned()],
            (false, true, true) => {
                let has_bytes = |c: &String| memmem::find(&c.as_bytes()[1..], self.head).is_some();
                non_ascii().filter(has_bytes).take(limit).collect()
            }
            (false, _, true) => {
                let before = non_ascii().filter(ends).take(limit);
                before.map(|c| format!("{c}{characters}")).collect()
            }
            (true, _, false) => {
                let after = non_ascii().filter(begins).take(limit);
                after.map(|c| format!("{characters}{c}")).collect()
            }
            (false, _, false) => {
                let before: Vec<String> = non_ascii().filter(ends).take(limit).collect();
                let after = non_ascii().filter(begins);
                let both = after.zip(before.iter().cycle());
                both.take(limit)
                    .map(|(after, before)| format!("{before}{characters}{after}"))
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the bytes within all characters.
    #[test]
    fn bytes_of_utf8_text_are_known() {
        let parts = |bytes: &[u8]| {
            let fragment = Fragment::new(bytes);
            fragment.map(|it| [it.head.len(), it.characters.len(), it.tail.len()])
        };
        let table: [(&[u8], Option<[usize; 3]>); 12] = [
            (b"abc", Some([0, 3, 0])),
            (b"\x80", Some([1, 0, 0])),
            (b"\xbf\xbf\xbf", Some([3, 0, 0])),
            (b"\x80\x80\x80\x80", None),
            (b"\x80a\xe4", Some([1, 1, 1])),
            (b" \xf0\x9f", Some([0, 1, 2])),
            (b"\xc0", None),
            (b"\xf5", None),
            (b"\xe0\x80", None),
            (b"\xed\xa0", None),
            (b"\xe4a", None),
            (b"\xf4\x8f\xbf", Some([0, 0, 3])),
        ];
        for (bytes, expected) in table {
            assert_eq!(parts(bytes), expected, "{bytes:?}");
        }
        let mut byte_in_text = [false; 256];
        for c in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            for begin in 0..bytes.len() {
                byte_in_text[usize::from(bytes[begin])] = true;
                for end in begin + 1..=bytes.len() {
                    assert!(Fragment::new(&bytes[begin..end]).is_some(), "{c:?}");
                }
            }
        }
        for byte in 0..=255 {
            let is_in_text = byte_in_text[usize::from(byte)];
            assert_eq!(parts(&[byte]).is_some(), is_in_text, "{byte}");
        }
    }
}
