//! The expressions that have a scanner, and the positions at which their texts can be split.
//!
//! # Boundaries
//!
//! Let p be a position between two characters a and c of a text, a a letter, and c no letter, no
//! mark, no apostrophe and none of the characters of [`is_cjk`]. For each scanner
//! of this page, the pretokens of the text are those of the part before p, followed by those of the
//! part after it:
//!
//! * A match that has a ends at p. What can hold a letter is a word, a contraction, or a run of Han
//!   or of DeepSeek's range. After a letter, words go on with letters and marks, or with a
//!   contraction, whose first character is an apostrophe; contractions go on with letters; a run of
//!   Han does not go on after p because its match ends before the first character that is not Han,
//!   or else c is Han, is no letter and no mark, and is excluded below; DeepSeek's range is
//!   excluded for c.
//! * The same match is found in the part before p. Words and runs take all that they can, and see
//!   at p an end instead of a character that does not continue them. A contraction has its letters
//!   before p or, `'l` before c, is none in either text. In words with case, the choice between the
//!   two alternatives depends on whether a lower-case letter follows a run; c is none.
//! * Matches before this one end before a. They depend on no character after a: runs stop at a or
//!   before it; `(?!\S)` and `$` look at one character after white space, and a is no white space.
//!   Groups of numbers from the right look to the end of their run, which is at a or before it, and at
//!   the character before them; a is no number.
//! * The scanners keep no state: what they find from p on depends on the text from p on.
//!
//! c must not be Han either, because in Kimi's pattern 〇, a number, goes on with a run of Han.

use std::ops::Range;

use super::classes::{HAN, LETTER, MARK, NUMBER, character, long_character};
use super::scan::{Contractions, PatternRules, Words, scan, skip_ascii_without_digits};

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident { $($constant:ident: $type:ty = $value:expr;)* })*) => {$(
        $(#[$doc])*
        struct $name;
        impl PatternRules for $name { $(const $constant: $type = $value;)* }
    )*};
}

rules! {
    /// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
    Gpt2 {
        CONTRACTIONS: Contractions = Contractions::First;
        WORDS: Words = Words::Letters;
        ONLY_SPACE_BEFORE: bool = true;
        NUMBERS: usize = usize::MAX;
        LINE_ENDS_AFTER_SYMBOLS: bool = false;
        LINE_ENDS: bool = false;
    }
    Cl100k {
        CONTRACTIONS: Contractions = Contractions::FirstAnyCase;
        WORDS: Words = Words::Letters;
        NUMBERS: usize = 3;
        END: bool = true;
    }
    /// What Oniguruma makes of the expression of [`Cl100k`]: `{1,3}+` is not possessive there.
    Cl100kAnyNumbers {
        CONTRACTIONS: Contractions = Contractions::FirstAnyCase;
        WORDS: Words = Words::Letters;
        NUMBERS: usize = usize::MAX;
        END: bool = true;
    }
    Llama3 {
        CONTRACTIONS: Contractions = Contractions::FirstAnyCase;
        WORDS: Words = Words::Letters;
        NUMBERS: usize = 3;
    }
    /// [`Llama3`] with its numbers in groups of three from the right.
    Llama3PlaceDigits {
        CONTRACTIONS: Contractions = Contractions::FirstAnyCase;
        WORDS: Words = Words::Letters;
        NUMBERS: usize = 3;
        NUMBERS_FROM_RIGHT: bool = true;
    }
    Nanochat {
        CONTRACTIONS: Contractions = Contractions::FirstAnyCase;
        WORDS: Words = Words::Letters;
        NUMBERS: usize = 2;
    }
    Qwen2 {
        CONTRACTIONS: Contractions = Contractions::FirstAnyCase;
        WORDS: Words = Words::Letters;
        NUMBERS: usize = 1;
    }
    O200k {
        CONTRACTIONS: Contractions = Contractions::LastAnyCase;
        WORDS: Words = Words::Cased;
        NUMBERS: usize = 3;
        SLASHES_AFTER_SYMBOLS: bool = true;
    }
    /// [`O200k`] with its numbers in groups of three from the right.
    O200kPlaceDigits {
        CONTRACTIONS: Contractions = Contractions::LastAnyCase;
        WORDS: Words = Words::Cased;
        NUMBERS: usize = 3;
        NUMBERS_FROM_RIGHT: bool = true;
        SLASHES_AFTER_SYMBOLS: bool = true;
    }
    Tekken {
        CONTRACTIONS: Contractions = Contractions::None;
        WORDS: Words = Words::Cased;
        NUMBERS: usize = 1;
        SLASHES_AFTER_SYMBOLS: bool = true;
    }
    Kimi {
        CONTRACTIONS: Contractions = Contractions::LastAnyCase;
        WORDS: Words = Words::CasedAfterHan;
        NUMBERS: usize = 3;
    }
    /// The third of DeepSeek V3's splits alone.
    DeepSeekWords {
        CONTRACTIONS: Contractions = Contractions::None;
        WORDS: Words = Words::LettersAndMarks;
        NUMBERS: usize = 0;
    }
}

