//! Extra options: pieces that mark the start and the end of a text, and the reverse order.
//!
//! Options are applied in their order, each to the result of the previous one. They are
//! checked against the model first, so applying them cannot fail.
//!
//! Example: `bos:eos` turns the ids `[10, 11]` into `[1, 10, 11, 2]`; `bos:eos:reverse` turns them
//! into `[2, 11, 10, 1]`.

use super::{ExtraOption, Tokenizer};
use crate::base::lossy_string;
use crate::encode::EncodeError;
use crate::model::TrainerSpec;
use crate::piece::PieceId;

/// Extra options.
impl Tokenizer {
    /// Applies extra options to ids, as the reference's decoder does before it decodes: only
    /// [`Reverse`](ExtraOption::Reverse) changes the decoded text.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut ids = tokenizer.encode("one two");
    /// tokenizer.apply_extra(&spiece::ExtraOption::parse_list("bos:eos")?, &mut ids)?;
    /// assert_eq!(ids.first().copied(), tokenizer.bos_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An option asks for a piece that the model does not have; the ids are then unchanged.
    pub fn apply_extra(
        &self,
        extra: &[ExtraOption],
        ids: &mut Vec<PieceId>,
    ) -> Result<(), EncodeError> {
        self.check_extra(extra)?;
        self.add_extra(extra, ids, 0);
        Ok(())
    }

    /// Applies extra options to the ids from `start` on.
    pub(super) fn add_extra(&self, extra: &[ExtraOption], ids: &mut Vec<PieceId>, start: usize) {
        for option in extra {
            match option {
                ExtraOption::Bos => {
                    ids.splice(start..start, self.text_ends()[0].iter().copied());
                }
                ExtraOption::Eos => ids.extend(&self.text_ends()[1]),
                ExtraOption::Reverse => ids[start..].reverse(),
                ExtraOption::UnkPiece => {}
            }
        }
    }

    /// The ids before and after a text.
    pub(super) fn text_ends(&self) -> [Vec<PieceId>; 2] {
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline() {
            let ends = pipeline.text_ends();
            return [&ends.before, &ends.after]
                .map(|ids| ids.iter().copied().map(PieceId::new).collect());
        }
        [self.special.bos, self.special.eos].map(|id| id.into_iter().collect())
    }

    /// Checks that the model has the pieces that the options ask for.
    pub(super) fn check_extra(&self, extra: &[ExtraOption]) -> Result<(), EncodeError> {
        for option in extra {
            let (id, option, piece): (_, _, fn(&TrainerSpec) -> &[u8]) = match option {
                ExtraOption::Bos => (self.special.bos, "bos", TrainerSpec::bos_piece),
                ExtraOption::Eos => (self.special.eos, "eos", TrainerSpec::eos_piece),
                _ => continue,
            };
            if id.is_none() {
                let Some(model) = self.model() else {
                    return Err(EncodeError::NoTextEnds { option });
                };
                let piece = lossy_string(piece(model.trainer_spec()));
                return Err(EncodeError::NoSuchPiece { option, piece });
            }
            let mut ends = self.text_ends().into_iter().flatten();
            if let Some(id) = ends.find(|id| self.id_to_piece(*id).is_none()) {
                let id = id.get();
                return Err(EncodeError::NoSuchId { option, id });
            }
        }
        Ok(())
    }
}
