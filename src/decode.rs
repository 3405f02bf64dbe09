//! Decoding: ids to text.
//!
//! The text is that of the reference's decoder:
//!
//! - whitespace marks become spaces; a mark at the start of the text is removed in models with a
//!   dummy prefix, and all marks there are removed in models that remove extra whitespace;
//! - runs of byte pieces become the characters that they encode, and U+FFFD for each byte that
//!   belongs to none;
//! - an unknown piece becomes the model's `unk_surface`; a given text that is not a piece stands
//!   for itself;
//! - control pieces become nothing;
//! - last, the text is denormalized if the model has a denormalizer.
//!
//! The texts of all pieces, with spaces for marks, are in one arena, so decoding only copies.
//! Between two ids, at most three bytes are pending; see [`DecodeState`]. After the first text,
//! runs of pieces that become their own short text are copied from a second table; see [`short`].
//!
//! Example (Llama 2): the ids of `▁Hello`, `,`, `▁world`, `<0xE4>`, `<0xBD>`, `<0xA0>` give `Hello`
//! (the first mark is the dummy prefix), `,`, ` world`, and with the third byte `你`. The first two
//! bytes are pending until then.

mod error;
mod short;
pub(crate) mod spans;

pub use self::error::DecodeError;
use self::short::ShortTexts;
use crate::base::{TextArena, WHITESPACE_MARK_STR, decode_char, lossy_string, may_become_char};
use crate::model::Model;
use crate::model::validate::byte_of_piece;
use crate::normalize::Normalizer;
use crate::piece::{PieceId, PieceKind, PieceTable};

/// How a piece is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text without changes.
    Text,
    /// Text with a mark at its start, which may be the dummy prefix.
    MarkedText,
    Unknown,
    Control,
    Byte(u8),
    /// No piece has the id.
    Missing,
}

/// The texts of all pieces, ready to be copied.
#[derive(Debug)]
pub(crate) struct Decoder {
    roles: Vec<Role>,
    /// The texts of all pieces, with spaces for whitespace marks.
    texts: TextArena,
    /// The pieces that become their own short text wherever text precedes them.
    short_texts: ShortTexts,
    unknown_surface: Vec<u8>,
    /// Whether a mark at the start of the text is removed (`strips_mark`), or all of them
    /// (`strips_all`).
    strips_mark: bool,
    strips_all: bool,
    denormalizer: Option<Normalizer>,
    /// Whether there are ids without a piece.
    has_gaps: bool,
    /// Whether a piece can be a part of a character, which ends in another piece.
    pub(crate) splits_chars: bool,
}

/// The state of decoding between two ids.
#[derive(Debug, Clone)]
pub(crate) struct DecodeState {
    /// Whether a mark at the start of the next piece is the dummy prefix.
    is_start: bool,
    /// Whether the text is not empty.
    has_text: bool,
    /// The bytes of an incomplete character, from byte pieces.
    pending: [u8; 4],
    pending_length: usize,
}

impl Default for DecodeState {
    fn default() -> Self {
        Self {
            is_start: true,
            has_text: false,
            pending: [0; 4],
            pending_length: 0,
        }
    }
}

impl Decoder {
    pub(crate) fn new(model: &Model) -> Self {
        let trainer_spec = model.trainer_spec();
        let normalizer_spec = model.normalizer_spec();
        let pieces = model.table();
        let mark = WHITESPACE_MARK_STR.as_bytes();
        let roles = roles(pieces);
        let texts = pieces.texts().replaced(mark, b" ");
        let unknown_surface = trainer_spec.unk_surface().to_vec();
        let own_texts = roles.iter().enumerate().map(|(index, role)| match role {
            Role::Text | Role::MarkedText => Some(texts.get(index)),
            Role::Unknown => Some(&unknown_surface[..]),
            Role::Control => Some(&b""[..]),
            Role::Byte(_) | Role::Missing => None,
        });
        Self {
            short_texts: ShortTexts::new(own_texts),
            roles,
            texts,
            unknown_surface,
            strips_mark: normalizer_spec.add_dummy_prefix()
                || normalizer_spec.remove_extra_whitespaces(),
            strips_all: normalizer_spec.remove_extra_whitespaces(),
            denormalizer: model.denormalizer(),
            has_gaps: false,
            splits_chars: false,
        }
    }

