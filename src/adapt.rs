//! Changes of trained models with stated guarantees: edit, extend, merge, prune.
//!
//! Each change gives another [`Model`], loaded from the bytes of its file, the mapping between old
//! and new ids ([`IdMap`]), and for which texts the ids can differ ([`TextChange`]).
//! [`LineComparison`] encodes lines with the model before and after a change.
//!
//! | method | change |
//! |---|---|
//! | [`Model::apply_edits`] | add, rename and remove pieces by their texts; change kinds and flags |
//! | [`Model::extend`] | add pieces that continued training learns from other text |
//! | [`Model::merge`] | add the pieces of a second model after those of the first |
//! | [`Model::prune`] | remove pieces that a text does not need, or the rarest ones |
//!
//! [`ByteBpe::extend`](crate::ByteBpe::extend), [`ByteBpe::merge`](crate::ByteBpe::merge) and
//! [`ByteBpe::prune`](crate::ByteBpe::prune) change byte-level vocabularies in the same ways.
//!
//! All methods for models use [`ModelEditor`](crate::ModelEditor), which keeps what the change does
//! not concern.
//!
//! Two facts about BPE are used throughout. Both follow from the definition in `encode/bpe.rs`; the
//! proofs are in `docs/design/ADAPTING.md` and in `adapt/prune.rs`.
//!
//! - *Locality*: the merges within the span of a token are the merges of the token's own text. So a
//!   piece is found in some text if and only if its own text encodes to it.
//! - *Only executed merges count*: a piece that is never the result of a merge on a text, and is
//!   not one of its tokens, can be removed without changing the ids of that text.
//!
//! Example: `edit` of a model with a control piece `<sep>` added at the end. All old ids are
//! unchanged, the same pieces are found in text, and every text has the same ids as before.

mod comparison;
pub(crate) mod edit;
pub(crate) mod error;
pub(crate) mod extend;
mod found;
#[cfg(test)]
#[path = "../tests/it/hostile/guarantees.rs"]
mod guarantees;
mod id_map;
pub(crate) mod merge;
mod pieces;
pub(crate) mod prune;
mod scores;
mod text_change;

pub use self::comparison::{LineComparison, LineCounts};
pub use self::edit::{EditStep, EditedModel, NormalizerFlag, SpecialRole};
pub use self::error::{EditError, ExtendError, MergeError, PruneError};
pub use self::extend::{
    ByteExtendOptions, ExtendOptions, ExtendSize, ExtendedBytes, ExtendedModel, ExtensionPiece,
    NewCharacters, Superwords,
};
pub use self::id_map::IdMap;
pub use self::merge::{MergeOptions, MergedBytes, MergedModel};
pub use self::prune::{
    PieceUsage, PruneGoal, PruneOptions, PrunedBytes, PrunedModel, UsageCounter,
};
pub use self::text_change::TextChange;
#[cfg(doc)]
use crate::model::Model;
