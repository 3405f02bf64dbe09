//! Tests of training like a pipeline. The expected models are those of tokenizers 0.23.3.

use proptest::prelude::*;

use super::*;
use crate::added::SpecialToken;
use crate::pattern::Pretokenizer;
use crate::pipeline::{
    NormalizerStep, Padding, PostProcessorStep, Side, SpecialTokens, Template, TemplateKind,
    TemplatePart, UnicodeForm, UnicodeVersion, WordLevelModel,
};
use crate::train::bytes::{ByteTrainOptions, ByteTrainer};

/// A pipeline that is cut at white space.
fn parts(model: PipelineModel) -> PipelineParts {
    PipelineParts {
        added_tokens: Vec::new(),
        normalizer: Arc::new([]),
        pre_tokenizer: Arc::new([PreTokenizerStep::WhitespaceSplit]),
        model_size: u32::try_from(model.vocabulary().len()).unwrap(),
        model: Arc::new(model),
        post_processor: Arc::new([]),
        decoder: None,
        truncation: None,
        padding: None,
    }
}

fn bpe(tokens: &[&str], options: BpeOptions) -> PipelineModel {
    let vocabulary = ModelVocabulary::new(tokens.iter().copied().zip(0..));
    let merges = std::iter::empty();
    PipelineModel::Bpe(Box::new(
        BpeModel::new(vocabulary, merges, options).unwrap(),
    ))
}

fn plain_bpe() -> PipelineParts {
    parts(bpe(&[], BpeOptions::default()))
}

fn wordpiece() -> PipelineParts {
    let vocabulary = ModelVocabulary::new([("[UNK]", 0)].into_iter());
    let model = WordPieceModel::new(vocabulary, "[UNK]", "##", 100).unwrap();
    parts(PipelineModel::WordPiece(Box::new(model)))
}

fn options(flags: &[(&str, &str)]) -> PipelineTrainOptions {
    PipelineTrainOptions::from_flags(20, flags.iter().copied()).unwrap()
}

fn train(parts: PipelineParts, flags: &[(&str, &str)], texts: &[&str]) -> Pipeline {
    let pipeline = Pipeline::new(parts).unwrap();
    let trainer = PipelineTrainer::new(&pipeline, options(flags)).unwrap();
    trainer.train(Corpus::texts(texts.iter().copied())).unwrap()
}

fn tokens(pipeline: &Pipeline) -> Vec<&str> {
    let mut tokens: Vec<(&str, u32)> = pipeline.model().vocabulary().tokens().collect();
    tokens.sort_by_key(|(_, id)| *id);
    assert!((0..).zip(&tokens).all(|(place, (_, id))| place == *id));
    tokens.into_iter().map(|(text, _)| text).collect()
}

fn merges(pipeline: &Pipeline) -> Vec<[&str; 2]> {
    match pipeline.model() {
        PipelineModel::Bpe(bpe) => bpe.merge_texts().collect(),
        _ => Vec::new(),
    }
}

fn added(pipeline: &Pipeline) -> Vec<(&str, u32)> {
    let added = pipeline.added_tokens().iter();
    added.map(|token| (&*token.text, token.id)).collect()
}