    /// The decoder of a byte-level vocabulary: the bytes of the tokens, one after another. `tokens`
    /// are the bytes of each id; `None` for ids without a token.
    #[cfg(feature = "formats")]
    pub(crate) fn of_tokens<'t>(tokens: impl Iterator<Item = Option<&'t [u8]>> + Clone) -> Self {
        let bytes = tokens.clone().flatten().map(<[u8]>::len).sum();
        let mut texts = TextArena::with_capacity(tokens.clone().count(), bytes);
        let all = tokens.clone();
        all.for_each(|token| texts.push(token.unwrap_or_default()));
        let role = |token: Option<_>| token.map_or(Role::Missing, |_| Role::Text);
        let roles: Vec<Role> = tokens.clone().map(role).collect();
        Self {
            short_texts: ShortTexts::new(tokens),
            has_gaps: roles.contains(&Role::Missing),
            roles,
            texts,
            unknown_surface: Vec::new(),
            strips_mark: false,
            strips_all: false,
            denormalizer: None,
            splits_chars: true,
        }
    }

    /// Decoded bytes as text, with U+FFFD for what is malformed: for each byte in SentencePiece
    /// models, as in the reference; for each beginning of a character in byte-level vocabularies,
    /// as in tiktoken and Python.
    pub(crate) fn to_text(&self, bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap_or_else(|error| match self.splits_chars {
            true => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            false => lossy_string(error.as_bytes()),
        })
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.roles.len()
    }

    /// Whether there is a denormalizer, whose rules need the whole text.
    pub(crate) fn has_denormalizer(&self) -> bool {
        self.denormalizer.is_some()
    }

    /// Whether `id` is in the model.
    #[inline]
    pub(crate) fn check_id(&self, id: PieceId) -> Result<(), DecodeError> {
        let pieces = self.len();
        if id.index() >= pieces || self.has_gaps && self.roles[id.index()] == Role::Missing {
            return Err(DecodeError::NoPiece { id, pieces });
        }
        Ok(())
    }

    /// Appends the text of `ids` to `out`.
    ///
    /// # Errors
    /// An id is not in the model; `out` is then unchanged.
    pub(crate) fn decode<I: Copy + Into<PieceId>>(
        &self,
        ids: &[I],
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        ids.iter().try_for_each(|id| self.check_id((*id).into()))?;
        let mut state = DecodeState::default();
        let start = out.len();
        let mut rest = ids;
        while let Some((id, others)) = rest.split_first() {
            self.push((*id).into().index(), &mut state, out);
            rest = others;
            if state.copies_texts() {
                rest = &rest[self.short_texts.push_run(rest, out)..];
            }
        }
        self.finish(&mut state, start, out);
        Ok(())
    }

    /// The text of pieces that are given by their texts, each with its id if the model has it.
    pub(crate) fn decode_pieces<'p>(
        &self,
        pieces: impl Iterator<Item = (&'p [u8], Option<PieceId>)>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let mut state = DecodeState::default();
        for (text, id) in pieces {
            match id {
                Some(id) => self.push(id.index(), &mut state, &mut out),
                None => state.push_text(text, &mut out),
            }
        }
        self.finish(&mut state, 0, &mut out);
        out
    }

    /// Appends the text of piece `index`, which is in the model.
    #[inline]
    pub(crate) fn push(&self, index: usize, state: &mut DecodeState, out: &mut Vec<u8>) {
        let text = self.texts.get(index);
        match self.roles[index] {
            Role::Byte(byte) => state.push_byte(byte, out),
            Role::Text => state.push_text(text, out),
            Role::MarkedText => self.push_marked_text(text, state, out),
            Role::Unknown => state.push_text(&self.unknown_surface, out),
            Role::Control | Role::Missing => state.push_text(&[], out),
        }
    }

    /// Appends text that begins with a space in place of a mark; the space is left out if it stands
    /// for the dummy prefix.
    #[inline]
    fn push_marked_text(&self, text: &[u8], state: &mut DecodeState, out: &mut Vec<u8>) {
        state.end_bytes(out);
        let is_start = state.is_start && !state.has_text;
        if is_start && self.strips_mark {
            state.push_text(&text[1..], out);
            state.is_start = self.strips_all;
        } else {
            state.push_text(text, out);
        }
    }

    /// Ends a text that began at `start` of `out`.
    pub(crate) fn finish(&self, state: &mut DecodeState, start: usize, out: &mut Vec<u8>) {
        state.end_bytes(out);
        if let Some(denormalized) = self.denormalized(&out[start..]) {
            out.truncate(start);
            out.extend_from_slice(&denormalized);
        }
    }

    /// The denormalized text, if there is a denormalizer.
    fn denormalized(&self, text: &[u8]) -> Option<Vec<u8>> {
        let denormalizer = self.denormalizer.as_ref()?;
        Some(denormalizer.normalized(text))
    }
}

impl DecodeState {
    /// Whether, from now on, each piece except byte pieces becomes its own text and does not change
    /// the state.
    #[inline]
    fn copies_texts(&mut self) -> bool {
        let copies = self.has_text && self.pending_length == 0;
        self.is_start &= !copies;
        copies
    }

