//! Seeds of random segmentations.
//!
//! `SetRandomGeneratorSeed` sets the seed of the process, which is otherwise drawn by the operating
//! system. Each call and, in a batch, each text has a seed of its own, so that results do not
//! depend on threads.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The distance between two seeds: odd and without a pattern, from the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

static NEXT: AtomicU64 = AtomicU64::new(0);
static IS_SEEDED: AtomicBool = AtomicBool::new(false);

/// Restarts the sequence of seeds.
pub fn set_seed(seed: u32) {
    NEXT.store(
        u64::from(seed).wrapping_mul(STEP) ^ STEP.rotate_left(17),
        Ordering::Relaxed,
    );
    IS_SEEDED.store(true, Ordering::Release);
}

/// The seed of the next call.
pub fn next_seed() -> u64 {
    if !IS_SEEDED.swap(true, Ordering::AcqRel) {
        NEXT.store(RandomState::new().hash_one(STEP), Ordering::Relaxed);
    }
    NEXT.fetch_add(STEP, Ordering::Relaxed)
}

/// The seed of text `number` of a batch.
pub fn nth(seed: u64, number: usize) -> u64 {
    seed ^ (number as u64).wrapping_mul(STEP.rotate_left(32) | 1)
}
