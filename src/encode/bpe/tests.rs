//! Every strategy against the definition of BPE, carried out naively, on models with every kind of
//! score. Counters prove which strategy ran.

use std::path::Path;

use proptest::prelude::{ProptestConfig, any, prop_assert_eq, prop_assume, proptest};
use proptest::strategy::Strategy as _;

use super::lookup::pair_cache::{PairCache, PairLookup};
use super::lookup::symbol_table::NO_SYMBOL;
use super::strategies::chunk_context::{Strategy, StrategyCounts};
use super::strategies::last_merge::last_merge;
use super::strategies::last_merge_table::LastMerge;
use super::strategies::merge_context::MergeContext;
use super::strategies::token_pairs::{TokenPairCache, is_valid_token_pair};
use super::{BpeCache, BpeEncoder, DropoutText, RawText};
use crate::base::WHITESPACE_MARK_STR;
use crate::base::rng::SplitMix64;
use crate::encode::encoded_lines::EncodedLines;
use crate::encode::vocabulary::Vocabulary;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::trie::prefix::PrefixTrie;

pub(crate) mod naive;
mod superwords;
use naive::{ModelBytes, NaiveEncoder};

/// Models with equal scores, positive scores, infinities, NaN and -0, user-defined symbols, and
/// repeated characters.
const MODELS: [&str; 6] = [
    "golden/llama2.model",
    "golden/symbols.model",
    "golden/repeats.model",
    "run/bpe_equal.model",
    "run/bpe_scores.model",
    "run/bpe_symbols.model",
];

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name);
    Model::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn encoder(model: &Model) -> BpeEncoder {
    let vocabulary = Vocabulary::new(model, true);
    let user_defined = PrefixTrie::with_values(vocabulary.symbols()).expect("few symbols");
    BpeEncoder::new(&vocabulary, user_defined.into())
}

/// Encodes texts and counts strategies.
struct Fixture<'m> {
    model: &'m Model,
    encoder: BpeEncoder,
    naive: NaiveEncoder<'m>,
    cache: BpeCache,
}

impl<'m> Fixture<'m> {
    fn new(model: &'m Model) -> Self {
        Fixture {
            model,
            encoder: encoder(model),
            naive: NaiveEncoder::new(model),
            cache: BpeCache::default(),
        }
    }

    fn encode(&mut self, text: &[u8]) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let pieces = self.model.table();
        self.encoder.encode(pieces, text, &mut self.cache, &mut ids);
        ids
    }

    /// Encodes the lines of a raw text together.
    fn encode_raw_lines(&mut self, text: &str, adds_prefix: bool) -> Vec<Vec<PieceId>> {
        let mut lines = EncodedLines::default();
        let raw = raw_text(text, adds_prefix);
        let pieces = self.model.table();
        let are_scanned = self
            .encoder
            .encode_raw_lines(pieces, raw, &mut self.cache, &mut lines);
        assert!(are_scanned, "lines are encoded one by one");
        lines.iter().map(<[PieceId]>::to_vec).collect()
    }

    /// Encodes each line of a raw text alone.
    fn encode_each_raw_line(&mut self, text: &str, adds_prefix: bool) -> Vec<Vec<PieceId>> {
        let encode = |text: &str| {
            let mut ids = Vec::new();
            let raw = raw_text(text, adds_prefix);
            let pieces = self.model.table();
            self.encoder
                .encode_raw(pieces, raw, &mut self.cache, &mut ids);
            ids
        };
        text.split_terminator('\n').map(encode).collect()
    }

    /// Encodes a text as one chunk, with rows 3 to 7 of the strategy table.
    fn encode_chunk(&mut self, chunk: &[u8]) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let pieces = self.model.table();
        let mut scanner = self.encoder.scanner(pieces, b"", None, &mut self.cache);
        scanner.context.encode_chunk(chunk, &mut ids);
        ids
    }

    /// The counts since the last call.
    fn take_counts(&mut self) -> StrategyCounts {
        std::mem::take(&mut self.cache.state.counts)
    }

    /// Merges the whole text with the heap.
    fn merge_fully(&mut self, text: &[u8]) -> Vec<PieceId> {
        let mut ids = Vec::new();
        let dropout = DropoutText {
            text,
            skips_merge: || false,
        };
        let pieces = self.model.table();
        self.encoder
            .sample(pieces, dropout, &mut self.cache, &mut ids);
        ids
    }
}

