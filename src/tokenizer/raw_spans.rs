//! Spans of ids that were encoded from raw text.
//!
//! The text was never normalized, because the model's normalizer only replaces spaces by whitespace
//! marks, and BPE gave its ids.
//!
//! Text and ids are traversed side by side. An id covers as much normalized text as its piece has
//! bytes, and the raw text is as long as the normalized one, with these exceptions: a whitespace
//! mark (3 bytes) stands for a space (1 byte), U+FFFD stands for a malformed byte, and the dummy
//! prefix stands for nothing. For most pieces the length in raw text depends only on the piece and
//! is in a table, [`RawLengths`], so that an id takes one load; the others are measured character
//! by character.
//!
//! Example: `"all human"` has the pieces `▁all` and `▁human`. The first one stands for the dummy
//! prefix and `all`, 3 bytes; it is measured, because a dummy prefix is expected. The second one
//! begins with a mark where the text has a space, so the table applies: 6 bytes.

use super::cache::TextBuffers;
use super::token::TokenBuffer;
use crate::base::{WHITESPACE_MARK, WHITESPACE_MARK_STR, plainly_normalized_char};
use crate::piece::{PieceId, PieceKind, PieceTable};

/// Appends the tokens of the unresolved ids, which are those of the raw text.
pub(super) fn assign_raw_spans(
    pieces: &PieceTable,
    lengths: &RawLengths,
    mut cursor: RawCursor<'_>,
    buffers: &mut TextBuffers,
) {
    let TextBuffers {
        unresolved, tokens, ..
    } = buffers;
    let mut ids = unresolved.iter().copied();
    let mut follows_unknown = false;
    while let Some(id) = ids.next() {
        if let Some(length) = lengths.get(id, &cursor) {
            let begin = cursor.offset();
            cursor.at += length;
            tokens.push(id, begin..cursor.offset());
            follows_unknown = false;
            continue;
        }
        let kind = pieces.kind(id.index());
        match kind {
            PieceKind::Byte => push_byte_pieces(id, &mut ids, &mut cursor, tokens),
            PieceKind::Unknown => push_unknown_char(id, follows_unknown, &mut cursor, tokens),
            _ => push_measured(id, pieces.text(id.index()).len(), &mut cursor, tokens),
        }
        follows_unknown = kind == PieceKind::Unknown;
    }
}

/// Appends the byte pieces of one character, of which `first` is the first one.
fn push_byte_pieces(
    first: PieceId,
    others: &mut impl Iterator<Item = PieceId>,
    cursor: &mut RawCursor<'_>,
    tokens: &mut TokenBuffer,
) {
    let begin = cursor.offset();
    let char = cursor.next_char();
    let ids = std::iter::once(first).chain(others.take(char.len() - 1));
    tokens.push_bytes(ids, begin..cursor.offset());
}

/// Appends an unknown character, or extends the unknown token before it.
fn push_unknown_char(
    id: PieceId,
    follows_unknown: bool,
    cursor: &mut RawCursor<'_>,
    tokens: &mut TokenBuffer,
) {
    let begin = cursor.offset();
    let char = cursor.next_char();
    if follows_unknown {
        tokens.extend_unknown(cursor.offset(), char);
    } else {
        tokens.push_unknown(id, begin..cursor.offset(), char);
    }
}

/// Appends a piece of `length` bytes of normalized text.
fn push_measured(id: PieceId, length: usize, cursor: &mut RawCursor<'_>, tokens: &mut TokenBuffer) {
    let begin = cursor.offset();
    cursor.skip(length);
    tokens.push(id, begin..cursor.offset());
}

/// For each piece, the length of the raw text that it stands for, if it depends only on the piece.
#[derive(Debug)]
pub(super) struct RawLengths(Box<[u32]>);

/// The length has to be measured.
const MEASURE: u32 = 1 << 31;
/// The length is valid only if the text begins with a space.
const IF_SPACE: u32 = 1 << 30;

impl RawLengths {
    pub(super) fn new(pieces: &PieceTable) -> Self {
        Self(
            (0..pieces.len())
                .map(|index| raw_length(pieces, index))
                .collect(),
        )
    }

    /// The length of raw text at the cursor that `id` stands for, unless it has to be measured. All
    /// conditions are tested by one branch, which is nearly always taken the same way.
    #[inline]
    fn get(&self, id: PieceId, cursor: &RawCursor<'_>) -> Option<usize> {
        let length = self.0.get(id.index()).copied().unwrap_or(MEASURE);
        let is_space = u32::from(cursor.text.get(cursor.at) == Some(&b' ')) * IF_SPACE;
        let unmet = length & (MEASURE | IF_SPACE) & !is_space | u32::from(cursor.expects_prefix);
        (unmet == 0).then_some((length % IF_SPACE) as usize)
    }
}

