//! The `.vocab` file: pieces and scores as lines of text.
//!
//! Input: the pieces of a model. Output: one line for each piece, in the order of the ids: the text and, if wanted, a tab
//! and the score with six significant digits, as a C++ stream prints a float. Example: piece `▁the` with score -16.0 is
//! the line `▁the<TAB>-16`; a score of -1234567 is written as `-1.23457e+06`. Cost: linear.

use std::fmt::Write as _;

use crate::piece::PieceTable;

/// Whole numbers below it have at most six digits.
const MAX_WHOLE: f32 = 1e6;
/// From here numbers are printed without exponent.
const MIN_PLAIN: f64 = 1e-4;
/// Numbers below the first of these have 9 decimals, those below the second one 8, and so on. From the last one they are rounded to
/// 10^6, which has an exponent.
const PLAIN_BOUNDS: [f64; 10] = [1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 999_999.5];

/// A line for each piece, with its score behind a tab if `with_scores`.
pub(crate) fn vocab_lines(pieces: &PieceTable, with_scores: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut number = String::new();
    for id in 0..pieces.len() {
        lines.extend_from_slice(pieces.text(id));
        if with_scores {
            lines.push(b'\t');
            number.clear();
            lines.extend_from_slice(print_six_digits(pieces.score(id), &mut number).as_bytes());
        }
        lines.push(b'\n');
    }
    lines
}

/// The number with six significant digits, as C's `%g` prints it: no trailing zeros, an exponent of at
/// least two digits if it is below -4 or above 5. `buffer` is empty.
fn print_six_digits(value: f32, buffer: &mut String) -> &str {
    if !value.is_finite() {
        return name_of(value);
    }
    // The scores of BPE models. Their shortest form has all digits, and is found in a fifth of the time.
    if value.fract() == 0.0 && value.abs() < MAX_WHOLE {
        // Writing to a string does not fail.
        let _ = write!(buffer, "{value}");
        return buffer;
    }
    let value = f64::from(value);
    let bound = PLAIN_BOUNDS.iter().position(|bound| value.abs() < *bound);
    if let Some(bound) = bound.filter(|_| value.abs() >= MIN_PLAIN) {
        let decimals = PLAIN_BOUNDS.len() - 1 - bound;
        let _ = write!(buffer, "{value:.decimals$}");
        return trim_zeros(buffer);
    }
    *buffer = with_exponent(value);
    buffer
}

/// A number that has an exponent, unless rounding it gives [`MIN_PLAIN`].
fn with_exponent(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = trim_zeros(mantissa);
    if exponent == -4 {
        return mantissa.replace('1', "0.0001");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
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
    use proptest::prelude::*;

    use super::print_six_digits;

    fn six_digits(value: f32) -> String {
        print_six_digits(value, &mut String::new()).to_owned()
    }

    /// From the scientific form of the number.
    fn from_scientific(value: f32) -> String {
        let scientific = format!("{:.5e}", f64::from(value));
        let (mantissa, exponent) = scientific.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        let trimmed = mantissa.trim_end_matches('0').trim_end_matches('.');
        if !(-4..6).contains(&exponent) {
            let sign = if exponent < 0 { '-' } else { '+' };
            return format!("{trimmed}e{sign}{:02}", exponent.abs());
        }
        let sign = if value < 0.0 { "-" } else { "" };
        let digits = mantissa.replace(['.', '-'], "");
        let shift = usize::try_from(exponent.abs()).unwrap();
        let plain = if exponent < 0 {
            format!("{sign}0.{}{digits}", "0".repeat(shift - 1))
        } else {
            let (whole, decimals) = digits.split_at(shift + 1);
            format!("{sign}{whole}.{decimals}")
        };
        plain.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn numbers_are_those_of_their_scientific_form(
            any in any::<f32>(),
            score in -30.0f32..0.0,
            power in -7i32..8,
            ulps in -3i32..4,
            eighths in 0u32..8_000_000,
        ) {
            let near = f32::from_bits(10f32.powi(power).to_bits().wrapping_add_signed(ulps));
            // Among them numbers half-way between two of six digits.
            let half_way = eighths as f32 / 8.0;
            for value in [any, score, near, -near, half_way] {
                if value.is_finite() && value != 0.0 {
                    prop_assert_eq!(six_digits(value), from_scientific(value), "{:e}", value);
                }
            }
        }
    }

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
            (-0.0001, "-0.0001"),
            (0.000_099_999_4, "9.99994e-05"),
            (-0.001, "-0.001"),
            (-9.999_996, "-10"),
            (-9.999_99, "-9.99999"),
            (-99_999.95, "-100000"),
            (-12.5, "-12.5"),
            (999_999.5, "1e+06"),
            (1e20, "1e+20"),
            (f32::NAN, "nan"),
            (f32::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(six_digits(value), text);
        }
    }
}
