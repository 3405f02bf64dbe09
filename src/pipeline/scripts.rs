//! Cutting where the script changes, as the component `UnicodeScripts` does.
//!
//! Hiragana and Katakana count as Han. The space and characters that Unicode 9 does not list belong
//! to any script. What stands before the first character with a script is in no part, and neither is
//! a text without such a character.

use std::ops::Range;

use crate::base::script::{Script, listed_script_of};

/// Passes the parts of a text.
pub(super) fn cut(text: &str, mut on_part: impl FnMut(Range<usize>)) {
    let mut last = None;
    let mut start = None;
    for (at, c) in text.char_indices() {
        let Some(script) = script_of(c) else {
            continue;
        };
        if last != Some(script) {
            if let Some(start) = start.replace(at) {
                on_part(start..at);
            }
            last = Some(script);
        }
    }
    if let Some(start) = start {
        on_part(start..text.len());
    }
}

/// The script of a character; `None` if it belongs to any.
fn script_of(c: char) -> Option<Script> {
    match c {
        ' ' => None,
        '\u{30FC}' => Some(Script::HAN),
        _ => listed_script_of(c).map(|script| match script {
            Script::HIRAGANA | Script::KATAKANA => Script::HAN,
            script => script,
        }),
    }
}
