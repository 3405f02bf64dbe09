//! Arrays equal those of Darts-clone, lookups equal a slow search, and damaged arrays are rejected
//! or end at a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::unit::{FAR_FLAG, LEAF_FLAG, VALUE_FLAG};
use super::*;

/// A key set that a C++ program can make as well: 64-bit xorshift (13, 7, 17), of which bits 33 and
/// up are used.
struct KeySet {
    name: &'static str,
    seed: u64,
    count: usize,
    longest: u64,
    alphabet: u64,
    values: u64,
    /// Of the array that `darts.h` of sentencepiece 0.2.3 builds.
    units: usize,
    sha256: &'static str,
}

const KEY_SETS: &[KeySet] = &[
    KeySet {
        name: "one block",
        seed: 1,
        count: 10,
        longest: 4,
        alphabet: 3,
        values: 5,
        units: 256,
        sha256: "177ca428314ad683274922b6e38ded1f50c1e79f8e014a2c92426ef5c7886423",
    },
    KeySet {
        name: "two letters",
        seed: 2,
        count: 2_000,
        longest: 12,
        alphabet: 2,
        values: 4,
        units: 2_048,
        sha256: "783b3851ef95525b1b1c4838e8676a74b520be61574b79d9998cbfb430184d2a",
    },
    KeySet {
        name: "26 letters",
        seed: 3,
        count: 5_000,
        longest: 6,
        alphabet: 26,
        values: 1_000,
        units: 10_240,
        sha256: "b6f3d18fc76d8bb368e3563832047eafc64c13b02c8b9099fa5c481cf69920fa",
    },
    KeySet {
        name: "all bytes, great values",
        seed: 4,
        count: 20_000,
        longest: 5,
        alphabet: 255,
        values: 1 << 30,
        units: 65_024,
        sha256: "0dddce66385148faba6c9791c01ffc43ae2f4a69dff63c8d9f730ecb13ab9837",
    },
    KeySet {
        name: "dense, much shared",
        seed: 5,
        count: 60_000,
        longest: 3,
        alphabet: 255,
        values: 3,
        units: 65_536,
        sha256: "82d88a1cfcdaab4a9f9abd7359c8f5f03800a4b22ed9d7fc7720427082f6ac13",
    },
    KeySet {
        name: "long suffixes, one value",
        seed: 6,
        count: 30_000,
        longest: 20,
        alphabet: 2,
        values: 1,
        units: 26_112,
        sha256: "96d6ca3f0c4819f06e53aef6126be2b3e48f83c4674b87ef9e260721ffcf7aab",
    },
    KeySet {
        name: "long keys",
        seed: 7,
        count: 40,
        longest: 3_000,
        alphabet: 255,
        values: 100,
        units: 50_176,
        sha256: "08c8285ba04686aff53d15163f8d63902cdfba8a71273a8f42b92647378f776e",
    },
    KeySet {
        name: "wide, shared states out of reach",
        seed: 8,
        count: 120_000,
        longest: 4,
        alphabet: 200,
        values: 7,
        units: 110_080,
        sha256: "13d44e1ffd3d79f1eddaf3c16e704de793947f373889587dd411e1b7d47f6dfb",
    },
];

impl KeySet {
    /// The first value drawn for a key is its value.
    fn generate(&self) -> BTreeMap<Vec<u8>, u32> {
        let mut state = self.seed;
        let mut below = move |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) % limit
        };
        let mut keys = BTreeMap::new();
        for _ in 0..self.count {
            let length = 1 + below(self.longest);
            let key: Vec<u8> = (0..length)
                .map(|_| u8::try_from(1 + below(self.alphabet)).unwrap())
                .collect();
            let value = u32::try_from(below(self.values)).unwrap();
            keys.entry(key).or_insert(value);
        }
        keys
    }
}

fn pairs(keys: &BTreeMap<Vec<u8>, u32>) -> Vec<(&[u8], u32)> {
    keys.iter()
        .map(|(key, &value)| (key.as_slice(), value))
        .collect()
}

#[test]
fn arrays_equal_darts_clone() {
    for set in KEY_SETS {
        let keys = set.generate();
        let array = DoubleArray::build(&pairs(&keys)).unwrap();
        assert_eq!(array.len(), set.units, "{}", set.name);
        let bytes = array.to_le_bytes();
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(digest, set.sha256, "{}", set.name);
        assert_eq!(DoubleArray::from_le_bytes(&bytes), array, "{}", set.name);
    }
}

#[test]
fn a_traversal_visits_all_keys() {
    for set in &KEY_SETS[..6] {
        let keys = set.generate();
        let array = DoubleArray::build(&pairs(&keys)).unwrap();
        let mut found = Vec::new();
        let walk = array.for_each_key(limits(20), |key, value| {
            found.push((key.to_vec(), u32::try_from(value).unwrap()));
            ControlFlow::Continue(())
        });
        assert_eq!(walk, Ok(()), "{}", set.name);
        assert!(found.into_iter().eq(keys), "{}", set.name);
    }
}

