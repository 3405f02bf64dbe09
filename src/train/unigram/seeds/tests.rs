use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::train::options::TrainOptions;
use crate::train::split::SplitRules;
use crate::train::split::word_rules::WordRules;
use crate::train::unigram::sentences::{CHUNK_BYTES, CountedTexts};
use crate::train::unigram::testing::seed_rules;

/// Options that decide which substrings are candidates.
#[derive(Debug, Clone, Copy)]
struct CorpusRules {
    max_length: u8,
    splits_words: bool,
    whitespace_is_suffix: bool,
    whitespace_runs: bool,
    /// `min_freq_alpha` in tenths, and the power of the length.
    alpha_tenths: u8,
    power: u8,
}

impl CorpusRules {
    fn options(self) -> TrainOptions {
        let mut options = TrainOptions::default();
        options.max_sentencepiece_length = self.max_length.into();
        options.split_by_whitespace = self.splits_words;
        options.treat_whitespace_as_suffix = self.whitespace_is_suffix;
        options.allow_whitespace_only_pieces = self.whitespace_runs;
        options.vocab_size = 4;
        options.unigram.min_count_alpha = f32::from(self.alpha_tenths) / 10.0;
        options.unigram.seed_length_power = self.power.into();
        options
    }

    fn seed_rules(self, limit: usize) -> SeedRules {
        seed_rules(&self.options(), limit)
    }

    fn words(self) -> Option<WordRules> {
        self.splits_words.then(|| WordRules::new(&self.options()))
    }
}

fn sentences(counted: &[(String, u64)]) -> CountedTexts {
    let mut texts = CountedTexts::default();
    for (text, count) in counted {
        texts.push(text, *count);
    }
    texts
}

/// Where each substring of two bytes or more occurs is found by looking at all of them.
fn naive_candidates(counted: &[(String, u64)], rules: CorpusRules) -> BTreeMap<String, u64> {
    let mut corpus = Vec::new();
    for (text, count) in counted {
        for _ in 0..*count {
            corpus.extend_from_slice(text.as_bytes());
            corpus.push(0);
        }
    }
    let longest = 4 * usize::from(rules.max_length) + 1;
    let mut occurrences: BTreeMap<&[u8], Vec<Option<u8>>> = BTreeMap::new();
    for start in 0..corpus.len() {
        for end in start + 2..=corpus.len().min(start + longest) {
            let next = corpus.get(end).copied();
            occurrences
                .entry(&corpus[start..end])
                .or_default()
                .push(next);
        }
    }
    let split = SplitRules::new(&rules.options());
    let min_count = naive_min_count(corpus.len(), rules);
    let mut candidates = BTreeMap::new();
    for (bytes, next) in occurrences {
        if next.iter().all(|byte| *byte == next[0]) {
            continue;
        }
        if bytes.len() > 3 && (next.len() as u64) < min_count {
            continue;
        }
        let end = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        let Ok(text) = std::str::from_utf8(&bytes[..end]) else {
            continue;
        };
        let characters = text.chars().count();
        let fits = (2..=usize::from(rules.max_length)).contains(&characters);
        if fits && !text.contains('\0') && split.allows(text) {
            *candidates.entry(text.to_owned()).or_default() += next.len() as u64;
        }
    }
    candidates
}

/// The smallest count of a candidate of more than three bytes, with the formula as it is
/// documented.
fn naive_min_count(corpus_bytes: usize, rules: CorpusRules) -> u64 {
    let alpha = f64::from(rules.alpha_tenths) / 10.0;
    let vocab_size = 4.0f64;
    let corpus_bytes = u32::try_from(corpus_bytes).unwrap();
    let smallest = alpha * f64::from(corpus_bytes) / (vocab_size * vocab_size.ln());
    (2u32..)
        .find(|count| smallest < f64::from(count + 1))
        .unwrap()
        .into()
}

fn found_candidates(counted: &[(String, u64)], rules: CorpusRules) -> BTreeMap<String, u64> {
    let texts = sentences(counted);
    let mut all = BTreeMap::new();
    for chunk in texts.chunks(CHUNK_BYTES) {
        let entries = texts.entries(&chunk, rules.words()).unwrap();
        let chunk_bytes = entries.chunk_bytes();
        let seed_rules = rules.seed_rules(100);
        let min_counts = seed_rules.counts.min_counts(chunk_bytes).unwrap();
        let search = CandidateSearch {
            entries: &entries,
            rules: &seed_rules,
            min_counts,
        };
        for candidate in search.run() {
            let text = std::str::from_utf8(candidate.text(entries.bytes())).unwrap();
            assert_eq!(usize::from(candidate.characters), text.chars().count());
            // A substring may be found twice, as a node and as the node with a NUL more.
            *all.entry(text.to_owned()).or_default() += candidate.count;
        }
    }
    all
}

