//! Changes of trained models with stated guarantees: edit, extend, merge, prune.
//!
//! Each change gives another [`Model`](crate::Model), loaded from the bytes of its file, the mapping
//! between old and new ids ([`IdMap`]), and for which texts the ids can differ. [`LineComparison`]
//! encodes lines with the model before and after a change.
//!
//! | module | job |
//! |---|---|
//! | [`edit`] | add, rename and remove pieces by their texts; change kinds and flags |
//! | [`extend`] | pieces that continued training learns from other text |
//! | [`merge`] | the pieces of a second model after those of the first |
//! | [`prune`] | remove pieces that a text does not need, or the rarest ones |
//! | `id_map` | old ids and new ids |
//! | `comparison` | lines before and after a change |
//! | `pieces` | pieces of one kind, and scores |
//! | `found` | which pieces text can give |
//! | `text_change` | for which texts two models can give different pieces |
//! | `scores` | scores below all others |
//!
//! All of them use [`ModelEditor`](crate::ModelEditor), which keeps what the change does not
//! concern.
//!
//! Two facts about BPE are used throughout. Both follow from the definition in `encode/bpe.rs`;
//! `docs/DESIGN.md` has the proofs.
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
pub use self::id_map::IdMap;
pub use self::text_change::TextChange;
