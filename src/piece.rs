//! Pieces: their ids, kinds and scores, and the table that holds their texts in one arena.

mod hashes;
mod index;
mod slots;

use std::fmt;
use std::str::FromStr;

pub(crate) use self::hashes::PieceHashes;
pub(crate) use self::index::TextIndex;
#[cfg(feature = "formats")]
pub(crate) use self::slots::Slots;
use crate::base::TextArena;

/// The largest number of pieces of a model; files with more are refused. Ids of 27 bits leave five
/// bits for the position of a merge in one word of 32 bits (see `encode/bpe`), or for a part of a
/// hash, and one number that is no id. No known model has more than 2^19 pieces.
pub(crate) const MAX_PIECES: usize = (1 << 27) - 1;

/// Pieces of this many bytes or more are refused in models, as by the reference, and wherever texts are
/// searched for tokens: the time of a search has this factor.
pub(crate) const MAX_PIECE_BYTES: usize = 8000;

/// The largest total length of the texts of all pieces of a model, in bytes, so that counts of
/// their characters or bytes fit 32 bits. A protobuf file cannot be larger.
pub(crate) const MAX_TEXT_BYTES: usize = (1 << 31) - 1;

/// The number of a piece in its model, from 0.
///
/// ```
/// use spiece::PieceId;
///
/// let id = PieceId::new(15043);
/// assert_eq!(u32::from(id), 15043);
/// assert_eq!(id.to_string(), "15043");
/// assert_eq!(id, 15043);
/// ```
///
/// A list of ids becomes one of numbers in its own memory:
///
/// ```
/// # use spiece::PieceId;
/// let ids = vec![PieceId::new(7), PieceId::new(8)];
/// let numbers: Vec<u32> = ids.into_iter().map(u32::from).collect();
/// assert_eq!(numbers, [7, 8]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[repr(transparent)]
pub struct PieceId(u32);

impl PieceId {
    /// The id with this number. It is not checked against any model.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the id.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The id of the piece at `index` of a [`PieceTable`], which has at most [`MAX_PIECES`] pieces
    /// once its model is made.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an index of a piece is below MAX_PIECES"
    )]
    pub(crate) fn from_index(index: usize) -> Self {
        debug_assert!(index < MAX_PIECES, "{index} is no index of a piece");
        Self(index as u32)
    }

    /// The id as an index.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<PieceId> for u32 {
    fn from(id: PieceId) -> Self {
        id.0
    }
}

impl From<u32> for PieceId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

/// For functions that take lists of ids, of which iterators give references.
impl From<&Self> for PieceId {
    fn from(id: &Self) -> Self {
        *id
    }
}

impl From<&u32> for PieceId {
    fn from(number: &u32) -> Self {
        Self(*number)
    }
}

impl PartialEq<u32> for PieceId {
    fn eq(&self, number: &u32) -> bool {
        self.0 == *number
    }
}

impl PartialEq<PieceId> for u32 {
    fn eq(&self, id: &PieceId) -> bool {
        *self == id.0
    }
}

impl fmt::Display for PieceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of a piece.
///
/// As text (`Display` and `FromStr`) the kinds are normal, unknown, control, user_defined, unused
/// and byte.
///
/// ```
/// use spiece::PieceKind;
///
/// assert_eq!("user_defined".parse::<PieceKind>()?, PieceKind::UserDefined);
/// assert_eq!(PieceKind::Control.to_string(), "control");
/// # Ok::<(), spiece::model::ParsePieceKindError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum PieceKind {
    /// A part of text.
    #[default]
    Normal,
    /// The piece for text that no other piece can encode.
    Unknown,
    /// A piece that encoding never gives for text: `<s>`, `</s>`, ...
    Control,
    /// A user-defined symbol: found in the text before everything else, and always one piece.
    UserDefined,
    /// A piece that takes part in merges but is never given for text; the pieces it was merged from
    /// are.
    Unused,
    /// One byte of a character that is not a piece: `<0x00>` to `<0xFF>`.
    Byte,
}

impl PieceKind {
    /// Every kind, in the order of their numbers in the file format.
    pub const ALL: [Self; 6] = [
        Self::Normal,
        Self::Unknown,
        Self::Control,
        Self::UserDefined,
        Self::Unused,
        Self::Byte,
    ];

    /// The name: normal, unknown, control, user_defined, unused or byte.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Unknown => "unknown",
            Self::Control => "control",
            Self::UserDefined => "user_defined",
            Self::Unused => "unused",
            Self::Byte => "byte",
        }
    }

    /// Whether encoding gives pieces of this kind for their own text. Unused pieces are not given:
    /// they are split again.
    pub(crate) const fn is_given_for_text(self) -> bool {
        matches!(self, Self::Normal | Self::UserDefined)
    }

    /// Whether segmentation can give a piece of this kind. The other kinds have no surface.
    pub(crate) const fn is_from_text(self) -> bool {
        matches!(self, Self::Normal | Self::UserDefined | Self::Unused)
    }
}

impl fmt::Display for PieceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PieceKind {
    type Err = ParsePieceKindError;

