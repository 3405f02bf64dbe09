use super::*;
use crate::TrainOptions;

/// Some lines of real text in several scripts, with lines that are skipped.
fn lines() -> Vec<String> {
    let text = include_str!("../../../testdata/udhr_small.txt");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.extend(["", "a\u{2585}b", "  two  spaces <sep>  12,5 ", "tab\tx||y"].map(str::to_owned));
    lines.push("x".repeat(5000));
    lines
}

/// Option sets that count different words.
fn option_sets() -> Vec<TrainOptions> {
    let mut sets = vec![TrainOptions::default(); 14];
    for options in &mut sets {
        options.vocab_size = 900;
        options.hard_vocab_limit = false;
    }
    sets[1].byte_fallback = true;
    sets[1].split_digits = true;
    sets[1].normalization =
        crate::train::NormalizationRules::BuiltIn(crate::train::RuleSet::Identity);
    sets[2].split_by_whitespace = false;
    sets[3].treat_whitespace_as_suffix = true;
    sets[4].add_dummy_prefix = false;
    sets[5].remove_extra_whitespaces = false;
    sets[5].allow_whitespace_only_pieces = true;
    sets[6].user_defined_symbols = vec!["<sep>".to_owned(), "the".to_owned()];
    sets[7].auto_character_coverage = true;
    sets[7].byte_fallback = true;
    sets[8].pretokenization_delimiter = "||".to_owned();
    sets[9].character_coverage = 0.98;
    sets[10].normalization =
        crate::train::NormalizationRules::BuiltIn(crate::train::RuleSet::NmtNfkcCf);
    sets[11].split_by_unicode_script = false;
    sets[12].model_type = ModelType::Word;
    sets[12].user_defined_symbols = vec!["the".to_owned()];
    sets[13].model_type = ModelType::Char;
    sets
}

fn rows_of(counts: &WordCounts) -> Vec<(Vec<u8>, i64)> {
    let mut rows = Vec::new();
    let visited: Result<(), CountsError> = counts.for_each_row(|word, count| {
        rows.push((word.to_vec(), count));
        Ok(())
    });
    visited.unwrap();
    rows
}

#[test]
fn the_counts_of_parts_give_the_model_of_the_whole() {
    let lines = lines();
    for (set, options) in option_sets().into_iter().enumerate() {
        let (observer, summaries) = Observer::of_summaries();
        let trainer = Trainer::new(options).unwrap().with_observer(observer);
        let whole = trainer.train(Corpus::texts(&lines)).unwrap();
        let summary = summaries.recv().unwrap();
        for parts in [1, 7] {
            let mut sum = trainer.new_counts().unwrap();
            for part in (0..parts).rev() {
                let mut counter = trainer.counter().unwrap();
                for line in lines.iter().skip(part).step_by(parts) {
                    counter.add(line.as_bytes(), 1).unwrap();
                }
                sum.merge(&counter.finish().unwrap()).unwrap();
            }
            let model = trainer.train_counts(sum).unwrap();
            assert!(
                model.to_bytes() == whole.to_bytes(),
                "set {set}, {parts} parts"
            );
            assert_eq!(
                summaries.recv().unwrap(),
                summary,
                "set {set}, {parts} parts"
            );
        }
    }
}

#[test]
fn rows_that_were_added_by_their_bytes_are_the_sum_of_the_tables() {
    let trainer = Trainer::new(TrainOptions::default()).unwrap();
    let mut sums = std::collections::HashMap::new();
    let mut merged = trainer.new_counts().unwrap();
    for (part, name) in lines().chunks(50).zip(["a.txt", "b.txt", "c.txt"]) {
        let mut counts = trainer.count(Corpus::texts(part)).unwrap();
        counts.add_input("text", name).unwrap();
        for (word, count) in rows_of(&counts) {
            *sums.entry(word).or_insert(0) += count;
        }
        merged.merge(&counts).unwrap();
    }
    let mut rows = CountRows::new();
    for (word, count) in &sums {
        rows.add(word, *count).unwrap();
    }
    let summed = rows.finish().unwrap();
    assert_eq!(summed.sentences(), merged.sentences());
    assert_eq!(summed.inputs(), ["a.txt", "b.txt", "c.txt"]);
    assert_eq!(summed.input_format(), "text");
    assert_eq!(rows_of(&summed), rows_of(&merged));
}

