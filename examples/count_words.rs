//! Counts the words of a text file on one thread: `count_words TEXT [NAME=VALUE...]`, with the
//! options of `spiece train`.
//!
//! Prints the seconds of five runs and the number of distinct words. Each run reads the text from
//! the file and writes no table, so the time is that of counting itself.
//! `benches/spark/measure.py` compares it with a Spark task. Example:
//!
//! ```text
//! $ cargo run --release --example count_words testdata/udhr.txt byte_fallback=true normalization_rule_name=identity
//! {"seconds": [0.007, 0.005, 0.005, 0.005, 0.005], "words": 13308}
//! ```

use std::num::NonZeroUsize;
use std::time::Instant;

use spiece::train::CountWords;
use spiece::{Corpus, TrainFlags};

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let text = arguments
        .next()
        .ok_or("usage: count_words TEXT [NAME=VALUE...]")?;
    let mut flags = TrainFlags::default();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("an option is NAME=VALUE")?;
        flags.set(name, value)?;
    }
    let trainer = flags.trainer()?.with_threads(NonZeroUsize::MIN);

    let mut seconds = Vec::new();
    let mut words = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        words = trainer.count(Corpus::files([&text]))?.len();
        seconds.push(format!("{:.3}", start.elapsed().as_secs_f64()));
    }
    println!(
        "{{\"seconds\": [{}], \"words\": {words}}}",
        seconds.join(", ")
    );
    Ok(())
}