    /// Appends text that is not from a byte piece.
    #[inline]
    fn push_text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.end_bytes(out);
        self.is_start &= !self.has_text;
        self.has_text |= !text.is_empty();
        out.extend_from_slice(text);
    }

    /// Appends a byte of a character, which becomes text when the character is complete.
    fn push_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.pending[self.pending_length] = byte;
        self.pending_length += 1;
        while self.pending_length > 0 && !may_become_char(&self.pending[..self.pending_length]) {
            self.take_char(out);
        }
    }

    /// Writes the pending bytes: no more bytes of their character follow.
    #[inline]
    fn end_bytes(&mut self, out: &mut Vec<u8>) {
        while self.pending_length > 0 {
            self.take_char(out);
        }
    }

    /// Writes the first character of the pending bytes, or U+FFFD for the first byte.
    fn take_char(&mut self, out: &mut Vec<u8>) {
        let pending = &self.pending[..self.pending_length];
        let width = match decode_char(pending) {
            (Some(_), width) => {
                out.extend_from_slice(&pending[..width]);
                width
            }
            (None, _) => {
                out.extend_from_slice("\u{FFFD}".as_bytes());
                1
            }
        };
        self.has_text = true;
        self.pending.copy_within(width..self.pending_length, 0);
        self.pending_length -= width;
    }
}

fn role(kind: PieceKind, text: &[u8]) -> Role {
    match kind {
        PieceKind::Control => Role::Control,
        PieceKind::Unknown => Role::Unknown,
        PieceKind::Byte => byte_of_piece(text).map_or(Role::Text, Role::Byte),
        _ if text.starts_with(WHITESPACE_MARK_STR.as_bytes()) => Role::MarkedText,
        _ => Role::Text,
    }
}

/// The roles of all pieces.
fn roles(pieces: &PieceTable) -> Vec<Role> {
    (0..pieces.len())
        .map(|index| role(pieces.kind(index), pieces.text(index)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{DecodeError, Decoder, may_become_char};
    use crate::model::Model;
    use crate::piece::PieceId;

    fn decoder(name: &str) -> (Model, Decoder) {
        let root = env!("CARGO_MANIFEST_DIR");
        let model = Model::open(format!("{root}/testdata/{name}.model")).unwrap();
        let decoder = Decoder::new(&model);
        (model, decoder)
    }

    #[test]
    fn pieces_decode_by_their_role_and_position() {
        let (model, decoder) = decoder("golden/llama2");
        let cases: [(&[&str], &str); 7] = [
            (&["\u{2581}the", ",", "\u{2581}right"], "the, right"),
            (&["<s>", "\u{2581}the"], "the"),
            (&["\u{2581}", "\u{2581}the"], " the"),
            (&["<0xE4>", "<0xBD>", "<0xA0>"], "\u{4f60}"),
            (&["<0xE4>", "<0xBD>", "\u{2581}a"], "\u{fffd}\u{fffd} a"),
            (&["<unk>", "\u{2581}a"], " \u{2047}  a"),
            (&[], ""),
        ];
        for (pieces, text) in cases {
            let ids: Vec<PieceId> = pieces
                .iter()
                .map(|piece| model.piece_to_id(piece.as_bytes()).unwrap())
                .collect();
            let mut out = b"before ".to_vec();
            decoder.decode(&ids, &mut out).unwrap();
            assert_eq!(out, [b"before ", text.as_bytes()].concat(), "{pieces:?}");
        }
    }

    #[test]
    fn copied_runs_equal_single_steps() {
        for name in [
            "golden/llama2",
            "run/unigram_bytes",
            "run/unigram",
            "run/bpe_symbols",
        ] {
            let (model, decoder) = decoder(name);
            let mut state = 1_u64;
            for length in 0..300 {
                let ids: Vec<PieceId> = (0..length)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        let number = usize::try_from(state >> 33).unwrap();
                        // The first pieces are control and byte pieces, which would be rare
                        // otherwise.
                        let few = if number % 3 == 0 { 300 } else { model.len() };
                        PieceId::from_index(number / 3 % few.min(model.len()))
                    })
                    .collect();
                let mut copied = b"before".to_vec();
                decoder.decode(&ids, &mut copied).unwrap();
                let mut stepped = b"before".to_vec();
                let mut steps = super::DecodeState::default();
                for id in &ids {
                    decoder.push(id.index(), &mut steps, &mut stepped);
                }
                decoder.finish(&mut steps, 6, &mut stepped);
                assert_eq!(copied, stepped, "{name} {ids:?}");
            }
        }
    }

    #[test]
    fn an_id_outside_of_the_model_is_refused_and_nothing_is_written() {
        let (model, decoder) = decoder("golden/llama2");
        let outside = PieceId::from_index(model.len());
        let mut out = Vec::new();
        let error = decoder
            .decode(&[PieceId::new(5), outside], &mut out)
            .unwrap_err();
        let (id, pieces) = (outside, model.len());
        assert_eq!(error, DecodeError::NoPiece { id, pieces });
        assert!(out.is_empty());
    }

    #[test]
    fn only_the_start_of_a_character_waits_for_more_bytes() {
        let cases: [(&[u8], bool); 6] = [
            (b"\xE4", true),
            (b"\xE4\xBD", true),
            (b"\xE4\xBD\xA0", false),
            (b"\xE4a", false),
            (b"\x80", false),
            (b"\xFF", false),
        ];
        for (bytes, waits) in cases {
            assert_eq!(may_become_char(bytes), waits, "{bytes:x?}");
        }
    }
}