#[test]
fn models_are_those_of_tokenizers() {
    const FIRST: (&str, &str) = ("special_ids_first", "true");
    const TEXT: (&str, &str) = ("split_special_tokens", "false");
    let nfkc = NormalizerStep::Unicode(UnicodeForm::Nfkc, UnicodeVersion::V9);
    type Row<'r> = (
        PipelineParts,
        &'r [(&'r str, &'r str)],
        &'r [&'r str],
        &'r [&'r str],
        &'r [[&'r str; 2]],
    );
    let rows: [Row<'_>; 6] = [
        // Characters that are left out divide nothing; a special token that is learned keeps its id.
        (
            plain_bpe(),
            &[
                FIRST,
                TEXT,
                ("limit_alphabet", "2"),
                ("special_tokens", "<s>,ab"),
            ],
            &["abcb ab ab"],
            &["<s>", "ab", "a", "b", "abb"],
            &[["a", "b"], ["ab", "b"]],
        ),
        (
            wordpiece(),
            &[FIRST, ("special_tokens", "[UNK]")],
            &["low low"],
            &["[UNK]", "l", "o", "w", "##o", "##w", "lo", "low"],
            &[],
        ),
        // The length counts characters, and é has two bytes.
        (
            PipelineParts {
                normalizer: Arc::new([nfkc]),
                ..plain_bpe()
            },
            &[("max_token_length", "2"), ("initial_alphabet", "z")],
            &["Ａb ab éé"],
            &["A", "a", "b", "z", "é", "Ab", "ab", "éé"],
            &[["A", "b"], ["a", "b"], ["é", "é"]],
        ),
        (
            plain_bpe(),
            &[("min_frequency", "4")],
            &["abab abab ab"],
            &["a", "b", "ab"],
            &[["a", "b"]],
        ),
        // A part with a suffix for itself. In other runs, `b</w>` comes before `1</w>`.
        (
            PipelineParts {
                pre_tokenizer: Arc::new([
                    PreTokenizerStep::WhitespaceSplit,
                    PreTokenizerStep::Digits { individual: true },
                ]),
                ..plain_bpe()
            },
            &[("end_of_word_suffix", "</w>")],
            &["ab12 ab12 ab"],
            &["1", "2", "a", "b", "1</w>", "2</w>", "b</w>", "ab</w>"],
            &[["a", "b</w>"]],
        ),
        // Symbols with the text of others: `##` and `###` are `###` again.
        (
            plain_bpe(),
            &[("continuing_subword_prefix", "##")],
            &["### ## #", "a# #a"],
            &["#", "a", "###", "##a", "##", "#a", "a#"],
            &[["#", "###"], ["#", "##a"], ["a", "###"], ["##", "###"]],
        ),
    ];
    for (parts, flags, texts, expected, expected_merges) in rows {
        let trained = train(parts, flags, texts);
        assert_eq!(tokens(&trained), expected, "{flags:?}");
        assert_eq!(merges(&trained), expected_merges, "{flags:?}");
    }
}

/// A vocabulary with kept tokens at both ends, and a template.
fn with_kept_tokens() -> PipelineParts {
    let options = BpeOptions {
        unknown_token: Some("<unk>".to_owned()),
        ..BpeOptions::default()
    };
    let mut tokens = vec!["<unk>", "<s>", "x", "y", "z"];
    tokens.extend(["p", "q", "r", "s", "t", "u", "v", "<end>"]);
    let special = |text: &str| TemplatePart::Special {
        tokens: SpecialTokens::one(99, text),
        type_id: 0,
    };
    let sequence = |is_second| TemplatePart::Sequence {
        is_second,
        type_id: 0,
    };
    let mut added: Vec<SpecialToken> = ["<end>", "<s>", "<more>", "<tool>"]
        .map(|text| SpecialToken::new(text, 0))
        .into();
    added[3].special = false;
    let mut parts = PipelineParts {
        added_tokens: added,
        post_processor: Arc::new([PostProcessorStep::Template(Template {
            single: vec![special("<s>"), sequence(false), special("<end>")],
            pair: vec![sequence(false), special("<more>"), sequence(true)],
            kind: TemplateKind::Own,
        })]),
        padding: Some(Padding {
            fixed_length: None,
            direction: Side::Right,
            pad_to_multiple_of: None,
            pad_id: 12,
            pad_type_id: 0,
            pad_token: "<end>".to_owned(),
        }),
        ..parts(bpe(&tokens, options))
    };
    parts.find_ids();
    parts
}

fn ids_of_template(pipeline: &Pipeline) -> Vec<u32> {
    let [PostProcessorStep::Template(template)] = pipeline.post_processor() else {
        panic!("no template");
    };
    let parts = template.single.iter().chain(&template.pair);
    let ids = parts.filter_map(|part| match part {
        TemplatePart::Special { tokens, .. } => Some(tokens.ids[0]),
        TemplatePart::Sequence { .. } => None,
    });
    ids.collect()
}

