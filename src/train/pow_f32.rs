//! Powers of 32-bit floats, bit-identical to the reference's.
//!
//! `seed_piece_length_power` weighs seeds by a power of their length, which the reference computes
//! with `powf` of glibc. That function is not correctly rounded: of the powers -15 to 25 in steps
//! of 0.01 of the lengths 1 to 512, 1,155 of 2,048,512 differ in the last bit from the nearest
//! float. So this is the same algorithm with the same constants.
//!
//! log2 x = k + log2 c + log2(1 + r) as in [`log_f32`](super::log_f32), with a polynomial of degree
//! 5 for the last term. Then y log2 x = n/32 + s with an integer n and s of at most 1/64; 2^(n/32)
//! is a table entry with an adjusted exponent, and 2^s is approximated by a polynomial of degree 3.
//! Everything is computed in 64 bits without fused operations and rounded at the end.
//!
//! Example: 3^1.5. log2 3 = 1 + 0.584963, and 1.5 times that is 2.377444 = 76/32 + 0.002444, so
//! that the power is 2^2 * 2^(12/32) * 2^0.002444 = 4 * 1.296840 * 1.001695 = 5.196152.
//!
//! Source: `powf` of the Arm Optimized Routines,
//! <https://github.com/ARM-software/optimized-routines>, which glibc 2.28 and later contain; the
//! constants are facts of that algorithm.

use super::log_f32::ReducedFloat;
use crate::base::num::{masked_index, round_f32};

/// log2 c of the intervals of [`ReducedFloat`].
const LOG2: [f64; 16] = [
    f64::from_bits(0xbfde_fec6_5b96_3019),
    f64::from_bits(0xbfdb_0b68_32d4_fca4),
    f64::from_bits(0xbfd7_418b_0a1f_b77b),
    f64::from_bits(0xbfd3_9de9_1a6d_cf7b),
    f64::from_bits(0xbfd0_1d9b_f3f2_b631),
    f64::from_bits(0xbfc9_7c1d_1b3b_7af0),
    f64::from_bits(0xbfc2_f9e3_93af_3c9f),
    f64::from_bits(0xbfb9_60cb_bf78_8d5c),
    f64::from_bits(0xbfaa_6f9d_b647_5fce),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x3fb3_38ca_9f24_f53d),
    f64::from_bits(0x3fc4_76a9_5438_91ba),
    f64::from_bits(0x3fce_840b_4ac4_e4d2),
    f64::from_bits(0x3fd4_0645_f0c6_651c),
    f64::from_bits(0x3fd8_8e9c_2c1b_9ff8),
    f64::from_bits(0x3fdc_e0a4_4eb1_7bcc),
];
/// The coefficients of the powers 5 to 1 of r.
const LOG2_POLYNOMIAL: [f64; 5] = [
    f64::from_bits(0x3fd2_7616_c949_6e0b),
    f64::from_bits(0xbfd7_1969_a075_c67a),
    f64::from_bits(0x3fde_c70a_6ca7_badd),
    f64::from_bits(0xbfe7_1547_48be_f6c8),
    f64::from_bits(0x3ff7_1547_652a_b82b),
];
/// 2^(n/32), each the nearest float.
const POWERS_OF_TWO: [f64; 32] = [
    f64::from_bits(0x3ff0_0000_0000_0000),
    f64::from_bits(0x3ff0_59b0_d315_8574),
    f64::from_bits(0x3ff0_b558_6cf9_890f),
    f64::from_bits(0x3ff1_1301_d012_5b51),
    f64::from_bits(0x3ff1_72b8_3c7d_517b),
    f64::from_bits(0x3ff1_d487_3168_b9aa),
    f64::from_bits(0x3ff2_387a_6e75_6238),
    f64::from_bits(0x3ff2_9e9d_f51f_dee1),
    f64::from_bits(0x3ff3_06fe_0a31_b715),
    f64::from_bits(0x3ff3_71a7_373a_a9cb),
    f64::from_bits(0x3ff3_dea6_4c12_3422),
    f64::from_bits(0x3ff4_4e08_6061_892d),
    f64::from_bits(0x3ff4_bfda_d536_2a27),
    f64::from_bits(0x3ff5_342b_569d_4f82),
    f64::from_bits(0x3ff5_ab07_dd48_5429),
    f64::from_bits(0x3ff6_247e_b03a_5585),
    f64::from_bits(0x3ff6_a09e_667f_3bcd),
    f64::from_bits(0x3ff7_1f75_e8ec_5f74),
    f64::from_bits(0x3ff7_a114_73eb_0187),
    f64::from_bits(0x3ff8_2589_994c_ce13),
    f64::from_bits(0x3ff8_ace5_422a_a0db),
    f64::from_bits(0x3ff9_3737_b0cd_c5e5),
    f64::from_bits(0x3ff9_c491_82a3_f090),
    f64::from_bits(0x3ffa_5503_b23e_255d),
    f64::from_bits(0x3ffa_e89f_995a_d3ad),
    f64::from_bits(0x3ffb_7f76_f2fb_5e47),
    f64::from_bits(0x3ffc_199b_dd85_529c),
    f64::from_bits(0x3ffc_b720_dcef_9069),
    f64::from_bits(0x3ffd_5818_dcfb_a487),
    f64::from_bits(0x3ffd_fc97_337b_9b5f),
    f64::from_bits(0x3ffe_a4af_a2a4_90da),
    f64::from_bits(0x3fff_5076_5b6e_4540),
];
/// The coefficients of the powers 3 to 1 of s.
const POWER_POLYNOMIAL: [f64; 3] = [
    f64::from_bits(0x3fac_6af8_4b91_2394),
    f64::from_bits(0x3fce_bfce_50fa_c4f3),
    f64::from_bits(0x3fe6_2e42_ff0c_52d6),
];
/// Adding and subtracting this rounds to a multiple of 1/32.
const ROUNDING: f64 = 6_755_399_441_055_744.0 / 32.0;
/// Beyond this logarithm the power is infinite.
const HIGHEST_LOG2: f64 = f64::from_bits(0x405f_ffff_ffd1_d571);
/// Up to this logarithm the power is 0.
const ZERO_LOG2: f64 = -150.0;

