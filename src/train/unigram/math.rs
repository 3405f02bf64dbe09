//! The floating-point functions of unigram training, with the same bits on every platform.
//!
//! Input and output: 32-bit scores, which are natural logarithms of probabilities, and 64-bit intermediate values. The
//! reference calls the mathematical library of the system. Its 64-bit results are rounded to 32 bits at once, so that
//! the last bits of that library do not reach a model; here the functions of the crate `libm` are used everywhere.
//!
//! Example: the sum of two paths of probability 1/2 and 1/4 has the logarithm
//! `log_sum(ln 0.5, ln 0.25) = ln 0.75`, computed without leaving the logarithmic scale:
//!
//! ```text
//! high = -0.6931472, low = -1.3862944
//! high + ln(1 + e^(low - high)) = -0.6931472 + ln(1.5) = -0.2876821
//! ```
//!
//! Sources: functions `LogSumExp` and `Digamma` of SentencePiece 0.2.3.

use crate::text::num::{masked_index, round_f32};

/// Above this difference the smaller operand of a sum does not change the result.
const NEGLIGIBLE: f32 = 50.0;
/// From this difference on the result is the larger operand, whether or not the difference counts as negligible: the sum
/// differs from the larger operand by less than 10^-27, which only changes an operand near 0; and then the smaller one
/// is so low that the difference is negligible.
const SURELY_NEGLIGIBLE: f32 = 64.0;
/// Rows of the table of ln(1 + e^-x) for each unit of x.
const ROWS_PER_UNIT: f64 = 8.0;
/// Rows of that table, a power of two. Only those below [`MAX_TABLE_X`] are used.
const ROWS: usize = 256;
/// Larger x have no row. From here on ln(1 + e^-x) is below 2.1 * 10^-9, and does not change a 32-bit float of magnitude 1
/// or more, whose neighbours are at least 5.9 * 10^-8 away.
const MAX_TABLE_X: f32 = 20.0;
/// Coefficients of a row.
const TERMS: usize = 8;
/// The powers of the coefficients of a row in the order in which they are stored: the two halves of the polynomial side by
/// side, so that the processor can evaluate both at once.
const POWERS: [usize; TERMS] = [0, 4, 1, 5, 2, 6, 3, 7];
/// Adding and subtracting this rounds a 64-bit float to an integer. The low bits of the sum are the integer.
const ROUNDING: f64 = 6_755_399_441_055_744.0;
/// Below this x, e^x is 10^-217: together with any count it is lost beside a sum of [`MIN_FAST_SUM`].
const MIN_EXPONENT: f32 = -500.0;
/// Smaller sums are computed with `libm`: 32-bit floats below 10^-37 have fewer bits.
const MIN_FAST_SUM: f64 = 1e-36;
/// The low bits of a 64-bit float that rounding to 32 bits removes.
const REMOVED_BITS: u64 = (1 << 29) - 1;
/// The value of these bits half-way between two 32-bit floats.
const HALF_WAY: u64 = 1 << 28;

/// The functions that the E step calls for every edge, with tables.
///
/// Only results rounded to 32 bits are needed. So a result is computed with an error of less than 2^-42 of its value, and
/// again with the functions of `libm` if it lies so close to the middle of two 32-bit floats that the error could change
/// the rounding; the margins are 2^-17 and 2^-20 of the distance of two floats. The result is therefore that of `libm`.
///
/// * ln(1 + e^-x) for x in 0..20: a polynomial of degree 7 around the nearest eighth. The coefficients follow from those
///   of the logistic function u, whose derivative is u - u^2. The remainder is below 1.2 * (1/16)^8 / 8! < 10^-14.
/// * e^x: 2^(n/32) from a table, times a polynomial of degree 5 for the rest, |r| <= ln(2)/64; the remainder is below
///   0.011^6 / 6! < 3 * 10^-15.
///
/// The functions have no branches but those that are almost never taken.
#[derive(Debug)]
pub(super) struct FastMath {
    /// By eighth: the coefficients of the powers of the distance from it.
    log_one_plus_exp: Box<[[f64; TERMS]; ROWS]>,
    /// 2^(n/32) for n in 0..32.
    powers_of_two: [f64; 32],
}

/// An expected count before it is added to the sum of its piece.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExpectedCount {
    /// About frequency * e^x.
    value: f64,
    x: f32,
}

impl FastMath {
    pub(super) fn new() -> FastMath {
        let mut table = Box::new([[0.0; TERMS]; ROWS]);
        for (row, eighth) in table.iter_mut().zip(0..) {
            let terms = taylor_terms(-f64::from(eighth) / ROWS_PER_UNIT);
            *row = POWERS.map(|power| terms[power]);
        }
        let mut powers_of_two = [0.0; 32];
        for (power, n) in powers_of_two.iter_mut().zip(0..32) {
            *power = libm::exp2(f64::from(n) / 32.0);
        }
        FastMath {
            log_one_plus_exp: table,
            powers_of_two,
        }
    }