/// Texts of the parts of pieces, and of characters that are in no piece.
fn texts(model: &Model, parts: usize) -> impl proptest::strategy::Strategy<Value = String> + use<> {
    let others = [
        "\u{4e00}",
        "\u{1f600}",
        " ",
        "\u{2581}",
        "\u{2581}",
        "a",
        "zz",
        "\0",
        "\u{300}",
    ];
    let mut all: Vec<String> = model
        .pieces()
        .filter_map(|piece| String::from_utf8(piece.text.to_vec()).ok())
        .collect();
    all.extend(others.map(str::to_owned));
    proptest::collection::vec(proptest::sample::select(all), 0..parts)
        .prop_map(|parts| parts.concat())
}

/// Repetitions of a few normal pieces, which have hardly any bigram boundary.
fn repetitions(model: &Model) -> impl proptest::strategy::Strategy<Value = Vec<u8>> + use<> {
    let pieces: Vec<Vec<u8>> = model
        .pieces()
        .filter(|piece| piece.kind == PieceKind::Normal)
        .map(|piece| piece.text.to_vec())
        .chain([b"a".to_vec(), b"a".to_vec(), b" ".to_vec()])
        .collect();
    let chosen = proptest::collection::vec(proptest::sample::select(pieces), 1..5);
    let order = proptest::collection::vec(any::<proptest::sample::Index>(), 0..120);
    (chosen, order).prop_map(|(chosen, order)| {
        let parts = order.iter().map(|at| &chosen[at.index(chosen.len())][..]);
        parts.collect::<Vec<_>>().concat()
    })
}

#[test]
fn texts_have_the_ids_of_the_naive_encoder() {
    for name in MODELS {
        let model = model(name);
        let mut fixture = Fixture::new(&model);
        let fixture = std::cell::RefCell::new(&mut fixture);
        proptest!(ProptestConfig::with_cases(200), |(text in texts(&model, 40), distance in 0usize..20)| {
            let fixture = &mut *fixture.borrow_mut();
            let ids = fixture.encode(text.as_bytes());
            prop_assert_eq!(&ids, &fixture.naive.encode(text.as_bytes()), "{}", name);
            prop_assert_eq!(&fixture.encode(text.as_bytes()), &ids, "cached, {}", name);
            let boundaries = fixture.encoder.find_boundaries::<false>(text.as_bytes(), distance);
            let mut parts = Vec::new();
            let starts = std::iter::once(&0).chain(&boundaries);
            for (start, end) in starts.zip(boundaries.iter().chain([&text.len()])) {
                parts.extend(fixture.encode(&text.as_bytes()[*start..*end]));
            }
            prop_assert_eq!(parts, ids, "parts, {}", name);
        });
    }
}

#[test]
fn each_strategy_gives_the_ids_of_the_naive_encoder() {
    let mut totals = StrategyCounts::default();
    for name in MODELS {
        let model = model(name);
        let mut fixture = Fixture::new(&model);
        let shared = std::cell::RefCell::new(&mut fixture);
        proptest!(ProptestConfig::with_cases(150), |(chunk in repetitions(&model))| {
            let fixture = &mut *shared.borrow_mut();
            // Without user-defined symbols, which are never inside a chunk.
            let user_defined = fixture.encoder.tables.user_defined.find(&chunk);
            prop_assume!(user_defined.is_none());
            let expected = fixture.naive.encode(&chunk);
            prop_assert_eq!(&fixture.encode_chunk(&chunk), &expected, "chunk, {}", name);
            prop_assert_eq!(&fixture.encode(&chunk), &expected, "text, {}", name);
            prop_assert_eq!(&fixture.merge_fully(&chunk), &expected, "full, {}", name);
        });
        for (total, count) in totals.iter_mut().zip(fixture.take_counts()) {
            *total += count;
        }
    }
    for (strategy, least) in [
        (Strategy::SingleChar, 100),
        (Strategy::Cached, 100),
        (Strategy::Short, 50),
        (Strategy::Windowed, 20),
        (Strategy::LargeWindowed, 20),
        (Strategy::WidestWindowed, 5),
        (Strategy::Full, 100),
    ] {
        let count = totals[strategy as usize];
        assert!(count >= least, "{strategy:?} ran {count} times only");
    }
}

