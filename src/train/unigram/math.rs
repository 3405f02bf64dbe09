//! The floating-point functions of unigram training, with the same bits on every platform.
//!
//! Scores are 32-bit natural logarithms of probabilities; intermediate values have 64 bits. The
//! reference calls the mathematical library of the system. Its 64-bit results are immediately
//! rounded to 32 bits, so that the last bits of that library do not reach a model. This module uses
//! the functions of the crate `libm` on every platform.
//!
//! Example: the sum of two paths of probability 1/2 and 1/4 has the logarithm `log_sum(ln 0.5, ln
//! 0.25) = ln 0.75`, computed without leaving the logarithmic scale:
//!
//! ```text
//! high = -0.6931472, low = -1.3862944
//! high + ln(1 + e^(low - high)) = -0.6931472 + ln(1.5) = -0.2876821
//! ```
//!
//! Sources: functions `LogSumExp` and `Digamma` of SentencePiece 0.2.3.

use std::cmp::Ordering;

use crate::base::log_sum::log_sum;
use crate::base::num::{masked_index, round_f32};

/// The number of low bits of a 32-bit float that do not affect the row in the table of ln(1 +
/// e^-x). The exponent and 6 bits of the mantissa select the row, so there are 64 rows between two
/// powers of two.
const ROW_SHIFT: u32 = 17;
/// Where the second row begins: 1/64. The first row covers all lower x.
const SECOND_ROW: u32 = 0x3C80_0000 >> ROW_SHIFT;
/// Where the last row begins: 26. It covers all higher x. There the function is below 5.2 * 10^-12,
/// which is less than the error of the table, and the table has 0.
const LAST_ROW: u32 = 0x41D0_0000 >> ROW_SHIFT;
/// The number of rows of the table.
const ROWS: usize = (LAST_ROW - SECOND_ROW + 2) as usize;
/// The number of coefficients of a row.
const TERMS: usize = 4;
/// The number of Taylor coefficients from which a row is computed.
const TAYLOR_TERMS: usize = 5;
/// The table is used for sums with a greater absolute value, relative to which its error is small.
const MIN_TABLE_SUM: f64 = 1.0;
/// The error of the table in units in the last place of a sum above [`MIN_TABLE_SUM`]: 1.1 *
/// 10^-10.
const LOG_SUM_MARGIN: u64 = 1 << 19;
/// Adding and subtracting this rounds a 64-bit float to an integer. The low bits of the sum are the
/// integer.
const ROUNDING: f64 = 6_755_399_441_055_744.0;
/// The number of entries of the table of 2^(n/128). It is a power of two.
const POWERS: usize = 128;
/// The same as a float.
const POWERS_F64: f64 = 128.0;
/// The binary logarithm of [`POWERS`].
const POWER_BITS: u32 = POWERS.trailing_zeros();
/// The lowest x for which e^x is computed. There e^x is below 10^-217: times any frequency, it does
/// not change a sum above [`MIN_FAST_SUM`].
const MIN_EXPONENT: f32 = -500.0;
/// Smaller sums are computed with `libm`: 32-bit floats below about 10^-38 are subnormal and have
/// fewer bits.
const MIN_FAST_SUM: f64 = 1e-36;
/// The error that a count adds to a sum, in units in the last place of the sum: 3.6 * 10^-12 of the
/// sum.
const COUNT_MARGIN: u64 = 1 << 15;
/// The low bits of a 64-bit float that rounding to 32 bits removes.
const REMOVED_BITS: u64 = (1 << 29) - 1;
/// The value of these bits half-way between two 32-bit floats.
const HALF_WAY: u64 = 1 << 28;

