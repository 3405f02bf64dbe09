//! Which releases of SentencePiece have the normalization rules of a model.
//!
//! The rules that SentencePiece has under a name grow with its releases. A model contains its rules
//! in compiled form, so that their size and hash tell the releases. The table was read from models
//! that wheels of 0.0.6 to 0.2.3 trained; docs/reference/older_releases.md says what each
//! release added.

use std::fmt;

use crate::base::fnv::fnv1a;
use crate::model::NormalizerSpec;

/// Rules that SentencePiece has under a name, and the releases that have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BuiltInRules {
    /// The names of the rules: some releases have the same rules under two.
    pub names: &'static [&'static str],
    /// The first release that has them.
    pub first_release: &'static str,
    /// The last release that has them.
    pub last_release: &'static str,
    #[cfg_attr(feature = "serde", serde(skip))]
    bytes: usize,
    #[cfg_attr(feature = "serde", serde(skip))]
    hash: u64,
}

/// The release whose rules this library has.
const CURRENT: &str = "0.2.3";

macro_rules! releases {
    ($($first:literal to $last:literal { $($($name:literal),+: $bytes:literal, $hash:literal;)* })*) => {
        &[$($(BuiltInRules {
            names: &[$($name),+],
            first_release: $first,
            last_release: $last,
            bytes: $bytes,
            hash: $hash,
        }),*),*]
    };
}

/// Size and FNV-1a of each `precompiled_charsmap`.
const TABLE: &[BuiltInRules] = releases! {
    "0.0.6" to "0.0.9" {
        "identity": 1_030, 0x78BD_E744_5489_4A24;
        "nfkc": 237_484, 0x71C3_7FE0_49D7_1664;
    }
    "0.1.0" to "0.1.7" {
        "nmt_nfkc": 237_538, 0xBF50_4007_5E67_8CCD;
    }
    // `nmt_nfkc_cf` and `nfkc_cf` came with 0.1.2.
    "0.1.2" to "0.1.7" {
        "nmt_nfkc_cf", "nfkc_cf": 242_633, 0x98EC_36E4_1974_5E33;
    }
    "0.1.0" to "0.1.95" {
        "nfkc": 237_540, 0xD339_47FA_6829_084E;
    }
    "0.1.8" to "0.1.95" {
        "nmt_nfkc": 237_539, 0x9869_57B5_24A4_5C70;
        "nmt_nfkc_cf": 242_634, 0xDD64_1779_6AF3_DB45;
        "nfkc_cf": 242_635, 0xEC07_5471_C377_7228;
    }
    "0.1.96" to "0.2.0" {
        "nmt_nfkc": 237_561, 0xDE04_3691_BE8C_D3E1;
        "nfkc": 237_562, 0x4518_F2D7_2A6D_9C84;
        "nmt_nfkc_cf": 244_410, 0xF387_5094_C18F_7A57;
        "nfkc_cf": 244_411, 0xBBF7_AAC0_753B_3524;
    }
    "0.2.1" to "0.2.1" {
        "nmt_nfkc": 240_007, 0x6ED7_FFE1_F233_09A4;
        "nfkc": 240_008, 0x7C45_162F_068D_1F2D;
        "nmt_nfkc_cf": 247_027, 0x609E_C949_EE73_9956;
        "nfkc_cf": 247_028, 0xF55B_BE33_EA6E_FDD7;
    }
    "0.2.2" to "0.2.2" {
        "nmt_nfkc": 240_007, 0x8008_DBB9_ED92_4D6D;
        "nmt_nfkc_cf": 247_164, 0xE8C3_F19C_5F6E_6646;
    }
    "0.2.2" to "0.2.3" {
        "nfkc": 240_008, 0xFC39_CFA4_7670_DC74;
        "nfkc_cf": 247_165, 0xDD24_A6D6_284A_E42A;
    }
    "0.2.3" to "0.2.3" {
        "nmt_nfkc": 240_007, 0x2E3E_EADB_C44C_129B;
        "nmt_nfkc_cf": 247_164, 0x1D2D_E358_E08D_5E58;
    }
};

impl BuiltInRules {
    /// Whether the last release, 0.2.3, has these rules, and with it this library.
    pub fn are_current(&self) -> bool {
        self.last_release == CURRENT
    }

    /// The first and the last release of which rules are known.
    pub const KNOWN_RELEASES: (&'static str, &'static str) = ("0.0.6", CURRENT);
}

impl fmt::Display for BuiltInRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.join(" and ");
        let (first, last) = (self.first_release, self.last_release);
        write!(f, "{names} of SentencePiece {first}")?;
        if first != last {
            write!(f, " to {last}")?;
        }
        Ok(())
    }
}

impl NormalizerSpec {
    /// The built-in rules of SentencePiece that these are, whatever their name in the spec. `None` if
    /// there are no rules, or if no release from 0.0.6 to 0.2.3 has them. Linear in the rules.
    ///
    /// ```
    /// # #[cfg(feature = "train")] {
    /// let model = spiece::Model::open("testdata/golden/spm_default.model")?;
    /// let rules = model.normalizer_spec().built_in_rules().unwrap();
    /// assert_eq!(rules.names, ["nmt_nfkc"]);
    /// assert_eq!((rules.first_release, rules.last_release), ("0.2.3", "0.2.3"));
    /// # }
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn built_in_rules(&self) -> Option<&'static BuiltInRules> {
        built_in_rules(self.precompiled_charsmap())
    }
}

