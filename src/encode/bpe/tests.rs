//! The fast ways of merging against a slow one, on models with every kind of score.

use std::collections::HashMap;
use std::path::Path;

use proptest::prelude::*;

use super::origins::Origin;
use super::pairs::{PairCache, Pairs};
use super::peace::PeaceCache;
use super::symbols::NO_SYMBOL;
use super::{Bpe, BpeCache};
use crate::encode::vocabulary::Vocabulary;
use crate::encode::{SegmentScratch, Segmenter};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::rng::SplitMix64;
use crate::trie::prefix::PrefixTrie;

fn model(name: &str) -> Model {
    Model::open(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("testdata")
            .join(name),
    )
    .unwrap()
}

/// BPE as it is told: look at all pairs, merge the best one, begin again. Texts only.
struct Slow<'m> {
    vocabulary: Vocabulary<'m>,
    ids: HashMap<&'m [u8], usize>,
    symbols: PrefixTrie,
}

impl<'m> Slow<'m> {
    fn new(model: &'m Model) -> Slow<'m> {
        let vocabulary = Vocabulary::new(model, true);
        let ids = (0..vocabulary.len()).filter(|id| vocabulary.is_from_text(*id));
        let symbols = PrefixTrie::with_values(vocabulary.symbols()).unwrap();
        Slow {
            vocabulary,
            ids: ids.map(|id| (vocabulary.text(id), id)).collect(),
            symbols,
        }
    }

    fn segment(&self, text: &str) -> Vec<PieceId> {
        let mut parts: Vec<(String, bool)> = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let symbol = self.symbols.longest(rest.as_bytes());
            let (part, after) = rest.split_at(symbol.unwrap_or(c.len_utf8()));
            parts.push((part.to_owned(), symbol.is_some()));
            rest = after;
        }
        loop {
            let mut best: Option<(f32, usize)> = None;
            for at in 1..parts.len() {
                let ((left, left_frozen), (right, right_frozen)) = (&parts[at - 1], &parts[at]);
                let joined = format!("{left}{right}");
                let Some(id) = self
                    .ids
                    .get(joined.as_bytes())
                    .filter(|_| !left_frozen && !right_frozen)
                else {
                    continue;
                };
                let score = self.vocabulary.score(*id);
                if best.is_none_or(|(found, _)| score.total_cmp(&found).is_gt()) {
                    best = Some((score, at));
                }
            }
            let Some((_, at)) = best else { break };
            let (right, _) = parts.remove(at);
            parts[at - 1].0.push_str(&right);
        }
        let id = |(part, _): &(String, bool)| self.ids.get(part.as_bytes()).copied();
        parts
            .iter()
            .map(|part| id(part).map_or(self.vocabulary.unknown(), PieceId::from_index))
            .collect()
    }
}

/// Texts of the parts of pieces and some that are in none.
fn texts(model: &Model) -> impl Strategy<Value = String> + use<> {
    let mut parts: Vec<String> = model
        .pieces()
        .filter_map(|piece| String::from_utf8(piece.text.to_vec()).ok())
        .collect();
    parts.extend(
        [
            "\u{4e00}",
            "\u{1f600}",
            " ",
            "\u{2581}",
            "\u{2581}",
            "a",
            "zz",
            "\0",
            "\u{300}",
        ]
        .map(str::to_owned),
    );
    proptest::collection::vec(proptest::sample::select(parts), 0..40)
        .prop_map(|parts| parts.concat())
}

/// Checks that the fast and the slow way agree, that a warm cache changes nothing, and that parts between
/// cuts have the ids of the whole.
fn agrees(name: &str, cases: u32) {
    let model = model(name);
    let slow = Slow::new(&model);
    let (segmenter, _) = Segmenter::new(&model, true).unwrap();
    let Segmenter::Bpe(bpe) = &segmenter else {
        panic!("{name} is no BPE model")
    };
    let scratch = std::cell::RefCell::new(BpeCache::default());
    let segment = |text: &str| {
        let mut ids = Vec::new();
        bpe.segment(
            model.table(),
            text.as_bytes(),
            &mut scratch.borrow_mut(),
            &mut ids,
        );
        ids
    };
    proptest!(ProptestConfig::with_cases(cases), |(text in texts(&model), apart in 0usize..20)| {
        let ids = segment(&text);
        prop_assert_eq!(&ids, &slow.segment(&text));
        let mut parts = Vec::new();
        let cuts = bpe.cuts::<false>(text.as_bytes(), apart);
        for (start, end) in std::iter::once(&0).chain(&cuts).zip(cuts.iter().chain([&text.len()])) {
            parts.extend(segment(&text[*start..*end]));
        }
        prop_assert_eq!(parts, ids);
    });
}

#[test]
fn fast_and_slow_agree() {
    for name in [
        "golden/llama2.model",
        "golden/symbols.model",
        "golden/repeats.model",
        "run/bpe_equal.model",
    ] {
        agrees(name, 300);
    }
    agrees("run/bpe_scores.model", 300);
    agrees("run/bpe_symbols.model", 300);
}

#[test]
fn long_chunks_are_merged_as_short_ones() {
    let model = model("golden/repeats.model");
    let (slow, vocabulary) = (Slow::new(&model), Vocabulary::new(&model, true));
    let bpe = Bpe::new(
        &vocabulary,
        PrefixTrie::with_values(vocabulary.symbols())
            .unwrap()
            .into(),
    );
    for length in [1, 2, 23, 24, 25, 26, 27, 60, 300] {
        for unit in ["a", "ab", "aab"] {
            let (text, mut ids) = (unit.repeat(length), Vec::new());
            bpe.segment(
                model.table(),
                text.as_bytes(),
                &mut BpeCache::default(),
                &mut ids,
            );
            assert_eq!(ids, slow.segment(&text), "{unit} {length} times");
        }
    }
}

