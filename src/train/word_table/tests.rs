use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

impl WordTable {
    /// The counts of these texts.
    pub(crate) fn of<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = (T, u64)>) -> Self {
        let mut table = Self::default();
        for (text, count) in texts {
            table.add(text.as_ref(), count).unwrap();
        }
        table
    }

    fn texts(&self) -> Vec<(Vec<u8>, u64)> {
        let mut texts = Vec::new();
        for shard in self.shards() {
            let push = |text: &[u8], count| -> Result<(), ()> {
                texts.push((text.to_vec(), count));
                Ok(())
            };
            shard.for_each(push).unwrap();
        }
        texts
    }
}

proptest! {
    #[test]
    fn counts_of_threads_equal_the_counts_of_a_map(
        additions in proptest::collection::vec(("[a-c]{1,3}|a{1,20}|\\PC{1,6}", 0u64..9, 0usize..3), 0..200),
        repeats in 1u64..40,
        seed in any::<u64>(),
    ) {
        let mut expected = BTreeMap::new();
        for (text, count, _) in &additions {
            *expected.entry(text.as_bytes().to_vec()).or_insert(0) += count * repeats;
        }
        let hasher = SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
        let mut table = WordTable::new(hasher);
        table.with_adders(|adder| {
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    let mut adder = adder();
                    let additions = &additions;
                    scope.spawn(move || {
                        let repeated = (0..repeats).flat_map(|_| additions);
                        for (text, count, _) in repeated.filter(|added| added.2 == thread) {
                            adder.add(text.as_bytes(), *count).unwrap();
                        }
                        adder.flush().unwrap();
                    });
                }
            });
        });
        prop_assert_eq!(table.len(), expected.len());
        let found: BTreeMap<Vec<u8>, u64> = table.texts().into_iter().collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_count_saturates_at_the_largest_number() {
    let table = WordTable::of([("a", u64::MAX - 1), ("a", 7)]);
    assert_eq!(table.texts(), [(b"a".to_vec(), u64::MAX)]);
}

proptest! {
    #[test]
    fn texts_are_in_the_order_of_their_counts_and_bytes(
        counted in proptest::collection::btree_map("a{0,3}[ab\\x00é]{1,20}", 0u64..4, 0..40),
    ) {
        let table = WordTable::of(counted.clone());
        let parts = table.parts_by_count(|part: &mut Vec<_>, text, count| {
            part.push((String::from_utf8(text.to_vec()).unwrap(), count));
        });
        let mut expected: Vec<(String, u64)> = counted.into_iter().collect();
        expected.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        prop_assert_eq!(parts.concat(), expected);
    }
}
