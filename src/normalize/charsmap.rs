//! The precompiled charsmap of a model file: read, checked, applied and written.
//!
//! It finds the longest rule that matches at the start of a text. The format:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | size of the trie in bytes, little endian |
//! | that many | a [double array](double_array): rule source -> position in the pool |
//! | the rest | the pool: rule targets in UTF-8, each terminated by NUL |
//!
//! Example: the rules `A -> a` and `Á -> a` have the pool `a\0`, and both keys `41` and `C3 81`
//! have the value 0. The text `Áb` matches the second key; 2 bytes are replaced by `a`.
//!
//! Reading makes all checks of the reference (sizes, the units of the trie, the NUL at the end), so
//! applying cannot fail. Writing gives the bytes of the reference: distinct targets in code point
//! order, sources in byte order. Like the reference, it treats sources and targets as C strings:
//! U+0000 and everything after it is cut off.
//!
//! Most text matches no rule, so a table says for each byte whether a rule can begin with it;
//! [`Charsmap::plain_length`] skips runs of text with this table. A byte that begins no rule takes
//! one load, another one a load for each byte of the longest rule prefix, 1,000 at most (the
//! reference follows rules of any length, so a crafted file makes it take quadratic time).
//! Compiling 225,000 rules takes some tens of milliseconds.

#[cfg(feature = "train")]
mod builtin;
#[cfg(feature = "train")]
mod compile;
mod double_array;
mod limits;

#[cfg(feature = "train")]
pub(crate) use builtin::builtin_charsmap;
#[cfg(feature = "train")]
pub(crate) use compile::compile;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use self::double_array::{DoubleArray, KeyChar, WalkLimits};
use self::limits::{MAX_MATCHES, MAX_SOURCE_BYTES};
use crate::base::char_length;
use crate::base::num::low_u8;

/// The limits beyond which the rules of a file count as cyclic. The largest built-in set has
/// 226,684 rules of up to 16 bytes.
const WALK_LIMITS: WalkLimits = WalkLimits {
    depth: MAX_SOURCE_BYTES,
    steps: 1_000_000,
};
/// The same limit for the total text of all rules: a small file can hold many rules that share
/// states.
const MAX_RULE_TEXT_BYTES: usize = 1 << 26;
/// A trie is a whole number of blocks of 256 units.
const TRIE_SIZE_MULTIPLE: usize = 1024;

/// Why bytes are not a charsmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CharsmapError {
    /// The bytes end within the size of the trie, or directly after it.
    TooShort(usize),
    /// The trie would fill the charsmap or exceed it.
    TrieTooLong {
        /// Size of the trie as written.
        claimed: usize,
        /// Bytes after the size.
        available: usize,
    },
    /// The trie is not a positive number of blocks.
    TrieSize(usize),
    /// The pool of replacements is cut off.
    Unterminated,
    /// A unit of the trie points outside the trie or the pool.
    BadTrie,
}

impl fmt::Display for CharsmapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(bytes) => write!(f, "the charsmap has only {bytes} bytes"),
            Self::TrieTooLong { claimed, available } => write!(
                f,
                "the charsmap's trie claims {claimed} of {available} bytes and leaves none for the replacements"
            ),
            Self::TrieSize(bytes) => write!(
                f,
                "the charsmap's trie has {bytes} bytes, which is not a positive multiple of {TRIE_SIZE_MULTIPLE}"
            ),
            Self::Unterminated => {
                f.write_str("the charsmap's last replacement has no NUL at its end")
            }
            Self::BadTrie => {
                f.write_str("the charsmap's trie points outside of itself or of the replacements")
            }
        }?;
        f.write_str("; the model file is damaged, get a fresh copy")
    }
}

impl std::error::Error for CharsmapError {}

/// What the first byte of a text says about the rules that may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// No rule begins with it.
    None,
    /// Rules begin with it, and the second byte of all of them is above 0x7F.
    BeforeNonAscii,
    /// Only the trie can tell.
    Any,
}

impl Lead {
    /// What `byte` says about the rules of a trie.
    fn of(trie: &DoubleArray, byte: u8) -> Self {
        match trie.step(trie.root(), byte) {
            None => Self::None,
            Some((base, None)) if (0..0x80).all(|byte| trie.step(base, byte).is_none()) => {
                Self::BeforeNonAscii
            }
            Some(_) => Self::Any,
        }
    }

