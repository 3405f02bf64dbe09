//! The types of flags: how each is parsed from text, printed, and recorded in the model.
//!
//! Booleans accept `true`, `t`, `yes`, `y`, `1` and their opposites in any case; an empty text is
//! `true`, as in `--byte_fallback`. Numbers may have spaces around them. Lists are comma separated
//! ([`super::csv`]).

use super::OptionKind;
use super::record::flag_text;
use crate::input::{Document, OnBadRecord};
use crate::model::{BytesList, ModelType};
use crate::train::options::csv::{join_csv, split_csv};

/// A type of flag: how its values are parsed, printed and recorded.
pub(in crate::train) trait FlagValue: Sized {
    const KIND: OptionKind;
    const EXPECTED: &'static str;
    type Record;
    fn parse(text: &str) -> Option<Self>;
    /// The text that [`FlagValue::parse`] reads as this value.
    fn text(&self) -> String;
    fn record(&self, present: bool) -> Self::Record;
    /// The recorded value; `None` if there is none, an error with what can be shown of it if it is
    /// not a value of a flag.
    fn of_record(record: &Self::Record) -> Option<Result<Self, String>>;
}

impl FlagValue for bool {
    const KIND: OptionKind = OptionKind::Flag;
    const EXPECTED: &'static str = "true or false";
    type Record = Option<Self>;

    /// The reference accepts the same texts.
    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "" | "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn record(&self, present: bool) -> Option<Self> {
        present.then_some(*self)
    }

    fn of_record(record: &Option<Self>) -> Option<Result<Self, String>> {
        record.map(Ok)
    }
}

/// Implements [`FlagValue`] for an integer type of the schema.
macro_rules! integer_flag {
    ($type:ty, $expected:literal) => {
        impl FlagValue for $type {
            const KIND: OptionKind = OptionKind::Value;
            const EXPECTED: &'static str = $expected;
            type Record = Option<$type>;

            fn parse(text: &str) -> Option<$type> {
                text.trim_ascii().parse().ok()
            }

            fn text(&self) -> String {
                self.to_string()
            }

            fn record(&self, present: bool) -> Option<$type> {
                present.then_some(*self)
            }

            fn of_record(record: &Option<$type>) -> Option<Result<$type, String>> {
                record.map(Ok)
            }
        }
    };
}
integer_flag!(i32, "a whole number of at most 31 bits");
integer_flag!(u32, "a whole number from 0 to 4294967295");
integer_flag!(u64, "a whole number, 0 or more");

impl FlagValue for f32 {
    const KIND: OptionKind = OptionKind::Value;
    const EXPECTED: &'static str = "a number";
    type Record = Option<Self>;

    /// Parses a double and narrows it, as the reference does: the double rounding affects the
    /// model.
    #[allow(clippy::cast_possible_truncation)]
    fn parse(text: &str) -> Option<Self> {
        text.trim_ascii()
            .parse::<f64>()
            .ok()
            .map(|value| value as Self)
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn record(&self, present: bool) -> Option<Self> {
        present.then_some(*self)
    }

    fn of_record(record: &Option<Self>) -> Option<Result<Self, String>> {
        record.map(Ok)
    }
}

/// Parses a flag that `spm_train` stores as a 32-bit float: rounded once.
pub(super) fn parse_single(text: &str) -> Option<f32> {
    text.trim_ascii().parse().ok()
}

impl FlagValue for String {
    const KIND: OptionKind = OptionKind::Value;
    const EXPECTED: &'static str = "text";
    type Record = Option<Vec<u8>>;

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn text(&self) -> String {
        self.clone()
    }

    fn record(&self, present: bool) -> Option<Vec<u8>> {
        present.then(|| self.clone().into_bytes())
    }

    fn of_record(record: &Option<Vec<u8>>) -> Option<Result<Self, String>> {
        record.as_deref().map(flag_text)
    }
}

impl FlagValue for Vec<String> {
    const KIND: OptionKind = OptionKind::List;
    const EXPECTED: &'static str = "a comma separated list";
    type Record = BytesList;

    fn parse(text: &str) -> Option<Self> {
        Some(split_csv(text))
    }

    fn text(&self) -> String {
        join_csv(self)
    }

    fn record(&self, _present: bool) -> BytesList {
        self.iter().collect()
    }

    fn of_record(record: &BytesList) -> Option<Result<Self, String>> {
        (!record.is_empty()).then(|| record.iter().map(flag_text).collect())
    }
}

impl FlagValue for ModelType {
    const KIND: OptionKind = OptionKind::Value;
    const EXPECTED: &'static str = "bpe, unigram, word or char";
    type Record = Option<Self>;

    fn parse(text: &str) -> Option<Self> {
        text.to_ascii_lowercase().parse().ok()
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn record(&self, _present: bool) -> Option<Self> {
        Some(*self)
    }

    fn of_record(record: &Option<Self>) -> Option<Result<Self, String>> {
        record.map(Ok)
    }
}

/// Implements [`FlagValue`] for an enum with names, which models do not record.
macro_rules! name_flag {
    ($type:ty) => {
        impl FlagValue for $type {
            const KIND: OptionKind = OptionKind::Value;
            const EXPECTED: &'static str = <$type>::EXPECTED;
            type Record = ();

            /// An empty text is the default, as an empty `input_format` is.
            fn parse(text: &str) -> Option<Self> {
                if text.is_empty() {
                    return Some(Self::default());
                }
                Self::from_name(text)
            }

            fn text(&self) -> String {
                self.to_string()
            }

            fn record(&self, _present: bool) {}

            fn of_record(_record: &()) -> Option<Result<Self, String>> {
                None
            }
        }
    };
}
name_flag!(Document);
name_flag!(OnBadRecord);

#[cfg(test)]
mod tests {
    use super::FlagValue;

    #[test]
    fn every_text_has_the_truth_that_the_reference_gives_it() {
        for text in ["", "true", "TRUE", "t", "yes", "Y", "1"] {
            assert_eq!(bool::parse(text), Some(true), "{text:?}");
        }
        for text in ["false", "F", "no", "N", "0"] {
            assert_eq!(bool::parse(text), Some(false), "{text:?}");
        }
        for text in ["2", " true", "on", "truex"] {
            assert_eq!(bool::parse(text), None, "{text:?}");
        }
    }
}