#[test]
fn hostile_lines_take_no_longer() {
    let model = model("golden/llama2.model");
    let (segmenter, _) = Segmenter::new(&model, true).unwrap();
    for text in [
        "a".repeat(400_000),
        "ab".repeat(200_000),
        "\u{2581}".repeat(200_000),
        "\u{1f600}".repeat(100_000),
    ] {
        let mut ids = Vec::new();
        segmenter.segment(
            model.table(),
            text.as_bytes(),
            &mut SegmentScratch::default(),
            &mut ids,
        );
        let length: usize = ids
            .iter()
            .map(|id| model.table().text(id.index()).len())
            .sum();
        assert!(
            length == text.len()
                || ids
                    .iter()
                    .all(|id| model.table().kind(id.index()) == PieceKind::Unknown)
        );
    }
}

#[test]
fn unknown_characters_are_at_peace_with_everything() {
    let mut irregular = 0;
    for name in [
        "golden/llama2.model",
        "golden/repeats.model",
        "run/bpe_equal.model",
        "run/bpe_scores.model",
    ] {
        let model = model(name);
        let (Segmenter::Bpe(bpe), _) = Segmenter::new(&model, true).unwrap() else {
            panic!("no BPE model")
        };
        let (mut peace, mut cache) = (PeaceCache::default(), PairCache::default());
        let mut pairs = Pairs {
            symbols: &bpe.symbols,
            pieces: model.table(),
            cache: &mut cache,
        };
        for symbol in (0..u32::try_from(model.len()).unwrap()).chain([NO_SYMBOL]) {
            irregular += usize::from(bpe.origin(symbol, &mut pairs) == Origin::Irregular);
            for (left, right) in [(NO_SYMBOL, symbol), (symbol, NO_SYMBOL)] {
                let found = bpe.at_peace(left, right, &mut peace, &mut pairs);
                assert_eq!(found, Some(true), "{name}: {left}, {right}");
            }
        }
    }
    assert!(irregular > 0);
}

#[test]
fn dropout_of_none_and_of_all() {
    let model = model("golden/llama2.model");
    let (Segmenter::Bpe(bpe), _) = Segmenter::new(&model, true).unwrap() else {
        panic!("no BPE model")
    };
    let text = "\u{2581}les\u{2581}droits\u{2581}de\u{2581}l'homme".as_bytes();
    let (mut scratch, mut best, mut none, mut all) =
        (BpeCache::default(), Vec::new(), Vec::new(), Vec::new());
    bpe.segment(model.table(), text, &mut scratch, &mut best);
    bpe.sample(model.table(), text, || false, &mut scratch, &mut none);
    bpe.sample(model.table(), text, || true, &mut scratch, &mut all);
    assert_eq!(none, best);
    assert_eq!(all.len(), 22); // characters
}

#[test]
fn malformed_text_is_unknown_and_loses_nothing() {
    let model = model("golden/llama2.model");
    let (segmenter, _) = Segmenter::new(&model, true).unwrap();
    let mut rng = SplitMix64::new(5);
    for _ in 0..300 {
        let text: Vec<u8> = (0..rng.below(40))
            .map(|_| rng.next_u64().to_le_bytes()[0])
            .collect();
        let mut ids = Vec::new();
        segmenter.segment(
            model.table(),
            &text,
            &mut SegmentScratch::default(),
            &mut ids,
        );
        let mut rest = &text[..];
        for id in ids {
            let is_unknown = model.table().kind(id.index()) == PieceKind::Unknown;
            let length = if is_unknown {
                segmenter.unknown_length(rest)
            } else {
                model.table().text(id.index()).len()
            };
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
    }
}

#[test]
fn long_chunks_have_the_ids_that_merging_gives() {
    for name in [
        "golden/llama2.model",
        "golden/repeats.model",
        "run/bpe_equal.model",
        "run/bpe_scores.model",
    ] {
        let model = model(name);
        let (Segmenter::Bpe(bpe), _) = Segmenter::new(&model, true).unwrap() else {
            panic!("no BPE model")
        };
        let (mut scratch, mut rng) = (BpeCache::default(), SplitMix64::new(7));
        let pieces: Vec<&[u8]> = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::Normal)
            .map(|p| p.text)
            .collect();
        for round in 0..800 {
            // A few parts again and again, so that there is hardly a place to cut.
            let pick = |rng: &mut SplitMix64| match rng.below(12) {
                0..3 => &b"a"[..],
                // In no piece, but it may seem to go on where a mark does.
                3 => b" ",
                _ => pieces[usize::try_from(rng.below(pieces.len() as u64)).unwrap()],
            };
            let parts: Vec<&[u8]> = (0..1 + round % 5).map(|_| pick(&mut rng)).collect();
            let length = rng.below(300);
            let text: Vec<u8> = (0..length)
                .flat_map(|_| parts[usize::try_from(rng.below(parts.len() as u64)).unwrap()])
                .copied()
                .collect();
            let (mut fast, mut merged) = (Vec::new(), Vec::new());
            bpe.segment(model.table(), &text, &mut scratch, &mut fast);
            bpe.sample(model.table(), &text, || false, &mut scratch, &mut merged);
            assert_eq!(fast, merged, "{name}: {}", String::from_utf8_lossy(&text));
        }
    }
}