    /// Whether a rule may match if `rest` follows the first byte.
    #[inline]
    fn allows(self, rest: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::BeforeNonAscii => rest.first().is_some_and(|byte| !byte.is_ascii()),
            Self::Any => true,
        }
    }
}

/// A [`Lead`] for each first byte.
#[derive(Clone, Debug)]
pub(crate) struct Leads([Lead; 256]);

impl Leads {
    fn of(trie: &DoubleArray) -> Self {
        Self(std::array::from_fn(|byte| {
            Lead::of(trie, low_u8(byte as u64))
        }))
    }

    /// Whether a rule may match at the start of `text`. Only false is certain.
    #[inline]
    pub(crate) fn may_match(&self, text: &[u8]) -> bool {
        let Some((&first, rest)) = text.split_first() else {
            return false;
        };
        self.0[usize::from(first)].allows(rest)
    }
}

/// What only counting asks.
#[cfg(feature = "train")]
impl Leads {
    /// Whether `text` is ASCII in which no rule matches. Only true is certain. It takes one load
    /// for each byte.
    pub(crate) fn match_nothing_in(&self, text: &[u8]) -> bool {
        text.iter()
            .all(|&byte| byte.is_ascii() && self.0[usize::from(byte)] != Lead::Any)
    }

    /// The length of the well-formed characters at the start of `text` that are not spaces and at
    /// which no rule matches. The result may be too small but never too large.
    #[inline]
    pub(crate) fn plain_length(&self, text: &[u8]) -> usize {
        let mut length = 0;
        while let Some(rest) = text.get(length..)
            && !self.may_match(rest)
        {
            length += match rest.first() {
                None | Some(b' ') => break,
                Some(byte) if byte.is_ascii() => 1,
                Some(_) => match crate::base::decode_char(rest) {
                    (Some(_), width) => width,
                    (None, _) => break,
                },
            };
        }
        length
    }
}

/// The trie and the pool of a charsmap, not yet checked.
fn split_sections(bytes: &[u8]) -> Result<(&[u8], &[u8]), CharsmapError> {
    let Some((size, body @ [_, ..])) = bytes.split_first_chunk::<4>() else {
        return Err(CharsmapError::TooShort(bytes.len()));
    };
    let claimed = u32::from_le_bytes(*size) as usize;
    let Some((trie, pool @ [_, ..])) = body.split_at_checked(claimed) else {
        return Err(CharsmapError::TrieTooLong {
            claimed,
            available: body.len(),
        });
    };
    if claimed == 0 || !claimed.is_multiple_of(TRIE_SIZE_MULTIPLE) {
        return Err(CharsmapError::TrieSize(claimed));
    }
    Ok((trie, pool))
}

/// Normalization rules, ready to be applied.
#[derive(Clone, Debug)]
pub(crate) struct Charsmap {
    trie: DoubleArray,
    /// Targets, each terminated by NUL.
    pool: Vec<u8>,
    leads: Leads,
}

