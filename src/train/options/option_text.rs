//! Texts of options that trainers of tokens have in common, read by name.

use std::str::FromStr;

use super::flag_value::FlagValue;
use super::{InputFormat, OptionError};
use crate::input::Document;

/// The text of an option.
#[derive(Debug, Clone, Copy)]
pub(in crate::train) struct OptionText<'f>(pub(in crate::train) &'f str);

impl OptionText<'_> {
    /// The error for a text that is no value of the option.
    pub(in crate::train) fn wrong(
        self,
        option: &'static str,
        expected: &'static str,
    ) -> OptionError {
        OptionError::Value {
            option,
            value: self.0.to_owned(),
            expected,
        }
    }

    /// A number, which may have spaces around it.
    pub(in crate::train) fn number<N: FromStr>(
        self,
        option: &'static str,
        expected: &'static str,
    ) -> Result<N, OptionError> {
        let number = self.0.trim_ascii().parse();
        number.map_err(|_| self.wrong(option, expected))
    }

    pub(in crate::train) fn switch(self, option: &'static str) -> Result<bool, OptionError> {
        let value = <bool as FlagValue>::parse(self.0);
        value.ok_or_else(|| self.wrong(option, <bool as FlagValue>::EXPECTED))
    }

    /// The value of `document`.
    pub(in crate::train) fn document(self) -> Result<Document, OptionError> {
        let document = Document::from_name(self.0);
        document.ok_or_else(|| self.wrong("document", "line, record or file"))
    }

    /// The value of `input_format`.
    pub(in crate::train) fn input_format(self) -> Result<InputFormat, OptionError> {
        match self.0 {
            "" | "text" => Ok(InputFormat::Text),
            "tsv" => Ok(InputFormat::Tsv),
            _ => Err(self.wrong("input_format", "text or tsv")),
        }
    }
}