fn built_in_rules(charsmap: &[u8]) -> Option<&'static BuiltInRules> {
    let mut same_size = TABLE
        .iter()
        .filter(|rules| rules.bytes == charsmap.len())
        .peekable();
    // Most rules of other origin have a size of their own, and need no hash.
    same_size.peek()?;
    let hash = fnv1a(charsmap.iter().copied());
    same_size.find(|rules| rules.hash == hash)
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use std::ops::RangeInclusive;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::normalize::charsmap::compile;
    use crate::normalize::rules::builtin_rules;

    /// The sets of a release, which are those of the row before without some rules.
    struct Release {
        name: &'static str,
        /// The first digits of the SHA-256, from the wheels: `nmt_nfkc`, `nfkc`, `nmt_nfkc_cf`,
        /// `nfkc_cf`.
        sha256: [&'static str; 4],
        /// The first characters of the rules that the row before has and this one has not.
        later: &'static [RangeInclusive<u32>],
        /// The same, of the sets with `_cf` alone.
        later_folded: &'static [RangeInclusive<u32>],
    }

    const RELEASES: [Release; 5] = [
        Release {
            name: "0.2.3",
            sha256: ["1e2c7b43", "7e46d9e0", "2c03512e", "d8dfef3d"],
            later: &[],
            later_folded: &[],
        },
        Release {
            name: "0.2.2",
            sha256: ["5febaab2", "7e46d9e0", "2df05162", "d8dfef3d"],
            later: &[0x61C..=0x61C],
            later_folded: &[],
        },
        Release {
            name: "0.2.1",
            sha256: ["79372c41", "52f11028", "22c292c7", "60833ec1"],
            later: &[0xA7F1..=0xA7F1],
            later_folded: &[
                0xA7CE..=0xA7CE,
                0xA7D2..=0xA7D2,
                0xA7D4..=0xA7D4,
                0x16EA0..=0x16EB8,
            ],
        },
        Release {
            name: "0.2.0",
            sha256: ["51d36847", "557b5397", "6cec34e8", "b30e4085"],
            later: &[
                0xA7F2..=0xA7F4,
                0x105D2..=0x105D2,
                0x105DA..=0x105DA,
                0x10781..=0x107BA,
                0x11382..=0x113C2,
                0x1611E..=0x16129,
                0x16D63..=0x16D67,
                0x1CCD6..=0x1CCF9,
                0x1E030..=0x1E06D,
            ],
            later_folded: &[
                0x1C89..=0x1C89,
                0x2C2F..=0x2C2F,
                0xA7C0..=0xA7C0,
                0xA7CB..=0xA7DC,
                0x10570..=0x10595,
                0x10D50..=0x10D65,
            ],
        },
        Release {
            name: "0.1.95",
            sha256: ["0942789e", "97331fbb", "b69e3e8b", "ccd62357"],
            later: &[
                0x32FF..=0x32FF,
                0xAB69..=0xAB69,
                0x11935..=0x11935,
                0x1F16C..=0x1F16C,
                0x1F23B..=0x1F23B,
                0x1FBF0..=0x1FBF9,
            ],
            later_folded: &[
                0x1C80..=0x1C88,
                0x1C90..=0x1CBF,
                0xA7AE..=0xA7AE,
                0xA7B8..=0xA7BE,
                0xA7C2..=0xA7C9,
                0xA7F5..=0xA7F5,
                0x104B0..=0x104D3,
                0x16E40..=0x16E5F,
                0x1E900..=0x1E921,
            ],
        },
    ];

    #[test]
    fn the_rules_of_each_release_from_0_1_8_on_are_known() {
        let names = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"];
        for (number, name) in names.into_iter().enumerate() {
            let rules = builtin_rules(name).unwrap();
            let mut rules: Vec<(Vec<u32>, Vec<u32>)> = rules
                .iter()
                .map(|(source, target)| (source.to_vec(), target.to_vec()))
                .collect();
            for release in &RELEASES {
                let is_later = |first: u32, ranges: &[RangeInclusive<u32>]| {
                    ranges.iter().any(|range| range.contains(&first))
                };
                rules.retain(|(source, _)| {
                    let is_later = is_later(source[0], release.later)
                        || name.ends_with("_cf") && is_later(source[0], release.later_folded);
                    !is_later
                });
                if release.name == "0.1.95" && name.starts_with("nmt") {
                    // The only rule that a release took away: it is a space no more.
                    rules.push((vec![0x200D], vec![0x20]));
                }
                let charsmap = compile(&rules.iter().cloned().collect()).unwrap();
                let digest = Sha256::digest(&charsmap)[..4].to_vec();
                let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(digest, release.sha256[number], "{name} {}", release.name);
                let found = built_in_rules(&charsmap).unwrap();
                assert_eq!(found.names, [name]);
                // 0.2.3 has nfkc and nfkc_cf of 0.2.2.
                let last = match release.name {
                    "0.2.2" if name.starts_with("nfkc") => CURRENT,
                    name => name,
                };
                assert_eq!(found.last_release, last, "{name}");
            }
        }
    }

    #[test]
    fn the_table_is_that_of_the_documentation() {
        let reference = include_str!("../../docs/reference/older_releases.md");
        for rules in TABLE {
            let size = rules.bytes.to_string();
            let (front, back) = size.split_at(size.len() - 3);
            assert!(reference.contains(&format!("{front},{back}")), "{rules}");
        }
    }

    #[test]
    fn other_rules_and_no_rules_are_not_built_in() {
        assert_eq!(built_in_rules(b""), None);
        let mut charsmap = compile(&builtin_rules("nfkc").unwrap()).unwrap();
        *charsmap.last_mut().unwrap() ^= 1;
        assert_eq!(built_in_rules(&charsmap), None);
    }
}
