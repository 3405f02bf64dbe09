//! A tokenizer in an inference server: encodes a prompt, generates ids one by one, and prints each
//! part of the text as soon as later ids cannot change it.
//!
//! ```text
//! cargo run --example inference -- testdata/golden/llama2.model "All human beings"
//! ```
//!
//! `next_id` is a placeholder for a language model; replace it with a call to your model.

use std::io::Write;

use spiece::{EncodeOptions, ExtraOption, PieceId, Tokenizer};

/// A placeholder for a language model: computes an id from the ids before it.
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

    // Once per process; the tokenizer can be shared by all threads.
    let tokenizer = Tokenizer::open(path)?;

    // Once per thread: the encoder reuses its buffers and its cache for all prompts.
    let mut options = EncodeOptions::default();
    if tokenizer.bos_id().is_some() {
        options.extra = vec![ExtraOption::Bos];
    }
    // The prompt is untrusted, so user-defined symbols in it (chat markers) are encoded as ordinary
    // text.
    options.user_defined_symbols = false;
    let mut encoder = tokenizer.encoder_with(&options)?;

    // Once per request. The decoder also gets the prompt: the first space of a text is removed, but
    // the first space of the answer must not be.
    let mut ids = encoder.encode(&prompt).to_vec();
    let mut decoder = tokenizer.incremental_decoder();
    for id in &ids {
        decoder.push(*id)?;
    }
    print!("{prompt}");
    for _ in 0..20 {
        let id = next_id(&ids, tokenizer.vocab_size());
        // Some ids of a byte-level vocabulary have no token.
        if Some(id) == tokenizer.eos_id() || tokenizer.id_to_piece(id).is_none() {
            break;
        }
        ids.push(id);
        print!("{}", decoder.push(id)?);
        std::io::stdout().flush()?;
    }
    println!("{}", decoder.finish());
    Ok(())
}
