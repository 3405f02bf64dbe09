//! The totals of the seeds in one partial sum.
//!
//! With three partial sums, the total of seed 1 in the last one is number 1 · 3 + 2 of the totals.

/// The totals of the seeds in one of the partial sums of a group.
#[derive(Debug)]
pub(super) struct SeedTotals<'s> {
    /// By seed and then by partial sum.
    totals: &'s mut [f32],
    partials: usize,
    partial: usize,
}

impl<'s> SeedTotals<'s> {
    /// The totals of the partial sum `partial` of so many.
    pub(super) fn new(totals: &'s mut [f32], partials: usize, partial: usize) -> Self {
        Self {
            totals,
            partials,
            partial,
        }
    }

    /// The total of a seed.
    #[inline(always)]
    pub(super) fn at(&mut self, seed: u32) -> &mut f32 {
        &mut self.totals[seed as usize * self.partials + self.partial]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_a_seed_lie_side_by_side() {
        let mut totals = [0.0; 6];
        *SeedTotals::new(&mut totals, 3, 2).at(1) += 1.0;
        assert_eq!(totals, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
