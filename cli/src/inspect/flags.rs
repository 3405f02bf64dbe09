//! The training options that a model records, as flags for a shell.

use spiece::train::TrainingRecord;

/// The recorded options on one line, as flags of `spiece train` in the quotes of a POSIX shell, so
/// that `eval "spiece train $(...)"` and `... | xargs spiece train` work.
pub(super) fn command_line(record: &TrainingRecord) -> Vec<u8> {
    let flags = record.flags.recorded();
    let flags = flags.map(|(name, value)| format!("--{name}={}", quoted(&value)));
    let mut line = flags.collect::<Vec<_>>().join(" ").into_bytes();
    line.push(b'\n');
    line
}

/// The value in single quotes if a shell would read it as something else. A single quote in it is
/// written outside of them, in double quotes, which xargs reads, too.
fn quoted(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,+@%=".contains(&byte);
    if value.bytes().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_are_quoted_for_a_shell() {
        let cases = [
            ("", ""),
            ("a/b-1.txt,c", "a/b-1.txt,c"),
            (" \u{2047} ", "' \u{2047} '"),
            ("<s>", "'<s>'"),
            ("it's $HOME", "'it'\"'\"'s $HOME'"),
            ("a\nb", "'a\nb'"),
            ("~", "'~'"),
        ];
        for (value, expected) in cases {
            assert_eq!(quoted(value), expected);
        }
    }
}
