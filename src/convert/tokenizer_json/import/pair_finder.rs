//! The pieces of the merges of a list.
//!
//! Input: merges, as texts, and the vocabulary. Output: the ids of the pieces that they give and
//! join. In most files a merge gives the same piece as the one before it, or the next one, which a
//! comparison of texts shows; the other ids are looked up.
//!
//! Example: with the vocabulary `a b ab abc` the merge of `ab` and `c` gives the piece 3; `c` is
//! not a piece, which is an error for the first pair of a piece.
//!
//! Cost: linear in the texts, at most three lookups for a merge.

use super::entries::VocabularyEntries;
use super::syntax;
use crate::convert::tokenizer_json::lists::JsonMerges;
use crate::error::ConvertError;
use crate::model::validate::byte_of_piece;
use crate::piece::PieceId;
use crate::text::lossy_string;

/// The pieces that `tokenizers` puts in the place of characters without a piece.
#[derive(Debug, Clone, Copy)]
pub(super) enum StandIns<'t> {
    /// The byte pieces.
    Bytes,
    /// The unknown piece, which has this text.
    Unknown(&'t [u8]),
    None,
}

impl StandIns<'_> {
    #[inline]
    fn has(self, text: &[u8]) -> bool {
        match self {
            Self::Bytes => byte_of_piece(text).is_some(),
            Self::Unknown(unknown) => text == unknown,
            Self::None => false,
        }
    }
}

/// What is found for a merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundMerge {
    /// The piece that it gives.
    pub(super) piece: PieceId,
    /// The pieces that it joins. They are not looked up for a merge that gives the same piece as
    /// the one before it.
    parts: [Option<PieceId>; 2],
    /// Whether one of its texts is that of a stand-in.
    pub(super) has_stand_in: bool,
}

/// Finds the ids of merges, one after the other.
#[derive(Clone)]
pub(super) struct MergeFinder<'f, 'j> {
    entries: &'f VocabularyEntries,
    merges: &'f JsonMerges<'j>,
    stand_ins: StandIns<'f>,
    /// The piece that the merge before gives.
    last: Option<PieceId>,
    /// The text of a piece.
    joined: Vec<u8>,
}

impl<'f, 'j> MergeFinder<'f, 'j> {
    pub(super) fn new(
        entries: &'f VocabularyEntries,
        merges: &'f JsonMerges<'j>,
        stand_ins: StandIns<'f>,
    ) -> Self {
        Self {
            entries,
            merges,
            stand_ins,
            last: None,
            joined: Vec::new(),
        }
    }

    fn texts(&self, rank: usize) -> [&'f [u8]; 2] {
        self.merges.pairs()[rank].map(|text| self.merges.text(text))
    }

    /// Finds all merges from position `start` of the list on: those before the first error, and
    /// whether there is one.
    pub(super) fn find_all(&self, start: usize) -> (Vec<FoundMerge>, Result<(), ConvertError>) {
        let mut finder = self.clone();
        let ranks = start..self.merges.pairs().len();
        let mut found = Vec::with_capacity(ranks.len());
        for rank in ranks {
            match finder.find(rank) {
                Ok(merge) => found.push(merge),
                Err(error) => return (found, Err(error)),
            }
        }
        (found, Ok(()))
    }

    /// Finds the merge at position `rank` of the list.
    ///
    /// # Errors
    /// No piece has the joined text.
    #[inline]
    pub(super) fn find(&mut self, rank: usize) -> Result<FoundMerge, ConvertError> {
        let texts = self.texts(rank);
        let last = self.last;
        let piece = match self.neighbour(texts) {
            Some(piece) => piece,
            None => self.lookup(rank, texts)?,
        };
        self.last = Some(piece);
        let parts = match last == self.last {
            true => [None; 2],
            false => texts.map(|text| self.entries.id(text)),
        };
        Ok(FoundMerge {
            piece,
            parts,
            has_stand_in: texts.iter().any(|text| self.stand_ins.has(text)),
        })
    }

    /// The piece of the joined text, if it is that of the merge before or the next one.
    #[inline]
    fn neighbour(&self, [left, right]: [&[u8]; 2]) -> Option<PieceId> {
        let gives = |id: &usize| {
            let text = self.entries.text(*id);
            text.and_then(|text| text.strip_prefix(left)) == Some(right)
        };
        let last = self.last.map_or(0, PieceId::index);
        let id = [last + 1, last].into_iter().find(gives)?;
        Some(PieceId::from_index(id))
    }

    fn lookup(&mut self, rank: usize, texts: [&[u8]; 2]) -> Result<PieceId, ConvertError> {
        self.joined.clear();
        texts
            .iter()
            .for_each(|text| self.joined.extend_from_slice(text));
        self.piece(rank, &self.joined)
    }

    fn piece(&self, rank: usize, text: &[u8]) -> Result<PieceId, ConvertError> {
        let piece = self.entries.id(text);
        piece.ok_or_else(|| missing(rank, text))
    }

    /// The pieces that the merge at position `rank` joins; `found` is what was found for it.
    ///
    /// # Errors
    /// A text of the merge is no piece.
    #[inline]
    pub(super) fn parts(
        &self,
        rank: usize,
        found: FoundMerge,
    ) -> Result<[PieceId; 2], ConvertError> {
        if let [Some(left), Some(right)] = found.parts {
            return Ok([left, right]);
        }
        let [left, right] = self.texts(rank);
        Ok([self.piece(rank, left)?, self.piece(rank, right)?])
    }
}

#[cold]
fn missing(rank: usize, text: &[u8]) -> ConvertError {
    let text = lossy_string(text);
    syntax(format!("merge {rank}: {text:?} is not in the vocabulary"))
}
