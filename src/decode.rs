//! Ids -> text.
//!
//! In: ids, or the texts of pieces. Out: text. Marks become spaces. At the start of the text, a mark at the
//! start of a piece is the dummy prefix and vanishes: one of them, or all of them in models that remove extra
//! whitespace. Runs of byte pieces become the characters that they spell, and U+FFFD for each byte that
//! belongs to none. Unknown pieces become the model's `unk_surface`, or themselves if their text was given;
//! control pieces become nothing. Last, the denormalizer, if the model has one.
//!
//! Method: the text of every piece is made ready when the model is loaded, so that decoding copies. What is
//! not certain before more ids come is at most three bytes; see [`State`].
//!
//! Cost: linear in the text.

pub(crate) mod incremental;

use crate::model::Model;
use crate::model::validate::byte_of_piece;
use crate::normalize::Normalizer;
use crate::piece::{PieceKind, PieceTable};
use crate::text::{WHITESPACE_MARK_STR, decode_char};

/// What a piece is for decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text as it stands.
    Text,
    /// Text with a mark at its start, which may be the dummy prefix.
    MarkedText,
    Unknown,
    Control,
    Byte(u8),
}

/// The texts of all pieces, ready to be copied.
#[derive(Debug)]
pub(crate) struct Decoder {
    roles: Vec<Role>,
    texts: Vec<u8>,
    /// Where the text of each piece begins; one more for the end.
    starts: Vec<usize>,
    unknown_surface: Vec<u8>,
    /// Whether marks at the start of the text vanish, and whether more than one does.
    strips_mark: bool,
    strips_all: bool,
    denormalizer: Option<Normalizer>,
}

/// Where a text stands between two pieces.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// A mark that comes now is the dummy prefix.
    is_start: bool,
    /// The text is not empty.
    has_text: bool,
    /// Bytes that may still become a character.
    pending: [u8; 4],
    pending_length: usize,
}

impl Default for State {
    fn default() -> State {
        State {
            is_start: true,
            has_text: false,
            pending: [0; 4],
            pending_length: 0,
        }
    }
}

impl Decoder {
    pub(crate) fn new(model: &Model) -> Decoder {
        let trainer_spec = model.trainer_spec();
        let normalizer_spec = model.normalizer_spec();
        let (roles, texts, starts) = surfaces(model.table());
        Decoder {
            roles,
            texts,
            starts,
            unknown_surface: trainer_spec.unk_surface().to_vec(),
            strips_mark: normalizer_spec.add_dummy_prefix()
                || normalizer_spec.remove_extra_whitespaces(),
            strips_all: normalizer_spec.remove_extra_whitespaces(),
            denormalizer: model.denormalizer(),
        }
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.roles.len()
    }

    /// Whether text is certain only when all of it is there.
    pub(crate) fn has_denormalizer(&self) -> bool {
        self.denormalizer.is_some()
    }

    /// Appends what piece `index` adds to the text.
    #[inline]
    pub(crate) fn push(&self, index: usize, state: &mut State, out: &mut Vec<u8>) {
        let text = &self.texts[self.starts[index]..self.starts[index + 1]];
        self.push_piece(self.roles[index], text, &self.unknown_surface, state, out);
    }

    /// Appends what a piece adds to the text: its `text`, or its `unknown_text` if it is unknown.
    #[inline]
    fn push_piece(
        &self,
        role: Role,
        text: &[u8],
        unknown_text: &[u8],
        state: &mut State,
        out: &mut Vec<u8>,
    ) {
        if let Role::Byte(byte) = role {
            return state.push_byte(byte, out);
        }
        state.end_bytes(out);
        state.is_start &= !state.has_text;
        let mut text = match role {
            Role::Unknown => unknown_text,
            Role::Text | Role::MarkedText => text,
            _ => return,
        };
        if role == Role::MarkedText && state.is_start && self.strips_mark {
            text = &text[1..];
            state.is_start = self.strips_all;
        }
        state.has_text |= !text.is_empty();
        out.extend_from_slice(text);
    }

    /// Appends what a piece of which only the text is known adds to the text. `index` is the piece with
    /// this text, if there is one.
    pub(crate) fn push_text(
        &self,
        piece: &[u8],
        index: Option<usize>,
        state: &mut State,
        out: &mut Vec<u8>,
    ) {
        match index {
            Some(index) => self.push(index, state, out),
            None => self.push_piece(Role::Unknown, &[], piece, state, out),
        }
    }

    /// Ends a text that began at `start` of `out`.
    pub(crate) fn finish(&self, state: &mut State, start: usize, out: &mut Vec<u8>) {
        state.end_bytes(out);
        if let Some(denormalizer) = &self.denormalizer {
            let mut denormalized = Vec::new();
            denormalizer.normalize(&out[start..], &mut denormalized);
            out.truncate(start);
            out.extend_from_slice(&denormalized);
        }
    }
}

impl State {
    fn push_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.pending[self.pending_length] = byte;
        self.pending_length += 1;
        while self.pending_length > 0 && !may_become_char(&self.pending[..self.pending_length]) {
            self.take_char(out);
        }
    }

    /// Writes the bytes that wait for more which do not come.
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

/// Whether `bytes` are the beginning of a character and not all of it.
fn may_become_char(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
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

/// The roles of all pieces; their texts with spaces for marks; and where each begins, and one more for the end.
/// What stands between two marks is copied at once, however many pieces it is.
fn surfaces(pieces: &PieceTable) -> (Vec<Role>, Vec<u8>, Vec<usize>) {
    let (texts, mark) = (pieces.all_texts(), WHITESPACE_MARK_STR.as_bytes());
    let mut roles = Vec::with_capacity(pieces.len());
    let mut surfaces = Vec::with_capacity(texts.len());
    let mut starts = Vec::with_capacity(pieces.len() + 1);
    let mut maybe_marks = memchr::memchr_iter(mark[0], texts).peekable();
    let (mut copied, mut end) = (0, 0);
    for index in 0..pieces.len() {
        let text = pieces.text(index);
        roles.push(role(pieces.kind(index), text));
        starts.push(surfaces.len() + (end - copied));
        end += text.len();
        while let Some(at) = maybe_marks.next_if(|at| *at < end) {
            if texts[at..end].starts_with(mark) {
                surfaces.extend_from_slice(&texts[copied..at]);
                surfaces.push(b' ');
                copied = at + mark.len();
            }
        }
    }
    surfaces.extend_from_slice(&texts[copied..]);
    starts.push(surfaces.len());
    (roles, surfaces, starts)
}
