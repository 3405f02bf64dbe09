//! Byte-level BPE: every byte is an initial symbol.
//!
//! A text is cut into pretokens by a pattern; in each of them, of all adjacent parts whose joined
//! bytes are a token, those with the lowest rank are joined, the leftmost first. That is the merge
//! rule of the other models with bytes for characters, so the merger is the same
//! ([`strategies`](super::strategies)), with [`Bytes`] as its spelling.
//!
//! The tokens stand in a [`PieceTable`] in the order of their merge ranks, so that the symbol, the
//! rank and the index of a token are one number. All single bytes are tokens; so there are no
//! unknown symbols. The ids of tokens may be any numbers; the cache of pretokens has ids, all
//! others have symbols.
//!
//! Example: the pretoken ` low` with the tokens `lo` (rank 256), ` l` (257) and ` low` (300). `lo`
//! is merged first, and ` lo` and `low` are no tokens, so the result is ` `, `lo`, `w`. If *whole
//! pretokens come first*, the result is ` low`.
//!
//! Cost: a pretoken that was seen before takes one tag and one cache line; others are merged in
//! linear time, and only in rare cases by the heap.

use std::ops::Range;

use super::BpeCache;
use super::PairMerger;
use super::byte_cuts::ByteCuts;
use super::byte_merge::UnitStarts;
use super::lookup::ascii_pairs::AsciiCode;
use super::lookup::symbol_table::SymbolMerge;
use super::lookup::symbol_table::SymbolTable;
use super::lookup::token_texts::{TokenLookup, TokenTexts};
use super::spelling::{Spelling, Unit};
use super::strategies::chunk_context::{ChunkContext, MergesShort, Strategy};
use super::strategies::full_merge::FullMerge;
use super::strategies::merge_context::MergeTables;
use super::wide_characters::WideCharacters;
use crate::base::num::low_u32;
use crate::encode::chunk_cache::KeyedText;
use crate::encode::vocabulary::NO_UNKNOWN;
use crate::pattern::Pretokenizer;
use crate::piece::{PieceHashes, PieceId, PieceTable};
use crate::trie::prefix::PrefixTrie;

/// The units of all bytes, and the tokens that they merge to.
#[derive(Debug)]
struct Bytes {
    units: Box<[Unit; 256]>,
    starts: UnitStarts,
    texts: TokenTexts,
}

impl Bytes {
    #[inline(always)]
    fn lookup<'e>(&'e self, symbols: &'e SymbolTable, tokens: &'e PieceTable) -> TokenLookup<'e> {
        TokenLookup {
            texts: &self.texts,
            symbols,
            tokens,
        }
    }
}