/// `base` to the power of `exponent`. The base is a finite number above 1, the exponent any number
/// but NaN.
pub(crate) fn pow_f32(base: f32, exponent: f32) -> f32 {
    let log2 = f64::from(exponent) * log2(base);
    if log2 > HIGHEST_LOG2 {
        return f32::INFINITY;
    }
    if log2 <= ZERO_LOG2 {
        return 0.0;
    }
    round_f32(power_of_two(log2))
}

fn log2(x: f32) -> f64 {
    let reduced = ReducedFloat::new(x);
    let r = reduced.rest;
    let [fifth, fourth, third, second, first] = LOG2_POLYNOMIAL;
    let square = r * r;
    let high = fifth * r + fourth;
    let middle = third * r + second;
    let low = first * r + (LOG2[reduced.interval] + reduced.exponent);
    high * (square * square) + (middle * square + low)
}

/// 2^x for x in -150..=128.
fn power_of_two(x: f64) -> f64 {
    let shifted = x + ROUNDING;
    let s = x - (shifted - ROUNDING);
    // The low bits of `shifted` are n: its last five bits select the power, the others are added to
    // the exponent.
    let n = shifted.to_bits();
    let table = POWERS_OF_TWO[masked_index(n, 31)].to_bits();
    let scale = f64::from_bits(table.wrapping_add((n >> 5) << 52));
    let [third, second, first] = POWER_POLYNOMIAL;
    let high = third * s + second;
    let low = first * s + 1.0;
    (high * (s * s) + low) * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Powers with the bits of `powf` of glibc 2.36.
    #[test]
    fn powers_have_the_bits_of_the_reference() {
        let cases: &[(f32, f32, u32)] = &[
            (2.0, 2.0, 0x4080_0000),
            (3.0, 1.5, 0x40a6_46e1),
            (7.0, 0.75, 0x4089_b669),
            (16.0, 0.25, 0x4000_0000),
            (100.0, -1.0, 0x3c23_d70a),
            (512.0, -0.5, 0x3d35_04f3),
            (2.0, 14.2, 0x4693_088b),
            (3.0, -16.5, 0x3266_6b62),
            (7.0, -20.0, 0x2367_2f43),
            (16.0, 100.0, 0x7f80_0000),
            (100.0, -100.0, 0x0000_0000),
            (512.0, 0.001, 0x3f80_cd0e),
            (2.0, f32::INFINITY, 0x7f80_0000),
            (2.0, f32::NEG_INFINITY, 0x0000_0000),
        ];
        for (base, exponent, bits) in cases {
            let power = pow_f32(*base, *exponent);
            assert_eq!(power.to_bits(), *bits, "{base}^{exponent} = {power}");
        }
    }

    /// A digest of the powers -15 to 25, in steps of 0.01, of the lengths 1 to 512, computed with
    /// `powf` of glibc 2.36.
    #[test]
    fn powers_have_the_digest_of_the_reference() {
        let mut digest = 0u64;
        for hundredth in -1500i16..=2500 {
            let exponent = f32::from(hundredth) * 0.01;
            for length in 1u16..=512 {
                let bits = pow_f32(f32::from(length), exponent).to_bits();
                digest = digest
                    .wrapping_mul(0x0100_0000_01b3)
                    .wrapping_add(bits.into());
            }
        }
        assert_eq!(digest, 0x82d3_d6d5_ec43_1e73);
    }
}
