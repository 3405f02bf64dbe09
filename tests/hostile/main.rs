//! Hostile input: every target of `targets.rs` over random bytes, and over every file of `testdata/hostile/`.

#[path = "targets.rs"]
mod targets;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Runs one target over random bytes.
fn run(name: &str, cases: u32, bytes: usize) {
    let (_, target) = targets::ALL.iter().find(|(target, _)| *target == name).expect("a target");
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let strategy = proptest::collection::vec(any::<u8>(), 0..bytes);
    TestRunner::new(config)
        .run(&strategy, |data| {
            target(&data);
            Ok(())
        })
        .unwrap();
}

#[test]
fn mutated_models() {
    run("mutated_model", 300, 200);
}

#[test]
fn texts() {
    run("text", 300, 200);
}

#[test]
fn trainings() {
    run("train", 200, 300);
}
