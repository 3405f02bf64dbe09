//! Sums of numbers that are given as logarithms.

use crate::base::num::round_f32;

/// If two logarithms differ by more than this, the smaller number is ignored in their sum, as in
/// the reference.
const NEGLIGIBLE: f32 = 50.0;

/// log(exp(a) + exp(b)), computed in 64 bits and rounded, with the functions of `libm`, so that the
/// bits are the same on every platform.
pub(crate) fn log_sum(a: f32, b: f32) -> f32 {
    let (low, high) = if b < a { (b, a) } else { (a, b) };
    if high > low + NEGLIGIBLE {
        return high;
    }
    let ratio = libm::exp(f64::from(low - high));
    round_f32(f64::from(high) + libm::log1p(ratio))
}
