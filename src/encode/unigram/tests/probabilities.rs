//! Entropy and samples with scores against all segmentations of short texts.

use std::collections::{HashMap, HashSet};

use super::{all_segmentations, model};
use crate::base::rng::SplitMix64;
use crate::encode::EncodeError;
use crate::encode::unigram::UnigramEncoder;
use crate::encode::unigram::scored_sample::{ScoredMethod, ScoredRequest};
use crate::encode::vocabulary::Vocabulary;
use crate::model::Model;
use crate::piece::PieceId;

type Ids = Vec<PieceId>;

/// The encoder of a model, and the probabilities of all segmentations of a text, computed in 64
/// bits, best first.
struct Exact {
    unigram: UnigramEncoder,
    text: &'static str,
    alpha: f32,
    probabilities: Vec<(Ids, f64)>,
}

impl Exact {
    fn new(model: &Model, text: &'static str, alpha: f32) -> Self {
        let vocabulary = Vocabulary::new(model, true);
        let unigram = UnigramEncoder::new(&vocabulary).unwrap();
        let mut all = all_segmentations(&vocabulary, unigram.tables.unknown_score, true, text);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let weight = |score: f64| (f64::from(alpha) * score).exp();
        let total: f64 = all.iter().map(|(_, score)| weight(*score)).sum();
        let normalized = all
            .into_iter()
            .map(|(ids, score)| (ids, weight(score) / total));
        Self {
            unigram,
            text,
            alpha,
            probabilities: normalized.collect(),
        }
    }

    fn entropy(&self) -> f64 {
        let probabilities = self.probabilities.iter().map(|(_, p)| *p);
        probabilities
            .filter(|p| *p > 0.0)
            .map(|p| -p * p.ln())
            .sum()
    }

    fn draw(&self, samples: usize, method: ScoredMethod, rng: &mut SplitMix64) -> Vec<(Ids, f32)> {
        let request = ScoredRequest {
            samples,
            alpha: self.alpha,
            method,
        };
        let drawn = self
            .unigram
            .sample_with_scores(self.text.as_bytes(), request, rng);
        drawn.unwrap()
    }

    /// The probability that a sample of two without replacement contains each segmentation.
    fn inclusion_of_two(&self) -> Vec<f64> {
        let probabilities: Vec<f64> = self.probabilities.iter().map(|(_, p)| *p).collect();
        let second = |at: usize, first: usize| {
            let rest = 1.0 - probabilities[first];
            probabilities[first] * probabilities[at] / rest
        };
        let others = |at: usize| (0..probabilities.len()).filter(move |other| *other != at);
        (0..probabilities.len())
            .map(|at| {
                let later: f64 = others(at).map(|first| second(at, first)).sum();
                probabilities[at] + later
            })
            .collect()
    }
}

const CASES: [(&str, &str, f32); 6] = [
    ("unigram.model", "\u{2581}les", 0.5),
    ("unigram.model", "\u{2581}les\u{2581}de", 0.2),
    ("unigram_bytes.model", "\u{2581}de\u{4e00}", 1.0),
    ("unigram_coarse.model", "abcla", 0.1),
    ("unigram_unused.model", "les", 2.0),
    ("unigram.model", "abc", 0.0),
];

fn cases() -> impl Iterator<Item = Exact> {
    CASES
        .into_iter()
        .map(|(name, text, alpha)| Exact::new(&model(name), text, alpha))
}

/// Whether a frequency in `runs` runs is within five standard deviations of a probability.
#[track_caller]
fn assert_frequency(seen: u32, runs: u32, probability: f64) {
    let frequency = f64::from(seen) / f64::from(runs);
    let variance = probability * (1.0 - probability) / f64::from(runs);
    let allowed = 5.0 * variance.max(0.0).sqrt() + 1e-4;
    assert!(
        (frequency - probability).abs() < allowed,
        "{frequency}, not {probability}"
    );
}

#[test]
fn entropy_equals_the_sum_over_all_segmentations() {
    for exact in cases() {
        let found = exact.unigram.entropy(exact.text.as_bytes(), exact.alpha);
        let found = f64::from(found.unwrap());
        let expected = exact.entropy();
        assert!(
            (found - expected).abs() < 1e-4,
            "{}: {found}, not {expected}",
            exact.text
        );
    }
}