#[test]
fn kept_tokens_stay_where_they_were_or_become_the_last() {
    let trained = train(with_kept_tokens(), &[("vocab_size", "9")], &["ab ab ac"]);
    // Two of the nine tokens are added tokens alone.
    let expected = ["<unk>", "<s>", "a", "b", "c", "ab", "<end>"];
    assert_eq!(tokens(&trained), expected);
    let expected = [("<s>", 1), ("<end>", 6), ("<more>", 7), ("<tool>", 8)];
    assert_eq!(added(&trained), expected);
    assert_eq!(ids_of_template(&trained), [1, 6, 7]);
    assert_eq!(trained.padding().unwrap().pad_id, 6);
    let PipelineModel::Bpe(bpe) = trained.model() else {
        panic!("no BPE");
    };
    assert_eq!(bpe.options().unknown_token.as_deref(), Some("<unk>"));
}

#[test]
fn special_tokens_come_first_as_in_transformers_and_what_it_loses_comes_last() {
    let flags = [("vocab_size", "7"), ("special_ids_first", "true")];
    let trained = train(with_kept_tokens(), &flags, &["ab ab ac"]);
    let expected = ["<s>", "<end>", "<more>", "a", "b", "c", "ab", "<unk>"];
    assert_eq!(tokens(&trained), expected);
    let expected = [("<s>", 0), ("<end>", 1), ("<more>", 2), ("<tool>", 8)];
    assert_eq!(added(&trained), expected);
    assert_eq!(ids_of_template(&trained), [0, 1, 2]);
}

#[test]
fn new_special_tokens_get_the_first_ids_that_are_free() {
    let flags = [("vocab_size", "9"), ("special_tokens", "<s>,<new>")];
    let trained = train(with_kept_tokens(), &flags, &["ab ab ac"]);
    let expected = ["<unk>", "<s>", "<new>", "a", "b", "c", "<end>"];
    assert_eq!(tokens(&trained), expected);
    assert_eq!(added(&trained)[4], ("<new>", 2));
}

#[test]
fn tokens_of_bytes_are_kept_for_byte_fallback() {
    let options = BpeOptions {
        byte_fallback: true,
        ..BpeOptions::default()
    };
    let bytes: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
    let bytes: Vec<&str> = bytes.iter().map(|text| &**text).collect();
    let parts = parts(bpe(&bytes, options));
    let trained = train(parts.clone(), &[("vocab_size", "259")], &["ab"]);
    assert_eq!(tokens(&trained)[..256], bytes);
    assert_eq!(tokens(&trained)[256..], ["a", "b", "ab"]);
    let flags = [("vocab_size", "3"), ("special_ids_first", "")];
    let trained = train(parts, &flags, &["ab"]);
    assert_eq!(tokens(&trained)[..3], ["a", "b", "ab"]);
    assert_eq!(tokens(&trained)[3..], bytes);
}

#[test]
fn added_tokens_are_cut_out_of_the_corpus_unless_they_are_text() {
    let mut parts = plain_bpe();
    parts.added_tokens = vec![SpecialToken::new("<s>", 0)];
    let cut = train(parts.clone(), &[("vocab_size", "5")], &["ab<s>ab", "b<s>a"]);
    assert_eq!(tokens(&cut), ["a", "b", "ab"]);
    let flags = [("split_special_tokens", "false"), ("vocab_size", "5")];
    let text = train(parts, &flags, &["ab<s>ab", "b<s>a"]);
    assert_eq!(tokens(&text), ["<", ">", "a", "b", "s"]);
}

#[test]
fn pretokens_of_bytes_and_of_the_characters_for_them_give_one_model() {
    let byte_level = PreTokenizerStep::ByteLevel {
        add_prefix_space: true,
        use_regex: true,
    };
    let by_bytes = PipelineParts {
        pre_tokenizer: Arc::new([byte_level.clone()]),
        ..plain_bpe()
    };
    // No text has the string that is replaced; the step can put text at the start.
    let by_characters = PipelineParts {
        normalizer: Arc::new([NormalizerStep::Replace {
            pattern: crate::pipeline::Matcher::text("\u{1}\u{2}"),
            content: String::new(),
        }]),
        ..by_bytes.clone()
    };
    for flags in [
        &[("vocab_size", "300")][..],
        &[("vocab_size", "300"), ("end_of_word_suffix", "</w>")],
        &[
            ("vocab_size", "300"),
            ("initial_alphabet", ""),
            ("limit_alphabet", "9"),
        ],
    ] {
        let texts = ["Über zwölf Äpfel, zwölf\n", "漢字 and über"];
        let [a, b] = [by_bytes.clone(), by_characters.clone()].map(|parts| {
            let trained = train(parts, flags, &texts);
            let all: Vec<String> = tokens(&trained).into_iter().map(str::to_owned).collect();
            (all, format!("{:?}", merges(&trained)))
        });
        assert_eq!(a, b, "{flags:?}");
    }
}

