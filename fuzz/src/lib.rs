//! The targets, as the tests of the crate have them: see `tests/hostile/targets.rs`.

#[path = "../../tests/hostile/targets.rs"]
pub mod targets;