#[test]
fn entropy_of_equally_likely_segmentations_is_the_logarithm_of_their_number() {
    let exact = Exact::new(&model("unigram.model"), "\u{2581}les\u{2581}de", 0.0);
    let number = exact.probabilities.len();
    assert!(number > 10);
    let found = exact.unigram.entropy(exact.text.as_bytes(), 0.0).unwrap();
    assert!((f64::from(found) - (number as f64).ln()).abs() < 1e-5);
}

#[test]
fn entropy_of_a_single_segmentation_is_positive_zero() {
    let unigram = Exact::new(&model("unigram.model"), "l", 1.0).unigram;
    for text in ["", "\u{4e00}"] {
        let entropy = unigram.entropy(text.as_bytes(), 1.0).unwrap();
        assert_eq!(entropy.to_bits(), 0.0_f32.to_bits(), "{text}");
    }
}

#[test]
fn samples_with_replacement_have_their_probabilities_as_scores_and_as_frequencies() {
    let mut rng = SplitMix64::new(5);
    let runs = 20_000;
    for exact in cases() {
        let drawn = exact.draw(runs, ScoredMethod::WithReplacement, &mut rng);
        assert_eq!(drawn.len(), runs);
        let mut counts: HashMap<&Ids, u32> = HashMap::new();
        let mut scores: HashMap<&Ids, f32> = HashMap::new();
        for (ids, score) in &drawn {
            *counts.entry(ids).or_default() += 1;
            assert_eq!(*scores.entry(ids).or_insert(*score), *score);
        }
        let mut seen = 0;
        for (ids, probability) in &exact.probabilities {
            let count = counts.get(ids).copied().unwrap_or(0);
            assert_frequency(count, 20_000, *probability);
            if let Some(score) = scores.get(ids) {
                assert!((f64::from(*score) - probability.ln()).abs() < 1e-4);
                seen += 1;
            }
        }
        assert_eq!(
            seen,
            counts.len(),
            "only segmentations of the text are drawn"
        );
    }
}

#[test]
fn samples_without_replacement_are_distinct_and_complete_when_all_are_requested() {
    let mut rng = SplitMix64::new(6);
    for method in [ScoredMethod::WithoutReplacement, ScoredMethod::WithBest] {
        for exact in cases() {
            let all: HashSet<&Ids> = exact.probabilities.iter().map(|(ids, _)| ids).collect();
            for samples in 0..all.len() + 2 {
                let drawn = exact.draw(samples, method, &mut rng);
                assert_eq!(drawn.len(), samples.min(all.len()));
                let distinct: HashSet<&Ids> = drawn.iter().map(|(ids, _)| ids).collect();
                assert_eq!(
                    distinct.len(),
                    drawn.len(),
                    "a segmentation was drawn twice"
                );
                assert!(distinct.is_subset(&all));
                assert!(drawn.iter().all(|(_, score)| *score <= 0.0));
                if samples >= all.len() {
                    assert!(drawn.iter().all(|(_, score)| *score == 0.0), "{drawn:?}");
                }
            }
        }
    }
}

/// The frequency of each segmentation in samples, and the mean of 1 / exp(score), which is 1 for
/// unbiased scores.
struct Inclusion {
    counts: Vec<u32>,
    inverse: Vec<f64>,
}

fn inclusion(exact: &Exact, samples: usize, method: ScoredMethod, runs: u32) -> Inclusion {
    let mut rng = SplitMix64::new(8);
    let number = exact.probabilities.len();
    let mut found = Inclusion {
        counts: vec![0; number],
        inverse: vec![0.0; number],
    };
    for _ in 0..runs {
        for (ids, score) in exact.draw(samples, method, &mut rng) {
            let at = exact
                .probabilities
                .iter()
                .position(|(known, _)| *known == ids);
            let at = at.unwrap();
            found.counts[at] += 1;
            found.inverse[at] += (-f64::from(score)).exp() / f64::from(runs);
        }
    }
    found
}