    /// The logarithm of the sum of two probabilities that are given as logarithms. Negative infinity is the neutral
    /// element.
    #[inline]
    pub(super) fn log_sum(&self, a: f32, b: f32) -> f32 {
        let low = if b < a { b } else { a };
        let high = if b < a { a } else { b };
        let difference = high - low;
        let sum = f64::from(high) + self.log_one_plus_exp(f64::from(difference));
        // The error of the table is small beside sums of this size.
        let is_exact =
            difference < MAX_TABLE_X && sum.abs() > 1.0 / 16.0 && rounds_safely(sum, 1 << 11);
        if is_exact {
            return round_f32(sum);
        }
        let is_high =
            difference >= SURELY_NEGLIGIBLE || difference >= MAX_TABLE_X && high.abs() >= 1.0;
        if is_high {
            return high;
        }
        log_sum(low, high)
    }

    /// ln(1 + e^-x) for x in 0..20, with an error below 10^-14. Any number for other x.
    #[inline]
    fn log_one_plus_exp(&self, x: f64) -> f64 {
        let shifted = x * ROWS_PER_UNIT + ROUNDING;
        let eighths = shifted - ROUNDING;
        let row = masked_index(shifted.to_bits(), ROWS - 1);
        let terms = &self.log_one_plus_exp[row];
        evaluate(terms, eighths * (1.0 / ROWS_PER_UNIT) - x)
    }

    /// The count of a piece whose probability in a text of this frequency is e^x.
    #[inline]
    pub(super) fn expected_count(&self, frequency: f64, x: f32) -> ExpectedCount {
        let bounded = if x < MIN_EXPONENT { MIN_EXPONENT } else { x };
        ExpectedCount {
            value: frequency * self.exp(f64::from(bounded)),
            x,
        }
    }

    /// `total` and the count, `total + frequency * e^x`, computed in 64 bits and rounded. `frequency` is that of the count.
    #[inline]
    pub(super) fn add_count(&self, total: f32, count: ExpectedCount, frequency: f64) -> f32 {
        let sum = f64::from(total) + count.value;
        if sum > MIN_FAST_SUM && rounds_safely(sum, 1 << 8) {
            return round_f32(sum);
        }
        add_exp(total, frequency, count.x)
    }

    /// e^x for x in -500..=500, with a relative error below 10^-14.
    #[inline]
    fn exp(&self, x: f64) -> f64 {
        const PARTS: f64 = 32.0 / std::f64::consts::LN_2;
        const PART_HIGH: f64 = f64::from_bits(0x3f96_2e42_fef0_0000);
        /// The second summand is what the constant of the standard library lacks.
        const PART_LOW: f64 =
            (std::f64::consts::LN_2 / 32.0 - PART_HIGH) + 2.319_046_813_846_3e-17 / 32.0;
        let shifted = x * PARTS + ROUNDING;
        let parts = shifted - ROUNDING;
        let rest = (x - parts * PART_HIGH) - parts * PART_LOW;
        let square = rest * rest;
        let high = (1.0 / 6.0 + rest * (1.0 / 24.0)) + square * (1.0 / 120.0);
        let fraction = (1.0 + rest) + square * (0.5 + rest * high);
        // The low bits of `shifted` are the integer: its last five bits select the power, the others are the exponent.
        let integer = shifted.to_bits();
        let power = self.powers_of_two[masked_index(integer, 31)];
        let exponent = (integer >> 5) << 52;
        f64::from_bits(power.to_bits().wrapping_add(exponent)) * fraction
    }
}

/// The first coefficients of ln(1 + e^(middle + t)) as a power series in t.
fn taylor_terms(middle: f64) -> [f64; TERMS] {
    let logistic = 1.0 / (1.0 + libm::exp(-middle));
    // The coefficients of the logistic function: (n + 1) u[n + 1] = u[n] - sum of u[i] u[n - i].
    let mut u = [logistic; TERMS];
    let mut terms = [libm::log1p(libm::exp(middle)); TERMS];
    let mut order = 1.0;
    for n in 0..TERMS - 1 {
        let products: f64 = (0..=n).map(|i| u[i] * u[n - i]).sum();
        u[n + 1] = (u[n] - products) / order;
        // The derivative of the function is the logistic function.
        terms[n + 1] = u[n] / order;
        order += 1.0;
    }
    terms
}

/// The polynomial with these coefficients, in the order of [`POWERS`], at `t`, in a form with short chains of operations.
#[inline]
fn evaluate(terms: &[f64; TERMS], t: f64) -> f64 {
    let square = t * t;
    let low = (terms[0] + terms[2] * t) + square * (terms[4] + terms[6] * t);
    let high = (terms[1] + terms[3] * t) + square * (terms[5] + terms[7] * t);
    low + square * square * high
}

/// Whether rounding `x` to 32 bits gives the same for all numbers within `margin` units in the last place.
#[inline]
fn rounds_safely(x: f64, margin: u64) -> bool {
    let removed = x.to_bits() & REMOVED_BITS;
    removed.wrapping_sub(HALF_WAY - margin) > 2 * margin
}