/// Encodes a chunk and checks its ids, and that only `strategy` ran.
fn check_strategy(fixture: &mut Fixture<'_>, chunk: &str, strategy: Strategy) {
    fixture.take_counts();
    let ids = fixture.encode_chunk(chunk.as_bytes());
    assert_eq!(ids, fixture.naive.encode(chunk.as_bytes()), "{chunk}");
    let counts = fixture.take_counts();
    assert_eq!(
        counts[strategy as usize], 1,
        "{strategy:?}: {chunk} {counts:?}"
    );
    assert_eq!(counts.iter().sum::<usize>(), 1, "{chunk} {counts:?}");
}

#[test]
fn the_length_in_characters_chooses_the_strategy() {
    let model = model("golden/llama2.model");
    let mut fixture = Fixture::new(&model);
    let long_word = "internationalizationwithoutspacesatall";
    check_strategy(&mut fixture, &long_word[..32], Strategy::Short);
    check_strategy(&mut fixture, &long_word[..33], Strategy::Windowed);
    check_strategy(&mut fixture, long_word, Strategy::Windowed);
    // 32 characters of three bytes each.
    check_strategy(&mut fixture, &"国中的人".repeat(8), Strategy::Short);
    check_strategy(&mut fixture, &"国中的人".repeat(9), Strategy::Windowed);
}

/// A model with the pieces `unit`, twice `unit`, and so on up to 2^`doublings` times `unit`, which
/// merge in this order.
fn doublings_model(unit: &str, doublings: u16) -> Model {
    let mut builder = Model::builder();
    builder.model_type(ModelType::Bpe);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    for doubling in 0..=doublings {
        let text = unit.repeat(1 << doubling);
        builder.piece(&text, -f32::from(doubling), PieceKind::Normal);
    }
    builder.build().unwrap()
}

#[test]
fn runs_of_spaces_are_encoded_by_large_windows() {
    // The longest piece has 16 whitespace marks of three bytes each.
    let model = doublings_model(WHITESPACE_MARK_STR, 4);
    let mut fixture = Fixture::new(&model);
    for length in [33, 47, 64, 100, 400] {
        let run = WHITESPACE_MARK_STR.repeat(length);
        check_strategy(&mut fixture, &run, Strategy::LargeWindowed);
        let repeated = [Strategy::Cached, Strategy::LargeWindowed][usize::from(run.len() > 1024)];
        check_strategy(&mut fixture, &run, repeated);
    }
}

#[test]
fn pieces_as_long_as_large_windows_are_found_by_the_widest() {
    // A large window is one piece, so it commits nothing.
    let model = doublings_model("a", 5);
    let mut fixture = Fixture::new(&model);
    check_strategy(&mut fixture, &"a".repeat(1100), Strategy::WidestWindowed);
    // Up to 1,024 bytes the result is cached.
    check_strategy(&mut fixture, &"a".repeat(200), Strategy::WidestWindowed);
    check_strategy(&mut fixture, &"a".repeat(200), Strategy::Cached);
    check_strategy(&mut fixture, &"a".repeat(1100), Strategy::WidestWindowed);
}

#[test]
fn chunks_with_pieces_beyond_the_limit_are_merged_by_the_heap() {
    // The last merges of pieces of more than 512 bytes are not computed.
    let model = doublings_model("a", 10);
    let mut fixture = Fixture::new(&model);
    check_strategy(&mut fixture, &"a".repeat(2500), Strategy::Heap);
}

