//! The reference's built-in rule sets, computed from Unicode's own tables.
//!
//! | name | steps |
//! |---|---|
//! | `identity` | no rules |
//! | `nfkc` | compatibility composition |
//! | `nmt_nfkc` | the same, then control characters are deleted and unusual spaces become spaces |
//! | `nfkc_cf`, `nmt_nfkc_cf` | the steps of `nfkc` or `nmt_nfkc`, then one-to-one case folding |
//!
//! Each step changes a [`RuleSetBuilder`] and then drops the rules that shorter rules imply, at the
//! same point as the reference: a rule that is dropped early does not come back. The tables are
//! those of Unicode 17, whatever the current version is, because the compiled bytes go into model
//! files; hence the pinned crates.
//!
//! A set takes some tens of milliseconds;
//! [`charsmap::builtin`](crate::normalize::charsmap::builtin) compiles it at most once in a
//! process.

mod decompose;
mod rule_set_builder;

use std::ops::RangeInclusive;

use self::rule_set_builder::RuleSetBuilder;
use super::rule_set::Rules;

/// The names of the built-in rule sets.
pub(crate) const BUILTIN_NAMES: [&str; 5] =
    ["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"];

/// Code points above this one neither decompose nor fold in Unicode 17.
const LAST_CHANGING: char = '\u{2FFFF}';

/// The code points that `nmt_` rules turn into a space.
const NMT_SPACES: [u32; 15] = [
    0x09, 0x0A, 0x0C, 0x0D, 0x061C, 0x1680, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581,
    0xFEFF, 0xFFFD,
];
/// The code points that `nmt_` rules delete besides the control characters below U+0020.
const NMT_DELETIONS: [u32; 3] = [0x7F, 0x8F, 0x9F];
/// The full-width tilde, which `nmt_` rules do not change: Japanese distinguishes it.
const NMT_KEPT: u32 = 0xFF5E;

/// Simple case foldings that Unicode 17 added: upper case, and the distance to lower case.
const UNICODE_17_FOLDINGS: [(RangeInclusive<u32>, u32); 4] = [
    (0xA7CE..=0xA7CE, 1),
    (0xA7D2..=0xA7D2, 1),
    (0xA7D4..=0xA7D4, 1),
    (0x1_6EA0..=0x1_6EB8, 27),
];

/// The rules of a built-in set; `None` if there is no set with this name.
pub(crate) fn builtin_rules(name: &str) -> Option<Rules> {
    let (nmt, fold) = match name {
        "identity" => return Some(Rules::default()),
        "nfkc" => (false, false),
        "nmt_nfkc" => (true, false),
        "nfkc_cf" => (false, true),
        "nmt_nfkc_cf" => (true, true),
        _ => return None,
    };
    let mut builder = decompose::nfkc();
    if nmt {
        apply_nmt(&mut builder);
        builder = builder.without_implied();
    }
    if fold {
        apply_case_folding(&mut builder);
        builder = builder.without_implied();
    }
    Some(builder.into_rules())
}

/// The changes that the reference makes for machine translation.
fn apply_nmt(builder: &mut RuleSetBuilder) {
    let controls = (0x01..0x20).filter(|point| !NMT_SPACES.contains(point));
    map_all(builder, NMT_SPACES, &[0x20]);
    map_all(builder, controls.chain(NMT_DELETIONS), &[]);
    builder.remove_single(NMT_KEPT);
}

/// Maps each of `points` to `target`.
fn map_all(builder: &mut RuleSetBuilder, points: impl IntoIterator<Item = u32>, target: &[u32]) {
    let target = builder.add_target(target);
    for point in points {
        builder.set_single(point, target);
    }
}

/// Folds the targets of rules, and every character that no rule changes.
fn apply_case_folding(builder: &mut RuleSetBuilder) {
    builder.map_targets(|point| char::from_u32(point).map_or(point, simple_fold));
    for c in '\u{1}'..=LAST_CHANGING {
        let folded = simple_fold(c);
        if folded != u32::from(c) && !builder.has_single(c.into()) {
            map_all(builder, [c.into()], &[folded]);
        }
    }
}

/// The simple (one-to-one, language-independent) case folding of Unicode 17.
fn simple_fold(c: char) -> u32 {
    let known = unicode_case_mapping::case_folded(c).map(u32::from);
    added_folding(c.into()).or(known).unwrap_or(c.into())
}

/// The folding of a code point whose folding Unicode 17 added.
fn added_folding(point: u32) -> Option<u32> {
    UNICODE_17_FOLDINGS
        .iter()
        .find(|(upper, _)| upper.contains(&point))
        .map(|(_, distance)| point + distance)
}

#[cfg(test)]
mod tests;
