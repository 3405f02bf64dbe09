//! How fast a model loads, encodes and decodes: `throughput MODEL TEXT [REPEATS]`.
//!
//! Prints a JSON object with seconds for each step, the best of the repeats, and a checksum of the ids, so
//! that another program can be asked for the same. One thread; each line of the text is encoded by itself.

use std::time::Instant;

use spiece::{PieceId, Tokenizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, text, repeats @ ..] = &arguments[..] else {
        return Err("usage: throughput MODEL TEXT [REPEATS]".into());
    };
    let repeats: usize = repeats.first().map_or(Ok(3), |repeats| repeats.parse())?;
    let text = std::fs::read_to_string(text)?;
    let lines: Vec<&str> = text.lines().collect();

    let mut best = [f64::MAX; 4];
    let mut ids: Vec<Vec<PieceId>> = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        let tokenizer = Tokenizer::open(model)?;
        keep_best(&mut best[0], start);

        let start = Instant::now();
        let mut encoder = tokenizer.encoder();
        ids = lines.iter().map(|line| encoder.encode(line).to_vec()).collect();
        keep_best(&mut best[1], start);

        let start = Instant::now();
        let spans: usize = lines.iter().map(|line| encoder.tokens(line).as_slice().len()).sum();
        keep_best(&mut best[2], start);

        let start = Instant::now();
        let decoded: usize = ids.iter().map(|ids| tokenizer.decode(ids).map_or(0, |text| text.len())).sum();
        keep_best(&mut best[3], start);
        std::hint::black_box((spans, decoded));
    }
    let count: usize = ids.iter().map(Vec::len).sum();
    let checksum = ids.iter().flatten().fold(0u64, |sum, id| (sum * 31 + u64::from(id.get())) % 1_000_000_007);
    println!(
        r#"{{"bytes": {}, "ids": {count}, "checksum": {checksum}, "load": {:.6}, "encode": {:.6}, "spans": {:.6}, "decode": {:.6}}}"#,
        text.len(),
        best[0],
        best[1],
        best[2],
        best[3]
    );
    Ok(())
}

fn keep_best(best: &mut f64, start: Instant) {
    *best = best.min(start.elapsed().as_secs_f64());
}
