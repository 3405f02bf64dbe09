//! Prints the pretokens of texts, for `tests/conformance/patterns.py`.
//!
//! ```sh
//! pretokens findall EXPRESSION                 # as tiktoken
//! pretokens BEHAVIOR[!] EXPRESSION ...         # splits of tokenizers, in order; ! inverts
//! ```
//!
//! Each line of standard input is a text in hexadecimal digits. Each line of the output has its
//! pretokens, joined by U+001F, in hexadecimal digits.

use std::io::{BufRead as _, BufWriter, Write as _};

use spiece::{Pattern, PatternSyntax, Pretokenizer, Split, SplitBehavior};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut splits = Vec::new();
    for step in arguments.chunks(2) {
        let [name, expression] = step else {
            return Err("usage: pretokens BEHAVIOR[!] EXPRESSION ...".into());
        };
        let behavior = match name.trim_end_matches('!') {
            "isolated" => SplitBehavior::Isolated,
            "removed" | "findall" => SplitBehavior::Removed,
            "merged_with_previous" => SplitBehavior::MergedWithPrevious,
            "merged_with_next" => SplitBehavior::MergedWithNext,
            "contiguous" => SplitBehavior::Contiguous,
            other => return Err(format!("unknown behavior {other}").into()),
        };
        let is_findall = name == "findall";
        let syntax = match is_findall {
            true => PatternSyntax::Rust,
            false => PatternSyntax::Oniguruma,
        };
        let pattern = Pattern::with_syntax(expression, syntax)?;
        splits.push(Split {
            pattern,
            behavior,
            invert: is_findall || name.ends_with('!'),
        });
    }
    let pretokenizer = Pretokenizer::new(splits);
    let mut output = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let bytes = line?
            .as_bytes()
            .chunks(2)
            .map(|digits| Ok(u8::from_str_radix(std::str::from_utf8(digits)?, 16)?))
            .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
        let text = String::from_utf8(bytes)?;
        for byte in pretokenizer.pretokens(&text).join("\u{1F}").bytes() {
            write!(output, "{byte:02x}")?;
        }
        writeln!(output)?;
    }
    output.flush()?;
    Ok(())
}
