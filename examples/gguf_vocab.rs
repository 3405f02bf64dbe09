//! Writes the vocabulary of a model as a GGUF file for llama.cpp: `gguf_vocab MODEL FILE [--force]`.
//!
//! Prints the verdict. A file whose ids can differ is written with `--force` only.

use spiece::{GgufOptions, Model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (model, file, is_forced) = match &arguments[..] {
        [model, file] => (model, file, false),
        [model, file, force] if force == "--force" => (model, file, true),
        _ => return Err("usage: gguf_vocab MODEL FILE [--force]".into()),
    };
    let vocab = Model::open(model)?.to_gguf_vocab(&GgufOptions::default())?;
    println!("{}", vocab.verdict);
    if vocab.verdict.is_exact() || is_forced {
        std::fs::write(file, vocab.bytes)?;
    }
    Ok(())
}