impl MergesShort for Bytes {
    fn encode_short(
        context: &mut ChunkContext<'_, Self>,
        chunk: &[u8],
        out: &mut Vec<PieceId>,
    ) -> bool {
        let bytes = &context.tables.spelling;
        let tokens = bytes.lookup(&context.tables.symbols, context.pieces);
        let merge = &mut context.state.bytes;
        let is_short = merge.merge_bytes(chunk, &bytes.starts, tokens);
        if is_short {
            out.extend(merge.symbols().map(PieceId::new));
        }
        is_short
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

/// A byte-level vocabulary, ready to encode.
#[derive(Debug)]
pub(crate) struct ByteEncoder {
    tables: MergeTables<Bytes>,
    /// In the order of their ranks.
    tokens: PieceTable,
    cuts: ByteCuts,
    wide_characters: WideCharacters,
    /// The ids of the tokens, in the same order.
    ids: Vec<PieceId>,
    has_other_ids: bool,
    whole_pretokens_first: bool,
    /// Empty: special tokens are no matter of this module.
    user_defined: PrefixTrie,
}

/// Why tokens are no vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteTokensError {
    /// The token at this index has the bytes of one before it.
    Repeated(usize),
    /// No token is this single byte.
    NoToken(u8),
}

impl ByteEncoder {
    /// `tokens` are in the order of their ranks, not empty, and at most
    /// [`MAX_PIECES`](crate::piece::MAX_PIECES); `ids` has the id of each of them. If
    /// `whole_pretokens_first`, a pretoken that is a token is this token, whether merging gives it
    /// or not.
    pub(crate) fn new(
        tokens: PieceTable,
        ids: Vec<PieceId>,
        whole_pretokens_first: bool,
    ) -> Result<Self, ByteTokensError> {
        let hashes =
            PieceHashes::of_unique(&tokens, |_| false).map_err(ByteTokensError::Repeated)?;
        let ranks = (0..low_u32(tokens.len() as u64)).collect();
        let symbols = SymbolTable::new(hashes.into(), ranks);
        let unit = |byte: u8| {
            let text = [byte];
            let symbol = symbols.find_text(&tokens, &text);
            let symbol = symbol.ok_or(ByteTokensError::NoToken(byte))?;
            Ok(Unit {
                hash: symbols.hash(symbol),
                symbol,
                width: 1,
                code: AsciiCode::of(&text),
            })
        };
        let mut units = Box::new([unit(0)?; 256]);
        for byte in 0..=u8::MAX {
            units[usize::from(byte)] = unit(byte)?;
        }
        let bytes = Bytes {
            starts: UnitStarts::new(&tokens, units.map(|unit| unit.symbol)),
            texts: TokenTexts::new(&tokens),
            units,
        };
        Ok(Self {
            cuts: ByteCuts::new(&tokens),
            wide_characters: WideCharacters::new(&tokens),
            tables: MergeTables::new(symbols, &tokens, bytes, NO_UNKNOWN),
            has_other_ids: ids.iter().enumerate().any(|(at, id)| id.index() != at),
            tokens,
            ids,
            whole_pretokens_first,
            user_defined: PrefixTrie::default(),
        })
    }

    /// The tokens and their ids, in the order of the ranks.
    pub(crate) fn tokens(&self) -> impl ExactSizeIterator<Item = (&[u8], PieceId)> {
        let ids = self.ids.iter().enumerate();
        ids.map(|(rank, id)| (self.tokens.text(rank), *id))
    }

    /// Whether a pretoken that is a token is this token.
    pub(crate) fn whole_pretokens_first(&self) -> bool {
        self.whole_pretokens_first
    }

    /// For each token the ranks of the two tokens that merge to it, the same two in every text;
    /// `None` for single bytes and for tokens that no text is merged to. It costs merging each
    /// token.
    pub(crate) fn last_merges(&self) -> Vec<Option<[u32; 2]>> {
        let mut merger = PairMerger::default();
        let last_merge = |rank| match self.merge_by(&mut merger, self.tokens.text(rank)) {
            ([_], pair) => pair,
            _ => None,
        };
        (0..self.tokens.len()).map(last_merge).collect()
    }

    /// The ids that merging gives for the bytes of one pretoken, without a cache.
    pub(crate) fn merge_alone(&self, pretoken: &[u8]) -> Vec<PieceId> {
        let mut merger = PairMerger::default();
        let (symbols, _) = self.merge_by(&mut merger, pretoken);
        let ids = symbols.iter().map(|symbol| self.ids[*symbol as usize]);
        ids.collect()
    }

    /// The symbols that merging gives, and the pair that merged last if they are one.
    fn merge_by<'m>(
        &self,
        merger: &'m mut PairMerger,
        pretoken: &[u8],
    ) -> (&'m [u32], Option<[u32; 2]>) {
        let merge_of = |left, right| {
            let merge = self.tables.symbols.merge_of(&self.tokens, [left, right]);
            (merge != SymbolMerge::NONE).then(|| (merge.rank(), merge.symbol()))
        };
        let units = &self.tables.spelling.units;
        let symbols = pretoken.iter().map(|byte| units[usize::from(*byte)].symbol);
        merger.merge(symbols, merge_of)
    }

    /// The id of a token.
    pub(crate) fn id_of(&self, bytes: &[u8]) -> Option<PieceId> {
        let token = self.lookup().find(bytes)?;
        Some(self.ids[token as usize])
    }

