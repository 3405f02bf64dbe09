//! The natural logarithm of a 32-bit float, bit-identical to the reference's.
//!
//! Scores of word and char models are differences of two such logarithms, without a 64-bit step
//! that would hide the last bit. The reference calls `logf` of glibc, which is not correctly
//! rounded: for example, the results for the counts 1579 and 3100 differ in the last bit from the
//! nearest float. So this is the same algorithm with the same constants.
//!
//! Let x = 2^k z with z between 0.7 and 1.4. One of 16 intervals contains z; c is near its middle,
//! and 1/c and ln c are in a table. Then ln x = k ln 2 + ln c + ln(1 + r) with r = z/c - 1, and
//! ln(1 + r) is approximated by a polynomial of degree 4. Everything is computed in 64 bits without
//! fused operations and rounded at the end.
//!
//! Example: 1579 = 2^11 * 0.771, so that ln 1579 = 11 ln 2 + ln 0.771 = 7.624619 - 0.260072 =
//! 7.364547.
//!
//! Source: `logf` of the Arm Optimized Routines,
//! <https://github.com/ARM-software/optimized-routines>, which glibc 2.27 and later contain; the
//! constants are facts of that algorithm.

use crate::base::num::round_f32;

/// 1/c and ln c of an interval.
struct Interval {
    inverse: f64,
    log: f64,
}

/// The interval with these bits of 1/c and ln c.
const fn interval(inverse: u64, log: u64) -> Interval {
    Interval {
        inverse: f64::from_bits(inverse),
        log: f64::from_bits(log),
    }
}

/// By the four highest bits of the fraction, from 0.7 on.
const INTERVALS: [Interval; 16] = [
    interval(0x3ff6_61ec_79f8_f3be, 0xbfd5_7bf7_808c_aade),
    interval(0x3ff5_71ed_4aaf_883d, 0xbfd2_bef0_a7c0_6ddb),
    interval(0x3ff4_9539_f0f0_10b0, 0xbfd0_1eae_7f51_3a67),
    interval(0x3ff3_c995_b0b8_0385, 0xbfcb_31d8_a682_24e9),
    interval(0x3ff3_0d19_0c88_64a5, 0xbfc6_574f_0ac0_7758),
    interval(0x3ff2_5e22_7b0b_8ea0, 0xbfc1_aa2b_c79c_8100),
    interval(0x3ff1_bb4a_4a1a_343f, 0xbfba_4e76_ce8c_0e5e),
    interval(0x3ff1_2358_f08a_e5ba, 0xbfb1_973c_5a61_1ccc),
    interval(0x3ff0_953f_4199_00a7, 0xbfa2_52f4_38e1_0c1e),
    interval(0x3ff0_0000_0000_0000, 0x0000_0000_0000_0000),
    interval(0x3fee_608c_fd9a_47ac, 0x3faa_a5aa_5df2_5984),
    interval(0x3fec_a4b3_1f02_6aa0, 0x3fbc_5e53_aa36_2eb4),
    interval(0x3feb_2036_576a_fce6, 0x3fc5_26e5_7720_db08),
    interval(0x3fe9_c2d1_63a1_aa2d, 0x3fcb_c286_0d22_4770),
    interval(0x3fe8_86e6_0378_41ed, 0x3fd1_058b_c8a0_7ee1),
    interval(0x3fe7_67dc_f553_4862, 0x3fd4_0430_57b6_ee09),
];
/// ln 2.
const LN_2: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);
/// The coefficients of the powers 4, 3 and 2 of r, beginning with the highest.
const POLYNOMIAL: [f64; 3] = [
    f64::from_bits(0xbfd0_0ea3_48b8_8334),
    f64::from_bits(0x3fd5_575b_0be0_0b6a),
    f64::from_bits(0xbfdf_fffe_f20a_4123),
];
/// The bits of the lowest fraction, about 0.7.
const LOWEST_FRACTION: u32 = 0x3f33_0000;
/// The bits of sign and exponent.
const EXPONENT_BITS: u32 = 0xff80_0000;

/// A number as 2^`exponent` * c * (1 + `rest`), where c belongs to the interval.
pub(super) struct ReducedFloat {
    /// 0 to 15.
    pub(super) interval: usize,
    pub(super) exponent: f64,
    pub(super) rest: f64,
}

impl ReducedFloat {
    /// The parts of a positive finite number that is not subnormal.
    pub(super) fn new(x: f32) -> Self {
        let bits = x.to_bits();
        let from_lowest = bits.wrapping_sub(LOWEST_FRACTION);
        let interval = (from_lowest >> 19) as usize % INTERVALS.len();
        let fraction = f32::from_bits(bits.wrapping_sub(from_lowest & EXPONENT_BITS));
        Self {
            interval,
            exponent: f64::from(from_lowest.cast_signed() >> 23),
            rest: f64::from(fraction) * INTERVALS[interval].inverse - 1.0,
        }
    }
}

/// The natural logarithm of a positive finite number that is not subnormal, or of 0, which gives
/// negative infinity.
pub(crate) fn log_f32(x: f32) -> f32 {
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == 1.0 {
        return 0.0;
    }
    let reduced = ReducedFloat::new(x);
    let r = reduced.rest;
    let base = INTERVALS[reduced.interval].log + reduced.exponent * LN_2;
    let [fourth, third, second] = POLYNOMIAL;
    let square = r * r;
    let high = fourth * square + (third * r + second);
    round_f32(high * square + (base + r))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts for which the reference's result is not the nearest float, and others, with the bits
    /// of `logf` of glibc 2.36.
    #[test]
    fn logarithms_have_the_bits_of_the_reference() {
        let cases: &[(f32, u32)] = &[
            (1.0, 0x0000_0000),
            (2.0, 0x3f31_7218),
            (3.0, 0x3f8c_9f54),
            (1579.0, 0x40eb_aa5e),
            (3100.0, 0x4100_a064),
            (4935.0, 0x4108_10d4),
            (12014.0, 0x4116_4d1e),
            (1e6, 0x415d_0c55),
            (16_777_216.0, 0x4185_1592),
            (9.2e18, 0x422e_a9b6),
        ];
        for (x, bits) in cases {
            assert_eq!(log_f32(*x).to_bits(), *bits, "{x}");
        }
        assert_eq!(log_f32(0.0), f32::NEG_INFINITY);
    }

    /// A digest of all counts below 2^24, and of larger floats in steps, computed with `logf` of
    /// glibc 2.36.
    #[test]
    fn logarithms_have_the_digest_of_the_reference() {
        let mut digest = 0u64;
        for count in 1..1u32 << 24 {
            #[expect(
                clippy::cast_precision_loss,
                reason = "below 2^24 every count is exact"
            )]
            let bits = log_f32(count as f32).to_bits();
            digest = digest
                .wrapping_mul(0x0100_0000_01b3)
                .wrapping_add(bits.into());
        }
        for bits in (0x4b80_0000u32..0x5f00_0000).step_by(4099) {
            let bits = log_f32(f32::from_bits(bits)).to_bits();
            digest = digest
                .wrapping_mul(0x0100_0000_01b3)
                .wrapping_add(bits.into());
        }
        assert_eq!(digest, 0x5c22_74b4_e33a_e119);
    }
}