/// A scanner, by its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanner {
    Gpt2,
    Cl100k,
    Cl100kAnyNumbers,
    Llama3,
    Llama3PlaceDigits,
    Nanochat,
    Qwen2,
    O200k,
    O200kPlaceDigits,
    Tekken,
    Kimi,
    DeepSeekWords,
    DeepSeek,
}

pub(crate) const GPT2: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// tiktoken's form.
pub(super) const R50K: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
/// The form of older releases of tiktoken, and of minbpe.
pub(super) const R50K_BEFORE: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
pub(super) const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
/// The same without quantifiers and anchors that mean something else to Oniguruma.
pub(super) const CL100K_PORTABLE: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s";
/// Also the form of cl100k in files of the library tokenizers, and in older releases of tiktoken.
pub(super) const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The default of rustbpe, and minbpe's form of cl100k.
pub(super) const RUSTBPE: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
pub(super) const NANOCHAT: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
pub(super) const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(super) const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(super) const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// From `tokenization_kimi.py` of Kimi K2.
pub(super) const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The splits of DeepSeek V3, in order. The line ends are characters of the expressions.
pub(crate) const DEEPSEEK: [&str; 3] = [
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
];

/// The second stage of SuperBPE, from `scripts/extend_tokenizer.sh`. It has no scanner, and text
/// between its matches is a pretoken, too.
pub(super) const SUPERBPE: &str = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)";

/// The alternative for numbers.
const NUMBERS: &str = r"|\p{N}{1,3}|";
/// Alternatives for numbers in groups of three from the right, which match the same where no other
/// alternative matches a number. An engine that backtracks takes linear time with the first one, which
/// looks to the end of a run only from its beginning, and with the others quadratic time.
const PLACE_DIGITS: [&str; 4] = [
    r"|(?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{3}|",
    r"|\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|",
    r"|\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))|",
    r"|\p{N}{1,3}(?=(?:\p{N}{3})*(?:$|\P{N}))|",
];

/// The expression with its numbers in groups of three from the right instead of the left: `1234567` is
/// `1`, `234`, `567`.
pub(super) fn with_place_digits(expression: &str) -> String {
    expression.replacen(NUMBERS, PLACE_DIGITS[0], 1)
}

/// The forms of an expression with groups from the right.
#[cfg(test)]
pub(super) fn place_digits_forms(expression: &str) -> [String; PLACE_DIGITS.len()] {
    PLACE_DIGITS.map(|form| expression.replacen(PLACE_DIGITS[0], form, 1))
}

/// The expression that has groups of three numbers from the left where this one has them from the right.
/// Its matches are possible matches of the other, too: what is adjacent in these is so in those.
pub(super) fn place_digits_base(expression: &str) -> Option<String> {
    let mut forms = PLACE_DIGITS.iter();
    let form = forms.find(|form| expression.contains(**form))?;
    Some(expression.replacen(form, NUMBERS, 1))
}

/// The expression that matches what `expression` matches, and the texts between.
pub(super) fn expression_with_gaps(expression: &str) -> String {
    format!("(?:{expression})|(?:(?!{expression})(?s:.))+")
}

/// The expression of which this is the one [with gaps](expression_with_gaps).
pub(super) fn expression_without_gaps(expression: &str) -> Option<&str> {
    let length = expression
        .len()
        .checked_sub(expression_with_gaps("").len())?
        / 2;
    let inner = expression.strip_prefix("(?:")?.get(..length)?;
    // A comment would hide what follows it.
    (!inner.contains('#') && expression_with_gaps(inner) == expression).then_some(inner)
}

impl Scanner {
    /// The scanner of an expression; `oniguruma`: read as this library reads it.
    pub(super) fn of(expression: &str, oniguruma: bool) -> Option<Self> {
        Some(match expression {
            GPT2 | R50K | R50K_BEFORE => Self::Gpt2,
            CL100K if oniguruma => Self::Cl100kAnyNumbers,
            CL100K | CL100K_PORTABLE => Self::Cl100k,
            LLAMA3 | RUSTBPE => Self::Llama3,
            NANOCHAT => Self::Nanochat,
            QWEN2 => Self::Qwen2,
            O200K => Self::O200k,
            TEKKEN => Self::Tekken,
            KIMI => Self::Kimi,
            _ if expression == DEEPSEEK[2] => Self::DeepSeekWords,
            _ => match &*place_digits_base(expression)? {
                LLAMA3 | RUSTBPE => Self::Llama3PlaceDigits,
                O200K => Self::O200kPlaceDigits,
                _ => return None,
            },
        })
    }

