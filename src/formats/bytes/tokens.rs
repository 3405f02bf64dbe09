//! The tokens of a file: their bytes, their ids, and an index by bytes.

use crate::base::TextArena;
use crate::byte_bpe::ByteBpe;
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place};
use crate::piece::TextIndex;

/// Tokens in the order of a file, each with other bytes. One of them may have no bytes; it has no
/// position.
#[derive(Debug)]
pub(super) struct TokenList {
    pub(super) format: FileFormat,
    texts: TextArena,
    ids: Vec<u32>,
    /// The id of the token without bytes.
    empty: Option<u32>,
    /// The positions of single bytes.
    single: [Option<usize>; 256],
    index: TextIndex,
}

impl TokenList {
    pub(super) fn new(format: FileFormat) -> Self {
        Self {
            format,
            texts: TextArena::default(),
            ids: Vec::new(),
            empty: None,
            single: [None; 256],
            index: TextIndex::with_capacity(0),
        }
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The bytes of the token at a position.
    pub(super) fn bytes(&self, at: usize) -> &[u8] {
        self.texts.get(at)
    }

    /// The id of the token at a position.
    pub(super) fn id(&self, at: usize) -> u32 {
        self.ids[at]
    }

    /// The id of the token without bytes.
    pub(super) fn empty(&self) -> Option<u32> {
        self.empty
    }

    /// The bytes of all tokens.
    pub(super) fn texts(&self) -> &TextArena {
        &self.texts
    }

    /// The ids of all tokens.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The position of the token with these bytes.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        if let [byte] = bytes {
            return self.single[usize::from(*byte)];
        }
        self.index.get(&self.texts, bytes)
    }

    /// Adds a token.
    ///
    /// # Errors
    /// There is one with the same bytes, or the id is too large.
    pub(super) fn push(
        &mut self,
        token: &[u8],
        id: u64,
        place: impl Fn() -> Place,
    ) -> Result<(), FormatError> {
        if token.is_empty() {
            let id = checked_id(self.format, id, &place)?;
            return match self.empty.replace(id) {
                None => Ok(()),
                Some(first) => Err(FormatError::DuplicateToken {
                    format: self.format,
                    place: place(),
                    token: shown(token),
                    first,
                }),
            };
        }
        let at = self.len();
        // Different ids up to the limit are at most that many tokens, so `TextIndex` has room.
        checked_id(self.format, at as u64, &place)?;
        let id = checked_id(self.format, id, &place)?;
        if let [byte] = token {
            self.single[usize::from(*byte)].get_or_insert(at);
        }
        self.texts.push(token);
        self.ids.push(id);
        let inserted = self.index.insert(&self.texts, at);
        inserted.map_err(|first| FormatError::DuplicateToken {
            format: self.format,
            place: place(),
            token: shown(token),
            first: self.ids[first],
        })
    }

    /// Checks what concerns all tokens; `place` says where the token at a position stands.
    ///
    /// # Errors
    /// Two tokens have the same id, or a byte is no token.
    pub(super) fn check(&self, place: impl Fn(usize) -> Place) -> Result<(), FormatError> {
        let format = self.format;
        let mut by_id: Vec<(u32, usize)> = self.ids.iter().copied().zip(0..).collect();
        if !by_id.is_sorted() {
            by_id.sort_unstable();
        }
        if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(FormatError::DuplicateId {
                format,
                place: place(pair[1].1),
                id: pair[1].0,
            });
        }
        match (0..=u8::MAX).find(|byte| self.find(&[*byte]).is_none()) {
            Some(byte) => Err(FormatError::MissingByte { format, byte }),
            None => Ok(()),
        }
    }
}

/// An id that is not too large.
pub(super) fn checked_id(
    format: FileFormat,
    id: u64,
    place: impl Fn() -> Place,
) -> Result<u32, FormatError> {
    let small = u32::try_from(id).ok().filter(|id| *id <= ByteBpe::MAX_ID);
    small.ok_or_else(|| FormatError::IdTooLarge {
        format,
        place: place(),
        id,
        limit: ByteBpe::MAX_ID,
    })
}

/// The start of a token for a message.
pub(super) fn shown(token: &[u8]) -> String {
    const LONGEST: usize = 60;
    let start = &token[..token.len().min(LONGEST)];
    let more = if start.len() < token.len() { "..." } else { "" };
    match std::str::from_utf8(start) {
        Ok(text) => format!("{text:?}{more}"),
        Err(_) => format!("b\"{}\"{more}", start.escape_ascii()),
    }
}