/// The logarithm of the sum of two probabilities that are given as logarithms, the smaller one first.
#[cold]
#[inline(never)]
fn log_sum(low: f32, high: f32) -> f32 {
    if high > low + NEGLIGIBLE {
        return high;
    }
    let ratio = libm::exp(f64::from(low - high));
    round_f32(f64::from(high) + libm::log1p(ratio))
}

/// `total + frequency * e^x`, computed in 64 bits and rounded.
#[cold]
#[inline(never)]
fn add_exp(total: f32, frequency: f64, x: f32) -> f32 {
    round_f32(f64::from(total) + frequency * libm::exp(f64::from(x)))
}

/// The natural logarithm.
pub(super) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The derivative of the logarithm of the gamma function, for positive `x`.
///
/// The recurrence moves `x` to 7 or more, where an asymptotic series around `x - 1/2` is exact enough. The constants and
/// the order of the operations are the reference's.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    x -= 0.5;
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let fourth = square * square;
    result += ln(x) + (1.0 / 24.0) * square - (7.0 / 960.0) * fourth
        + (31.0 / 8064.0) * fourth * square
        - (127.0 / 30720.0) * fourth * fourth;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_sum_adds_probabilities() {
        let math = FastMath::new();
        let sum = math.log_sum(0.5f32.ln(), 0.25f32.ln());
        assert!((sum - 0.75f32.ln()).abs() < 1e-6, "{sum}");
        assert_eq!(math.log_sum(-1.0, -2.0), math.log_sum(-2.0, -1.0));
        assert_eq!(math.log_sum(-1.0, -51.1), -1.0, "too small to count");
        assert_eq!(math.log_sum(f32::NEG_INFINITY, -3.0), -3.0);
        assert_eq!(math.log_sum(-3.0, f32::NEG_INFINITY), -3.0);
    }

    /// Numbers of all sizes below `limit`, the same in every run.
    fn samples(limit: f32) -> impl Iterator<Item = f32> {
        let mut state = 1u32;
        (0..200_000).map(move |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let uniform = f64::from(state) / 4_294_967_296.0;
            limit * round_f32(uniform * uniform)
        })
    }

    #[test]
    fn fast_functions_equal_those_of_libm_after_rounding() {
        let math = FastMath::new();
        for (x, high) in samples(60.0).zip(samples(300.0).skip(7)) {
            let low = -high - x;
            assert_eq!(
                math.log_sum(low, -high).to_bits(),
                log_sum(low, -high).to_bits(),
                "{low} {high}"
            );
        }
        for (x, total) in samples(120.0).zip(samples(1000.0).skip(3)) {
            for total in [total, 0.0] {
                let frequency = f64::from(total) + 1.0;
                let count = math.expected_count(frequency, -x);
                let sum = math.add_count(total, count, frequency);
                let expected = add_exp(total, frequency, -x);
                assert_eq!(sum.to_bits(), expected.to_bits(), "{total} {x}");
            }
        }
    }

    /// Differences around the bounds, sums near 0, and counts too small for 32 bits.
    #[test]
    fn fast_functions_equal_those_of_libm_at_their_bounds() {
        let math = FastMath::new();
        for difference in [
            19.99, 20.0, 20.01, 31.9, 49.99, 50.0, 50.01, 63.9, 64.0, 1e9,
        ] {
            for high in [
                -1e9, -1000.0, -64.0, -1.0, -0.99, -0.1, -1e-3, -1e-20, 0.0, 1e-30, 1e-20, 0.05,
            ] {
                let low = high - difference;
                let sum = math.log_sum(low, high);
                assert_eq!(sum.to_bits(), log_sum(low, high).to_bits(), "{low} {high}");
            }
        }
        for x in [
            -80.0, -86.0, -87.0, -88.0, -100.0, -499.9, -500.0, -501.0, -1e9, 0.1,
        ] {
            for total in [0.0, 1e-45, 1e-40, 1e-37, 1e-36, 1.0, 1e30] {
                for frequency in [1.0, 1e9] {
                    let count = math.expected_count(frequency, x);
                    let sum = math.add_count(total, count, frequency);
                    let expected = add_exp(total, frequency, x);
                    assert_eq!(sum.to_bits(), expected.to_bits(), "{total} {frequency} {x}");
                }
            }
        }
    }

    #[test]
    fn fast_functions_have_the_stated_errors() {
        let math = FastMath::new();
        for x in samples(MAX_TABLE_X) {
            let x = f64::from(x);
            let error = (math.log_one_plus_exp(x) - libm::log1p(libm::exp(-x))).abs();
            assert!(error < 1e-14, "{x}: {error}");
            let error = (math.exp(-25.0 * x) / libm::exp(-25.0 * x) - 1.0).abs();
            assert!(error < 1e-14, "{x}: {error}");
        }
    }

    #[test]
    fn digamma_has_its_known_values() {
        let euler = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + euler).abs() < 1e-9);
        assert!((digamma(2.0) - (1.0 - euler)).abs() < 1e-9);
        let half = -euler - 2.0 * std::f64::consts::LN_2;
        assert!((digamma(0.5) - half).abs() < 1e-9);
    }
}
