//! Scores that are strictly below others, in 32-bit floats.
//!
//! The first one is the score rounded down to an integer, minus 1; each further score is 1 less, as
//! in trained BPE models. Where subtracting 1 gives the same float (the distance of floats is 2
//! from 2^24 on, and 64 at 1e9), the next lower float is taken.
//!
//! Example: below -31999 come -32000, -32001, ...; below -1.5 come -3, -4, ...; below -1e9 (the
//! score that some models give to runs of spaces) come -1000000064, -1000000128, ...

/// Descending scores, all below a first one. It ends where no finite float is lower.
#[derive(Debug, Clone)]
pub(crate) struct ScoresBelow {
    last: f32,
}

impl ScoresBelow {
    /// Scores below `score`, which is finite.
    pub(crate) fn new(score: f32) -> Self {
        // The floor of a fractional score is lower already, but a whole step keeps the distance
        // that trained models have.
        Self {
            last: score.floor(),
        }
    }
}

impl Iterator for ScoresBelow {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        let one_less = self.last - 1.0;
        self.last = if one_less < self.last {
            one_less
        } else {
            self.last.next_down()
        };
        self.last.is_finite().then_some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_three(score: f32) -> Vec<f32> {
        ScoresBelow::new(score).take(3).collect()
    }

    #[test]
    fn scores_descend_strictly_whatever_the_distance_of_floats_is() {
        assert_eq!(first_three(-31999.0), [-32000.0, -32001.0, -32002.0]);
        assert_eq!(first_three(-1.5), [-3.0, -4.0, -5.0]);
        assert_eq!(first_three(0.0), [-1.0, -2.0, -3.0]);
        assert_eq!(first_three(2.5), [1.0, 0.0, -1.0]);
        assert_eq!(
            first_three(-1e9),
            [-1_000_000_064.0, -1_000_000_128.0, -1_000_000_192.0]
        );
        for start in [
            -16_777_215.0,
            -16_777_216.0,
            -1e9,
            -1e30,
            1e30,
            -0.0,
            f32::MIN_POSITIVE,
        ] {
            let mut last = start;
            for score in ScoresBelow::new(start).take(100) {
                assert!(score < last, "{score} below {last}");
                last = score;
            }
        }
    }

    #[test]
    fn there_is_no_score_below_the_lowest_float() {
        assert_eq!(ScoresBelow::new(f32::MIN).next(), None);
        assert_eq!(ScoresBelow::new(f32::MIN.next_up()).count(), 1);
    }
}
