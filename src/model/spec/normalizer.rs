//! The table of `NormalizerSpec`.

use super::super::wire::Value;
use super::{FieldType, Spec, accessor, spec, stored_type};

spec! {
    /// How text is normalized before it is encoded, or after it is decoded (the denormalizer).
    ///
    /// Each field is `None` if the file does not have it; the method of the same name then gives
    /// the default.
    NormalizerSpec {
        /// Name of the rules, for example `nmt_nfkc`; `user_defined` for rules from a file.
        1 name: bytes = b"";
        /// The compiled rules; empty if text is not changed.
        2 precompiled_charsmap: bytes = b"";
        /// Whether one space is added before the text (after it with `treat_whitespace_as_suffix`).
        3 add_dummy_prefix: bool = true;
        /// Whether spaces at both ends, and all but one between words, are removed.
        4 remove_extra_whitespaces: bool = true;
        /// Whether spaces are written as U+2581.
        5 escape_whitespaces: bool = true;
        /// Path of the file of rules.
        6 normalization_rule_tsv: bytes = b"";
        /// A flag of a fork for machine translation; ignored.
        7 encode_case: bool = false;
        /// A flag of the same fork; ignored.
        8 decode_case: bool = false;
    }
}

impl NormalizerSpec {
    /// Sets the rules: their name and their precompiled charsmap.
    pub(in crate::model) fn set_rules(&mut self, name: &str, charsmap: &[u8]) {
        self.name = Some(name.into());
        self.precompiled_charsmap = Some(charsmap.to_vec());
    }
}
