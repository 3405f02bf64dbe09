//! Candidates from a file, used instead of the substrings of the corpus.
//!
//! A line has a piece, a tab and a count; more fields are ignored. It is skipped if its text cannot
//! be a piece or repeats a piece. The score of a piece is its count times its length in characters,
//! and that of a character of the corpus its count. The characters of the corpus are among the
//! seeds. Reading ends at `seed_sentencepiece_size` seeds, which include the characters here.
//!
//! Example: the corpus has the characters `▁` 3 and `a` 2, and the file is `▁a<tab>5` and
//! `a<tab>9`. The seeds are `▁a` (score 10), `▁` (3) and `a` (2): the second line repeats a
//! character.
//!
//! Source: function `LoadSeedSentencePiecesFromFile` of SentencePiece 0.2.3.

use std::collections::HashSet;
use std::path::Path;

use super::pieces::Seeds;
use super::seed_rules::SeedRules;
use super::seeds::ScoredSeeds;
use crate::base::num::count_to_f32;
use crate::train::TrainError;

/// A piece of the file or a character of the corpus.
struct SeedPiece {
    text: String,
    characters: u16,
    score: f32,
}

/// The seeds of a file with this content. `path` is for error messages.
///
/// # Errors
/// A line without a tab or with a count that is not a positive number.
pub(super) fn choose(
    characters: &[(char, u64)],
    content: &[u8],
    path: &Path,
    rules: &SeedRules,
) -> Result<ScoredSeeds, TrainError> {
    let character = |(c, count): &(char, u64)| SeedPiece {
        text: c.to_string(),
        characters: 1,
        score: count_to_f32(*count),
    };
    let mut pieces: Vec<SeedPiece> = characters.iter().map(character).collect();
    let mut seen: HashSet<String> = pieces.iter().map(|piece| piece.text.clone()).collect();
    for (line, number) in lines(content).zip(1..) {
        let (text, count) = parse(line).map_err(|problem| TrainError::Row {
            path: Some(path.to_owned()),
            line: number,
            problem,
        })?;
        let Some(piece) = piece(text, count, rules) else {
            continue;
        };
        if !seen.insert(piece.text.clone()) {
            continue;
        }
        if pieces.len() >= rules.limit {
            break;
        }
        pieces.push(piece);
    }
    Ok(sorted(pieces))
}

/// The lines of a file; the last one may lack its newline.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// The piece and the count of a line.
fn parse(line: &[u8]) -> Result<(&[u8], u64), &'static str> {
    let mut fields = line.split(|byte| *byte == b'\t');
    let text = fields.next().unwrap_or_default();
    let Some(count) = fields.next() else {
        return Err("a line must be a piece, a tab and a count");
    };
    let count = std::str::from_utf8(count).unwrap_or_default();
    match count.trim_ascii().parse::<i64>() {
        Ok(count) if count > 0 => Ok((text, count.unsigned_abs())),
        _ => Err("the count is not a positive number"),
    }
}

/// The piece, if it may be one.
fn piece(text: &[u8], count: u64, rules: &SeedRules) -> Option<SeedPiece> {
    let text = std::str::from_utf8(text).ok()?;
    let characters = text.chars().count();
    if characters > rules.max_length || !rules.split.allows(text) {
        return None;
    }
    let characters = u16::try_from(characters).ok()?;
    Some(SeedPiece {
        text: text.to_owned(),
        characters,
        // The reference multiplies in 64 bits, where a product may overflow.
        score: count_to_f32(count.wrapping_mul(characters.into())),
    })
}

/// The pieces by score, descending, and then by text.
fn sorted(mut pieces: Vec<SeedPiece>) -> ScoredSeeds {
    pieces.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| a.text.cmp(&b.text))
    });
    let mut seeds = Seeds::default();
    for piece in &pieces {
        seeds.push(piece.text.as_bytes(), piece.characters);
    }
    ScoredSeeds::new(seeds, pieces.iter().map(|piece| piece.score))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::options::TrainOptions;
    use crate::train::unigram::testing::seed_rules;

    fn texts(content: &str, limit: usize) -> Result<Vec<String>, TrainError> {
        let characters = [('▁', 3), ('a', 2)];
        let path = Path::new("seeds.tsv");
        let rules = seed_rules(&TrainOptions::default(), limit);
        let chosen = choose(&characters, content.as_bytes(), path, &rules)?;
        let text = |seed| String::from_utf8_lossy(chosen.seeds.text(seed)).into_owned();
        Ok(chosen.pieces.iter().map(|piece| text(piece.seed)).collect())
    }

    #[test]
    fn seeds_of_a_file_are_sorted_by_score() {
        let content = "▁a\t5\na\t9\nab\t 7 \tmore\na▁\t9\nb\t1\n";
        assert_eq!(texts(content, 100).unwrap(), ["ab", "▁a", "▁", "a", "b"]);
        assert_eq!(texts(content, 3).unwrap(), ["▁a", "▁", "a"]);
        assert_eq!(texts("", 0).unwrap(), ["▁", "a"]);
    }

    #[test]
    fn malformed_lines_are_refused() {
        for content in ["a 5\n", "ab\t0\n", "ab\tx\n", "ab\t-1\n", "\n", "\n\n"] {
            let error = texts(content, 100).unwrap_err();
            assert!(
                matches!(error, TrainError::Row { line: 1, .. }),
                "{content:?}: {error}"
            );
        }
    }
}
