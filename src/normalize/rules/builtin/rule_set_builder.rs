//! Builds a rule set: fast lookups by source, and the removal of rules that shorter rules imply.
//!
//! The rules come with shorter sources first. A rule is implied if the shorter rules that are kept,
//! applied from left to right with the longest match first, already give its target; such a rule is
//! not kept. The compiled charsmap matches in the same way, so leaving the rule out changes
//! nothing. Single code points are always kept.
//!
//! A source is packed into one number (see [`PackedSource`]). Each length has its own map, so the
//! maps that are used most stay small. An offered rule takes a few hash lookups, and the numbers
//! are sorted once at the end.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::base::Arena;
use crate::normalize::rules::rule_set::Rules;

/// Longest source that can be kept. The sets of Unicode 17 keep none of more than
/// four code points; longer ones are all implied.
const CAPACITY: usize = 6;
const POINT_BITS: usize = 21;

/// Up to six code points from U+0001 on, first in the highest bits, zeros for
/// absent ones: the order of the numbers is the order of the sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PackedSource(u128);

impl PackedSource {
    fn pack(points: &[u32]) -> Self {
        let packed = points
            .iter()
            .fold(0, |packed, &point| packed << POINT_BITS | u128::from(point));
        Self(packed << (POINT_BITS * (CAPACITY - points.len())))
    }

    fn unpack(self, points: &mut Vec<u32>) {
        const MASK: u128 = (1 << POINT_BITS) - 1;
        points.clear();
        let all = (1..=CAPACITY).map(|i| self.0 >> (POINT_BITS * (CAPACITY - i)) & MASK);
        points.extend(all.map_while(|point| u32::try_from(point).ok().filter(|&p| p != 0)));
    }
}

/// Rules by source; targets by number.
#[derive(Debug, Default)]
pub(super) struct RuleSetBuilder {
    /// Sources of one, two, ... code points, with target numbers.
    by_length: [HashMap<PackedSource, usize, FixedState>; CAPACITY],
    targets: Arena<u32>,
}

impl RuleSetBuilder {
    /// Stores a target and gives its number.
    pub(super) fn add_target(&mut self, target: &[u32]) -> usize {
        let number = self.targets.len();
        self.targets.push(target);
        number
    }

    /// Replaces every code point of every target.
    pub(super) fn map_targets(&mut self, change: impl Fn(u32) -> u32) {
        for point in self.targets.items_mut() {
            *point = change(*point);
        }
    }

    pub(super) fn has_single(&self, point: u32) -> bool {
        self.by_length[0].contains_key(&PackedSource::pack(&[point]))
    }

    /// Sets the rule of a single code point.
    pub(super) fn set_single(&mut self, point: u32, target: usize) {
        self.by_length[0].insert(PackedSource::pack(&[point]), target);
    }

    pub(super) fn remove_single(&mut self, point: u32) {
        self.by_length[0].remove(&PackedSource::pack(&[point]));
    }

    /// Adds a rule of several code points unless shorter ones imply it. All shorter rules must have
    /// been added before.
    pub(super) fn offer(&mut self, source: &[u32], target: usize) {
        if self.implies(source, self.targets.get(target)) {
            return;
        }
        debug_assert!(source.len() <= CAPACITY, "{source:X?} is not implied");
        if let Some(rules) = self.by_length.get_mut(source.len() - 1) {
            rules.insert(PackedSource::pack(source), target);
        }
    }

    /// The same rules without those that shorter ones now imply.
    pub(super) fn without_implied(self) -> Self {
        let [singles, longer @ ..] = self.by_length;
        let mut kept = Self {
            targets: self.targets,
            ..Self::default()
        };
        kept.by_length[0] = singles;
        let mut points = Vec::new();
        for (rules, of_length) in longer.into_iter().zip(1..) {
            kept.by_length[of_length].reserve(rules.len());
            for (source, target) in rules {
                source.unpack(&mut points);
                kept.offer(&points, target);
            }
        }
        kept
    }

    /// Whether rules shorter than `source` turn it into `target`.
    fn implies(&self, source: &[u32], target: &[u32]) -> bool {
        let mut source_rest = source;
        let mut target_rest = target;
        while !source_rest.is_empty() {
            let limit = source_rest.len().min(source.len() - 1);
            let (consumed, result) = self
                .longest_rule(&source_rest[..limit])
                .unwrap_or((1, &source_rest[..1]));
            let Some(rest) = target_rest.strip_prefix(result) else {
                return false;
            };
            target_rest = rest;
            source_rest = &source_rest[consumed..];
        }
        target_rest.is_empty()
    }

    /// The longest rule that matches at the start of `points`: its length and target.
    fn longest_rule(&self, points: &[u32]) -> Option<(usize, &[u32])> {
        let longest = points.len().min(CAPACITY);
        (1..=longest)
            .rev()
            .find_map(|length| Some((length, self.target_of(&points[..length])?)))
    }

    /// The target of the rule with this source, if there is one.
    fn target_of(&self, source: &[u32]) -> Option<&[u32]> {
        let rules = &self.by_length[source.len() - 1];
        let target = rules.get(&PackedSource::pack(source))?;
        Some(self.targets.get(*target))
    }

    pub(super) fn into_rules(self) -> Rules {
        let mut pairs: Vec<_> = self.by_length.into_iter().flatten().collect();
        pairs.sort_unstable();
        let mut rules = Rules::default();
        rules.targets = self.targets;
        let mut points = Vec::new();
        for (source, target) in pairs {
            source.unpack(&mut points);
            rules.push(&points, target);
        }
        rules
    }
}