#[test]
fn unusable_keys_are_refused() {
    type Keys = &'static [(&'static [u8], u32)];
    let table: &[(&str, Keys, BuildError)] = &[
        ("empty key", &[(b"", 0)], BuildError::EmptyKey),
        ("NUL", &[(b"a\0b", 0)], BuildError::NulInKey),
        ("descending", &[(b"b", 0), (b"a", 0)], BuildError::NotSorted),
        (
            "prefix later",
            &[(b"ab", 0), (b"a", 0)],
            BuildError::NotSorted,
        ),
        (
            "great value",
            &[(b"a", 1 << 31)],
            BuildError::ValueTooLarge(1 << 31),
        ),
    ];
    for (name, keys, error) in table {
        assert_eq!(DoubleArray::build(keys), Err(*error), "{name}");
    }
}

/// The example of the pages of `build` and `dawg`.
#[test]
fn a_shared_state_has_one_base() {
    let array = DoubleArray::build(&[(&b"tap"[..], 1), (b"top", 1)]).unwrap();
    assert_eq!(array.root(), 0x75);
    assert_eq!(array.step(0x75, b't'), Some((0x63, None)));
    assert_eq!(array.step(0x63, b'a'), Some((0x73, None)));
    assert_eq!(array.step(0x63, b'o'), Some((0x73, None)));
    assert_eq!(array.step(0x73, b'p'), Some((4, Some(1))));
}

#[test]
fn of_equal_keys_the_first_counts() {
    let array = DoubleArray::build(&[(b"a", 3), (b"a", 1), (b"ab", 2), (b"ab", 4)]).unwrap();
    let found: Vec<_> = array.common_prefixes(b"abc").collect();
    assert_eq!(found, [(1, 3), (2, 2)]);
    assert_eq!(array.longest_prefix(b"abc", 1), Some((1, 3)));
    assert_eq!(array.longest_prefix(b"abc", 2), Some((2, 2)));
    assert_eq!(array.longest_prefix(b"b", 2), None);
    assert_eq!(array.longest_prefix(b"", 2), None);
}

#[test]
fn no_keys_are_one_valid_block() {
    let array = DoubleArray::build(&[]).unwrap();
    assert_eq!(array.len(), 256);
    assert!(array.validate(0));
    assert_eq!(array.common_prefixes(b"abc").count(), 0);
}

#[test]
fn a_key_may_be_very_long() {
    let key = vec![b'x'; 200_000];
    let array = DoubleArray::build(&[(&key, 7)]).unwrap();
    assert!(array.validate(8));
    assert_eq!(array.longest_prefix(&key, 1), Some((key.len(), 7)));
    let walk = array.for_each_key(limits(1_000), |_, _| ControlFlow::Continue(()));
    assert_eq!(walk, Err(WalkLimitExceeded));
}

#[test]
fn bytes_of_keys_are_found() {
    let array = DoubleArray::build(&[(b"a b", 0), (b"xyz", 1)]).unwrap();
    for (byte, expected) in [
        (b' ', true),
        (b'a', true),
        (b'z', true),
        (b'c', false),
        (0, false),
    ] {
        assert_eq!(array.any_key_contains(byte), expected, "{byte}");
    }
}

/// Limits with enough steps for every test.
fn limits(depth: usize) -> WalkLimits {
    WalkLimits {
        depth,
        steps: 1_000_000,
    }
}

/// An array of one block, where 'a' leads from the root back to the root's base.
fn cyclic() -> DoubleArray {
    let mut units = vec![VALUE_FLAG; 256];
    units[0] = 1 << 10;
    units[usize::from(b'a' ^ 1)] = u32::from(b'a') | (u32::from(b'a') << 10);
    DoubleArray { units }
}

#[test]
fn traversals_of_cyclic_arrays_end_at_their_limit() {
    let array = cyclic();
    assert!(array.validate(1));
    assert!(array.any_key_contains(b'a'));
    assert!(!array.any_key_contains(b'b'));
    assert_eq!(array.longest_prefix(b"aaaa", 32), None);
    let walk = array.for_each_key(limits(1_000), |_, _| ControlFlow::Continue(()));
    assert_eq!(walk, Err(WalkLimitExceeded));
    // Each state is entered once.
    let mut chars = Vec::new();
    assert!(array.for_each_char(2, |char| chars.push(char)));
    assert_eq!(chars.len(), 2);
}

/// An array whose states each lead to the next by every byte, so that n of them have 255^n paths.
fn tangle(states: u32, has_leaf: bool) -> DoubleArray {
    let mut units = vec![VALUE_FLAG; 256 * (states as usize + 2)];
    units[0] = 256 << 10;
    for state in 1..=states {
        for label in 1..=255 {
            let (cell, next) = ((256 * state) | label, 256 * (state + 1));
            let leaf = if has_leaf && state == states {
                LEAF_FLAG
            } else {
                0
            };
            units[cell as usize] = label | (cell ^ next) << 10 | leaf;
        }
    }
    DoubleArray { units }
}

