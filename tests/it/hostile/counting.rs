//! Tables of word counts that nobody's trainer wrote: rows, and files.

use arbitrary::{Result, Unstructured};
use spiece::train::{CountRows, CountWords, WordCounts};
use spiece::{Model, TrainError, TrainOptions, Trainer};

use super::checks;
#[cfg(feature = "parquet")]
use super::mutation;

/// A trainer of small models.
pub(super) fn trainer() -> Trainer {
    let mut options = TrainOptions::default();
    options.vocab_size = 300;
    options.hard_vocab_limit = false;
    options.num_threads = 1;
    Trainer::new(options).expect("good options")
}

/// Trains on a table: a model that loads, or an error with a message.
fn train(counts: WordCounts) {
    match trainer().train_counts(counts) {
        Ok(model) => checks::assert_same(
            &model,
            &Model::from_bytes(&model.to_bytes()).expect("a trained model loads"),
        ),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Rows of any bytes and numbers, most of them beside the rows that every table of the trainer has.
pub fn rows(data: &mut Unstructured) -> Result<()> {
    let mut rows = CountRows::new();
    let mut first_error = None;
    if !data.ratio(1, 8)? {
        let own = trainer().new_counts().expect("no unigram model");
        let added: std::result::Result<(), TrainError> =
            own.for_each_row(|bytes, count| rows.add(bytes, count));
        added.expect("rows of a table");
    }
    while !data.is_empty() && first_error.is_none() {
        let count = if data.ratio(1, 4)? {
            data.arbitrary()?
        } else {
            1
        };
        let length = data.int_in_range(0..=12)?;
        let bytes = data.bytes(length.min(data.len()))?;
        first_error = rows.add(bytes, count).err();
    }
    if let Some(error) = first_error {
        assert!(!error.to_string().is_empty());
    }
    match rows.finish() {
        Ok(counts) => train(counts),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

/// The bytes are a file, or overwrite a part of a good one.
#[cfg(feature = "parquet")]
pub fn file(data: &[u8]) {
    // The fuzzer ends at every panic, also at those of the crate parquet, which the library catches.
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location();
            if !place.is_some_and(|place| place.file().contains("parquet-")) {
                hook(panic);
            }
        }));
    });
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("counts.parquet");
    let train_on = |file: &[u8]| {
        std::fs::write(&path, file).expect("a temporary file");
        match WordCounts::open_parquet(&path) {
            Ok(counts) => train(counts),
            Err(error) => assert!(error.to_string().contains("counts.parquet"), "{error}"),
        }
    };
    train_on(data);
    let mut counts = trainer().new_counts().expect("no unigram model");
    for (word, count) in [("\u{2581}a", 2), ("\u{2581}rose", 2), ("\u{2581}is", 1)] {
        counts.add(word, count).expect("few words");
    }
    counts.save_parquet(&path).expect("a temporary file");
    let mut good = std::fs::read(&path).expect("it was written");
    if mutation::overwrite(&mut good, data) {
        train_on(&good);
    }
}
