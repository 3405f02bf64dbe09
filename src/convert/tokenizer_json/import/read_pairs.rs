//! Reading the list of merges.
//!
//! Input: the merges of a file, and the entries of its vocabulary. Output: [`ListedPairs`], and
//! reasons that the pairs give by themselves. Another thread looks up the end of a long list; the
//! pairs are added in the order of the list.
//!
//! Example: the list `a b`, `a b` gives one pair, and the reason that it is listed twice.
//!
//! Cost: linear.

use super::entries::VocabularyEntries;
use super::pair_finder::{FoundMerge, MergeFinder, StandIns};
use super::pairs::ListedPairs;
use super::{Import, MIN_PARALLEL_ENTRIES};
use crate::convert::tokenizer_json::lists::{JsonMerges, ListText};
use crate::convert::{Reason, ReasonKind};
use crate::error::ConvertError;
use crate::join::join;
use crate::text::lossy_string;

impl Import<'_, '_> {
    /// The pairs of the list, and reasons that they give by themselves.
    pub(super) fn listed_pairs(
        &mut self,
        entries: &VocabularyEntries,
    ) -> Result<ListedPairs, ConvertError> {
        let finder = MergeFinder::new(entries, self.merges, self.stand_ins());
        let mut reader = PairReader::new(entries, self.merges, finder);
        let merges = self.merges.pairs().len();
        if merges < MIN_PARALLEL_ENTRIES {
            reader.read(merges)?;
        } else {
            reader.read_in_parallel(merges)?;
        }
        let reasons = reader.reasons();
        let pairs = reader.into_pairs();
        self.add_reasons(reasons.into_iter().flatten());
        Ok(pairs)
    }

    /// The pieces that `tokenizers` puts in the place of characters without a piece.
    fn stand_ins(&self) -> StandIns<'_> {
        if self.has_byte_fallback {
            return StandIns::Bytes;
        }
        let unknown = self.file.model.unk_token.as_deref();
        unknown.map_or(StandIns::None, |text| StandIns::Unknown(text.as_bytes()))
    }
}

/// Reads the pairs of a list in their order.
struct PairReader<'f, 'j> {
    merges: &'f JsonMerges<'j>,
    finder: MergeFinder<'f, 'j>,
    pairs: ListedPairs,
    /// The last pair that the list has twice.
    repeated: Option<[ListText; 2]>,
    /// The last pair with a stand-in.
    with_stand_in: Option<[ListText; 2]>,
}

impl<'f, 'j> PairReader<'f, 'j> {
    fn new(
        entries: &VocabularyEntries,
        merges: &'f JsonMerges<'j>,
        finder: MergeFinder<'f, 'j>,
    ) -> Self {
        let capacity = merges.pairs().len().min(entries.len());
        Self {
            merges,
            finder,
            pairs: ListedPairs::new(entries.len(), capacity),
            repeated: None,
            with_stand_in: None,
        }
    }

    /// Finds and adds the first `count` pairs.
    ///
    /// # Errors
    /// A text is no piece.
    fn read(&mut self, count: usize) -> Result<(), ConvertError> {
        for rank in 0..count {
            let found = self.finder.find(rank)?;
            self.add(rank, found)?;
        }
        Ok(())
    }

    /// The same, while another thread looks up the end of the list. The list has `count` pairs.
    ///
    /// # Errors
    /// A text is no piece.
    fn read_in_parallel(&mut self, count: usize) -> Result<(), ConvertError> {
        // The other thread has less to do for a merge.
        let own = count / 5 * 2;
        let other = self.finder.clone();
        let (read, (found, end)) = join(|| self.read(own), || other.find_all(own));
        read?;
        for (rank, merge) in (own..).zip(found) {
            self.add(rank, merge)?;
        }
        end
    }

    /// Adds the next pair, which has the position `rank`.
    ///
    /// # Errors
    /// It is the first pair of its piece, and a text of it is no piece.
    #[inline]
    fn add(&mut self, rank: usize, found: FoundMerge) -> Result<(), ConvertError> {
        let merge = self.merges.pairs()[rank];
        let split = merge[0].len();
        let first = self.pairs.first_of(found.piece);
        if first.position().is_none() {
            let parts = self.finder.parts(rank, found)?;
            self.pairs.add_first(found.piece, parts, split);
        } else if first.has_split(split) {
            self.repeated = Some(merge);
        } else {
            self.pairs.add_other(found.piece, split);
        }
        if found.has_stand_in {
            self.with_stand_in = Some(merge);
        }
        Ok(())
    }

    /// The reasons that the pairs give.
    fn reasons(&self) -> [Option<Reason>; 2] {
        [self.reason_of_repetition(), self.reason_of_stand_in()]
    }

    fn reason_of_repetition(&self) -> Option<Reason> {
        let text = self.texts(self.repeated?).concat();
        let explanation =
            format!("a merge that gives {text:?} is listed twice; tokenizers takes the last one");
        Some(Reason::new(ReasonKind::MergeOrder, explanation))
    }

    fn reason_of_stand_in(&self) -> Option<Reason> {
        let [left, right] = self.texts(self.with_stand_in?);
        let explanation = format!(
            "tokenizers merges {left:?} and {right:?}, one of which it puts in the place of characters without a piece"
        );
        Some(Reason::new(ReasonKind::UnknownCharacter, explanation))
    }

    fn texts(&self, merge: [ListText; 2]) -> [String; 2] {
        merge.map(|text| lossy_string(self.merges.text(text)))
    }

    /// All pairs.
    fn into_pairs(mut self) -> ListedPairs {
        self.pairs.finish();
        self.pairs
    }
}
