//! The texts that mean true and false in options, command-line flags and specs.

/// The value of a flag: `true`, `t`, `yes`, `y`, `1` and the empty text are true; `false`, `f`,
/// `no`, `n` and `0` are false, in upper or lower case. `None` for all other texts. The reference
/// accepts the same texts.
pub(crate) fn parse_flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "" | "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_flag;

    #[test]
    fn every_text_has_the_value_that_the_reference_gives_it() {
        for text in ["", "true", "TRUE", "t", "yes", "Y", "1"] {
            assert_eq!(parse_flag(text), Some(true), "{text:?}");
        }
        for text in ["false", "F", "no", "N", "0"] {
            assert_eq!(parse_flag(text), Some(false), "{text:?}");
        }
        for text in ["2", " true", "on", "truex"] {
            assert_eq!(parse_flag(text), None, "{text:?}");
        }
    }
}
