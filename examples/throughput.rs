//! Measures the speed of one operation: `throughput OPERATION MODEL [TEXT [SECONDS]]`.
//!
//! Each line is one text. The operations, which all run on one thread except `batch` and `flat`:
//!
//! - `encode`: ids, with one encoder whose buffers are reused
//! - `lines`: ids, by one call of `Encoder::encode_lines` for about 128 kB of lines
//! - `spans`: tokens with spans, with one encoder
//! - `call`: ids, by one call of `Tokenizer::encode` for each line, which returns a new vector
//! - `batch`: ids of all lines by one call, on as many threads as the environment variable
//!   RAYON_NUM_THREADS says
//! - `flat`: like `batch`, with the ids of all lines in one vector
//! - `decode`: the ids of each line to text
//! - `load`: loading the model; needs no TEXT
//!
//! Prints one JSON object; `benches/peers/measure.rs` defines its fields. Example:
//!
//! ```text
//! $ cargo run --release --example throughput encode testdata/golden/llama2.model testdata/udhr.txt
//! {"name": "spiece", "lines": 1962, "bytes": 412131, "rounds": 97, "wall": 7.371939e-3, ...}
//! ```

use std::hint::black_box;

use spiece::{EncodeOptions, OpenError, PieceId, Tokenizer};

#[path = "../benches/peers/measure.rs"]
mod measure;
use measure::{Digest, Lines, Report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [work, model, rest @ ..] = &arguments[..] else {
        return Err(
            "usage: throughput encode|lines|spans|call|batch|flat|decode|load MODEL [TEXT [SECONDS]]"
                .into(),
        );
    };
    let text = rest
        .first()
        .map_or(Ok(String::new()), std::fs::read_to_string)?;
    let seconds: f64 = rest.get(1).map_or(Ok(1.0), |seconds| seconds.parse())?;
    let lines = Lines::new(&text);

    let report = Report::new("spiece", seconds, &lines);
    Tokenizer::open(model)?;
    let open = || Tokenizer::open(model).expect("the model was read before");
    match work.as_str() {
        "encode" => measure_encoding(report, &lines, open, encode),
        "lines" => report.measure(
            || {
                let tokenizer = open();
                encode(&tokenizer, lines.seen(), None);
                (tokenizer, blocks(lines.unseen()))
            },
            |(tokenizer, blocks), sum| encode_lines(tokenizer, blocks, sum),
        ),
        "spans" => measure_encoding(report, &lines, open, spans),
        "call" => measure_encoding(report, &lines, open, call),
        "batch" => measure_encoding(report, &lines, open, batch),
        "flat" => measure_encoding(report, &lines, open, flat),
        "decode" => report.measure(
            || {
                let tokenizer = open();
                let ids = lines.unseen().iter().map(|line| tokenizer.encode(line));
                (ids.collect::<Vec<_>>(), tokenizer)
            },
            |(ids, tokenizer), sum| decode(tokenizer, ids, sum),
        ),
        "load" => report.measure(|| (), |(), sum| load(model, sum)),
        _ => return Err(format!("there is no work {work}").into()),
    }
    Ok(())
}

/// Loads the model for each round and encodes the lines of the warm-up.
fn measure_encoding<T>(
    report: Report,
    lines: &Lines<'_>,
    open: impl Fn() -> Tokenizer,
    work: fn(&Tokenizer, &[&str], Option<&mut Digest>) -> T,
) {
    let prepare = || {
        let tokenizer = open();
        work(&tokenizer, lines.seen(), None);
        tokenizer
    };
    report.measure(prepare, |tokenizer, sum| {
        work(tokenizer, lines.unseen(), sum)
    });
}

fn encode(tokenizer: &Tokenizer, lines: &[&str], mut sum: Option<&mut Digest>) {
    let mut encoder = tokenizer.encoder();
    for line in lines {
        let ids = black_box(encoder.encode(line));
        if let Some(sum) = &mut sum {
            sum.ids(numbers(ids));
        }
    }
}

/// The lines, joined to texts of about 128 kB.
fn blocks(lines: &[&str]) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in lines {
        if blocks[blocks.len() - 1].len() > 1 << 17 {
            blocks.push(String::new());
        }
        let last = blocks.len() - 1;
        blocks[last].push_str(line);
        blocks[last].push('\n');
    }
    blocks
}

fn encode_lines(tokenizer: &Tokenizer, blocks: &[String], mut sum: Option<&mut Digest>) {
    let mut encoder = tokenizer.encoder();
    for block in blocks {
        let lines = black_box(encoder.encode_lines(block));
        if let Some(sum) = &mut sum {
            lines.iter().for_each(|ids| sum.ids(numbers(ids)));
        }
    }
}

fn spans(tokenizer: &Tokenizer, lines: &[&str], mut sum: Option<&mut Digest>) {
    let mut encoder = tokenizer.encoder();
    for line in lines {
        let tokens = black_box(encoder.tokens(line));
        if let Some(sum) = &mut sum {
            sum.ids(tokens.as_slice().iter().map(|token| token.id.get()));
        }
    }
}

fn call(tokenizer: &Tokenizer, lines: &[&str], mut sum: Option<&mut Digest>) {
    for line in lines {
        let ids = black_box(tokenizer.encode(line));
        if let Some(sum) = &mut sum {
            sum.ids(numbers(&ids));
        }
    }
}

fn batch(tokenizer: &Tokenizer, lines: &[&str], sum: Option<&mut Digest>) -> Vec<Vec<PieceId>> {
    let batch = tokenizer.encode_batch(lines, &EncodeOptions::default());
    let batch = batch.expect("no options ask for pieces");
    if let Some(sum) = sum {
        batch.iter().for_each(|ids| sum.ids(numbers(ids)));
    }
    batch
}

fn flat(
    tokenizer: &Tokenizer,
    lines: &[&str],
    sum: Option<&mut Digest>,
) -> (Vec<PieceId>, Vec<usize>) {
    let flat = tokenizer.encode_batch_flat(lines, &EncodeOptions::default());
    let (ids, offsets) = flat.expect("no options ask for pieces");
    if let Some(sum) = sum {
        let lines = offsets.windows(2).map(|line| &ids[line[0]..line[1]]);
        lines.for_each(|ids| sum.ids(numbers(ids)));
    }
    (ids, offsets)
}

fn decode(tokenizer: &Tokenizer, ids: &[Vec<PieceId>], mut sum: Option<&mut Digest>) {
    for ids in ids {
        let text = black_box(tokenizer.decode(ids)).unwrap_or_default();
        if let Some(sum) = &mut sum {
            sum.text(text);
        }
    }
}

fn load(model: &str, sum: Option<&mut Digest>) -> Result<Tokenizer, OpenError> {
    let tokenizer = Tokenizer::open(model)?;
    if sum.is_some() {
        encode(&tokenizer, &[measure::GREETING], sum);
    }
    Ok(tokenizer)
}

fn numbers(ids: &[PieceId]) -> impl Iterator<Item = u32> {
    ids.iter().map(|id| id.get())
}
