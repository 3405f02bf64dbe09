//! Normalization rules from a TSV file, read as the reference reads it.
//!
//! A line is `source TAB target`, both as hexadecimal code points separated by spaces; everything
//! after a second tab is a comment. No target means that the source is deleted. Lines end with a
//! line feed only (a carriage return passes as white space around the last number), an empty line
//! is an error, and if two lines have the same source, the later one wins. The digits of a code
//! point may be preceded by `U+`, a plus sign and `0x`, in this order, and its value may be any
//! number of 32 bits.

use super::rule_set::Rules;

/// A line of a rule file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the normalization rules: {what}")]
#[non_exhaustive]
pub struct TsvRuleError {
    /// The line number, from 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub what: TsvFault,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TsvFault {
    /// No code point before the first tab.
    #[error("no code point before the first tab; write which characters are replaced")]
    NoSource,
    /// Not a hexadecimal number of 32 bits.
    #[error("{0:?} is no hexadecimal code point such as 00E9 or U+00E9")]
    NotHexadecimal(String),
}

/// Reads a rule file.
pub(crate) fn parse_tsv(file: &[u8]) -> Result<Rules, TsvRuleError> {
    let body = file.strip_suffix(b"\n").unwrap_or(file);
    if file.is_empty() {
        return Ok(Rules::default());
    }
    body.split(|&byte| byte == b'\n')
        .zip(1..)
        .map(|(text, line)| parse_line(text).map_err(|what| TsvRuleError { line, what }))
        .collect()
}

fn parse_line(line: &[u8]) -> Result<(Vec<u32>, Vec<u32>), TsvFault> {
    let mut fields = line.split(|&byte| byte == b'\t');
    let source = parse_points(fields.next().unwrap_or_default())?;
    let target = parse_points(fields.next().unwrap_or_default())?;
    if source.is_empty() {
        return Err(TsvFault::NoSource);
    }
    Ok((source, target))
}

fn parse_points(field: &[u8]) -> Result<Vec<u32>, TsvFault> {
    field
        .split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty())
        .map(parse_word)
        .collect()
}

/// A code point, with or without `U+`: a hexadecimal number as Abseil's `SimpleHexAtoi` reads it.
fn parse_word(word: &[u8]) -> Result<u32, TsvFault> {
    let mut number = word.strip_prefix(b"U+").unwrap_or(word);
    // Unlike `trim_ascii`, C's `isspace` accepts the vertical tab.
    while let [b' ' | b'\t'..=b'\r', rest @ ..] | [rest @ .., b' ' | b'\t'..=b'\r'] = number {
        number = rest;
    }
    let number = number.strip_prefix(b"+").unwrap_or(number);
    let digits = match number {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits => digits,
    };
    let value = digits.iter().try_fold(0_u32, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        value.checked_mul(16)?.checked_add(digit)
    });
    value
        .filter(|_| !digits.is_empty())
        .ok_or_else(|| TsvFault::NotHexadecimal(String::from_utf8_lossy(word).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = &'static [(&'static [u32], &'static [u32])];

    #[test]
    fn well_formed_lines_are_read() {
        let table: &[(&str, &[u8], Pairs)] = &[
            ("empty file", b"", &[]),
            ("plain", b"41\t61\n", &[(&[0x41], &[0x61])]),
            ("no line feed at the end", b"41\t61", &[(&[0x41], &[0x61])]),
            (
                "sequences",
                b"41 300\t61 62 63\n",
                &[(&[0x41, 0x300], &[0x61, 0x62, 0x63])],
            ),
            ("deletion without a tab", b"41\n", &[(&[0x41], &[])]),
            ("deletion with a tab", b"41\t\n", &[(&[0x41], &[])]),
            (
                "comment",
                b"41\t61\t# zzz\tand more\n",
                &[(&[0x41], &[0x61])],
            ),
            ("U+", b"U+41\tU+0061\n", &[(&[0x41], &[0x61])]),
            ("0x", b"0x41\t0X61\n", &[(&[0x41], &[0x61])]),
            (
                "both, and a sign",
                b"U+0x41\tU++61\n",
                &[(&[0x41], &[0x61])],
            ),
            (
                "CR LF",
                b"41\t61\r\n42\t62\r\n",
                &[(&[0x41], &[0x61]), (&[0x42], &[0x62])],
            ),
            (
                "more spaces",
                b"  41   42 \t  61 \n",
                &[(&[0x41, 0x42], &[0x61])],
            ),
            (
                "white space around",
                b"\x0B41\x0C\t\r61\n",
                &[(&[0x41], &[0x61])],
            ),
            (
                "the later line counts",
                b"41\t61\n41\t62\n",
                &[(&[0x41], &[0x62])],
            ),
            (
                "sorted by number",
                b"42\t1\n41 1\t2\n41\t3\n",
                &[(&[0x41], &[3]), (&[0x41, 1], &[2]), (&[0x42], &[1])],
            ),
            (
                "beyond Unicode",
                b"FFFFFFFF\t110000\n",
                &[(&[0xFFFF_FFFF], &[0x11_0000])],
            ),
            ("NUL and a surrogate", b"0\tD800\n", &[(&[0], &[0xD800])]),
            (
                "case of digits",
                b"aBcD\t00000000000fF\n",
                &[(&[0xABCD], &[0xFF])],
            ),
        ];
        for (name, file, expected) in table {
            let rules = parse_tsv(file).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(
                rules.iter().eq(expected.iter().copied()),
                "{name}: {rules:?}"
            );
        }
    }

    #[test]
    fn malformed_lines_are_refused() {
        let bad = |word: &str| TsvFault::NotHexadecimal(word.to_owned());
        let table: &[(&str, &[u8], usize, TsvFault)] = &[
            ("empty line", b"\n", 1, TsvFault::NoSource),
            (
                "empty line between",
                b"41\t61\n\n42\t62\n",
                2,
                TsvFault::NoSource,
            ),
            ("only a tab", b"\t61\n", 1, TsvFault::NoSource),
            ("only spaces", b"  \t61\n", 1, TsvFault::NoSource),
            ("no digit", b"41\t6G\n", 1, bad("6G")),
            ("negative", b"-41\t61\n", 1, bad("-41")),
            ("negative zero", b"-0\t61\n", 1, bad("-0")),
            ("too large", b"100000000\t61\n", 1, bad("100000000")),
            ("U+ alone", b"U+\t61\n", 1, bad("U+")),
            ("U+ twice", b"U+U+41\t61\n", 1, bad("U+U+41")),
            ("small u", b"u+41\t61\n", 1, bad("u+41")),
            ("0x alone", b"0x\t61\n", 1, bad("0x")),
            ("two signs", b"++41\t61\n", 1, bad("++41")),
            ("lone carriage return", b"41\t\r\n", 1, bad("\r")),
            ("comma", b"41,42\t61\n", 1, bad("41,42")),
            ("text", b"41\t61\nA\tb\nxyz\tb\n", 3, bad("xyz")),
            ("NUL byte", b"41\0\t61\n", 1, bad("41\0")),
            ("bad UTF-8", b"\xFF\t61\n", 1, bad("\u{FFFD}")),
        ];
        for (name, file, line, what) in table {
            let error = parse_tsv(file).expect_err(name);
            assert_eq!((error.line, &error.what), (*line, what), "{name}");
        }
    }
}