#[test]
fn traversals_of_arrays_with_shared_units_end_at_their_limit() {
    for has_leaf in [false, true] {
        let array = tangle(8, has_leaf);
        assert!(array.validate(1));
        let mut keys = 0u64;
        let walk = array.for_each_key(limits(1_000), |_, _| {
            keys += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((walk, keys > 0), (Err(WalkLimitExceeded), has_leaf));
    }
}

#[test]
fn arrays_that_break_a_rule_are_not_valid() {
    let table: &[(&str, usize, u32)] = &[
        ("root has a label", 0, 1 << 10 | 1),
        ("root is a value", 0, VALUE_FLAG | 1 << 10),
        ("root has a leaf", 0, 1 << 10 | LEAF_FLAG),
        ("root has no base", 0, 0),
        ("root's block is missing", 0, 256 << 10),
        ("a cell's block is missing", 5, 256 << 10),
        ("a cell's far block is missing", 5, 1 << 10 | FAR_FLAG),
        ("a leaf is no value", 5, LEAF_FLAG),
        ("a value is too great", 5, VALUE_FLAG | 1),
    ];
    for &(name, cell, unit) in table {
        let mut array = cyclic();
        array.units[cell] = unit;
        assert!(!array.validate(1), "{name}");
    }
    assert!(!DoubleArray { units: Vec::new() }.validate(1));
    let short = DoubleArray {
        units: vec![1 << 10; 255],
    };
    assert!(!short.validate(1), "less than a block");
}

fn small_keys() -> impl Strategy<Value = BTreeMap<Vec<u8>, u32>> {
    prop::collection::btree_map(prop::collection::vec(1_u8..5, 1..7), 0_u32..9, 0..60)
}

proptest! {
    #[test]
    fn prefixes_equal_a_slow_search(
        keys in small_keys(),
        text in prop::collection::vec(0_u8..6, 0..12),
    ) {
        let array = DoubleArray::build(&pairs(&keys)).unwrap();
        prop_assert!(array.validate(9));
        let slow: Vec<_> = (1..=text.len())
            .filter_map(|length| Some((length, *keys.get(&text[..length])? as usize)))
            .collect();
        prop_assert_eq!(array.common_prefixes(&text).collect::<Vec<_>>(), slow);
    }

    #[test]
    fn random_units_never_panic(
        units in prop::collection::vec(any::<u32>().prop_map(|unit| unit & 0x8003_FDFF), 256),
        text in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let array = DoubleArray { units };
        array.validate(1_000);
        array.longest_prefix(&text, 32);
        array.any_key_contains(b' ');
        array.for_each_char(1_000, |_| ());
        let mut budget = 1_000;
        let _ = array.for_each_key(limits(50), |_, _| {
            budget -= 1;
            if budget == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
}

proptest! {
    #[test]
    fn characters_of_keys_are_those_of_a_traversal(
        texts in prop::collection::btree_set(
            prop::collection::vec(prop::sample::select(&['a', 'b', 'é', 'か', '\u{3099}', '😀'][..]), 1..5),
            1..40,
        ),
    ) {
        let texts = texts.into_iter().map(String::from_iter);
        let keys: BTreeMap<Vec<u8>, u32> = texts.map(String::into_bytes).zip(0..).collect();
        let keys: BTreeMap<_, _> = keys.into_iter().map(|(key, value)| (key, value % 3)).collect();
        let mut expected = BTreeSet::new();
        for key in keys.keys() {
            let text = std::str::from_utf8(key).unwrap();
            for (at, char) in text.char_indices() {
                let ends_key = keys.contains_key(&key[..at + char.len_utf8()]);
                expected.insert((u32::from(char), at == 0, ends_key));
            }
        }
        let mut found = BTreeSet::new();
        let array = DoubleArray::build(&pairs(&keys)).unwrap();
        let is_whole = array.for_each_char(10_000, |char| {
            found.insert((char.point, char.is_first, char.ends_key));
        });
        prop_assert!(is_whole);
        prop_assert_eq!(found, expected);
        let steps = keys.keys().map(Vec::len).sum();
        prop_assert!(array.for_each_char(steps, |_| ()));
        prop_assert!(!array.for_each_char(0, |_| ()));
    }

    #[test]
    fn keys_that_are_no_whole_characters_are_refused(cut in 1usize..3, more in any::<bool>()) {
        let begun = "か".as_bytes()[..cut].to_vec();
        let mut keys = BTreeMap::from([(b"a".to_vec(), 1), (begun.clone(), 2)]);
        if more {
            keys.insert([begun, b"a".to_vec()].concat(), 3);
        }
        let array = DoubleArray::build(&pairs(&keys)).unwrap();
        prop_assert!(!array.for_each_char(1_000, |_| ()));
    }
}