    /// The name of the pretokenizer that has this scanner.
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Gpt2 => "gpt2",
            Self::Cl100k => "cl100k",
            Self::Llama3 => "llama3",
            Self::Llama3PlaceDigits => "llama3-place-digits",
            Self::Nanochat => "nanochat",
            Self::Qwen2 => "qwen2",
            Self::O200k => "o200k",
            Self::O200kPlaceDigits => "o200k-place-digits",
            Self::Tekken => "tekken",
            Self::Kimi => "kimi",
            Self::DeepSeek => "deepseek-v3",
            Self::Cl100kAnyNumbers | Self::DeepSeekWords => return None,
        })
    }

    /// The expression by which published vocabularies are cut like that, if one cuts the same in every
    /// syntax, in a form that tokenizers 1.0 knows; it knows no other expressions. With `\p{N}{1,2}` it
    /// takes three numbers at a time.
    pub(super) fn published(self) -> Option<&'static str> {
        Some(match self {
            Self::Gpt2 => GPT2,
            Self::Llama3 => LLAMA3,
            Self::Qwen2 => QWEN2,
            Self::O200k => O200K,
            Self::Tekken => TEKKEN,
            Self::Kimi => KIMI,
            Self::Cl100k
            | Self::Cl100kAnyNumbers
            | Self::Nanochat
            | Self::Llama3PlaceDigits
            | Self::O200kPlaceDigits
            | Self::DeepSeekWords
            | Self::DeepSeek => return None,
        })
    }

    /// Whether every character is part of a match.
    pub(super) fn is_total(self) -> bool {
        !matches!(self, Self::DeepSeekWords | Self::DeepSeek)
    }

    /// Passes the parts of a text and whether they are matches: see [`scan`].
    #[inline]
    pub(super) fn for_each(self, text: &[u8], on_part: impl FnMut(usize, usize, bool)) {
        match self {
            Self::Gpt2 => scan::<Gpt2>(text, on_part),
            Self::Cl100k => scan::<Cl100k>(text, on_part),
            Self::Cl100kAnyNumbers => scan::<Cl100kAnyNumbers>(text, on_part),
            Self::Llama3 => scan::<Llama3>(text, on_part),
            Self::Llama3PlaceDigits => scan::<Llama3PlaceDigits>(text, on_part),
            Self::Nanochat => scan::<Nanochat>(text, on_part),
            Self::Qwen2 => scan::<Qwen2>(text, on_part),
            Self::O200k => scan::<O200k>(text, on_part),
            Self::O200kPlaceDigits => scan::<O200kPlaceDigits>(text, on_part),
            Self::Tekken => scan::<Tekken>(text, on_part),
            Self::Kimi => scan::<Kimi>(text, on_part),
            Self::DeepSeekWords => scan::<DeepSeekWords>(text, on_part),
            Self::DeepSeek => scan_deepseek(text, on_part),
        }
    }
}

/// DeepSeek V3's splits: at numbers, three at a time; at runs of [`is_cjk`]; and the third in each
/// of the parts. That one does not change a part of numbers.
#[inline]
fn scan_deepseek(text: &[u8], mut on_part: impl FnMut(usize, usize, bool)) {
    let mut at = 0;
    while let Some(first) = character(text, at) {
        let start = at;
        let cjk = is_cjk(first.code);
        at += first.len;
        if first.class & NUMBER != 0 {
            for _ in 1..3 {
                at += character(text, at)
                    .filter(|c| c.class & NUMBER != 0)
                    .map_or(0, |c| c.len);
            }
            on_part(start, at, true);
            continue;
        }
        loop {
            if !cjk {
                at = skip_ascii_without_digits(text, at);
            }
            let next = match text.get(at) {
                Some(0x80..) => Some(long_character(text, at)),
                _ => character(text, at),
            };
            match next {
                Some(c) if c.class & NUMBER == 0 && is_cjk(c.code) == cjk => at += c.len,
                _ => break,
            }
        }
        let part = text.get(start..at).unwrap_or_default();
        scan::<DeepSeekWords>(part, |from, to, is_match| {
            on_part(start + from, start + to, is_match)
        });
    }
}

/// The characters of DeepSeek V3's second split.
fn is_cjk(code: u32) -> bool {
    matches!(code, 0x4E00..=0x9FA5 | 0x3040..=0x30FF)
}

/// The first position in a range, from 1 on, at which a text can be split: see the page of the
/// module.
pub(super) fn first_boundary(text: &[u8], range: Range<usize>) -> Option<usize> {
    // The character before the range begins at the last byte that continues none.
    let nearest = range.start.saturating_sub(4);
    let bytes = text.get(nearest..range.start)?;
    let mut at = match bytes.iter().rposition(|byte| byte & 0xC0 != 0x80) {
        Some(start) => nearest + start,
        None => range.start,
    };
    let mut before = character(text, at)?;
    loop {
        at += before.len;
        let after = character(text, at).filter(|_| at < range.end)?;
        if at >= range.start
            && before.class & LETTER != 0
            && after.class & (LETTER | MARK | HAN) == 0
            && after.code != u32::from(b'\'')
            && !is_cjk(after.code)
        {
            return Some(at);
        }
        before = after;
    }
}
