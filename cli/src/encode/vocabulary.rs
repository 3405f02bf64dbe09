//! `--generate_vocabulary`: the pieces that occur in a text and their counts, ordered by descending
//! count, then by bytes.
//!
//! Input: the blocks of the input. Output: lines of a piece, a tab and its count. Method: each
//! thread counts the pieces of a block by id; the counts of the blocks are added up. Cost: one hash
//! table access for each token.
//!
//! ```text
//! $ echo 'a b a' | spiece encode --model=testdata/golden/llama2.model --generate_vocabulary
//! ▁a    2
//! ▁b    1
//! ```

use std::collections::HashMap;
use std::io::Write;

use crate::io::CliResult;
use crate::stream::{Block, Conversion, Stream};
use spiece::{Encoder, PieceKind, Tokenizer};

/// Counts of pieces by id.
type PieceCounts = HashMap<u32, u64>;

/// Writes the text of each piece that occurs, a tab and its count. Unknown and control pieces are
/// left out.
pub(super) fn write<'t>(
    stream: &Stream,
    tokenizer: &'t Tokenizer,
    worker: impl Fn() -> CliResult<Encoder<'t>> + Sync,
) -> CliResult {
    stream.run_blocks(
        &PieceCounting { worker },
        PieceCounts::new(),
        |totals, counts| {
            for (id, count) in counts.drain() {
                *totals.entry(id).or_default() += count;
            }
        },
        |totals, output| write_rows(&rows(tokenizer, &totals), output),
    )
}

/// Counts the pieces of each block.
struct PieceCounting<F> {
    /// Creates the encoder of a thread.
    worker: F,
}

impl<'t, F: Fn() -> CliResult<Encoder<'t>> + Sync> Conversion for PieceCounting<F> {
    type Worker = Encoder<'t>;
    type Result = PieceCounts;

    fn worker(&self) -> CliResult<Encoder<'t>> {
        (self.worker)()
    }

    fn convert(
        &self,
        encoder: &mut Encoder<'t>,
        block: &Block,
        counts: &mut PieceCounts,
    ) -> CliResult {
        block.for_each_document(|_, line| {
            for id in encoder.encode(line) {
                *counts.entry(id.get()).or_default() += 1;
            }
            Ok(())
        })
    }
}

/// Counts and texts of the pieces to write, in the order of the output.
fn rows<'t>(tokenizer: &'t Tokenizer, totals: &PieceCounts) -> Vec<(u64, &'t [u8])> {
    let is_written = |kind| !matches!(kind, PieceKind::Unknown | PieceKind::Control);
    let pieces = tokenizer.model().pieces();
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