/// The functions that the E step calls for every edge, with tables.
///
/// Only results rounded to 32 bits are needed. So a result is first computed with a small error. If
/// it lies so close to the middle between two 32-bit floats that the error could change the
/// rounding, it is computed again with the functions of `libm`: about one logarithm in 500 and one
/// count in 8,000. The result is therefore always that of `libm`. A smaller error would cost more
/// operations for each edge than it saves.
///
/// * ln(1 + e^-x) for x in 0..26: a polynomial of degree 3 for each 64th of the range between two
///   powers of two. The row is then part of the bits of x, and rows are narrow near 0, where the
///   derivatives are large. The polynomial is the Taylor polynomial of degree 4 around the middle
///   of the row, whose last term is replaced by its best approximation of degree 2: t^4 differs
///   from h^2 t^2 - h^4/8 by at most h^4/8, where h is half the width of the row. The coefficients
///   follow from those of the logistic function u, whose derivative is u - u^2. The error is
///   largest for x from 4, where h is 1/32 and the coefficient of t^4 at most 0.00066: 7.9 *
///   10^-11, and 3.4 * 10^-12 more for the terms left out. The polynomial is expanded in powers of
///   x, so that x needs no subtraction; the coefficients are small, and the rounding errors of 64
///   bits are far below the error of the polynomial.
/// * e^x: 2^(n/128) from a table, times a polynomial of degree 3 for the rest, |r| <= ln(2)/256;
///   the remainder is below 0.00271^4 / 24 * 1.01 < 2.3 * 10^-12, and x - n ln(2)/128 has an error
///   below 2 * 10^-13 for |x| <= 500.
///
/// The only branches of the functions are almost never taken.
#[derive(Debug)]
pub(super) struct FastMath {
    /// The coefficients of the powers of x.
    log_one_plus_exp: Box<[[f64; TERMS]; ROWS]>,
    /// 2^(n/128) for n in 0..128.
    powers_of_two: Box<[f64; POWERS]>,
}

/// An expected count before it is added to the sum of its piece.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExpectedCount {
    /// About frequency * e^x.
    value: f64,
    x: f32,
}

impl FastMath {
    pub(super) fn new() -> Self {
        let mut log_one_plus_exp = Box::new([[0.0; TERMS]; ROWS]);
        // The last row is 0.
        for (row, number) in log_one_plus_exp[..ROWS - 1]
            .iter_mut()
            .zip(SECOND_ROW - 1..)
        {
            *row = numbered_row(number);
        }
        Self {
            log_one_plus_exp,
            powers_of_two: powers_of_two(),
        }
    }

    /// The logarithm of the sum of two probabilities that are given as logarithms. Negative
    /// infinity is the neutral element.
    #[inline]
    pub(super) fn log_sum(&self, a: f32, b: f32) -> f32 {
        let high = if b < a { a } else { b };
        let sum = self.add_log_one_plus_exp(f64::from(high), (a - b).abs());
        if sum.abs() > MIN_TABLE_SUM && rounds_safely(sum, LOG_SUM_MARGIN) {
            return round_f32(sum);
        }
        exact_log_sum(a, b)
    }