    fn from_str(name: &str) -> Result<Self, ParsePieceKindError> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == name)
            .ok_or_else(|| ParsePieceKindError {
                name: name.to_owned(),
            })
    }
}

/// A name that no [`PieceKind`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePieceKindError {
    /// The name.
    pub name: String,
}

impl fmt::Display for ParsePieceKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = PieceKind::ALL.into_iter().map(PieceKind::name).collect();
        let names = names.join(", ");
        write!(
            f,
            "unknown kind of piece {:?}; use one of {names}",
            self.name
        )
    }
}

impl std::error::Error for ParsePieceKindError {}

/// The texts, scores and kinds of all pieces, by id. The texts are in one arena.
#[derive(Clone, Default)]
pub(crate) struct PieceTable {
    texts: TextArena,
    scores: Vec<f32>,
    /// Up to the last piece that is not normal. In most models these are the first few hundred.
    kinds: Vec<PieceKind>,
    /// The length of the longest text.
    longest: usize,
}

impl PieceTable {
    /// An empty table with room for `pieces` pieces and `bytes` bytes of text.
    pub(crate) fn with_capacity(pieces: usize, bytes: usize) -> Self {
        Self {
            texts: TextArena::with_capacity(pieces, bytes),
            scores: Vec::with_capacity(pieces),
            kinds: Vec::new(),
            longest: 0,
        }
    }

    pub(crate) fn push(&mut self, text: &[u8], score: f32, kind: PieceKind) {
        if kind != PieceKind::Normal {
            self.kinds.resize(self.len(), PieceKind::Normal);
            self.kinds.push(kind);
        }
        self.push_normal(text, text.len(), score);
    }

    /// Appends a normal piece whose text is the first `length` bytes of `from_text`.
    #[inline]
    pub(crate) fn push_normal(&mut self, from_text: &[u8], length: usize, score: f32) {
        self.texts.push_start(from_text, length);
        self.scores.push(score);
        self.longest = self.longest.max(length);
    }

    /// Makes every piece with this text unused.
    pub(crate) fn retire_text(&mut self, text: &[u8]) {
        // Most models have no such piece; one search through all texts is the fastest way to find
        // out.
        if memchr::memmem::find(self.texts.items(), text).is_none() {
            return;
        }
        for index in 0..self.len() {
            if self.text(index) == text {
                let kinds = self.kinds.len().max(index + 1);
                self.kinds.resize(kinds, PieceKind::Normal);
                self.kinds[index] = PieceKind::Unused;
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text of piece `index`, which need not be UTF-8.
    #[inline]
    pub(crate) fn text(&self, index: usize) -> &[u8] {
        self.texts.get(index)
    }

    /// The texts of all pieces.
    pub(crate) fn texts(&self) -> &TextArena {
        &self.texts
    }

    /// The length of the longest text.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The texts of all pieces, concatenated.
    pub(crate) fn all_texts(&self) -> &[u8] {
        self.texts.items()
    }

    pub(crate) fn score(&self, index: usize) -> f32 {
        self.scores[index]
    }

    /// The ids of the pieces of this kind, which is not normal, ascending.
    pub(crate) fn ids_of(&self, kind: PieceKind) -> impl Iterator<Item = usize> {
        debug_assert_ne!(kind, PieceKind::Normal);
        let numbered = self.kinds.iter().enumerate();
        numbered.filter_map(move |(id, other)| (*other == kind).then_some(id))
    }

    pub(crate) fn kind(&self, index: usize) -> PieceKind {
        self.kinds.get(index).copied().unwrap_or_default()
    }
}

impl fmt::Debug for PieceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PieceTable({} pieces)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_parse_from_their_names() {
        for kind in PieceKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "NORMAL".parse::<PieceKind>().unwrap_err();
        assert_eq!(error.name, "NORMAL");
        assert!(error.to_string().contains("user_defined, unused"));
    }

    #[test]
    fn pieces_keep_their_texts_and_kinds() {
        use PieceKind::{Byte, Control, Normal, Unused};
        let mut table = PieceTable::default();
        table.push(b"a", 0.0, Normal);
        table.push(b"b", 0.0, Control);
        for length in [1, 16, 17] {
            table.push_normal(b"0123456789abcdefghij", length, -1.5);
        }
        table.push(b"c", 0.0, Byte);
        table.push_normal(b"de", 1, 0.0);
        let kinds = |table: &PieceTable| -> Vec<PieceKind> {
            (0..table.len()).map(|id| table.kind(id)).collect()
        };
        let all = [Normal, Control, Normal, Normal, Normal, Byte, Normal];
        assert_eq!(kinds(&table), all);
        assert_eq!(table.all_texts(), b"ab00123456789abcdef0123456789abcdefgcd");
        assert_eq!((table.longest(), table.score(3)), (17, -1.5));
        table.retire_text(b"d");
        table.retire_text(b"a");
        let retired = [Unused, Control, Normal, Normal, Normal, Byte, Unused];
        assert_eq!(kinds(&table), retired);
        assert!(table.ids_of(Unused).eq([0, 6]) && table.ids_of(Byte).eq([5]));
    }
}
