//! The seeded generator of all random numbers: SplitMix64 (Steele, Lea, Flood, "Fast splittable
//! pseudorandom number generators", OOPSLA 2014, <https://doi.org/10.1145/2660193.2660195>).
//!
//! It is implemented here rather than taken from a crate because its output is part of the
//! program's behaviour: the same seed gives the same sample in every release.

use crate::base::num::GOLDEN_RATIO_64;

/// A stream of random numbers, determined by its seed.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_RATIO_64);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1) with 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `bound`, each equally likely; 0 for a bound of 0.
    #[cfg(any(feature = "train", test))]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Values from the last, incomplete multiple of `bound` would favour small results.
        let rejected = (u64::MAX % bound + 1) % bound;
        loop {
            let value = self.next_u64();
            if value <= u64::MAX - rejected {
                return value % bound;
            }
        }
    }
}

/// A seeded source of random numbers. The same seed gives the same samples in every release.
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut rng = spiece::Rng::with_seed(7);
/// let mut encoder = tokenizer.encoder();
/// let options = spiece::SampleOptions::Dropout { probability: 0.1 };
/// let sampled = encoder.sample("some text", &options, &mut rng)?.as_slice().to_vec();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rng(pub(crate) SplitMix64);

impl Rng {
    /// A generator seeded with `seed`.
    pub fn with_seed(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        // From the reference implementation by S. Vigna, seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([rng.next_u64(), rng.next_u64(), rng.next_u64()], expected);
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = SplitMix64::new(7);
        let mut seen = [0u32; 5];
        for _ in 0..50_000 {
            seen[usize::try_from(rng.below(5)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|n| (9_600..10_400).contains(n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
