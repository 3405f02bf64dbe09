//! The rules of compatibility composition (NFKC) of Unicode 17.
//!
//! In: nothing but the tables of `unicode-normalization`. Out: a [`RuleSetBuilder`].
//!
//! Two kinds of rules. Each single character that NFKC changes, with its result.
//! And, because a charsmap sees a text piece by piece where NFKC would compose
//! across characters, sequences: for each full decomposition of a character that
//! composes again, all sequences of characters that decompose into the same, that
//! is, every choice of one character in each place. (The sequence U+0065 U+0301 is
//! one, U+FF45 U+0301 another; the syllables of Hangul make most of the 225,000.)
//! Those that shorter rules imply are left out on the way.
//!
//! Cost: a table look-up for each code point up to U+2FFFF, a real normalization
//! for the 17,000 that decompose, some look-ups for 245,000 sequences.

use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::decompose_compatible;

use super::LAST_CHANGING;
use super::rule_set_builder::RuleSetBuilder;

/// Characters by what they decompose into.
#[derive(Default)]
struct Decompositions {
    builder: RuleSetBuilder,
    /// Of each code point, the others that decompose into it alone.
    origins: FxHashMap<u32, Vec<u32>>,
    /// Decompositions that compose into something else, with the target number.
    composing: Vec<(Vec<u32>, usize)>,
}

/// The `nfkc` rules.
pub(super) fn nfkc() -> RuleSetBuilder {
    let mut found = Decompositions::default();
    for c in ('\u{1}'..=LAST_CHANGING).filter(|&c| !is_noncharacter(c) && decomposes(c)) {
        found.add(c);
    }
    let Decompositions {
        mut builder,
        origins,
        mut composing,
    } = found;
    // Shorter ones first; several characters may have one decomposition.
    composing.sort_unstable_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    composing.dedup_by(|(a, _), (b, _)| a == b);
    for (decomposition, target) in &composing {
        offer_sequences(&mut builder, &origins, decomposition, *target);
    }
    builder
}

/// Whether the full compatibility decomposition is anything but the character.
fn decomposes(c: char) -> bool {
    let mut changed = false;
    decompose_compatible(c, |part| changed |= part != c);
    changed
}

/// U+FDD0..U+FDEF and the last two code points of each plane.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{FDD0}'..='\u{FDEF}') || u32::from(c) & 0xFFFE == 0xFFFE
}

impl Decompositions {
    /// Takes in a character that decomposes.
    fn add(&mut self, c: char) {
        let point = u32::from(c);
        let decomposed: Vec<u32> = std::iter::once(c).nfkd().map(u32::from).collect();
        let composed: Vec<u32> = std::iter::once(c).nfkc().map(u32::from).collect();
        let target = self.builder.add_target(&composed);
        if composed != [point] {
            self.builder.set_single(point, target);
        }
        match *decomposed {
            [single] => self.origins.entry(single).or_default().push(point),
            _ if composed != decomposed => self.composing.push((decomposed, target)),
            _ => {}
        }
    }
}

/// Offers every sequence that decomposes into `decomposition`, but for the one
/// that is the target itself.
fn offer_sequences(
    builder: &mut RuleSetBuilder,
    origins: &FxHashMap<u32, Vec<u32>>,
    decomposition: &[u32],
    target: usize,
) {
    let choices: Vec<&[u32]> = decomposition
        .iter()
        .map(|point| origins.get(point).map_or(&[][..], Vec::as_slice))
        .collect();
    // Counts through all choices; 0 stands for the code point itself.
    let mut places = vec![0; decomposition.len()];
    let mut sequence = decomposition.to_vec();
    loop {
        builder.offer(&sequence, target);
        let Some(place) = places.iter().zip(&choices).position(|(&i, c)| i < c.len()) else {
            return;
        };
        sequence[place] = choices[place][places[place]];
        places[place] += 1;
        places[..place].fill(0);
        sequence[..place].copy_from_slice(&decomposition[..place]);
    }
}
