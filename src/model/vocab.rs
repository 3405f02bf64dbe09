//! The `.vocab` file: pieces and scores as lines of text.
//!
//! A line for each piece, in the order of the ids: the text and, if wanted, a tab and the score
//! with six significant digits, as a C++ stream prints a float. Example: piece `▁the` with score
//! -16.0 is the line `▁the<TAB>-16`; a score of -1234567 is written as `-1.23457e+06`.

use crate::base::num::low_u32;
use crate::piece::PieceTable;

/// Significant digits of a score.
const DIGITS: i32 = 6;
/// Whole numbers below this have at most six digits.
const MAX_WHOLE: f32 = 1e6;
/// The smallest number with six digits before the point.
const MIN_WHOLE: f64 = 1e5;
/// The factors that give numbers from about 1e-4 up six digits before the point.
const POWERS_OF_TEN: [u32; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];
const TWO_TO_52: f64 = 4_503_599_627_370_496.0;

/// One line for each piece, followed by a tab and the score if `with_scores` is true.
pub(crate) fn vocab_lines(pieces: &PieceTable, with_scores: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    for id in 0..pieces.len() {
        lines.extend_from_slice(pieces.text(id));
        if with_scores {
            lines.push(b'\t');
            lines.extend_from_slice(six_digits(pieces.score(id)).as_bytes());
        }
        lines.push(b'\n');
    }
    lines
}

/// The number with six significant digits, as C's `%g` prints it: without trailing zeros, and with
/// an exponent of at least two digits if the exponent is below -4 or above 5.
pub(crate) fn six_digits(value: f32) -> String {
    if !value.is_finite() {
        return name_of(value).to_owned();
    }
    // The scores of BPE models are such numbers. Their shortest form has all digits and takes a
    // fifth of the time.
    if value.fract() == 0.0 && value.abs() < MAX_WHOLE {
        return value.to_string();
    }
    fixed_point(value).unwrap_or_else(|| general(value))
}

/// [`six_digits`] of a number from about 1e-4 to 1e6, as the scores of unigram models are; `None`
/// for other numbers. It takes a fraction of the time of [`general`].
///
/// The product with the power of ten is exact: a float has 24 significant bits, and 10^9 has 21
/// without its factor 2^9. So rounding it, with ties to even, equals rounding the decimal
/// expansion. Example: -13.020_325 is multiplied by 10^4 and rounded to 130203, which is written as
/// `-13.0203`.
fn fixed_point(value: f32) -> Option<String> {
    let magnitude = f64::from(value.abs());
    let (decimals, power) = decimals_of(magnitude)?;
    let rounded = (magnitude * f64::from(power)).round_ties_even();
    if rounded >= f64::from(MAX_WHOLE) {
        return None;
    }
    let digits = whole_number(rounded);
    let sign = if value < 0.0 { "-" } else { "" };
    let whole = digits / power;
    if decimals == 0 {
        return Some(format!("{sign}{whole}"));
    }
    let number = format!("{sign}{whole}.{:0decimals$}", digits % power);
    Some(trim_zeros(&number).to_owned())
}

/// The number of decimals with which a number has six significant digits, and ten to that power.
fn decimals_of(magnitude: f64) -> Option<(usize, u32)> {
    let mut powers = (0..).zip(POWERS_OF_TEN);
    powers.find(|&(_, power)| magnitude * f64::from(power) >= MIN_WHOLE)
}

/// A whole number below 2^32 as an integer.
fn whole_number(number: f64) -> u32 {
    // The low bits of a float of at least 2^52 are its whole number.
    low_u32((number + TWO_TO_52).to_bits())
}

/// [`six_digits`] of any finite number.
fn general(value: f32) -> String {
    let scientific = format!("{:.5e}", f64::from(value));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        return trim_zeros(&with_point(mantissa, exponent)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
}

/// The number without its exponent: the point is moved by `exponent` digits, to the left if it is
/// negative. Formatting the number again would take as long as the first time. Example: `-1.23456`
/// and -2 give `-0.0123456`.
fn with_point(mantissa: &str, exponent: i32) -> String {
    let (sign, digits) = mantissa.split_at(usize::from(mantissa.starts_with('-')));
    let digits = digits.replace('.', "");
    let shift = exponent.unsigned_abs() as usize;
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(shift - 1));
    }
    let (whole, decimals) = digits.split_at((shift + 1).min(digits.len()));
    format!("{sign}{whole}.{decimals}")
}

/// How C prints a number that is not finite.
fn name_of(value: f32) -> &'static str {
    match value {
        f32::INFINITY => "inf",
        f32::NEG_INFINITY => "-inf",
        _ => "nan",
    }
}

fn trim_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::{fixed_point, general, six_digits};

    #[test]
    fn numbers_print_as_in_c() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (-1.0, "-1"),
            (-31999.0, "-31999"),
            (100_000.0, "100000"),
            (-999_999.0, "-999999"),
            (-1_000_000.0, "-1e+06"),
            (-1_234_567.0, "-1.23457e+06"),
            (-3.465_78, "-3.46578"),
            (-13.0203, "-13.0203"),
            (0.000_012_345_67, "1.23457e-05"),
            (0.000_123_456_7, "0.000123457"),
            (999_999.5, "1e+06"),
            (1e20, "1e+20"),
            (f32::NAN, "nan"),
            (f32::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(six_digits(value), text);
        }
    }
    #[test]
    fn fixed_point_is_the_general_conversion() {
        let spread = (0..100_000_u32).map(|n| f32::from_bits(n * 42_949));
        let ties = (0..2_000_u16).flat_map(|n| {
            let half = f32::from(n) + 0.5;
            [half, half + 100_000.0, half / 16.0, half / 1024.0]
        });
        let powers = (-10..10).map(|exponent| 10_f32.powi(exponent));
        let borders = powers.flat_map(|power| [power.next_down(), power, power.next_up()]);
        let mut compared = 0;
        for value in spread.chain(ties).chain(borders) {
            for value in [value, -value] {
                if let Some(text) = fixed_point(value) {
                    assert_eq!(text, general(value), "{value:e}");
                    compared += 1;
                }
            }
        }
        assert!(
            compared > 25_000,
            "only {compared} numbers were in the range"
        );
    }
}