#[test]
fn pipelines_that_cannot_be_trained_like_are_refused() {
    let words = WordLevelModel::new(ModelVocabulary::new([("a", 0)].into_iter()), "a");
    let words = Pipeline::new(parts(PipelineModel::WordLevel(Box::new(words)))).unwrap();
    let bytes = ByteTrainer::new(ByteTrainOptions::new(256, Pretokenizer::new(Vec::new())));
    let bytes = bytes.unwrap().untrained().unwrap();
    let empty = Pipeline::new(plain_bpe()).unwrap();
    let refused = |pipeline: &Pipeline, flags: &[(&str, &str)]| {
        let error = PipelineTrainer::new(pipeline, options(flags)).unwrap_err();
        error.to_string()
    };
    assert!(refused(&words, &[]).contains("word_level"));
    assert!(refused(&Pipeline::from(bytes), &[]).contains("byte_bpe"));
    assert!(refused(&empty, &[("special_tokens", "a,,b")]).starts_with("special_tokens: "));
    let mut parts = with_kept_tokens();
    parts.added_tokens.clear();
    let pipeline = Pipeline::new(parts).unwrap();
    let trainer = PipelineTrainer::new(&pipeline, options(&[])).unwrap();
    let error = trainer.train(Corpus::texts(["ab"])).unwrap_err();
    assert!(error.to_string().contains("\"<more>\""), "{error}");
}

/// The tokens and merges of a corpus of words, by the fast algorithm and by the plain one.
fn both(words: &[(String, u64)], flags: &[(&str, &str)]) -> [(Vec<String>, Vec<[String; 2]>); 2] {
    let pipeline = Pipeline::new(plain_bpe()).unwrap();
    let trainer = PipelineTrainer::new(&pipeline, options(flags)).unwrap();
    let mut table = WordTable::default();
    for (word, count) in words {
        table.add(word.as_bytes(), *count).unwrap();
    }
    let spelling = trainer.spelling(&table);
    let copies = spelled(&table, &spelling);
    let mut run = Run::new(&trainer.observer, trainer.work.thread_pool().unwrap());
    let fast = trainer.merge(table, &spelling, &mut run).unwrap();
    let prefix = trainer.affixes.prefix();
    let plain = trainer.merge_plainly(copies, &spelling.texts, prefix);
    [fast, plain].map(|learned| {
        let text = |symbol: usize| learned.texts[symbol].clone();
        let merges = learned.merges.iter().map(|pair| pair.map(text)).collect();
        let numbered = trainer.kept.number(&learned.texts).unwrap();
        let tokens = numbered.into_iter().map(|(text, _)| text.to_owned());
        (tokens.collect(), merges)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Also where the text has the affixes, so that symbols have the texts of others.
    #[test]
    fn merging_is_that_of_the_plain_algorithm(
        words in proptest::collection::vec(("[abc#]{1,8}", 1u64..6), 1..12),
        vocab_size in 0u32..40,
        min_frequency in 0u64..4,
        prefix in prop_oneof![Just(""), Just("##"), Just("@"), Just("a")],
        suffix in prop_oneof![Just(""), Just("</w>"), Just("c")],
        limit in 1usize..6,
        max_token_length in 1u16..9,
        special in prop_oneof![Just("<s>"), Just("ab,b"), Just("##a,@b")],
    ) {
        let numbers = [
            vocab_size.to_string(),
            min_frequency.to_string(),
            limit.to_string(),
            max_token_length.to_string(),
        ];
        let flags = [
            ("vocab_size", &*numbers[0]),
            ("min_frequency", &numbers[1]),
            ("limit_alphabet", &numbers[2]),
            ("max_token_length", &numbers[3]),
            ("continuing_subword_prefix", prefix),
            ("end_of_word_suffix", suffix),
            ("special_tokens", special),
            ("special_ids_first", "true"),
        ];
        let [fast, plain] = both(&words, &flags);
        prop_assert_eq!(fast, plain);
    }
}