/// The length of the raw text that a piece stands for, with flags.
fn raw_length(pieces: &PieceTable, index: usize) -> u32 {
    if !pieces.kind(index).is_given_for_text() {
        return MEASURE;
    }
    let text = pieces.text(index);
    let (flag, rest) = match text.strip_prefix(WHITESPACE_MARK_STR.as_bytes()) {
        Some(rest) => (IF_SPACE, rest),
        None => (0, text),
    };
    let is_changed = |rest: &str| rest.contains([WHITESPACE_MARK, '\u{FFFD}']);
    if !std::str::from_utf8(rest).is_ok_and(|rest| !is_changed(rest)) {
        return MEASURE;
    }
    match u32::try_from(rest.len() + usize::from(flag > 0)) {
        Ok(length @ 1..IF_SPACE) => length | flag,
        _ => MEASURE,
    }
}

/// A position in raw text.
pub(super) struct RawCursor<'t> {
    text: &'t [u8],
    at: usize,
    /// Where `text` begins in the caller's text.
    base: usize,
    /// Whether the dummy prefix comes next.
    expects_prefix: bool,
}

impl<'t> RawCursor<'t> {
    /// The start of `text`, which begins at `base` in the caller's text.
    pub(super) fn new(text: &'t [u8], base: usize, adds_dummy_prefix: bool) -> Self {
        RawCursor {
            text,
            at: 0,
            base,
            expects_prefix: adds_dummy_prefix && !text.is_empty(),
        }
    }

    /// The position in the caller's text.
    #[inline]
    fn offset(&self) -> usize {
        self.base + self.at
    }

    /// Steps over the next character and returns it normalized.
    fn next_char(&mut self) -> &'t [u8] {
        if std::mem::take(&mut self.expects_prefix) {
            return WHITESPACE_MARK_STR.as_bytes();
        }
        self.next_text_char()
    }

    /// Like [`next_char`](Self::next_char), after the dummy prefix.
    #[inline]
    fn next_text_char(&mut self) -> &'t [u8] {
        let (char, width) = plainly_normalized_char(&self.text[self.at..]);
        self.at += width;
        char
    }

    /// Steps over text that has `length` bytes when it is normalized.
    #[inline]
    fn skip(&mut self, length: usize) {
        let mut remaining = length;
        if remaining > 0 && std::mem::take(&mut self.expects_prefix) {
            remaining = remaining.saturating_sub(WHITESPACE_MARK_STR.len());
        }
        while remaining > 0 && self.at < self.text.len() {
            let (char, width) = plainly_normalized_char(&self.text[self.at..]);
            remaining = remaining.saturating_sub(char.len());
            self.at += width;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use crate::Tokenizer;

    fn tokenizer(name: &str) -> Tokenizer {
        Tokenizer::open(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("testdata")
                .join(name),
        )
        .unwrap()
    }

    /// Parts of texts: what every model knows and what hardly any does.
    const PARTS: [&[u8]; 20] = [
        b"the",
        b" ",
        b" ",
        b"  ",
        b"droits",
        b"1948",
        b",",
        b".",
        b"\n",
        b"\t",
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "\u{2581}".as_bytes(),
        "\u{e9}t\u{e9}".as_bytes(),
        "\u{4eba}\u{6a29}".as_bytes(),
        "\u{1f600}".as_bytes(),
        "\u{FFFD}".as_bytes(),
        b"\xE2\x96",
        b"\x81",
        b"\xFF",
        b"\0",
    ];

    /// Checks that raw text has the ids and tokens of normalized text.
    fn agrees(name: &str, cases: u32) {
        let raw = tokenizer(name);
        assert!(raw.model_tables().unwrap().stages.reads_raw_text, "{name}");
        let mut whole = tokenizer(name);
        whole.model_tables_mut().stages.reads_raw_text = false;
        let symbols = raw
            .model()
            .unwrap()
            .pieces()
            .map(|piece| piece.text.to_vec());
        let parts: Vec<Vec<u8>> = PARTS
            .iter()
            .map(|part| part.to_vec())
            .chain(symbols)
            .collect();
        let texts = proptest::collection::vec(prop_oneof![0..PARTS.len(), 0..parts.len()], 0..40);

        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(cases));
        runner
            .run(
                &texts.prop_map(move |picks| {
                    picks
                        .into_iter()
                        .flat_map(|pick| parts[pick].clone())
                        .collect::<Vec<u8>>()
                }),
                |text| {
                    prop_assert_eq!(raw.encode(&text), whole.encode(&text));
                    let long = raw.encode_long(&text, &crate::EncodeOptions::default());
                    prop_assert_eq!(long.unwrap(), whole.encode(&text));
                    let (mut raw_encoder, mut whole_encoder) = (raw.encoder(), whole.encoder());
                    let (found, expected) =
                        (raw_encoder.tokens(&text), whole_encoder.tokens(&text));
                    let parts = |tokens: crate::Tokens<'_>| -> Vec<_> {
                        tokens
                            .iter()
                            .map(|token| (token.token(), token.piece().to_vec()))
                            .collect()
                    };
                    prop_assert_eq!(parts(found), parts(expected));
                    Ok(())
                },
            )
            .unwrap();
    }

    #[test]
    fn raw_text_has_the_ids_and_tokens_of_normalized_text() {
        let names = [
            "golden/llama2",
            "golden/hostile_bytes",
            "golden/whitespace_kept",
            "run/bpe_equal",
            "run/bpe_no_unknown",
            "run/bpe_scores",
        ];
        for name in names {
            let name = &format!("{name}.model");
            agrees(name, 300);
        }
    }
}
