//! Generates text of any length for training through a pipe: `stream BYTES WORDS`.
//!
//! Output: lines of twelve words from a dictionary of `WORDS` words with a Zipf distribution (the
//! probability of the word of rank r is proportional to 1/r). The number of distinct words grows at
//! first and is constant once all words have occurred, so memory proportional to it becomes
//! constant too. A word is its rank written in syllables; frequent words are short. The text is
//! deterministic; with fewer bytes it is a prefix of the longer text. No dependencies: `rustc -O
//! stream.rs`.

use std::io::{BufWriter, ErrorKind, Write};

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";
const WORDS_PER_LINE: usize = 12;

fn main() -> std::io::Result<()> {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [bytes, words] = arguments[..] else { panic!("usage: stream BYTES WORDS") };
    match write(bytes, words as f64, &mut BufWriter::with_capacity(1 << 16, std::io::stdout().lock())) {
        // The reader may close the pipe early.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn write(bytes: u64, words: f64, out: &mut impl Write) -> std::io::Result<()> {
    let (mut state, mut written, mut line) = (0x9E37_79B9_7F4A_7C15, 0, Vec::new());
    while written < bytes {
        line.clear();
        for _ in 0..WORDS_PER_LINE {
            spell(words.powf(uniform(&mut state)) as u64, &mut line);
            line.push(b' ');
        }
        if let Some(last) = line.last_mut() {
            *last = b'\n';
        }
        out.write_all(&line)?;
        written += line.len() as u64;
    }
    out.flush()
}

/// Writes a rank in syllables.
fn spell(mut rank: u64, line: &mut Vec<u8>) {
    let syllables = (CONSONANTS.len() * VOWELS.len()) as u64;
    while rank > 0 {
        rank -= 1;
        let syllable = (rank % syllables) as usize;
        line.extend([CONSONANTS[syllable / VOWELS.len()], VOWELS[syllable % VOWELS.len()]]);
        rank /= syllables;
    }
}

/// A number in [0, 1): SplitMix64 by Sebastiano Vigna, https://prng.di.unimi.it/splitmix64.c.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