#[test]
fn chunks_are_cached_and_single_characters_are_not_merged() {
    let model = model("golden/llama2.model");
    let mut fixture = Fixture::new(&model);
    let text = "\u{2581}the\u{2581}the".as_bytes();
    fixture.encode(text);
    let counts = fixture.take_counts();
    assert_eq!(counts[Strategy::Short as usize], 1, "{counts:?}");
    assert_eq!(counts[Strategy::Cached as usize], 1, "{counts:?}");
    fixture.encode("\u{1f600}".as_bytes());
    fixture.encode(b"a");
    let counts = fixture.take_counts();
    assert_eq!(counts[Strategy::SingleChar as usize], 1, "{counts:?}");
}

#[test]
fn repeated_characters_of_every_length_have_the_ids_of_the_naive_encoder() {
    let model = model("golden/repeats.model");
    let mut fixture = Fixture::new(&model);
    for length in [1, 2, 23, 24, 25, 26, 27, 31, 32, 33, 60, 300] {
        for unit in ["a", "ab", "aab"] {
            let text = unit.repeat(length);
            let expected = fixture.naive.encode(text.as_bytes());
            assert_eq!(
                fixture.encode(text.as_bytes()),
                expected,
                "{unit} {length} times"
            );
        }
    }
}

/// A model with so many pieces that ids need more than 16 bits: every text of one or two of 300
/// characters, in an order that makes ranks and ids differ, and some longer texts.
fn large_model() -> Model {
    let chars: Vec<char> = ('\u{4e00}'..).take(300).collect();
    let pairs = chars
        .iter()
        .flat_map(|left| chars.iter().map(move |right| format!("{left}{right}")));
    let quads = (0..296).map(|at| chars[at..at + 4].iter().collect::<String>());
    let texts: Vec<String> = pairs
        .chain(chars.iter().map(char::to_string))
        .chain(quads)
        .collect();
    assert!(texts.len() > 1 << 16);
    let scores = (0..texts.len()).map(|at| -((at * 7919 % 1000) as f32));
    let mut model = ModelBytes::default();
    model.add("<unk>", 0.0, PieceKind::Unknown);
    for (text, score) in texts.iter().zip(scores) {
        model.add(text, score, PieceKind::Normal);
    }
    model.build()
}

#[test]
fn ids_above_16_bits_are_right_in_every_strategy() {
    let model = large_model();
    let mut fixture = Fixture::new(&model);
    let mut rng = SplitMix64::new(3);
    let mut highest = 0;
    for round in 0..120u64 {
        let length = 1 + round % 60;
        let chunk: String = (0..length)
            .filter_map(|_| char::from_u32(0x4e00 + u32::try_from(rng.below(300)).ok()?))
            .collect();
        let expected = fixture.naive.encode(chunk.as_bytes());
        assert_eq!(fixture.encode_chunk(chunk.as_bytes()), expected, "{chunk}");
        assert_eq!(fixture.encode(chunk.as_bytes()), expected, "{chunk}");
        assert_eq!(
            fixture.encode(chunk.as_bytes()),
            expected,
            "cached, {chunk}"
        );
        highest = expected.iter().map(|id| id.get()).fold(highest, u32::max);
    }
    assert!(highest > 1 << 16, "{highest}");
    let counts = fixture.take_counts();
    assert!(counts[Strategy::Windowed as usize] > 10, "{counts:?}");
}