fn chosen(counted: &[(String, u64)], rules: CorpusRules, limit: usize) -> Vec<String> {
    let texts = sentences(counted);
    let chunks = texts.chunks(CHUNK_BYTES);
    let entries = chunks
        .iter()
        .map(|chunk| texts.entries(chunk, rules.words()));
    let chosen = choose(&[('a', 7)], entries, &rules.seed_rules(limit)).unwrap();
    let text = |seed| String::from_utf8(chosen.seeds.text(seed).to_vec()).unwrap();
    (0..u32::try_from(chosen.seeds.len()).unwrap())
        .map(text)
        .collect()
}

const DEFAULT: CorpusRules = CorpusRules {
    max_length: 16,
    splits_words: true,
    whitespace_is_suffix: false,
    whitespace_runs: false,
    alpha_tenths: 0,
    power: 1,
};

fn counted(texts: &[(&str, u64)]) -> Vec<(String, u64)> {
    texts
        .iter()
        .map(|(text, count)| ((*text).to_owned(), *count))
        .collect()
}

#[test]
fn candidates_of_the_module_example() {
    let corpus = counted(&[("▁ab▁ab", 1), ("▁abc", 1)]);
    let found = found_candidates(&corpus, DEFAULT);
    assert_eq!(found, naive_candidates(&corpus, DEFAULT));
    assert_eq!(found.get("ab"), Some(&3));
    assert_eq!(found.get("bc"), None);
}

/// `ab` is always followed by `▁` or `▅`, whose first byte is the same.
#[test]
fn a_substring_followed_by_one_byte_is_no_candidate() {
    let corpus = counted(&[("▁ab▁ab▅", 5)]);
    assert_eq!(found_candidates(&corpus, DEFAULT).get("ab"), None);
}

#[test]
fn seeds_are_sorted_by_score_then_length_then_bytes() {
    let corpus = counted(&[("▁xy", 3), ("▁xyz", 1), ("▁st", 3), ("▁stu", 1)]);
    let all = chosen(&corpus, DEFAULT, 100);
    assert_eq!(all[0], "a", "characters come first");
    assert_eq!(all, with_scores(&corpus, DEFAULT));
    assert_eq!(chosen(&corpus, DEFAULT, 2), all[..3]);
    assert_eq!(chosen(&corpus, DEFAULT, 0), ["a"]);
}

/// The character and the candidates in the order of their scores.
fn with_scores(corpus: &[(String, u64)], rules: CorpusRules) -> Vec<String> {
    let mut sorted: Vec<(String, u64)> = naive_candidates(corpus, rules).into_iter().collect();
    let weight = |text: &str| (text.chars().count() as u64).pow(rules.power.into());
    let score = |(text, count): &(String, u64)| count * weight(text);
    sorted.sort_by(|a, b| {
        let by_score = score(b).cmp(&score(a));
        by_score.then(b.0.len().cmp(&a.0.len())).then(a.0.cmp(&b.0))
    });
    let texts = sorted.into_iter().map(|(text, _)| text);
    std::iter::once("a".to_owned()).chain(texts).collect()
}

fn rules() -> impl Strategy<Value = CorpusRules> {
    let splitting = (any::<bool>(), any::<bool>(), any::<bool>());
    let scoring = (prop_oneof![Just(0u8), 0u8..20], 0u8..4);
    (2u8..8, splitting, scoring).prop_map(|(max_length, splitting, scoring)| CorpusRules {
        max_length,
        splits_words: splitting.0,
        whitespace_is_suffix: splitting.1,
        whitespace_runs: splitting.2,
        alpha_tenths: scoring.0,
        power: scoring.1,
    })
}

fn corpora(pattern: &'static str) -> impl Strategy<Value = Vec<(String, u64)>> {
    proptest::collection::vec((pattern, 1u64..4), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn candidates_are_those_of_all_substrings(
        corpus in prop_oneof![corpora("[ab▁]{1,14}"), corpora("▁[aéè▁▅𝒳]{1,8}"), corpora("(▁a{1,4}b?){1,3}")],
        rules in rules(),
    ) {
        prop_assert_eq!(found_candidates(&corpus, rules), naive_candidates(&corpus, rules));
        prop_assert_eq!(chosen(&corpus, rules, 1000), with_scores(&corpus, rules));
    }
}
