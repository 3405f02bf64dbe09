//! `--generate_vocabulary`: the pieces that occur in a text and their counts, ordered by descending
//! count, then by bytes.
//!
//! ```text
//! $ echo 'a b a' | spiece encode --model=testdata/golden/llama2.model --generate_vocabulary
//! ▁a    2
//! ▁b    1
//! ```

use std::collections::HashMap;
use std::io::Write;

use crate::io::CliResult;
use crate::stream::{Stream, output_error};
use spiece::{Encoder, PieceKind, Tokenizer};

/// Counts of pieces by id.
type PieceCounts = HashMap<u32, u64>;

/// Writes the text of each piece that occurs, a tab and its count. Unknown and control pieces are
/// left out.
pub(super) fn write<'t>(
    stream: &Stream,
    tokenizer: &'t Tokenizer,
    make: impl Fn() -> CliResult<Encoder<'t>>,
) -> CliResult {
    stream.with_output(|output| {
        let make = || Ok((make()?, PieceCounts::new()));
        let count = |(encoder, counts): &mut (Encoder<'t>, PieceCounts), _: u64, line: &[u8]| {
            for id in encoder.encode(line) {
                *counts.entry(id.get()).or_default() += 1;
            }
            Ok(())
        };
        let mut totals = PieceCounts::new();
        for (_, counts) in stream.lines.give(stream.files(), make, count)? {
            for (id, count) in counts {
                *totals.entry(id).or_default() += count;
            }
        }
        write_rows(&rows(tokenizer, &totals), output).map_err(output_error)
    })
}

/// Counts and texts of the pieces to write, in the order of the output.
fn rows<'t>(tokenizer: &'t Tokenizer, totals: &PieceCounts) -> Vec<(u64, &'t [u8])> {
    let is_written = |kind| !matches!(kind, PieceKind::Unknown | PieceKind::Control);
    let pieces = tokenizer.pieces();
    let mut rows: Vec<(u64, &[u8])> = pieces
        .filter(|piece| is_written(piece.kind))
        .filter_map(|piece| Some((*totals.get(&piece.id.get())?, piece.text)))
        .collect();
    rows.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    rows
}

/// Writes the lines.
fn write_rows(rows: &[(u64, &[u8])], output: &mut dyn Write) -> std::io::Result<()> {
    rows.iter().try_for_each(|(count, text)| {
        output.write_all(text)?;
        writeln!(output, "\t{count}")
    })
}