#[test]
fn valid_token_pairs_are_the_pairs_that_merging_leaves() {
    for name in [
        "golden/repeats.model",
        "run/bpe_equal.model",
        "run/bpe_scores.model",
    ] {
        let model = model(name);
        let encoder = encoder(&model);
        let naive = NaiveEncoder::new(&model);
        let mut pair_cache = PairCache::default();
        let mut cache = TokenPairCache::default();
        let mut context = MergeContext {
            tables: &encoder.tables.merge,
            pairs: PairLookup {
                symbols: &encoder.tables.merge.symbols,
                pieces: model.table(),
                cache: &mut pair_cache,
            },
        };
        let ids: Vec<u32> = (0..u32::try_from(model.len()).unwrap())
            .filter(|id| model.table().kind(*id as usize) == PieceKind::Normal)
            .filter(|id| naive.encode(model.table().text(*id as usize)) == [PieceId::new(*id)])
            .take(120)
            .collect();
        let mut invalid = 0;
        for left in &ids {
            for right in &ids {
                let texts = [left, right].map(|id| model.table().text(*id as usize));
                let merged = naive.encode(&texts.concat());
                let expected = merged == [PieceId::new(*left), PieceId::new(*right)];
                invalid += usize::from(!expected);
                for asked in ["computed", "cached"] {
                    let found = is_valid_token_pair(*left, *right, &mut cache, &mut context);
                    if let Some(found) = found {
                        assert_eq!(found, expected, "{name}: {left} {right}, {asked}");
                    }
                }
            }
        }
        assert!(invalid > 0, "{name} has no invalid pair");
    }
}

#[test]
fn unknown_characters_are_valid_beside_every_symbol() {
    let mut out_of_rank_order = 0;
    for name in MODELS {
        let model = model(name);
        let encoder = encoder(&model);
        let mut pair_cache = PairCache::default();
        let mut cache = TokenPairCache::default();
        let mut context = MergeContext {
            tables: &encoder.tables.merge,
            pairs: PairLookup {
                symbols: &encoder.tables.merge.symbols,
                pieces: model.table(),
                cache: &mut pair_cache,
            },
        };
        for symbol in (0..u32::try_from(model.len()).unwrap()).chain([NO_SYMBOL]) {
            let last = last_merge(symbol, &mut context);
            out_of_rank_order += usize::from(last == LastMerge::OutOfRankOrder);
            for [left, right] in [[NO_SYMBOL, symbol], [symbol, NO_SYMBOL]] {
                let found = is_valid_token_pair(left, right, &mut cache, &mut context);
                assert_eq!(found, Some(true), "{name}: {left}, {right}");
            }
        }
    }
    assert!(out_of_rank_order > 0);
}

#[test]
fn dropout_of_no_merge_and_of_all_merges() {
    let model = model("golden/llama2.model");
    let mut fixture = Fixture::new(&model);
    let text = "\u{2581}les\u{2581}droits\u{2581}de\u{2581}l'homme";
    let best = fixture.encode(text.as_bytes());
    assert_eq!(fixture.merge_fully(text.as_bytes()), best);
    let mut all_skipped = Vec::new();
    let dropout = DropoutText {
        text: text.as_bytes(),
        skips_merge: || true,
    };
    let cache = &mut fixture.cache;
    fixture
        .encoder
        .sample(model.table(), dropout, cache, &mut all_skipped);
    assert_eq!(all_skipped.len(), text.chars().count());
}

#[test]
fn unused_pieces_are_resegmented_into_the_parts_that_were_merged() {
    let mut model = ModelBytes::default();
    model.add("<unk>", 0.0, PieceKind::Unknown);
    model.add("th", -1.0, PieceKind::Unused);
    model.add("the", -2.0, PieceKind::Normal);
    for char in ["t", "h", "e", "a"] {
        model.add(char, -3.0, PieceKind::Normal);
    }
    let model = model.build();
    let mut fixture = Fixture::new(&model);
    let ids = |text: &str, fixture: &mut Fixture<'_>| -> Vec<u32> {
        fixture
            .encode(text.as_bytes())
            .iter()
            .map(|id| id.get())
            .collect()
    };
    assert_eq!(ids("the", &mut fixture), [2]);
    assert_eq!(ids("tha", &mut fixture), [3, 4, 6]);
    let counts = fixture.take_counts();
    assert_eq!(counts[Strategy::Full as usize], 2, "{counts:?}");
}