#[test]
fn words_are_visited_in_the_order_of_their_bytes() {
    let trainer = Trainer::new(TrainOptions::default()).unwrap();
    let counts = trainer.count(Corpus::texts(lines())).unwrap();
    let mut words = Vec::new();
    let visited: Result<(), CountsError> = counts.for_each_sorted(|word, count| {
        words.push((word.to_owned(), count));
        Ok(())
    });
    visited.unwrap();
    assert!(words.len() > 500 && words.is_sorted());
    let mut unsorted = Vec::new();
    counts.for_each(|word, count| unsorted.push((word.to_owned(), count)));
    unsorted.sort();
    assert_eq!(words, unsorted);
}

#[test]
fn a_table_of_other_options_is_refused_by_the_name_of_the_option() {
    let base = TrainOptions::default();
    let mut changed: Vec<(&str, TrainOptions)> = Vec::new();
    let mut change = |name, set: &dyn Fn(&mut TrainOptions)| {
        let mut options = base.clone();
        set(&mut options);
        changed.push((name, options));
    };
    change("document", &|o| o.document = crate::input::Document::Record);
    change("max_sentence_length", &|o| o.max_sentence_length = 100);
    change("max_sentencepiece_length", &|o| {
        o.max_sentencepiece_length = 1;
    });
    change("split_digits", &|o| o.split_digits = true);
    change("split_by_number", &|o| o.split_by_number = false);
    change("byte_fallback", &|o| o.byte_fallback = true);
    change("model_type", &|o| o.model_type = ModelType::Word);
    change("special_pieces", &|o| o.control_symbols = vec!["x".into()]);
    change("special_pieces", &|o| o.eos.text = "<eos>".into());
    change("pretokenization_delimiter", &|o| {
        o.pretokenization_delimiter = "|".into();
    });
    change("normalization_rules", &|o| {
        o.normalization = crate::train::NormalizationRules::Tsv(b"41\t61\n".to_vec());
    });
    let words = Trainer::new(base.clone()).unwrap();
    let counts = || words.count(Corpus::texts(["to be"])).unwrap();
    for (name, options) in changed {
        let other = Trainer::new(options).unwrap();
        let refused = other.train_counts(counts()).unwrap_err();
        let other_counts = other.count(Corpus::texts(["to be"])).unwrap();
        let refused_sum = counts().merge(&other_counts).unwrap_err();
        for error in [refused, refused_sum] {
            let TrainError::Counts(CountsError::Different { option, .. }) = &error else {
                panic!("{name}: {error}")
            };
            assert_eq!(option, name);
        }
    }
}

#[test]
fn options_that_counts_do_not_depend_on_may_differ() {
    let mut options = TrainOptions::default();
    let counted = Trainer::new(options.clone()).unwrap().count_fingerprint();
    options.vocab_size = 40;
    options.character_coverage = 0.98;
    options.required_chars = "xyz".to_owned();
    options.hard_vocab_limit = false;
    options.num_threads = 3;
    options.max_sentencepiece_length = 5;
    options.input_format = crate::train::InputFormat::Tsv;
    options.model_type = ModelType::Char;
    assert_eq!(Trainer::new(options).unwrap().count_fingerprint(), counted);
}

#[test]
fn unigram_models_and_samples_of_parts_are_refused() {
    let mut options = TrainOptions::default();
    options.model_type = ModelType::Unigram;
    let unigram = Trainer::new(options).unwrap();
    let refused = unigram.new_counts().unwrap_err();
    assert!(matches!(refused, TrainError::Counts(CountsError::Unigram)));

    let mut options = TrainOptions::default();
    options.sentences = SentenceSelection::First(101);
    let sampling = Trainer::new(options).unwrap();
    let refused = sampling.counter().unwrap_err();
    assert!(matches!(refused, TrainError::Counts(CountsError::Sampled)));
    let mut counts = sampling.count(Corpus::texts(["a"])).unwrap();
    let other = sampling.count(Corpus::texts(["b"])).unwrap();
    let refused = counts.merge(&other).unwrap_err();
    assert!(matches!(refused, TrainError::Counts(CountsError::Sampled)));
}

#[test]
fn words_that_no_text_has_are_refused() {
    let trainer = Trainer::new(TrainOptions::default()).unwrap();
    for bad in ["\u{2581}to\u{2581}be", "a,", "\u{2585}x", "a b"] {
        let mut counts = trainer.count(Corpus::texts(["to be"])).unwrap();
        counts.add(bad, 3).unwrap();
        let refused = trainer.train_counts(counts).unwrap_err();
        assert!(
            matches!(&refused, TrainError::Counts(CountsError::NotAWord { word }) if word == bad),
            "{bad:?}: {refused}"
        );
    }
}

