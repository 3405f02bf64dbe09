//! The targets, as the tests of the crate have them: see `tests/it/hostile/targets.rs`.

#[path = "../../tests/it/hostile/targets.rs"]
pub mod targets;
