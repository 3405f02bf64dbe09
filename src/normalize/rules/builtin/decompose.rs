//! The rules of compatibility composition (NFKC) of Unicode 17.
//!
//! They come from the table that `build.rs` makes from `unicode-normalization`, and from nothing
//! else.
//!
//! There are two kinds of rules. The first kind maps each single character that NFKC changes to its
//! result. The second kind maps sequences, because a charsmap is applied match by match, whereas
//! NFKC composes across characters: for each full decomposition of a character that composes again,
//! the sources are all sequences of characters with this decomposition, that is, every choice of
//! one character in each place. (The sequence U+0065 U+0301 is one, U+FF45 U+0301 another; the
//! syllables of Hangul make most of the 225,000.) Rules that shorter rules imply are left out.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::rule_set_builder::RuleSetBuilder;

/// Characters by their decompositions.
#[derive(Default)]
struct Decompositions {
    builder: RuleSetBuilder,
    /// For each code point, the other code points whose decomposition is this single one.
    origins: HashMap<u32, Vec<u32>, FixedState>,
    /// Decompositions that compose into something else, with the target number.
    composing: Vec<(Vec<u32>, usize)>,
}

/// The `nfkc` rules.
pub(super) fn nfkc() -> RuleSetBuilder {
    let mut found = Decompositions::default();
    let (before_hangul, after_hangul): (Vec<_>, Vec<_>) =
        table().partition(|row| row.point < HANGUL_FIRST);
    for row in before_hangul
        .into_iter()
        .chain(hangul())
        .chain(after_hangul)
    {
        found.add(row);
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

/// A character that decomposes, by code points.
#[derive(Debug, PartialEq, Eq)]
struct DecompositionRow {
    point: u32,
    /// The full compatibility decomposition.
    decomposed: Vec<u32>,
    /// The composition of that.
    composed: Vec<u32>,
}

/// The rows of all characters that decompose, ascending, except the syllables of Hangul.
///
/// The text that is read has for each row: the distance from the code point of the row before, as a
/// character; the decomposition; and U+0001 if the character is its own composition, U+0000 if it
/// has the decomposition as its composition, or else U+0002, the composition and U+0000.
fn table() -> impl Iterator<Item = DecompositionRow> {
    let mut rest = include_str!(concat!(env!("OUT_DIR"), "/decompositions.txt"));
    let mut point = 0;
    std::iter::from_fn(move || {
        let distance = rest.chars().next()?;
        point += u32::from(distance);
        rest = &rest[distance.len_utf8()..];
        let (decomposed, mark) = take_until_mark(&mut rest);
        let composed = match mark {
            '\u{1}' => vec![point],
            '\u{2}' => take_until_mark(&mut rest).0,
            _ => decomposed.clone(),
        };
        Some(DecompositionRow {
            point,
            decomposed,
            composed,
        })
    })
}

/// The code points before the next mark, and the mark.
fn take_until_mark(rest: &mut &str) -> (Vec<u32>, char) {
    let (points, mark) = match rest.find(|c| c <= '\u{2}') {
        Some(end) => (&rest[..end], char::from(rest.as_bytes()[end])),
        None => (*rest, '\0'),
    };
    *rest = rest.get(points.len() + 1..).unwrap_or_default();
    (points.chars().map(u32::from).collect(), mark)
}

/// The first syllable of Hangul.
const HANGUL_FIRST: u32 = 0xAC00;

/// The syllables of Hangul: each is its own composition. The decompositions are computed as chapter
/// 3.12 of the Unicode Standard says. For example, U+AC01 is the first leading consonant, the first
/// vowel and the first trailing consonant.
fn hangul() -> impl Iterator<Item = DecompositionRow> {
    const LEADING: u32 = 0x1100;
    const VOWEL: u32 = 0x1161;
    /// One before the first trailing consonant: 0 means none.
    const TRAILING: u32 = 0x11A7;
    const VOWELS: u32 = 21;
    const TRAILINGS: u32 = 28;
    (0..19 * VOWELS * TRAILINGS).map(|syllable| {
        let mut decomposed = vec![
            LEADING + syllable / (VOWELS * TRAILINGS),
            VOWEL + syllable / TRAILINGS % VOWELS,
        ];
        if syllable % TRAILINGS > 0 {
            decomposed.push(TRAILING + syllable % TRAILINGS);
        }
        DecompositionRow {
            point: HANGUL_FIRST + syllable,
            decomposed,
            composed: vec![HANGUL_FIRST + syllable],
        }
    })
}

impl Decompositions {
    /// Adds a character that decomposes.
    fn add(&mut self, row: DecompositionRow) {
        let DecompositionRow {
            point,
            decomposed,
            composed,
        } = row;
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

/// Offers every sequence that decomposes into `decomposition`.
fn offer_sequences(
    builder: &mut RuleSetBuilder,
    origins: &HashMap<u32, Vec<u32>, FixedState>,
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

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    #[test]
    fn rows_equal_unicode_normalization() {
        let all = ('\0'..=char::MAX).map(|c| DecompositionRow {
            point: c.into(),
            decomposed: std::iter::once(c).nfkd().map(u32::from).collect(),
            composed: std::iter::once(c).nfkc().map(u32::from).collect(),
        });
        let expected: Vec<_> = all.filter(|row| row.decomposed != [row.point]).collect();
        let mut rows: Vec<_> = table().chain(hangul()).collect();
        rows.sort_by_key(|row| row.point);
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            assert_eq!(row, expected);
        }
    }
}
