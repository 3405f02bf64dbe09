//! `--generate_vocabulary`: which pieces a text has, and how often; the most frequent first, then by bytes.

use std::collections::HashMap;

use crate::{EncodeError, Encoder, PieceKind, Tokenizer};

use crate::cli::io::CliError;
use crate::cli::stream::{Block, Stream};

/// Writes a line for each piece but unknown and control pieces: its text, a tab and its count.
pub(super) fn write<'t>(
    stream: &Stream,
    tokenizer: &'t Tokenizer,
    worker: impl Fn() -> Result<Encoder<'t>, EncodeError> + Sync + Send,
) -> Result<(), CliError> {
    let count = |encoder: &mut Result<Encoder<'t>, EncodeError>, block: &Block| {
        let encoder = encoder
            .as_mut()
            .map_err(|error| CliError::from(error.clone()))?;
        let mut counts: HashMap<u32, u64> = HashMap::new();
        for (_, line) in block.lines() {
            for id in encoder.encode(line) {
                *counts.entry(id.get()).or_default() += 1;
            }
        }
        Ok(counts)
    };
    stream.fold_blocks(
        HashMap::<u32, u64>::new(),
        worker,
        count,
        |totals, _, counts| {
            for (id, count) in counts {
                *totals.entry(id).or_default() += count;
            }
            Ok(())
        },
        |totals, output| {
            let is_shown = |kind| !matches!(kind, PieceKind::Unknown | PieceKind::Control);
            let pieces = tokenizer
                .model()
                .pieces()
                .filter(|piece| is_shown(piece.kind));
            let mut rows: Vec<(u64, &[u8])> = pieces
                .filter_map(|piece| Some((*totals.get(&piece.id.get())?, piece.text)))
                .collect();
            rows.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            rows.into_iter().try_for_each(|(count, text)| {
                output.write_all(text)?;
                writeln!(output, "\t{count}")
            })
        },
    )
}
