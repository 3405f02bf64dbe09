//! The binary heap of libstdc++'s `priority_queue`.
//!
//! Entries of equal priority leave a heap in an order that depends on how the heap moves its
//! entries. SentencePiece's lists of best segmentations, and the pieces that its unigram training
//! drops, depend on that order, so entries are moved here as `std::push_heap` and `std::pop_heap`
//! move them.

/// Values with priorities. The value with the highest priority is the first.
#[derive(Debug)]
pub(crate) struct Heap<T> {
    entries: Vec<(f32, T)>,
}

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
        }
    }
}

impl<T: Copy> Heap<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes all entries, keeping the memory.
    #[cfg(feature = "train")]
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The values, in no particular order.
    #[cfg(feature = "train")]
    pub(crate) fn values(&self) -> impl Iterator<Item = T> {
        self.entries.iter().map(|(_, value)| *value)
    }

    pub(crate) fn push(&mut self, priority: f32, value: T) {
        self.entries.push((priority, value));
        self.move_up(self.entries.len() - 1, (priority, value));
    }

    /// Removes the first entry. The hole that it leaves moves down to a leaf, always to the child
    /// of higher priority, the right one of equal children; the last entry is put there and moves
    /// up.
    pub(crate) fn pop(&mut self) -> Option<(f32, T)> {
        let last = self.entries.pop()?;
        let Some(first) = self.entries.first().copied() else {
            return Some(last);
        };
        let count = self.entries.len();
        let mut hole = 0;
        loop {
            let (left, right) = (2 * hole + 1, 2 * hole + 2);
            if left >= count {
                break;
            }
            let is_left = right >= count || self.entries[right].0 < self.entries[left].0;
            let child = if is_left { left } else { right };
            self.entries[hole] = self.entries[child];
            hole = child;
        }
        self.move_up(hole, last);
        Some(first)
    }

    /// Puts an entry where the hole `at` ends after it moved up past entries of lower priority.
    fn move_up(&mut self, mut at: usize, entry: (f32, T)) {
        while at > 0 && self.entries[(at - 1) / 2].0 < entry.0 {
            let parent = (at - 1) / 2;
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_highest_priority_is_first(priorities in proptest::collection::vec(0u8..9, 0..60)) {
            let mut heap = Heap::default();
            let mut sorted: Vec<f32> = priorities.iter().map(|priority| f32::from(*priority)).collect();
            for (value, priority) in sorted.iter().enumerate() {
                heap.push(*priority, value);
            }
            sorted.sort_by(|a, b| b.total_cmp(a));
            let popped: Vec<f32> = std::iter::from_fn(|| heap.pop()).map(|(priority, _)| priority).collect();
            prop_assert_eq!(popped, sorted);
        }
    }

    /// The values as a `std::priority_queue` of libstdc++ returned them.
    const ORDER: [usize; 14] = [1, 13, 4, 10, 7, 2, 6, 12, 11, 5, 3, 9, 0, 8];

    #[test]
    fn equal_priorities_are_returned_in_the_order_of_libstdcxx() {
        let mut heap = Heap::default();
        for value in 0..ORDER.len() {
            heap.push([0.0, 1.0, 0.0][value % 3], value);
        }
        let popped: Vec<usize> = std::iter::from_fn(|| heap.pop())
            .map(|(_, value)| value)
            .collect();
        assert_eq!(popped, ORDER);
    }
}
