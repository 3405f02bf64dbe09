//! The merges that make a piece of its own text.
//!
//! Example: three merges may make `▁the`: `▁` + `t`, `▁t` + `h`, and `▁th` + `e`.

use std::ops::Range;

use crate::byte_bpe::ByteBpe;
use crate::encode::bpe::Tracer;
use crate::model::{Model, ModelError, ModelType};
use crate::piece::PieceId;
use crate::tokenizer::Tokenizer;

/// A merge in the text of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PieceMerge {
    /// The piece that the merge makes.
    pub id: PieceId,
    /// The bytes of the text that the left part has.
    pub left: Range<usize>,
    /// The bytes of the text that the right part has; it begins where the left part ends.
    pub right: Range<usize>,
}

/// The merges of the text of a piece, in the order in which encoding executes them. The last one
/// makes the piece, unless merging its text gives other pieces. Empty for a piece that no merge
/// makes, such as a character or a special token, and for vocabularies without merges.
///
/// ```
/// use spiece::Tokenizer;
/// use spiece::inspect::piece_merges;
///
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let the = tokenizer.piece_to_id("\u{2581}the").unwrap();
/// let merges = piece_merges(&tokenizer, the)?;
/// let made = merges.iter().filter_map(|merge| tokenizer.id_to_piece(merge.id));
/// assert!(made.eq(["\u{2581}t", "\u{2581}th", "\u{2581}the"].map(str::as_bytes)));
/// # Ok::<(), spiece::OpenError>(())
/// ```
///
/// # Errors
/// The symbols of the model exceed a trie; none for a model of a usual size.
///
/// # Cost
/// Linear in the vocabulary.
pub fn piece_merges(tokenizer: &Tokenizer, id: PieceId) -> Result<Vec<PieceMerge>, ModelError> {
    if let Some(bpe) = tokenizer.byte_bpe() {
        return Ok(byte_merges(bpe, id));
    }
    match tokenizer.model() {
        Some(model) if model.model_type() == ModelType::Bpe => model_merges(model, id),
        _ => Ok(Vec::new()),
    }
}

fn model_merges(model: &Model, id: PieceId) -> Result<Vec<PieceMerge>, ModelError> {
    let Some(piece) = model.piece(id) else {
        return Ok(Vec::new());
    };
    if !piece.kind.is_from_text() {
        return Ok(Vec::new());
    }
    let trace = Tracer::new(model)?.trace(piece.text);
    let merges = trace.merges.into_iter();
    let merges = merges.map(|(id, [left, right])| PieceMerge { id, left, right });
    Ok(merges.collect())
}

/// The merges of a token: those of its halves, down to bytes, by rank.
fn byte_merges(bpe: &ByteBpe, id: PieceId) -> Vec<PieceMerge> {
    let tokens: Vec<(&[u8], PieceId)> = bpe.tokens().collect();
    let last_merges = bpe.last_merges();
    let rank = tokens.iter().position(|(_, other)| *other == id);
    let mut merges = Vec::new();
    let mut open: Vec<(usize, usize)> = rank.map(|rank| (rank, 0)).into_iter().collect();
    while let Some((rank, start)) = open.pop() {
        let Some(halves) = last_merges[rank] else {
            continue;
        };
        let [left, right] = halves.map(|half| half as usize);
        let middle = start + tokens[left].0.len();
        let end = middle + tokens[right].0.len();
        let merge = PieceMerge {
            id: tokens[rank].1,
            left: start..middle,
            right: middle..end,
        };
        merges.push((rank, start, merge));
        open.extend([(left, start), (right, middle)]);
    }
    merges.sort_unstable_by_key(|(rank, start, _)| (*rank, *start));
    merges.into_iter().map(|(_, _, merge)| merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_bpe::{ByteBpeParts, ByteToken};
    use crate::pattern::{Pattern, Pretokenizer};
    use crate::tokenizer::TokenizerConfig;

    #[test]
    fn the_merges_of_a_token_are_those_of_its_halves_by_rank() {
        let mut parts = ByteBpeParts::new(Pretokenizer::of(Pattern::named("gpt2").unwrap()));
        let merged: [&[u8]; 4] = [b"lo", b"we", b"lowe", b"never merged"];
        let texts = (0..=u8::MAX).map(|byte| vec![byte]);
        let texts = texts.chain(merged.iter().map(|text| text.to_vec()));
        let tokens = (0..).zip(texts);
        parts.tokens = tokens
            .map(|(id, bytes)| ByteToken {
                bytes: bytes.into(),
                id,
            })
            .collect();
        let bpe = ByteBpe::new(parts).unwrap();
        let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
        let merge = |id: u32, left, right| PieceMerge {
            id: PieceId::new(id),
            left,
            right,
        };
        let cases = [
            (
                258,
                vec![
                    merge(256, 0..1, 1..2),
                    merge(257, 2..3, 3..4),
                    merge(258, 0..2, 2..4),
                ],
            ),
            (259, Vec::new()),
            (97, Vec::new()),
            (1000, Vec::new()),
        ];
        for (id, expected) in cases {
            assert_eq!(
                piece_merges(&tokenizer, PieceId::new(id)).unwrap(),
                expected,
                "{id}"
            );
        }
    }

    #[test]
    fn models_without_merges_have_none() {
        let root = env!("CARGO_MANIFEST_DIR");
        let tokenizer = Tokenizer::open(format!("{root}/testdata/run/unigram.model")).unwrap();
        for piece in 0..20 {
            assert_eq!(piece_merges(&tokenizer, PieceId::new(piece)).unwrap(), []);
        }
    }
}
