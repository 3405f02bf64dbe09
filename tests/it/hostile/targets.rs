//! What hostile input is put through: functions from bytes to "nothing went wrong".
//!
//! Each function of [`ALL`] takes any bytes, makes a case of them and panics if a promise is
//! broken. The fuzzer (`fuzz/`) and the tests (`tests/it/hostile.rs`) call the same functions, so
//! that a file which the fuzzer found is a test for ever. Bytes become cases by the crate
//! `arbitrary`, which takes what it needs from them and goes on with zeros at their end: every
//! input is a case, and small changes of it make cases that are near. (A `ratio` drawn from zeros
//! is true, so what is rare or slow stands behind a `!`.)
//!
//! | file | its one job |
//! |---|---|
//! | `checks.rs` | the promises: what has to hold for any model and any text |
//! | `seeds.rs` | real models of every type, and their parts |
//! | `mutation.rs` | models that are nearly right |
//! | `charsmap.rs` | normalization tables that are nearly right |
//! | `corpus.rs` | training on anything |
//! | `counting.rs` | tables of word counts |
//! | `records.rs` | corpora in JSON Lines |
//! | `byte_formats.rs` | files of byte-level vocabularies |
//! | `pipelines.rs` | `tokenizer.json` and `vocab.txt` as pipelines |
//! | `byte_training.rs` | training of byte-level BPE |
//! | `training_like.rs` | training like a pipeline or a model |
//! | `byte_adapting.rs` | extension, pruning and merging of byte-level vocabularies |
//! | `patterns.rs` | expressions that cut texts |
//! | `converting.rs` | `tokenizer.json` in both directions |
//! | `editing.rs` | edits of models, and their inverses |
//! | `adapting.rs` | edits with reports, merges, pruning, extension |
//! | `guarantees.rs` | what these promise; also for the unit tests of `src/adapt` |

mod adapting;
mod byte_adapting;
#[cfg(feature = "formats")]
mod byte_formats;
mod byte_training;
mod charsmap;
pub mod checks;
#[cfg(feature = "formats")]
mod converting;
mod corpus;
mod counting;
mod editing;
mod guarantees;
pub mod mutation;
mod patterns;
#[cfg(feature = "train")]
mod records;
pub mod seeds;
#[cfg(feature = "formats")]
mod pipelines;
#[cfg(feature = "formats")]
mod training_like;

use arbitrary::Unstructured;
pub use byte_adapting::{byte_extend, byte_merge, byte_prune};
#[cfg(feature = "formats")]
pub use byte_formats::{byte_level_json, minbpe, tekken, tiktoken, vocab_merges};
pub use byte_training::byte_train;
#[cfg(feature = "formats")]
pub use converting::{converted_model, tokenizer_json};
pub use patterns::pattern;
#[cfg(feature = "formats")]
pub use pipelines::pipelines;
use spiece::inspect::{ComparisonCounter, Inspection, TextCounter};
use spiece::{Corpus, Model, PieceId, TextNormalizer, Tokenizer, TrainFlags};
#[cfg(feature = "formats")]
pub use training_like::train_like;

use checks::exercise;

/// A target: its name, and what it does with its input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const ALL: &[Target] = &[
    ("model_bytes", model_bytes),
    ("mutated_model", mutated_model),
    ("text", text),
    ("train", train),
    ("byte_train", byte_train),
    #[cfg(feature = "formats")]
    ("train_like", train_like),
    ("round_trip", round_trip),
    ("rules", rules),
    ("decode_ids", decode_ids),
    ("train_options", train_options),
    ("tsv_corpus", tsv_corpus),
    #[cfg(feature = "train")]
    ("json_lines", json_lines),
    ("edits", edits),
    ("inspect", inspect),
    ("edit", edit),
    ("merge", merge),
    ("prune", prune),
    ("extend", extend),
    ("byte_extend", byte_extend),
    ("byte_prune", byte_prune),
    ("byte_merge", byte_merge),
    #[cfg(feature = "formats")]
    ("gguf", gguf),
    ("count_rows", count_rows),
    ("pattern", pattern),
    #[cfg(feature = "parquet")]
    ("count_file", count_file),
    #[cfg(feature = "formats")]
    ("tokenizer_json", tokenizer_json),
    #[cfg(feature = "formats")]
    ("converted_model", converted_model),
    #[cfg(feature = "formats")]
    ("tiktoken", tiktoken),
    #[cfg(feature = "formats")]
    ("vocab_merges", vocab_merges),
    #[cfg(feature = "formats")]
    ("tekken", tekken),
    #[cfg(feature = "formats")]
    ("minbpe", minbpe),
    #[cfg(feature = "formats")]
    ("byte_level_json", byte_level_json),
    #[cfg(feature = "formats")]
    ("pipelines", pipelines),
];