    #[inline(always)]
    fn lookup(&self) -> TokenLookup<'_> {
        let tables = &self.tables;
        tables.spelling.lookup(&tables.symbols, &self.tokens)
    }

    /// Appends the ids of the pretokens of `text`.
    pub(crate) fn encode(
        &self,
        pretokenizer: &Pretokenizer,
        text: &[u8],
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let text = KeyedText::new(text);
        pretokenizer.for_each(text.text(), &mut |pretoken| {
            self.encode_pretoken(&text, pretoken, cache, out);
        });
    }

    /// Appends the ids of one pretoken.
    pub(crate) fn encode_whole(
        &self,
        pretoken: &[u8],
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let text = KeyedText::new(pretoken);
        self.encode_pretoken(&text, 0..pretoken.len(), cache, out);
    }

    /// Passes each pretoken of a text with its ids.
    pub(crate) fn for_each_pretoken(
        &self,
        (pretokenizer, text): (&Pretokenizer, &[u8]),
        cache: &mut BpeCache,
        on_pretoken: &mut dyn FnMut(Range<usize>, &[PieceId]),
    ) {
        let text = KeyedText::new(text);
        let mut ids = Vec::new();
        pretokenizer.for_each(text.text(), &mut |pretoken| {
            ids.clear();
            self.encode_pretoken(&text, pretoken.clone(), cache, &mut ids);
            on_pretoken(pretoken, &ids);
        });
    }

    /// Appends the ids of a pretoken.
    #[inline(always)]
    fn encode_pretoken(
        &self,
        text: &KeyedText<'_>,
        pretoken: Range<usize>,
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let key = text.small_key(pretoken.start, pretoken.len());
        if !key.is_some_and(|key| cache.chunks.get_first_way(&key, out)) {
            // With the key as an argument, it would be written to memory for every pretoken.
            self.encode_rare(text, pretoken, cache, out);
        }
    }

    /// Appends the ids of a pretoken that is not in the first way of the cache.
    #[inline(never)]
    fn encode_rare(
        &self,
        text: &KeyedText<'_>,
        pretoken: Range<usize>,
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let key = text.key(pretoken.start, pretoken.len());
        if let Some(key) = &key
            && cache.chunks.get_other(key, out).is_some()
        {
            return;
        }
        let start = out.len();
        let bytes = &text.text()[pretoken.clone()];
        let whole = match key.and_then(|key| key.small()) {
            _ if !self.whole_pretokens_first => None,
            Some(key) => self.lookup().find_short(&key),
            None => self.lookup().find_long(bytes),
        };
        match whole {
            Some(token) => out.push(self.ids[token as usize]),
            None => {
                self.merge(text, pretoken, cache, out);
                self.replace_symbols(&mut out[start..]);
            }
        }
        if let Some(key) = &key {
            cache.chunks.insert(key, &out[start..]);
        }
    }

    /// Appends the symbols of a pretoken, cut where no token can be.
    fn merge(
        &self,
        text: &KeyedText<'_>,
        pretoken: Range<usize>,
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let bytes = &text.text()[pretoken.clone()];
        let mut context = ChunkContext {
            tables: &self.tables,
            pieces: &self.tokens,
            state: &mut cache.state,
        };
        if !ByteCuts::may_cut(bytes) {
            return context.encode_chunk(bytes, out);
        }
        let mut end = self.cuts.next(bytes, 0);
        if end == bytes.len() {
            return self.merge_part(bytes, &mut context, out);
        }
        let mut at = 0;
        while at < bytes.len() {
            let part = &bytes[at..end];
            let symbol_of = |byte: u8| self.tables.spelling.units[usize::from(byte)].symbol;
            if !self.wide_characters.encode_one(part, symbol_of, out) {
                let key = text.key(pretoken.start + at, end - at);
                if !key.is_some_and(|key| context.state.windows.get(&key, out)) {
                    let start = out.len();
                    self.merge_part(part, &mut context, out);
                    if let Some(key) = &key {
                        context.state.windows.insert(key, &out[start..]);
                    }
                }
            }
            at = end;
            end = self.cuts.next(bytes, at);
        }
    }

    /// Appends the symbols of a part of a pretoken, merged from characters of three bytes if that
    /// is exact, and otherwise from bytes.
    fn merge_part(
        &self,
        part: &[u8],
        context: &mut ChunkContext<'_, Bytes>,
        out: &mut Vec<PieceId>,
    ) {
        if self.wide_characters.are_units(part) {
            let symbols = self.wide_characters.units(part);
            let merge = &mut context.state.bytes;
            if merge.merge_characters(part, symbols, self.lookup()) {
                out.extend(merge.symbols().map(PieceId::new));
                return context.state.count(Strategy::ShortWide);
            }
        }
        context.encode_chunk(part, out);
    }

    /// Appends the ids of a pretoken; merges for which `skips_merge` returns true are skipped.
    /// Whether it is a token as a whole does not matter.
    pub(crate) fn sample_pretoken(
        &self,
        pretoken: &[u8],
        skips_merge: impl FnMut() -> bool,
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let merge = FullMerge {
            tables: &self.tables,
            symbols: &self.tables.symbols,
            pieces: &self.tokens,
            user_defined: &self.user_defined,
            unused: &[],
        };
        let start = out.len();
        merge.encode(pretoken, skips_merge, &mut cache.full, out);
        self.replace_symbols(&mut out[start..]);
    }

    /// Replaces symbols by their ids.
    fn replace_symbols(&self, symbols: &mut [PieceId]) {
        if !self.has_other_ids {
            return;
        }
        for symbol in symbols {
            *symbol = self.ids[symbol.index()];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::{Strategy, *};

    use super::super::strategies::chunk_context::{Strategy as Row, StrategyCounts};
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

    /// Texts of which tokens and texts are made.
    type ByteAlphabet = &'static [&'static [u8]];

    /// Texts that are made of `alphabet`.
    fn text_of(alphabet: ByteAlphabet, size: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(alphabet), size).prop_map(|parts| parts.concat())
    }

    /// All bytes, the texts of `alphabet`, and tokens that are made of them by joining tokens
    /// before them, often one with itself, or (one in eight) are any text.
    fn vocabulary(alphabet: ByteAlphabet) -> impl Strategy<Value = Vec<Vec<u8>>> {
        let index = any::<prop::sample::Index>;
        let any_text = text_of(alphabet, 2..7);
        let token = prop_oneof![
            5 => (index(), index()).prop_map(Ok),
            2 => index().prop_map(|part| Ok((part, part))),
            1 => any_text.prop_map(Err),
        ];
        let tokens = prop::collection::vec(token, 0..60);
        let bytes = Just((0..=u8::MAX).collect::<Vec<u8>>()).prop_shuffle();
        (bytes, tokens).prop_map(move |(bytes, tokens)| {
            let mut texts: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
            let mut made: Vec<Vec<u8>> = alphabet.iter().map(|text| text.to_vec()).collect();
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

    fn encoder(
        texts: &[Vec<u8>],
        id_of: &dyn Fn(usize) -> usize,
        whole_first: bool,
    ) -> ByteEncoder {
        let mut tokens = PieceTable::default();
        texts
            .iter()
            .for_each(|text| tokens.push(text, 0.0, PieceKind::Normal));
        let ids = (0..texts.len()).map(|rank| PieceId::from_index(id_of(rank)));
        ByteEncoder::new(tokens, ids.collect(), whole_first).unwrap()
    }

    #[test]
    fn every_byte_has_to_be_a_token() {
        for missing in [0, 97, 255] {
            let mut tokens = PieceTable::default();
            for byte in (0..=u8::MAX).filter(|byte| *byte != missing) {
                tokens.push(&[byte], 0.0, PieceKind::Normal);
            }
            let ids = (0..255).map(PieceId::new).collect();
            let error = ByteEncoder::new(tokens, ids, false).unwrap_err();
            assert_eq!(error, ByteTokensError::NoToken(missing));
        }
    }

    #[test]
    fn long_runs_are_not_merged_by_the_heap() {
        // Runs of up to 128 spaces are tokens, as in o200k.
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let runs = (2..=128).map(|length| vec![b' '; length]);
        let texts: Vec<Vec<u8>> = bytes.chain(runs).collect();
        let encoder = encoder(&texts, &|rank| rank, false);
        let mut cache = BpeCache::default();
        for length in [1_000, 100_003] {
            let mut ids = Vec::new();
            let text = vec![b' '; length];
            encoder.encode(&Pretokenizer::new(Vec::new()), &text, &mut cache, &mut ids);
            let lengths = ids.iter().map(|id| texts[id.index()].len());
            assert_eq!(lengths.sum::<usize>(), length);
            let mut by_heap = Vec::new();
            encoder.sample_pretoken(&text, || false, &mut cache, &mut by_heap);
            assert_eq!(ids, by_heap);
        }
        assert_eq!(cache.state.counts[Row::Heap as usize], 0);
    }

    #[test]
    fn pretokens_have_the_tokens_of_the_naive_merger() {
        let counts = std::cell::RefCell::new(StrategyCounts::default());
        let alphabets: [ByteAlphabet; 6] = [
            &[b"a"],
            &[b"a", b"b"],
            &[b"\0", b"a", b"\x80", b"\xFF"],
            &[b"\x80", b"\xE4", b"\xE5"],
            // Characters of three bytes, and parts of them.
            &[
                b"\xE4\x80",
                b"\xE4\x80\x81",
                b"\xE4\x80\x82",
                b"\xE4\x80\x83",
                b"\xE4\x80\x84",
                b"\xE4\x80\x85",
                b"\xE4\x80\x86",
                b"\xE4\x80\x87",
            ],
            &[
                b"\x82\x83",
                b"\xE4\x80",
                b"\xE4\x82\x83",
                b"\xE4\x80\x82",
                b"\xE4",
                b"\x82",
            ],
        ];
        let case = prop::sample::select(alphabets.to_vec())
            .prop_flat_map(|alphabet| (vocabulary(alphabet), text_of(alphabet, 0..150)));
        proptest!(ProptestConfig::with_cases(600), |((texts, text) in case)| {
            let ranks = texts.iter().enumerate().map(|(rank, text)| (&text[..], rank)).collect();
            let by_rank = encoder(&texts, &|rank| rank, false);
            // Ids that are not ranks, and pretokens that are tokens as a whole.
            let others = encoder(&texts, &|rank| 3 * rank + 1000, true);
            let whole = Pretokenizer::new(Vec::new());
            let mut cache = BpeCache::default();
            let mut other_cache = BpeCache::default();
            for text in [&text[..], &text[..text.len() / 2], &text] {
                let mut found = Vec::new();
                by_rank.encode(&whole, text, &mut cache, &mut found);
                let expected = merge_naively(&ranks, text);
                prop_assert!(found.iter().map(|id| id.index()).eq(expected.clone()));
                found.clear();
                by_rank.sample_pretoken(text, || false, &mut cache, &mut found);
                prop_assert!(found.iter().map(|id| id.index()).eq(expected.clone()), "by the heap");
                found.clear();
                by_rank.sample_pretoken(text, || true, &mut cache, &mut found);
                let bytes = found.iter().map(|id| &texts[id.index()][..]);
                prop_assert!(bytes.eq(text.chunks(1)), "without merges");
                found.clear();
                others.encode(&whole, text, &mut other_cache, &mut found);
                let expected = ranks.get(text).map_or(expected, |rank| vec![*rank]);
                prop_assert!(found.iter().map(|id| id.index()).eq(expected.iter().map(|rank| 3 * rank + 1000)));
            }
            let mut counts = counts.borrow_mut();
            counts.iter_mut().zip(cache.state.counts).for_each(|(sum, count)| *sum += count);
        });
        let counts = counts.into_inner();
        for row in [
            Row::Short,
            Row::ShortWide,
            Row::Windowed,
            Row::LargeWindowed,
            Row::WidestWindowed,
        ] {
            // The rarest of them was met 8 times in one run, and more often in most.
            assert!(counts[row as usize] > 0, "{row:?}: {counts:?}");
        }
    }
}
