//! The `.vocab` file: pieces and scores as lines of text.
//!
//! Input: the pieces of a model. Output: one line for each piece, in the order of the ids: the text and, if wanted, a tab
//! and the score with six significant digits, as a C++ stream prints a float. Example: piece `▁the` with score -16.0 is
//! the line `▁the<TAB>-16`; a score of -1234567 is written as `-1.23457e+06`. Cost: linear.

use crate::piece::PieceTable;

/// Significant digits of a score.
const DIGITS: i32 = 6;
/// Whole numbers below it have at most six digits.
const MAX_WHOLE: f32 = 1e6;

/// A line for each piece, with its score behind a tab if `with_scores`.
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

/// The number with six significant digits, as C's `%g` prints it: no trailing zeros, an exponent of at
/// least two digits if it is below -4 or above 5.
pub(crate) fn six_digits(value: f32) -> String {
    if !value.is_finite() {
        return name_of(value).to_owned();
    }
    // The scores of BPE models. Their shortest form has all digits, and is found in a fifth of the time.
    if value.fract() == 0.0 && value.abs() < MAX_WHOLE {
        return value.to_string();
    }
    let scientific = format!("{:.5e}", f64::from(value));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        return trim_zeros(&with_point(mantissa, exponent)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
}

/// The number without its exponent: the point is moved by so many digits, to the left if it is negative. A second conversion of
/// the number would take as long as the first one. Example: `-1.23456` and -2 give `-0.0123456`.
fn with_point(mantissa: &str, exponent: i32) -> String {
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
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
    use super::six_digits;

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
}