/// The bytes are a model file. What loads is saved and loaded again, and runs, on texts of its own
/// pieces too.
pub fn model_bytes(data: &[u8]) {
    let Ok(model) = Model::from_bytes(data) else {
        exercise(data, &[], 0);
        return;
    };
    let some: Vec<Vec<u8>> = model
        .pieces()
        .step_by(model.len() / 20 + 1)
        .map(|piece| piece.text.to_vec())
        .collect();
    let last = some.last().cloned().unwrap_or_default();
    let own = some.concat();
    let texts: [&[u8]; 6] = [
        b"",
        "Hello \u{2581}world  12 \u{ff21}\u{1f600}\0\u{e9}".as_bytes(),
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabcabcabc",
        b"a\xe3\x81\x82ab\xe3\x81\xf0\x9f\x98\x80a\xf0\x9f\xff",
        &own,
        &last.repeat(600 / last.len().max(1)),
    ];
    // Each number takes other sizes of n-best lists and other ways to sample. At every position of a
    // text as long as the longest piece all of it is compared, so one number is enough.
    let seeds = [0, 9, 17, 65];
    for seed in &seeds[..if own.len() < 4_000 { 4 } else { 1 }] {
        exercise(data, &texts, *seed);
    }
}

/// The bytes say how a real model is changed and what text it then gets.
pub fn mutated_model(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((file, texts, seed)) = mutation::case(&mut input) else {
        return;
    };
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    exercise(&file, &texts, seed);
}

/// The bytes are text for a good model, whose number the first byte is.
pub fn text(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    seeds::with_tokenizer(usize::from(*choice), |tokenizer, good| {
        checks::check_text(tokenizer, text, u64::from(*choice));
        checks::check_good_text(tokenizer, text, good);
    });
    if let Some((repeats, unit)) = text.split_first().filter(|(_, unit)| unit.len() < 40) {
        // Long enough to be cut in parts, seldom enough not to be all that is done.
        let length = if *repeats == 77 {
            140_000
        } else {
            300 + usize::from(*repeats)
        };
        let long = unit.repeat(length / unit.len().max(1));
        seeds::with_tokenizer(usize::from(*choice), |tokenizer, _| {
            checks::check_long_text(tokenizer, &long)
        });
    }
}

/// The bytes are options, among them the type of the model, and a corpus.
pub fn train(data: &[u8]) {
    let mut input = Unstructured::new(data);
    if let Ok(case) = corpus::Case::new(&mut input) {
        corpus::check(&case);
    }
}

/// The bytes are a model file. What is read is written as it was, and means the same when read
/// again.
pub fn round_trip(data: &[u8]) {
    let Ok(model) = Model::from_bytes(data) else {
        return;
    };
    checks::check_round_trip(&model, data);
}

/// The bytes are a file of normalization rules and, behind the first NUL, a text.
pub fn rules(data: &[u8]) {
    let cut = data
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(data.len());
    let (file, text) = data.split_at(cut);
    let Ok(mut normalizer) = TextNormalizer::from_tsv(file) else {
        return;
    };
    checks::check_normalizer(&normalizer, text);
    normalizer.set_remove_extra_whitespaces(false);
    normalizer.set_escape_whitespaces(false);
    checks::check_normalizer(&normalizer, text);
}

/// The first byte is the number of a real model, the others are ids of four bytes each, taken
/// modulo the number of pieces. Decoding at once and by the incremental decoder agree, also when it
/// is used again.
pub fn decode_ids(data: &[u8]) {
    let Some((choice, ids)) = data.split_first() else {
        return;
    };
    seeds::with_tokenizer(usize::from(*choice), |tokenizer, _| {
        let pieces = u32::try_from(tokenizer.model().unwrap().len()).expect("ids are u32");
        let ids: Vec<PieceId> = ids
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| PieceId::new(u32::from_le_bytes(*bytes) % pieces))
            .collect();
        checks::check_decoding(tokenizer, &ids);
        let mut decoder = tokenizer.incremental_decoder();
        let mut first = String::new();
        let mut second = String::new();
        for text in [&mut first, &mut second] {
            for id in &ids {
                *text += decoder.push(*id).expect("an id of the model");
            }
            *text += decoder.finish();
        }
        assert_eq!(first, second, "a decoder that is used again");
    });
}

/// The bytes are lines of `name=value`: training options by name. A value is taken or refused with
/// a message that names the option.
pub fn train_options(data: &[u8]) {
    let mut flags = TrainFlags::default();
    for line in String::from_utf8_lossy(data).lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        if let Err(error) = flags.set(name, value) {
            let message = error.to_string();
            assert!(message.contains(name), "{message:?} does not name {name:?}");
        }
    }
    if let Err(error) = flags.trainer() {
        assert!(!error.to_string().is_empty());
    }
}

