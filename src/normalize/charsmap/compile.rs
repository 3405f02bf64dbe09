//! Rules -> the bytes of a charsmap, equal to the reference's `CompileCharsMap`.
//!
//! The parts are those that [`charsmap`](super) describes. The pool has each target once, ascending
//! by code points, and the values of the trie are their positions. Sources that come out equal in
//! UTF-8 (code points above U+10FFFF all become U+FFFD) get the lowest position. Building the trie
//! takes most of the time.

use super::double_array::{BuildError, DoubleArray};
use super::limits::{MAX_MATCHES, MAX_SOURCE_BYTES};
use crate::base::TextArena;
use crate::normalize::rules::{Rules, encode_point};

/// Why rules cannot become a charsmap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// There are no rules.
    #[error("there are no normalization rules; leave the charsmap empty instead")]
    NoRules,
    /// A rule without a source.
    #[error("a normalization rule has no source; name the characters that it replaces")]
    EmptySource,
    /// A rule that changes nothing.
    #[error("a normalization rule maps {source_text} to itself; remove it")]
    Identity {
        /// The rule's source, as `U+..` code points.
        source_text: String,
    },
    /// A surrogate, which no text can contain.
    #[error("a normalization rule contains the surrogate U+{0:04X}; remove the rule")]
    Surrogate(u32),
    /// A source that begins with NUL; it would match everywhere.
    #[error("a normalization rule's source begins with U+0000; remove the rule")]
    NulSource,
    /// Too many rules could match at one position.
    #[error(
        "{0} normalization rules begin one with another; at most 31 may, so remove some \
         of the rules that only lengthen another one"
    )]
    TooManyPrefixes(usize),
    /// A source that is too long.
    #[error(
        "a normalization rule's source has {0} bytes; at most {MAX_SOURCE_BYTES} are looked at, so shorten it"
    )]
    SourceTooLong(usize),
    /// More than the format can address.
    #[error("the normalization rules need more room than a charsmap has; use fewer rules")]
    TooLarge,
}

impl From<BuildError> for CompileError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::EmptyKey | BuildError::NulInKey => Self::NulSource,
            _ => Self::TooLarge,
        }
    }
}

/// The charsmap of `rules`.
pub(crate) fn compile(rules: &Rules) -> Result<Vec<u8>, CompileError> {
    check(rules)?;
    let (pool, positions) = pool_targets(rules)?;
    let sources = encode_sources(rules)?;
    let keys = sorted_keys(&sources, rules, &positions);
    check_keys(&keys)?;
    let trie = DoubleArray::build(&keys)?.to_le_bytes();
    let size = u32::try_from(trie.len()).map_err(|_| CompileError::TooLarge)?;
    Ok([&size.to_le_bytes(), trie.as_slice(), &pool].concat())
}

/// Checks the limits that hold for encoded sources.
fn check_keys(keys: &[(&[u8], u32)]) -> Result<(), CompileError> {
    let lengths = keys.iter().map(|(key, _)| key.len());
    if let Some(bytes) = lengths.into_iter().find(|bytes| *bytes > MAX_SOURCE_BYTES) {
        return Err(CompileError::SourceTooLong(bytes));
    }
    let depth = longest_prefix_chain(keys);
    if depth >= MAX_MATCHES {
        return Err(CompileError::TooManyPrefixes(depth));
    }
    Ok(())
}

fn check(rules: &Rules) -> Result<(), CompileError> {
    if rules.is_empty() {
        return Err(CompileError::NoRules);
    }
    rules.iter().try_for_each(check_rule)
}

fn check_rule((source, target): (&[u32], &[u32])) -> Result<(), CompileError> {
    if source.is_empty() {
        return Err(CompileError::EmptySource);
    }
    if source == target {
        let source_text = code_points(source);
        return Err(CompileError::Identity { source_text });
    }
    Ok(())
}

/// Code points as `U+..`, separated by spaces.
fn code_points(points: &[u32]) -> String {
    let points: Vec<_> = points.iter().map(|p| format!("U+{p:04X}")).collect();
    points.join(" ")
}

/// The pool, and the position in it of each target, by number. Targets that no rule refers to any
/// more are left out.
fn pool_targets(rules: &Rules) -> Result<(Vec<u8>, Vec<u32>), CompileError> {
    let mut pool = Vec::new();
    let mut positions = vec![0; rules.target_count()];
    let mut previous: Option<&[u32]> = None;
    let mut position = 0;
    for number in used_targets(rules) {
        let target = rules.target(number);
        if previous != Some(target) {
            position = u32::try_from(pool.len()).map_err(|_| CompileError::TooLarge)?;
            encode(target, &mut pool)?;
            pool.push(0);
            previous = Some(target);
        }
        positions[number] = position;
    }
    Ok((pool, positions))
}

/// The numbers of the targets of rules, ascending by target.
fn used_targets(rules: &Rules) -> Vec<usize> {
    let mut is_used = vec![false; rules.target_count()];
    for (_, number) in rules.iter_numbered() {
        is_used[number] = true;
    }
    let mut used: Vec<usize> = (0..is_used.len()).filter(|&n| is_used[n]).collect();
    used.sort_unstable_by_key(|&number| rules.target(number));
    used
}

fn encode(points: &[u32], out: &mut Vec<u8>) -> Result<(), CompileError> {
    for &point in points {
        let c = encode_point(point).ok_or(CompileError::Surrogate(point))?;
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(())
}

/// The sources of all rules in UTF-8.
fn encode_sources(rules: &Rules) -> Result<TextArena, CompileError> {
    let mut sources = TextArena::with_capacity(rules.len(), rules.len() * 8);
    let mut source = Vec::new();
    for (points, _) in rules.iter() {
        source.clear();
        encode(points, &mut source)?;
        sources.push(&source);
    }
    Ok(sources)
}

/// The keys of the trie in byte order, each cut at its first NUL, with the positions of their
/// targets.
fn sorted_keys<'s>(
    sources: &'s TextArena,
    rules: &Rules,
    positions: &[u32],
) -> Vec<(&'s [u8], u32)> {
    let values = rules.iter_numbered().map(|(_, number)| positions[number]);
    let mut keys: Vec<(&[u8], u32)> = sources.iter().zip(values).collect();
    keys.sort();
    for (key, _) in &mut keys {
        *key = &key[..memchr::memchr(0, key).unwrap_or(key.len())];
    }
    keys
}

/// The length of the longest chain of keys in which each key is a prefix of the next. Keys are
/// sorted, so all prefixes of a key are still on the chain when the key is reached.
fn longest_prefix_chain(pairs: &[(&[u8], u32)]) -> usize {
    let mut chain: Vec<&[u8]> = Vec::new();
    let mut longest = 0;
    for &(key, _) in pairs {
        while chain.last().is_some_and(|last| !key.starts_with(last)) {
            chain.pop();
        }
        if chain.last() != Some(&key) {
            chain.push(key);
        }
        longest = longest.max(chain.len());
    }
    longest
}
