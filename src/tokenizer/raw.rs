//! The spans of ids that were made of raw text.
//!
//! In: a text that was never normalized (see [`scan`](crate::encode::bpe)) and its ids. Out: tokens. Text and ids
//! are walked along side by side; a piece's text tells how much normalized text it takes, and that is as long
//! as the raw text, but for spaces, which are marks there, and malformed bytes, which are U+FFFD. For most pieces the
//! answer is a number that was worked out before ([`RawLengths`]).

use super::encoder::{Encoder, Token};
use crate::piece::{PieceId, PieceKind, PieceTable};
use crate::text::{WHITESPACE_MARK, WHITESPACE_MARK_STR, plainly_normalized_char};

impl Encoder<'_> {
    /// Appends the tokens of the raw ids, which are those of `text`; it begins at `base` in the caller's text.
    pub(super) fn locate_raw(&mut self, text: &[u8], prefix: bool, base: usize) {
        let pieces = self.tokenizer.model.table();
        let raw = std::mem::take(&mut self.scratch.raw);
        let lengths = self
            .pipeline
            .raw_lengths
            .get_or_init(|| RawLengths::new(pieces));
        let mut walk = Walk {
            text,
            at: 0,
            prefix: prefix && !text.is_empty(),
        };
        let mut ids = raw.iter().copied();
        let mut after_unknown = false;
        while let Some(id) = ids.next() {
            let begin = base + walk.at;
            if let Some(length) = lengths.get(id, &walk) {
                walk.at += length;
                let token = Token {
                    id,
                    begin,
                    end: base + walk.at,
                    normalized: (0, 0),
                };
                self.scratch.tokens.push(token);
                after_unknown = false;
                continue;
            }
            let kind = pieces.kind(id.index());
            let (tokens, shown) = (&mut self.scratch.tokens, &mut self.scratch.shown);
            match kind {
                PieceKind::Byte => {
                    let char = walk.char();
                    for id in std::iter::once(id).chain(ids.by_ref().take(char.len() - 1)) {
                        tokens.push(Token {
                            id,
                            begin,
                            end: begin,
                            normalized: (0, 0),
                        });
                    }
                    if let Some(last) = tokens.last_mut() {
                        last.end = base + walk.at;
                    }
                }
                PieceKind::Unknown => {
                    let start = shown.len();
                    shown.extend_from_slice(walk.char());
                    let (end, normalized) = (base + walk.at, (start, shown.len()));
                    match tokens.last_mut().filter(|_| after_unknown) {
                        Some(last) => (last.end, last.normalized.1) = (end, normalized.1),
                        None => tokens.push(Token {
                            id,
                            begin,
                            end,
                            normalized,
                        }),
                    }
                }
                _ => {
                    walk.skip(pieces.text(id.index()).len());
                    tokens.push(Token {
                        id,
                        begin,
                        end: base + walk.at,
                        normalized: (0, 0),
                    });
                }
            }
            after_unknown = kind == PieceKind::Unknown;
        }
        self.scratch.raw = raw;
    }
}

/// For each piece how much raw text it stands for, where that is as it mostly is.
#[derive(Debug)]
pub(super) struct RawLengths(Box<[u32]>);

/// It cannot be told from the piece.
const UNCLEAR: u32 = 1 << 31;
/// If the first byte is a space.
const BEGINS_WITH_SPACE: u32 = 1 << 30;

impl RawLengths {
    fn new(pieces: &PieceTable) -> RawLengths {
        let length = |index: usize| {
            let text = pieces.text(index);
            let without_mark = text.strip_prefix(WHITESPACE_MARK_STR.as_bytes());
            let (flag, rest) = without_mark.map_or((0, text), |rest| (BEGINS_WITH_SPACE, rest));
            let is_clear = matches!(
                pieces.kind(index),
                PieceKind::Normal | PieceKind::UserDefined
            ) && std::str::from_utf8(rest)
                .is_ok_and(|rest| !rest.contains([WHITESPACE_MARK, '\u{FFFD}']));
            match u32::try_from(rest.len() + usize::from(flag > 0)) {
                Ok(length @ 1..BEGINS_WITH_SPACE) if is_clear => length | flag,
                _ => UNCLEAR,
            }
        };
        RawLengths((0..pieces.len()).map(length).collect())
    }

    /// How much of the text at this place `id` stands for, if it is clear. One branch, which hardly ever goes the other
    /// way, decides.
    #[inline]
    fn get(&self, id: PieceId, walk: &Walk<'_>) -> Option<usize> {
        let length = self.0.get(id.index()).copied().unwrap_or(UNCLEAR);
        let is_space = u32::from(walk.text.get(walk.at) == Some(&b' ')) * BEGINS_WITH_SPACE;
        let is_unclear =
            length & (UNCLEAR | BEGINS_WITH_SPACE) & !is_space | u32::from(walk.prefix);
        (is_unclear == 0).then_some((length % BEGINS_WITH_SPACE) as usize)
    }
}

/// A place in raw text.
struct Walk<'t> {
    text: &'t [u8],
    at: usize,
    /// Whether a dummy prefix comes next.
    prefix: bool,
}

impl<'t> Walk<'t> {
    /// The next character, normalized.
    fn char(&mut self) -> &'t [u8] {
        if std::mem::take(&mut self.prefix) {
            return WHITESPACE_MARK_STR.as_bytes();
        }
        let (char, width) = plainly_normalized_char(&self.text[self.at..]);
        self.at += width;
        char
    }

    /// Goes on by as much text as has `length` bytes when it is normalized.
    #[inline]
    fn skip(&mut self, length: usize) {
        let mut left = length;
        if left > 0 && std::mem::take(&mut self.prefix) {
            left = left.saturating_sub(WHITESPACE_MARK_STR.len());
        }
        while left > 0 && self.at < self.text.len() {
            let (char, width) = plainly_normalized_char(&self.text[self.at..]);
            left = left.saturating_sub(char.len());
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
        assert!(raw.pipeline.takes_raw_text, "{name}");
        let mut whole = tokenizer(name);
        whole.pipeline.takes_raw_text = false;
        let symbols = raw.model().pieces().map(|piece| piece.text.to_vec());
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
                    prop_assert_eq!(raw.encode_long(&text), whole.encode(&text));
                    let (mut raw_encoder, mut whole_encoder) = (raw.encoder(), whole.encoder());
                    let (found, expected) =
                        (raw_encoder.tokens(&text), whole_encoder.tokens(&text));
                    let show = |tokens: crate::Tokens<'_>| -> Vec<_> {
                        tokens
                            .iter()
                            .map(|(token, piece)| {
                                (token.id, token.begin, token.end, piece.to_vec())
                            })
                            .collect()
                    };
                    prop_assert_eq!(show(found), show(expected));
                    Ok(())
                },
            )
            .unwrap();
    }

    #[test]
    fn raw_text_is_as_good() {
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