/// The bytes are a corpus of sentences with counts.
pub fn tsv_corpus(data: &[u8]) {
    let mut flags = TrainFlags::default();
    let settings = [
        ("normalization_rule_name", "identity"),
        ("input_format", "tsv"),
        ("vocab_size", "300"),
        ("hard_vocab_limit", "false"),
        ("num_threads", "1"),
    ];
    for (name, value) in settings {
        flags.set(name, value).expect("an option of spm_train");
    }
    let trainer = flags.trainer().expect("good options");
    match trainer.train(Corpus::reader(data)) {
        Ok(model) => checks::assert_same(
            &model,
            &Model::from_bytes(&model.to_bytes()).expect("a trained model loads"),
        ),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The bytes are the path of a field, a NUL and a file of JSON Lines, to train on; or they choose
/// the parts of such a file.
#[cfg(feature = "train")]
pub fn json_lines(data: &[u8]) {
    records::corpus(data);
}

/// The bytes are a GGUF file, or overwrite a part of one that a real model gave. What is read is
/// written again and read with the same pieces.
#[cfg(feature = "formats")]
pub fn gguf(data: &[u8]) {
    read_gguf(data);
    let mut builder = Model::builder();
    builder.model_type(spiece::ModelType::Bpe);
    builder.piece("<unk>", 0.0, spiece::PieceKind::Unknown);
    builder.byte_pieces();
    builder.piece("ab", -1.0, spiece::PieceKind::Normal);
    builder.piece("<x>", 0.0, spiece::PieceKind::UserDefined);
    let model = builder.build().expect("a good model");
    let vocab = model.to_gguf_vocab(&spiece::formats::GgufOptions::default());
    let mut file = vocab.expect("a BPE model has a vocabulary").bytes;
    if mutation::overwrite(&mut file, data) {
        read_gguf(&file);
    }
}

#[cfg(feature = "formats")]
fn read_gguf(file: &[u8]) {
    let read = match Model::from_gguf(file) {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let vocab = read
        .value
        .to_gguf_vocab(&spiece::formats::GgufOptions::default());
    let vocab = vocab.expect("what was read can be written");
    // What was read can have more reasons, such as an unknown piece that llama.cpp finds in text.
    for reason in vocab.verdict.reasons() {
        assert!(read.verdict.reasons().contains(reason), "{reason}");
    }
    let back = Model::from_gguf(&vocab.bytes[..]).expect("what was written can be read");
    let key = |piece: spiece::Piece<'_>| (piece.text.to_vec(), piece.score.to_bits(), piece.kind);
    assert!(
        back.value
            .pieces()
            .map(key)
            .eq(read.value.pieces().map(key))
    );
}

/// The bytes are rows of a table of word counts.
pub fn count_rows(data: &[u8]) {
    // Input that ends within a row is a case without that row, and no failure.
    let _ = counting::rows(&mut Unstructured::new(data));
}

/// The bytes are a file with a table of word counts, or overwrite a part of one.
#[cfg(feature = "parquet")]
pub fn count_file(data: &[u8]) {
    counting::file(data);
}

/// The first byte is the number of a real model, the others are edits of it. Edits that are undone
/// give the original bytes.
pub fn edits(data: &[u8]) {
    let Some((choice, edits)) = data.split_first() else {
        return;
    };
    // Input that ends within an edit is a case without that edit's check, and no failure.
    let _ = editing::check(
        &mut Unstructured::new(edits),
        seeds::file(usize::from(*choice)),
    );
}

/// The bytes say how a real model is changed and what text it then gets. What the inspection says
/// about the changed model agrees with what the model does.
pub fn inspect(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((file, texts, _)) = mutation::case(&mut input) else {
        return;
    };
    let Ok(tokenizer) = Tokenizer::from_bytes(&file) else {
        return;
    };
    let inspection = Inspection::new(&tokenizer).unwrap();
    let mut counter = TextCounter::new(&tokenizer);
    let mut comparison = ComparisonCounter::new(&tokenizer, &tokenizer);
    for (number, text) in (1..).zip(&texts) {
        counter.add_line(number, text);
        comparison.add_line(number, text);
    }
    let statistics = counter.finish();
    let tokens = texts.iter().map(|text| tokenizer.count(text) as u64);
    assert_eq!(statistics.tokens, tokens.sum::<u64>(), "tokens");
    let counted: u64 = statistics.counts.iter().sum();
    assert_eq!(statistics.tokens, counted, "counts of pieces");
    for piece in inspection
        .unreachable
        .iter()
        .filter(|piece| !piece.is_close)
    {
        let id = u32::from(piece.id) as usize;
        assert_eq!(statistics.counts[id], 0, "{piece:?} is in the text");
    }
    let sums = comparison.finish().sums;
    assert!(sums.has_equal_ids(), "a model differs from itself");
    assert_eq!((sums.boundaries_only_a, sums.boundaries_only_b), (0, 0));
}

/// The bytes make a model that is nearly right, and edits by the texts of pieces. What is not
/// refused keeps its guarantees.
pub fn edit(data: &[u8]) {
    let _ = adapting::check_edit(&mut Unstructured::new(data));
}

/// The bytes make two models that are nearly right. What is not refused keeps its guarantees.
pub fn merge(data: &[u8]) {
    let _ = adapting::check_merge(&mut Unstructured::new(data));
}

/// The bytes make a model that is nearly right, texts, and what is kept. What is not refused keeps
/// its guarantees.
pub fn prune(data: &[u8]) {
    let _ = adapting::check_prune(&mut Unstructured::new(data));
}

/// The bytes make a model that is nearly right, texts to learn from, and options. What is not
/// refused keeps its guarantees.
pub fn extend(data: &[u8]) {
    let _ = adapting::check_extend(&mut Unstructured::new(data));
}
