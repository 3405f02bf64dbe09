//! Byte-level BPE: every byte is an initial symbol.
//!
//! The tokens stand in a [`PieceTable`] in the order of their merge ranks, so that the symbol, the
//! rank and the index of a token are one number. Among them are all single bytes.

use super::BpeCache;
use super::lookup::ascii_pairs::AsciiCode;
use super::lookup::symbol_table::SymbolTable;
use super::spelling::{Spelling, Unit};
use super::strategies::chunk_context::ChunkContext;
use super::strategies::merge_context::MergeTables;
use crate::base::num::low_u32;
use crate::piece::{PieceHashes, PieceId, PieceTable};

/// The units of all bytes.
#[derive(Debug)]
struct Bytes {
    units: Box<[Unit; 256]>,
}

impl Bytes {
    /// Bytes that are no tokens get new symbols.
    fn new(symbols: &mut SymbolTable, tokens: &PieceTable) -> Self {
        let units = (0..=u8::MAX).map(|byte| {
            let text = [byte];
            let symbol = symbols.add_char(tokens, &text);
            Unit {
                hash: symbols.hash(symbol),
                symbol,
                width: 1,
                code: AsciiCode::of(&text),
            }
        });
        let units: Vec<Unit> = units.collect();
        Self {
            units: units.try_into().expect("there are 256 bytes"),
        }
    }
}

impl Spelling for Bytes {
    #[inline(always)]
    fn unit_at(&self, text: &[u8]) -> (Unit, usize) {
        (self.units[usize::from(text[0])], 1)
    }

    #[inline]
    fn unit_length(text: &[u8]) -> usize {
        usize::from(!text.is_empty())
    }

    #[inline]
    fn floor_border(text: &[u8], at: usize) -> usize {
        at.min(text.len())
    }
}

/// Merges the bytes of pretokens.
#[derive(Debug)]
struct ByteMerger {
    tables: MergeTables<Bytes>,
    tokens: PieceTable,
}

impl ByteMerger {
    /// # Errors
    /// The index of a token that has the text of one before it.
    fn new(tokens: PieceTable) -> Result<Self, usize> {
        let hashes = PieceHashes::of_unique(&tokens)?;
        let ranks = (0..low_u32(tokens.len() as u64)).collect();
        let mut symbols = SymbolTable::new(&tokens, hashes.into(), ranks);
        let bytes = Bytes::new(&mut symbols, &tokens);
        Ok(Self {
            tables: MergeTables::new(symbols, bytes, PieceId::new(u32::MAX)),
            tokens,
        })
    }

    /// Appends the symbols of a pretoken.
    fn merge(&self, pretoken: &[u8], cache: &mut BpeCache, out: &mut Vec<PieceId>) {
        let mut context = ChunkContext {
            tables: &self.tables,
            pieces: &self.tokens,
            state: &mut cache.state,
        };
        context.encode_chunk(pretoken, out);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::super::strategies::chunk_context::Strategy as Row;
    use super::*;
    use crate::piece::PieceKind;

    /// The definition: of all adjacent pairs whose joined text is a token, merge the one with the
    /// lowest rank, leftmost first.
    fn merge_naively(ranks: &HashMap<&[u8], usize>, text: &[u8]) -> Vec<usize> {
        let mut parts: Vec<&[u8]> = text.chunks(1).collect();
        loop {
            let mut at = 0;
            let joined = parts.windows(2).map(|pair| {
                let joined = &text[at..at + pair[0].len() + pair[1].len()];
                at += pair[0].len();
                joined
            });
            let ranked = joined
                .enumerate()
                .filter_map(|(left, text)| Some((*ranks.get(text)?, left, text)));
            let Some((_, left, joined)) = ranked.min() else {
                return parts.iter().map(|part| ranks[part]).collect();
            };
            parts[left] = joined;
            parts.remove(left + 1);
        }
    }

    /// All bytes, and tokens that are made of bytes of `alphabet` by joining tokens before them,
    /// often one with itself, or (one in eight) are any text.
    fn vocabulary(alphabet: &'static [u8]) -> impl Strategy<Value = Vec<Vec<u8>>> {
        let index = any::<prop::sample::Index>;
        let any_text = prop::collection::vec(prop::sample::select(alphabet), 2..7);
        let token = prop_oneof![
            5 => (index(), index()).prop_map(Ok),
            2 => index().prop_map(|part| Ok((part, part))),
            1 => any_text.prop_map(Err),
        ];
        let tokens = prop::collection::vec(token, 0..60);
        let bytes = Just((0..=u8::MAX).collect::<Vec<u8>>()).prop_shuffle();
        (bytes, tokens).prop_map(move |(bytes, tokens)| {
            let mut texts: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
            let mut made: Vec<Vec<u8>> = alphabet.iter().map(|byte| vec![*byte]).collect();
            for token in tokens {
                made.push(match token {
                    Ok(parts) => {
                        let [left, right] = [parts.0, parts.1].map(|part| part.index(made.len()));
                        [&made[left][..], &made[right]].concat()
                    }
                    Err(text) => text,
                });
            }
            texts.extend(made);
            let mut seen = HashSet::new();
            texts.retain(|text| text.len() <= 40 && seen.insert(text.clone()));
            texts
        })
    }

    #[test]
    fn pretokens_have_the_tokens_of_the_naive_merger() {
        let counts = std::cell::RefCell::new([0; Row::Full as usize + 1]);
        let case =
            prop::sample::select(vec![&b"a"[..], b"ab", b"ab\x80\xFF"]).prop_flat_map(|alphabet| {
                let text = prop::collection::vec(prop::sample::select(alphabet), 0..150);
                (vocabulary(alphabet), text)
            });
        proptest!(ProptestConfig::with_cases(400), |((texts, text) in case)| {
            let mut tokens = PieceTable::default();
            texts.iter().for_each(|text| tokens.push(text, 0.0, PieceKind::Normal));
            let ranks = texts.iter().enumerate().map(|(rank, text)| (&text[..], rank)).collect();
            let merger = ByteMerger::new(tokens).unwrap();
            let mut cache = BpeCache::default();
            for text in [&text[..], &text[..text.len() / 2], &text] {
                let mut symbols = Vec::new();
                merger.merge(text, &mut cache, &mut symbols);
                let found: Vec<usize> = symbols.iter().map(|symbol| symbol.index()).collect();
                prop_assert_eq!(found, merge_naively(&ranks, text));
            }
            let mut counts = counts.borrow_mut();
            counts.iter_mut().zip(cache.state.counts).for_each(|(sum, count)| *sum += count);
        });
        let counts = counts.into_inner();
        for row in [Row::Short, Row::Windowed, Row::LargeWindowed, Row::Heap] {
            assert!(counts[row as usize] > 10, "{row:?}: {counts:?}");
        }
    }
}