#[test]
fn rows_that_no_table_has_are_refused() {
    let rows: [(&[u8], i64, &str); 5] = [
        (b"a", 0, "below 1"),
        (b"a", -1, "below 1"),
        (b"", 1, "empty"),
        (b"\xC3", 1, "UTF-8"),
        (b"\xFFwhat", 1, "FF"),
    ];
    for (bytes, count, problem) in rows {
        let refused = CountRows::new().add(bytes, count).unwrap_err();
        assert!(refused.to_string().contains(problem), "{refused}");
    }
    let refused = CountRows::new().finish().unwrap_err();
    assert!(matches!(
        refused,
        TrainError::Counts(CountsError::NoFingerprint)
    ));
}

#[test]
fn counts_above_the_limit_are_refused() {
    let trainer = Trainer::new(TrainOptions::default()).unwrap();
    let mut counts = trainer.count(Corpus::texts(["to be"])).unwrap();
    for _ in 0..3 {
        counts.add("\u{2581}be", u64::MAX / 2).unwrap();
    }
    let written: Result<(), CountsError> = counts.for_each_row(|_, _| Ok(()));
    assert!(matches!(written, Err(CountsError::TooFrequent { word }) if word == "\u{2581}be"));
    let refused = trainer.train_counts(counts).unwrap_err();
    assert!(matches!(
        refused,
        TrainError::TooLarge { what: "characters" }
    ));
}

#[test]
fn added_lines_are_those_of_a_file() {
    let trainer = Trainer::new(TrainOptions::default()).unwrap();
    for text in ["to be\n\nor not\n", "a", "", "\n", "a\n\n", "x\r\ny"] {
        let mut counter = trainer.counter().unwrap();
        counter.add_lines(text.as_bytes()).unwrap();
        let added = counter.finish().unwrap();
        let read = trainer.count(Corpus::reader(text.as_bytes())).unwrap();
        // A file without a byte has no line.
        let empty = u64::from(text.is_empty());
        assert_eq!(
            added.sentences().empty,
            read.sentences().empty + empty,
            "{text:?}"
        );
        let words = |counts: &WordCounts| {
            let mut words = Vec::new();
            counts.for_each(|word, count| words.push((word.to_owned(), count)));
            words.sort();
            words
        };
        assert_eq!(words(&added), words(&read), "{text:?}");
    }
}

#[cfg(feature = "parquet")]
mod files {
    use super::*;

    #[test]
    fn a_file_has_the_rows_of_its_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.parquet");
        let trainer = Trainer::new(TrainOptions::default()).unwrap();
        let mut counts = trainer.count(Corpus::texts(lines())).unwrap();
        counts.add_input("tsv", "a,b.txt").unwrap();
        counts.add_input("tsv", "c\nd").unwrap();
        counts.save_parquet(&path).unwrap();
        let read = WordCounts::open_parquet(&path).unwrap();
        assert_eq!(rows_of(&read), rows_of(&counts));
        assert_eq!(read.inputs(), counts.inputs());
        assert_eq!(read.sentences(), counts.sentences());
        // The same table makes the same bytes, whatever the seeds of its hashes.
        let bytes = std::fs::read(&path).unwrap();
        read.save_parquet(&path).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn files_that_are_no_tables_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.parquet");
        let refused = WordCounts::open_parquet(&path).unwrap_err();
        assert!(
            matches!(refused, TrainError::Counts(CountsError::Read { .. })),
            "{refused}"
        );
        let trainer = Trainer::new(TrainOptions::default()).unwrap();
        let counts = trainer.count(Corpus::texts(lines())).unwrap();
        counts.save_parquet(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for length in [0, 3, 12, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let refused = WordCounts::open_parquet(&path).unwrap_err();
            assert!(
                matches!(refused, TrainError::Counts(CountsError::Format { .. })),
                "{refused}"
            );
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 400) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            std::fs::write(&path, &damaged).unwrap();
            // A changed byte of a word may be another word; nothing panics.
            if let Ok(read) = WordCounts::open_parquet(&path) {
                assert!(read.len() <= counts.len());
            }
        }
    }
}
