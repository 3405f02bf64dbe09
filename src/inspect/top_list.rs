//! The first few of many values.
//!
//! The list has the smallest values that were offered, in order and without duplicates: of 3, 1, 3,
//! 2 the two smallest are 1, 2. It depends only on the values, not on their order or on their
//! distribution among lists that are merged.

/// The smallest of the values that were offered.
#[derive(Debug, Clone)]
pub(super) struct TopList<T> {
    /// In order, without duplicates.
    values: Vec<T>,
    capacity: usize,
}

impl<T: Ord> TopList<T> {
    /// An empty list for at most `capacity` values.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            values: Vec::new(),
            capacity,
        }
    }

    /// The greatest value of a full list: only smaller values are taken. `None` while the list is
    /// not full.
    pub(super) fn bound(&self) -> Option<&T> {
        (self.values.len() >= self.capacity)
            .then(|| self.values.last())
            .flatten()
    }

    /// Takes `value` if it is among the smallest and new.
    pub(super) fn offer(&mut self, value: T) {
        if self.bound().is_some_and(|bound| value >= *bound) {
            return;
        }
        if let Err(index) = self.values.binary_search(&value) {
            self.values.insert(index, value);
            self.values.truncate(self.capacity);
        }
    }

    /// Takes the values of another list.
    pub(super) fn merge(&mut self, other: Self) {
        other.values.into_iter().for_each(|value| self.offer(value));
    }

    /// The values, in order.
    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_list_is_the_start_of_the_sorted_values(
            values in prop::collection::vec(0_u8..20, 0..50),
            cut in any::<prop::sample::Index>(),
            capacity in 1_usize..8,
        ) {
            let cut = cut.index(values.len() + 1);
            let mut first = TopList::new(capacity);
            let mut second = TopList::new(capacity);
            values[..cut].iter().for_each(|value| first.offer(*value));
            values[cut..].iter().for_each(|value| second.offer(*value));
            first.merge(second);
            let mut expected = values;
            expected.sort_unstable();
            expected.dedup();
            expected.truncate(capacity);
            prop_assert_eq!(first.into_values(), expected);
        }
    }
}
