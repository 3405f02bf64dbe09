//! Serving with a tokenizer: encode a prompt, generate ids one by one, show text as soon as it is certain.
//!
//!     cargo run --example inference -- testdata/golden/llama2.model "All human beings"
//!
//! The language model here is a toy that walks through the vocabulary; put yours in its place.

use std::io::Write;

use spiece::{EncodeOptions, ExtraOption, PieceId, Tokenizer};

/// Stands for a language model: the next id after those before.
fn next_id(before: &[PieceId], pieces: usize) -> PieceId {
    let sum: usize = before.iter().map(|id| id.get() as usize).sum();
    PieceId::new(u32::try_from((sum * 31 + before.len()) % pieces).unwrap_or(0))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or_else(|| "testdata/golden/llama2.model".to_owned());
    let prompt = arguments
        .next()
        .unwrap_or_else(|| "All human beings".to_owned());

    // Once for the whole server.
    let tokenizer = Tokenizer::open(path)?;

    // Once for each thread: a worker whose buffers are used again for every prompt.
    let mut options = EncodeOptions::default();
    options.extra = vec![ExtraOption::Bos];
    // A stranger wrote the prompt: chat markers in it are text like any other.
    options.user_defined_symbols = false;
    let mut encoder = tokenizer.encoder_with(&options)?;

    // Once for each request. The decoder sees the prompt too, so that the answer's first space is right.
    let mut ids = encoder.encode(&prompt).to_vec();
    let mut decoder = tokenizer.incremental_decoder();
    for id in &ids {
        decoder.push(*id)?;
    }
    print!("{prompt}");
    for _ in 0..20 {
        let id = next_id(&ids, tokenizer.model().len());
        if Some(id) == tokenizer.eos_id() {
            break;
        }
        ids.push(id);
        print!("{}", decoder.push(id)?);
        std::io::stdout().flush()?;
    }
    println!("{}", decoder.finish());
    Ok(())
}