impl Charsmap {
    /// Reads and checks a charsmap. Empty bytes are refused; see [`Charsmap::shared`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, CharsmapError> {
        let (trie, pool) = split_sections(bytes)?;
        if pool.last() != Some(&0) {
            return Err(CharsmapError::Unterminated);
        }
        let trie = DoubleArray::from_le_bytes(trie);
        if !trie.validate(pool.len()) {
            return Err(CharsmapError::BadTrie);
        }
        Ok(Self {
            leads: Leads::of(&trie),
            trie,
            pool: pool.to_vec(),
        })
    }

    /// Like [`Charsmap::from_bytes`], but shared; empty bytes mean no rules.
    pub(crate) fn shared(bytes: &[u8]) -> Result<Option<Arc<Self>>, CharsmapError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        Self::from_bytes(bytes).map(Arc::new).map(Some)
    }

    /// The target of the shortest rule that `text` begins with.
    #[cfg(feature = "formats")]
    pub(crate) fn shortest_match(&self, text: &[u8]) -> Option<&[u8]> {
        // A NUL ends the text.
        let text = text.split(|byte| *byte == 0).next()?;
        let (_, position) = self.trie.common_prefixes(text).next()?;
        Some(self.target(position))
    }

    /// The longest rule that matches at the start of `text`: the bytes consumed and the
    /// replacement.
    #[inline]
    pub(crate) fn longest_match(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let (length, position) = self.longest_source(text)?;
        Some((length, self.target(position)))
    }

    /// Whether a rule has all of `text` at its start, so that what follows it decides which rule applies.
    pub(crate) fn may_continue(&self, text: &[u8]) -> bool {
        let step = |base, byte: &u8| Some(self.trie.step(base, *byte)?.0);
        text.iter().try_fold(self.trie.root(), step).is_some()
    }

    /// The longest rule source that `text` begins with: its length, and the position of its target
    /// in the pool.
    #[inline]
    fn longest_source(&self, text: &[u8]) -> Option<(usize, usize)> {
        if !self.leads.may_match(text) {
            return None;
        }
        let source = &text[..text.len().min(MAX_SOURCE_BYTES)];
        self.trie.longest_prefix(source, MAX_MATCHES)
    }

    /// The target at this position in the pool.
    #[inline]
    fn target(&self, start: usize) -> &[u8] {
        let rest = self.pool.get(start..).unwrap_or_default();
        // Most targets have a few bytes, for which a loop is faster than a call of `memchr`.
        let length = rest.iter().position(|&byte| byte == 0);
        &rest[..length.unwrap_or(rest.len())]
    }

    /// The length of the characters at the start of `text` that are not spaces and at which no rule
    /// matches. The first `well_formed` bytes of `text` are well-formed.
    #[inline]
    pub(crate) fn plain_length(&self, text: &[u8], well_formed: usize) -> usize {
        let mut length = 0;
        while length < well_formed {
            let rest = &text[length..];
            if rest[0] == b' ' || self.longest_source(rest).is_some() {
                break;
            }
            length += char_length(rest);
        }
        length
    }

    /// All rules, sorted by source; `None` if the trie has a cycle or so many paths through shared
    /// states that the walk exceeds its limits.
    pub(crate) fn rules(&self) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut rules = Vec::new();
        let mut text_bytes = 0;
        let walk = self.trie.for_each_key(WALK_LIMITS, |source, value| {
            let target = self.target(value);
            text_bytes += source.len() + target.len();
            if text_bytes > MAX_RULE_TEXT_BYTES {
                return ControlFlow::Break(());
            }
            rules.push((source.to_vec(), target.to_vec()));
            ControlFlow::Continue(())
        });
        (walk.is_ok() && text_bytes <= MAX_RULE_TEXT_BYTES).then_some(rules)
    }

    /// The bytes of the longest target.
    #[cfg(feature = "formats")]
    pub(crate) fn longest_target(&self) -> usize {
        let targets = self.pool.split(|byte| *byte == 0);
        targets.map(<[u8]>::len).max().unwrap_or(0)
    }

    /// Passes each character of the sources, some of them several times. Returns false, and has not passed
    /// all, if a source is no whole characters or if there are too many.
    pub(crate) fn for_each_source_char(&self, visit: impl FnMut(KeyChar)) -> bool {
        self.trie.for_each_char(WALK_LIMITS.steps, visit)
    }

    /// Whether some rule's target contains `bytes` (which have no NUL).
    pub(crate) fn replacements_contain(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(&self.pool, bytes).is_some()
    }

    /// The table of first bytes.
    pub(crate) fn leads(&self) -> &Leads {
        &self.leads
    }
}

/// What only training asks.
#[cfg(feature = "train")]
impl Charsmap {
    /// Whether some rule's source contains the byte.
    pub(crate) fn any_key_contains(&self, byte: u8) -> bool {
        self.trie.any_key_contains(byte)
    }

    /// For each byte, whether it ends the source of a rule that deletes its source or whose target
    /// ends in a space.
    pub(crate) fn ends_of_space_rules(&self) -> [bool; 256] {
        let mut ends = [false; 256];
        self.trie.for_each_step(|byte, value| {
            ends[usize::from(byte)] |=
                value.is_some_and(|start| matches!(self.target(start).last(), None | Some(b' ')));
        });
        ends
    }
}

#[cfg(all(test, feature = "train"))]
mod tests;