#[test]
fn raw_text_has_the_ids_of_normalized_text() {
    let model = model("golden/llama2.model");
    let mut fixture = Fixture::new(&model);
    assert!(fixture.encoder.accepts_raw_text());
    let strategy = (texts(&model, 12), any::<bool>());
    let fixture = std::cell::RefCell::new(&mut fixture);
    proptest!(ProptestConfig::with_cases(300), |((text, adds_prefix) in strategy)| {
        let fixture = &mut *fixture.borrow_mut();
        let raw = RawText { text: text.as_bytes(), adds_prefix, byte_ids: None };
        let mut ids = Vec::new();
        fixture.encoder.encode_raw(model.table(), raw, &mut fixture.cache, &mut ids);
        let has_prefix = adds_prefix && !text.is_empty();
        let prefix = if has_prefix { WHITESPACE_MARK_STR } else { "" };
        let normalized = format!("{prefix}{}", text.replace(' ', WHITESPACE_MARK_STR));
        prop_assert_eq!(ids, fixture.naive.encode(normalized.as_bytes()));
    });
}

/// A raw text for a model whose unknown characters have no byte pieces.
fn raw_text(text: &str, adds_prefix: bool) -> RawText<'_> {
    RawText {
        text: text.as_bytes(),
        adds_prefix,
        byte_ids: None,
    }
}

#[test]
fn lines_of_raw_text_have_the_ids_of_each_line() {
    let model = model("golden/llama2.model");
    let mut fixture = Fixture::new(&model);
    let lines = proptest::collection::vec(texts(&model, 4), 0..20);
    let fixture = std::cell::RefCell::new(&mut fixture);
    proptest!(ProptestConfig::with_cases(300), |(lines in lines, adds_prefix in any::<bool>())| {
        let fixture = &mut *fixture.borrow_mut();
        let text = lines.join("\n");
        prop_assert_eq!(fixture.encode_raw_lines(&text, adds_prefix), fixture.encode_each_raw_line(&text, adds_prefix));
    });
}

#[test]
fn lines_are_not_scanned_together_if_a_piece_has_a_line_feed() {
    for (piece, kind) in [
        ("a\n", PieceKind::Normal),
        ("\n", PieceKind::UserDefined),
        ("a\nb", PieceKind::UserDefined),
    ] {
        let mut model = ModelBytes::default();
        model.add("<unk>", 0.0, PieceKind::Unknown);
        model.add(piece, -1.0, kind);
        let model = model.build();
        let mut fixture = Fixture::new(&model);
        let raw = raw_text("a\nb", true);
        let mut lines = EncodedLines::default();
        let pieces = model.table();
        let are_scanned =
            fixture
                .encoder
                .encode_raw_lines(pieces, raw, &mut fixture.cache, &mut lines);
        assert!(!are_scanned && lines.is_empty(), "{piece:?}");
    }
}

#[test]
fn malformed_text_has_the_ids_of_the_naive_encoder() {
    for name in MODELS {
        let model = model(name);
        let mut fixture = Fixture::new(&model);
        let mut rng = SplitMix64::new(5);
        for _ in 0..200 {
            let random = (0..rng.below(40)).map(|_| rng.next_u64().to_le_bytes()[0]);
            let text: Vec<u8> = random.collect();
            let ids = fixture.encode(&text);
            assert_eq!(ids, fixture.naive.encode(&text), "{name}: {text:x?}");
        }
    }
}

#[test]
fn caches_report_their_size_and_stay_below_the_limit() {
    fn check_bounds<T: Send + std::fmt::Debug + 'static>(_: &T) {}
    let model = model("golden/llama2.model");
    let mut fixture = Fixture::new(&model);
    for max_bytes in [0, 1 << 20, BpeCache::DEFAULT_MAX_BYTES] {
        fixture.cache = BpeCache::with_max_bytes(max_bytes);
        check_bounds(&fixture.cache);
        assert_eq!(fixture.cache.size_bytes(), 0);
        for number in 0..30_000 {
            let text = format!("\u{2581}word{number}x");
            let ids = fixture.encode(text.as_bytes());
            if number % 1000 == 0 {
                assert_eq!(ids, fixture.naive.encode(text.as_bytes()), "{text}");
            }
        }
        let size = fixture.cache.size_bytes();
        assert!(
            size > 0 && size <= max_bytes + (3 << 19),
            "{size} of {max_bytes}"
        );
    }
}