#[test]
fn samples_without_replacement_have_the_inclusion_probabilities_of_successive_draws() {
    let runs = 30_000;
    for exact in cases().filter(|exact| exact.probabilities.len() > 2) {
        let expected = [
            exact.probabilities.iter().map(|(_, p)| *p).collect(),
            exact.inclusion_of_two(),
        ];
        for (samples, expected) in [1, 2].into_iter().zip(expected) {
            let found = inclusion(&exact, samples, ScoredMethod::WithoutReplacement, runs);
            for (at, probability) in expected.iter().enumerate() {
                assert_frequency(found.counts[at], runs, *probability);
                // Rare segmentations have a mean of few, large numbers.
                let is_frequent = *probability > 0.05;
                let bias = (found.inverse[at] - 1.0).abs();
                assert!(!is_frequent || bias < 0.1, "{probability}: {bias}");
            }
        }
    }
}

#[test]
fn the_best_segmentation_is_included_and_the_others_are_drawn_from_the_rest() {
    let runs = 30_000;
    for exact in cases().filter(|exact| exact.alpha > 0.0) {
        let (best, highest) = exact.probabilities[0].clone();
        let drawn = exact.draw(3, ScoredMethod::WithBest, &mut SplitMix64::new(1));
        assert_eq!(drawn[0], (best, 0.0));
        if exact.probabilities.len() < 3 {
            continue;
        }
        let found = inclusion(&exact, 2, ScoredMethod::WithBest, runs);
        assert_eq!(found.counts[0], runs);
        for (at, (_, probability)) in exact.probabilities.iter().enumerate().skip(1) {
            assert_frequency(found.counts[at], runs, probability / (1.0 - highest));
        }
    }
}

#[test]
fn a_seed_determines_the_samples() {
    let exact = Exact::new(&model("unigram.model"), "\u{2581}les\u{2581}de", 0.3);
    for method in [
        ScoredMethod::WithReplacement,
        ScoredMethod::WithoutReplacement,
        ScoredMethod::WithBest,
    ] {
        let draw = |seed| exact.draw(5, method, &mut SplitMix64::new(seed));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}

#[test]
fn an_empty_text_has_no_samples() {
    let exact = Exact::new(&model("unigram.model"), "", 1.0);
    assert!(
        exact
            .draw(3, ScoredMethod::WithReplacement, &mut SplitMix64::new(1))
            .is_empty()
    );
}

#[test]
fn more_samples_than_fit_in_memory_are_refused() {
    let unigram = Exact::new(&model("unigram.model"), "l", 1.0).unigram;
    for method in [
        ScoredMethod::WithReplacement,
        ScoredMethod::WithoutReplacement,
        ScoredMethod::WithBest,
    ] {
        let request = ScoredRequest {
            samples: usize::MAX,
            alpha: 1.0,
            method,
        };
        let refused = unigram.sample_with_scores(b"les", request, &mut SplitMix64::new(1));
        let expected = EncodeError::TooManySamples {
            samples: usize::MAX,
            limit: (1 << 24) / 4,
        };
        assert_eq!(refused, Err(expected));
    }
}

#[test]
fn an_alpha_that_makes_weights_infinite_is_refused() {
    let unigram = Exact::new(&model("unigram.model"), "l", 1.0).unigram;
    let request = ScoredRequest {
        samples: 2,
        alpha: f32::MAX,
        method: ScoredMethod::WithoutReplacement,
    };
    let refused = Err(EncodeError::Alpha { alpha: f32::MAX });
    assert_eq!(
        unigram.entropy(b"les", f32::MAX).map(|_| Vec::new()),
        refused
    );
    let drawn = unigram.sample_with_scores(b"les", request, &mut SplitMix64::new(1));
    assert_eq!(drawn, refused);
}

/// The search keeps as many branches as segmentations are missing. A text whose best segmentations
/// take many branches checks that none is lost: with steep weights the sample is nearly always the
/// list of the best.
#[test]
fn steep_samples_without_replacement_are_the_best_segmentations() {
    let model = model("unigram.model");
    let exact = Exact::new(&model, "\u{2581}les\u{2581}de", 40.0);
    let drawn = exact.draw(4, ScoredMethod::WithoutReplacement, &mut SplitMix64::new(3));
    let best = exact.probabilities.iter().take(4);
    assert!(
        drawn
            .iter()
            .map(|(ids, _)| ids)
            .eq(best.map(|(ids, _)| ids))
    );
}