    /// `summand` + ln(1 + e^-x) for finite x from 0, with an error below 10^-10.
    #[inline]
    fn add_log_one_plus_exp(&self, summand: f64, x: f32) -> f64 {
        // Non-negative floats have the same order as their bits.
        let number = (x.to_bits() >> ROW_SHIFT).clamp(SECOND_ROW - 1, LAST_ROW);
        let terms = &self.log_one_plus_exp[(number - (SECOND_ROW - 1)) as usize];
        let x = f64::from(x);
        // Two independent halves shorten the chain of dependent operations.
        ((summand + terms[0]) + terms[1] * x) + (x * x) * (terms[2] + terms[3] * x)
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

    /// `total + frequency * e^x`, computed in 64 bits and rounded. `frequency` must be the one that
    /// `count` was computed with.
    #[inline]
    pub(super) fn add_count(&self, total: f32, count: ExpectedCount, frequency: f64) -> f32 {
        let sum = f64::from(total) + count.value;
        if sum > MIN_FAST_SUM && rounds_safely(sum, COUNT_MARGIN) {
            return round_f32(sum);
        }
        add_exp(total, frequency, count.x)
    }

    /// e^x for x in -500..=500, with a relative error below 3 * 10^-12.
    #[inline]
    fn exp(&self, x: f64) -> f64 {
        const PARTS_PER_UNIT: f64 = POWERS_F64 / std::f64::consts::LN_2;
        const PART: f64 = std::f64::consts::LN_2 / POWERS_F64;
        let shifted = x * PARTS_PER_UNIT + ROUNDING;
        let parts = shifted - ROUNDING;
        let rest = x - parts * PART;
        let fraction = (1.0 + rest) + (rest * rest) * (0.5 + rest * (1.0 / 6.0));
        // The low bits of `shifted` are the integer: its last bits select the power, the others are
        // the exponent.
        let integer = shifted.to_bits();
        let power = self.powers_of_two[masked_index(integer, POWERS - 1)];
        let exponent = (integer >> POWER_BITS) << 52;
        f64::from_bits(power.to_bits().wrapping_add(exponent)) * fraction
    }
}

/// 2^(n/128) for n in 0..128.
fn powers_of_two() -> Box<[f64; POWERS]> {
    let mut powers = Box::new([0.0; POWERS]);
    for (power, n) in powers.iter_mut().zip(0u8..) {
        *power = libm::exp2(f64::from(n) / POWERS_F64);
    }
    powers
}

/// The row for all x whose bits begin with `number`. The first row covers all lower x, too.
fn numbered_row(number: u32) -> [f64; TERMS] {
    let start = row_start(number);
    let half_width = (row_start(number + 1) - start) / 2.0;
    row_terms(start + half_width, half_width)
}

/// Where the row with this number starts.
fn row_start(number: u32) -> f64 {
    if number < SECOND_ROW {
        0.0
    } else {
        f64::from(f32::from_bits(number << ROW_SHIFT))
    }
}

/// The coefficients of the powers of x for ln(1 + e^-x), for x within `half_width` of `middle`.
fn row_terms(middle: f64, half_width: f64) -> [f64; TERMS] {
    let taylor = taylor_terms(-middle);
    let square = half_width * half_width;
    let c0 = taylor[0] - taylor[4] * square * square / 8.0;
    let c1 = taylor[1];
    let c2 = taylor[2] + taylor[4] * square;
    let c3 = taylor[3];
    // The powers of t = middle - x.
    [
        c0 + middle * (c1 + middle * (c2 + middle * c3)),
        -(c1 + middle * (2.0 * c2 + middle * 3.0 * c3)),
        c2 + middle * 3.0 * c3,
        -c3,
    ]
}

/// The first coefficients of ln(1 + e^(middle + t)) as a power series in t.
fn taylor_terms(middle: f64) -> [f64; TAYLOR_TERMS] {
    let logistic = 1.0 / (1.0 + libm::exp(-middle));
    // The coefficients of the logistic function: (n + 1) u[n + 1] = u[n] - sum of u[i] u[n - i].
    let mut u = [logistic; TAYLOR_TERMS];
    let mut terms = [libm::log1p(libm::exp(middle)); TAYLOR_TERMS];
    let mut order = 1.0;
    for n in 0..TAYLOR_TERMS - 1 {
        let products: f64 = (0..=n).map(|i| u[i] * u[n - i]).sum();
        u[n + 1] = (u[n] - products) / order;
        // The derivative of the function is the logistic function.
        terms[n + 1] = u[n] / order;
        order += 1.0;
    }
    terms
}

/// Whether all numbers within `margin` units in the last place of `x` round to the same 32-bit
/// float.
#[inline]
fn rounds_safely(x: f64, margin: u64) -> bool {
    let removed = x.to_bits() & REMOVED_BITS;
    removed.wrapping_sub(HALF_WAY - margin) > 2 * margin
}

/// The sum without tables. Not inlined, since it is rarely needed.
#[cold]
#[inline(never)]
fn exact_log_sum(a: f32, b: f32) -> f32 {
    log_sum(a, b)
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

/// The order from the greatest to the least number. Numbers that cannot be compared are equal.
pub(super) fn descending(a: f32, b: f32) -> Ordering {
    b.partial_cmp(&a).unwrap_or(Ordering::Equal)
}

/// The derivative of the logarithm of the gamma function, for positive `x`.
///
/// The recurrence moves `x` to 7 or more, where [`digamma_series`] is accurate enough.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    result + digamma_series(x - 0.5)
}

/// The asymptotic series of [`digamma`] at `x + 1/2`. The constants and the order of the operations
/// are the reference's.
fn digamma_series(x: f64) -> f64 {
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let fourth = square * square;
    ln(x) + (1.0 / 24.0) * square - (7.0 / 960.0) * fourth + (31.0 / 8064.0) * fourth * square
        - (127.0 / 30720.0) * fourth * fourth
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
            19.99, 25.98, 25.99, 26.0, 26.01, 31.9, 49.99, 50.0, 50.01, 63.9, 64.0, 1e9,
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
        for x in samples(26.0).chain([26.0]) {
            let sum = math.add_log_one_plus_exp(0.0, x);
            let x = f64::from(x);
            let error = (sum - libm::log1p(libm::exp(-x))).abs();
            assert!(error < 1e-10, "{x}: {error}");
            let error = (math.exp(-19.0 * x) / libm::exp(-19.0 * x) - 1.0).abs();
            assert!(error < 3e-12, "{x}: {error}");
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
