//! One scanner for the known patterns, and what they differ in.
//!
//! All of them are alternations in the same order, which is also the order of [`next`]:
//!
//! 1. a contraction: `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d` (in o200k a suffix of words instead);
//! 2. a word: letters, and before them at most one character of another kind;
//! 3. numbers;
//! 4. symbols: everything that is no letter, number or white space, with a space before them and
//!    line ends after them;
//! 5. white space: up to its last line end; or else all but its last character, which goes with
//!    what follows; or all of it at the end of the text.
//!
//! # White space
//!
//! Let R be the longest run of white space from a position where the alternatives before have
//! failed. `\s*[\r\n]+` (and `\s*[\r\n]`) matches as much of R as ends with its last line end:
//! `\s*` takes all of R and gives back the characters after that line end and the line end itself.
//! If R has none, `\s+(?!\S)` matches all of R at the end of the text, else R without its last
//! character, before which the next character is white space. If R is one character, this fails and
//! `\s+` (or `\s`) matches it. `\s++$`, where a pattern has it, comes before these and matches R
//! if it ends the text, line ends included.
//!
//! # Words with case
//!
//! o200k's two alternatives for words are `P?U*W+` and `P?U+W*`; U has the letters that are not
//! lower case and the marks, W those that are not upper case and the marks. Let X be what both have,
//! and R the longest run of U from the start of the word (after P). If a lower-case letter follows R,
//! the first alternative matches R and the longest run of W after it. Else `U*` has to give back
//! characters until `W+` can match, which is at the last X of R: the match ends after it, because
//! only upper case follows. If R has no X, the first alternative fails and the second matches R.
//!
//! P? can take a mark, which is also an X. With or without P the match is the same: a mark that
//! begins a word is an X of R, and the rules above give what the two alternatives give with the
//! mark as P. (If R without the mark is upper case only, `P?U*W+` fails with the mark as P, and then
//! matches the mark alone without P: the last X of R is the mark.)
//!
//! # Speed
//!
//! Most pretokens of most texts are a space and ASCII letters, or ASCII letters: eight bytes are
//! classified at once. The rest goes character by character through the table of classes.

use super::classes::{
    ASCII, Character, HAN, LETTER, LOWER, MARK, NUMBER, SPACE, SYMBOL, UPPER, character,
};

/// Where a pattern has its contractions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contractions {
    None,
    /// Before words, in lower case.
    First,
    /// Before words, in any case.
    FirstAnyCase,
    /// After words with case, in any case.
    LastAnyCase,
}

/// What a pattern calls a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// `\p{L}+`
    Letters,
    /// `[\p{L}\p{M}]+`, and before them ASCII punctuation with ASCII letters.
    LettersAndMarks,
    /// `U*W+`, `U+W*`: see the page of the module.
    Cased,
    /// The same without Han, and before them `\p{Han}+`.
    CasedAfterHan,
}

/// What the known patterns differ in.
pub(super) trait Rules {
    const CONTRACTIONS: Contractions;
    const WORDS: Words;
    /// Only a space stands before letters and before numbers; else any character but line ends,
    /// letters, numbers (with [`Words::LettersAndMarks`]: but line ends, letters, symbols).
    const ONLY_SPACE_BEFORE: bool = false;
    /// How many numbers a pretoken has at most; 0 if the pattern has no numbers.
    const NUMBERS: usize;
    /// Line ends may follow symbols.
    const LINE_ENDS_AFTER_SYMBOLS: bool = true;
    /// Slashes as well.
    const SLASHES_AFTER_SYMBOLS: bool = false;
    /// `\s*[\r\n]+`
    const LINE_ENDS: bool = true;
    /// `\s++$`
    const END: bool = false;

    /// The class of ASCII characters at the beginning of a word of ASCII letters.
    const STARTS: [Start; 256] = starts::<Self>();
}

/// What an ASCII character can be at the beginning of a pretoken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Other,
    Letter,
    /// What may stand before letters, and is not part of another rule that comes first.
    Before,
}

const fn starts<R: Rules + ?Sized>() -> [Start; 256] {
    let mut starts = [Start::Other; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        let class = ASCII[byte as usize];
        let first = matches!(
            R::CONTRACTIONS,
            Contractions::First | Contractions::FirstAnyCase
        );
        if class & LETTER != 0 {
            starts[byte as usize] = Start::Letter;
        } else if before_letters::<R>(class, byte as u32) && !(first && byte == b'\'') {
            starts[byte as usize] = Start::Before;
        }
        byte += 1;
    }
    starts
}

/// Whether a character that is no letter may stand before the letters of a word.
#[inline(always)]
const fn before_letters<R: Rules + ?Sized>(class: u8, code: u32) -> bool {
    if R::ONLY_SPACE_BEFORE {
        return code == b' ' as u32;
    }
    let others = match R::WORDS {
        Words::LettersAndMarks => LETTER | SYMBOL,
        _ => LETTER | NUMBER,
    };
    class & others == 0 && code != b'\n' as u32 && code != b'\r' as u32
}

/// Passes the ends of all matches and of the texts between them to `on_part`, with whether the part
/// is a match. The parts are not empty and follow each other without gaps.
#[inline(always)]
pub(super) fn scan<R: Rules>(text: &[u8], mut on_part: impl FnMut(usize, usize, bool)) {
    let mut at = 0;
    while at < text.len() {
        if let Some(end) = next::<R>(text, at) {
            on_part(at, end, true);
            at = end;
            continue;
        }
        let start = at;
        while let Some(found) = character(text, at)
            && (at == start || next::<R>(text, at).is_none())
        {
            at += found.len;
        }
        on_part(start, at, false);
    }
}

/// The end of the match that starts at `at`, which is not the end of the text.
#[inline(always)]
fn next<R: Rules>(text: &[u8], at: usize) -> Option<usize> {
    match short_word::<R>(text, at) {
        Some(end) => Some(end),
        None => next_of_any::<R>(text, at),
    }
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The eight bytes at `at`; zeros behind the end of the text.
#[inline(always)]
fn eight(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(rest) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}

/// The high bit of each byte that is not between the two ASCII characters.
#[inline(always)]
const fn outside(bytes: u64, first: u8, last: u8) -> u64 {
    let low = bytes & !HIGH_BITS;
    let ones = 0x0101_0101_0101_0101;
    let from_first = low + ones * (0x80 - first as u64);
    let behind_last = low + ones * (0x7F - last as u64);
    (!from_first | behind_last | bytes) & HIGH_BITS
}

/// The high bit of each byte that is no ASCII letter.
#[inline(always)]
const fn no_letters(bytes: u64) -> u64 {
    outside(bytes | 0x2020_2020_2020_2020, b'a', b'z')
}

/// The end of the ASCII characters other than digits from `at`, or a position up to it.
#[inline(always)]
pub(super) fn skip_ascii_without_digits(text: &[u8], mut at: usize) -> usize {
    while text.len() - at >= 8 {
        let bytes = eight(text, at);
        if bytes & HIGH_BITS != 0 || outside(bytes, b'0', b'9') != HIGH_BITS {
            break;
        }
        at += 8;
    }
    at
}

/// The end of a word of ASCII letters that ends within eight bytes, before an ASCII character.
#[inline(always)]
fn short_word<R: Rules>(text: &[u8], at: usize) -> Option<usize> {
    let bytes = eight(text, at);
    let start = R::STARTS[usize::from(*text.get(at)?)];
    // The lowest set bit of these is that of the byte at which the word ends.
    let stops = match R::WORDS {
        Words::Letters | Words::LettersAndMarks => no_letters(bytes) & !0x80,
        Words::Cased | Words::CasedAfterHan => {
            let from = if start == Start::Letter { !0 } else { !0xFF };
            let no_upper = outside(bytes, b'A', b'Z') & from;
            let upper_end = no_upper & no_upper.wrapping_neg();
            outside(bytes, b'a', b'z') & !upper_end.wrapping_sub(1)
        }
    };
    let stop = stops & stops.wrapping_neg();
    if stop == 0 || bytes & stop != 0 {
        return None;
    }
    let len = stop.trailing_zeros() as usize / 8;
    if !(start == Start::Letter || start == Start::Before && len > 1) {
        return None;
    }
    let end = at + len;
    if R::CONTRACTIONS == Contractions::LastAnyCase && text.get(end) == Some(&b'\'') {
        return contraction::<R>(text, end).or(Some(end));
    }
    Some(end)
}

/// The end of the match that starts at `at`, by each rule after the other.
#[inline(never)]
fn next_of_any<R: Rules>(text: &[u8], at: usize) -> Option<usize> {
    let first = character(text, at)?;
    let behind = at + first.len;
    if first.code == u32::from(b'\'')
        && matches!(
            R::CONTRACTIONS,
            Contractions::First | Contractions::FirstAnyCase
        )
        && let Some(end) = contraction::<R>(text, at)
    {
        return Some(end);
    }
    if R::WORDS == Words::CasedAfterHan && first.class & HAN != 0 {
        return Some(run(text, behind, |class| class & HAN != 0));
    }
    if R::WORDS == Words::LettersAndMarks
        && first.len == 1
        && first.class & SYMBOL != 0
        && text.get(behind).is_some_and(u8::is_ascii_alphabetic)
    {
        let letters = text.get(behind..).unwrap_or_default();
        let count = letters
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        return Some(behind + count);
    }
    if let Some(end) = word::<R>(text, at, first) {
        return Some(end);
    }
    let second = if first.code == u32::from(b' ') {
        character(text, behind)
    } else {
        None
    };
    if R::NUMBERS != 0 {
        let digits = if first.class & NUMBER != 0 {
            Some(behind)
        } else if R::ONLY_SPACE_BEFORE
            && let Some(second) = second
            && second.class & NUMBER != 0
        {
            Some(behind + second.len)
        } else {
            None
        };
        if let Some(mut end) = digits {
            let mut count = 1;
            while count < R::NUMBERS
                && let Some(digit) = character(text, end)
                && digit.class & NUMBER != 0
            {
                end += digit.len;
                count += 1;
            }
            return Some(end);
        }
    }
    let is_symbol = |class: u8| match R::WORDS {
        Words::LettersAndMarks => class & SYMBOL != 0,
        _ => class & (SPACE | LETTER | NUMBER) == 0,
    };
    let symbols = if is_symbol(first.class) {
        Some(behind)
    } else {
        second.and_then(|second| is_symbol(second.class).then_some(behind + second.len))
    };
    if let Some(symbols) = symbols {
        let mut end = run(text, symbols, is_symbol);
        while let Some(byte) = text.get(end)
            && (R::LINE_ENDS_AFTER_SYMBOLS && matches!(byte, b'\r' | b'\n')
                || R::SLASHES_AFTER_SYMBOLS && *byte == b'/')
        {
            end += 1;
        }
        return Some(end);
    }
    if first.class & SPACE != 0 {
        return Some(white_space::<R>(text, at));
    }
    None
}

/// The end of the characters from `at` whose class is of a kind.
#[inline(always)]
fn run(text: &[u8], mut at: usize, is_of_kind: impl Fn(u8) -> bool) -> usize {
    while let Some(found) = character(text, at)
        && is_of_kind(found.class)
    {
        at += found.len;
    }
    at
}

/// The end of the contraction whose apostrophe is at `at`. `(?i:s)` also matches U+017F.
#[inline(always)]
fn contraction<R: Rules>(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at + 1..)?;
    let any_case = R::CONTRACTIONS != Contractions::First;
    let lower = |byte: u8| {
        if any_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    };
    let len = match *rest {
        [a, ..] if matches!(lower(a), b's' | b't' | b'm' | b'd') => 1,
        [0xC5, 0xBF, ..] if any_case => 2,
        [a, b, ..] if matches!(&[lower(a), lower(b)], b"re" | b"ve" | b"ll") => 2,
        _ => return None,
    };
    Some(at + 1 + len)
}

/// The end of the word that starts at `at`, where `first` is.
#[inline(always)]
fn word<R: Rules>(text: &[u8], at: usize, first: Character) -> Option<usize> {
    let behind = at + first.len;
    let is_letter = |class: u8| match R::WORDS {
        Words::Letters => class & LETTER != 0,
        Words::LettersAndMarks => class & (LETTER | MARK) != 0,
        Words::Cased => class & (LETTER | MARK) != 0,
        Words::CasedAfterHan => class & (LETTER | MARK) != 0 && class & HAN == 0,
    };
    let start = if is_letter(first.class) {
        at
    } else if before_letters::<R>(first.class, first.code)
        && is_letter(character(text, behind)?.class)
    {
        behind
    } else {
        return None;
    };
    match R::WORDS {
        Words::Letters | Words::LettersAndMarks => {
            let mut end = start;
            loop {
                let stops = no_letters(eight(text, end));
                if stops == 0 {
                    end += 8;
                    continue;
                }
                end += stops.trailing_zeros() as usize / 8;
                let ascii_end = end;
                while let Some(found) = character(text, end)
                    && found.len > 1
                    && is_letter(found.class)
                {
                    end += found.len;
                }
                if end == ascii_end {
                    return Some(end);
                }
            }
        }
        Words::Cased | Words::CasedAfterHan => {
            let mut end = start;
            let mut shared_end = None;
            let mut is_lower = false;
            while let Some(found) = character(text, end)
                && is_letter(found.class)
            {
                is_lower = found.class & LOWER != 0;
                if is_lower {
                    break;
                }
                end += found.len;
                if found.class & UPPER == 0 {
                    shared_end = Some(end);
                }
            }
            if is_lower {
                end = run(text, end, |class| class & UPPER == 0 && is_letter(class));
            } else if let Some(shared_end) = shared_end {
                end = shared_end;
            }
            if R::CONTRACTIONS == Contractions::LastAnyCase && text.get(end) == Some(&b'\'') {
                end = contraction::<R>(text, end).unwrap_or(end);
            }
            Some(end)
        }
    }
}

/// The end of the match of the alternatives for white space at `at`, where a run of it starts: see
/// the page of the module.
#[inline(always)]
fn white_space<R: Rules>(text: &[u8], at: usize) -> usize {
    let mut end = at;
    let mut last_start = at;
    let mut line_end = None;
    loop {
        if eight(text, end) == 0x2020_2020_2020_2020 {
            end += 8;
            last_start = end - 1;
            continue;
        }
        match character(text, end) {
            Some(found) if found.class & SPACE != 0 => {
                last_start = end;
                end += found.len;
                if R::LINE_ENDS && matches!(found.code, 0x0A | 0x0D) {
                    line_end = Some(end);
                }
            }
            _ => break,
        }
    }
    if R::END && end == text.len() {
        return end;
    }
    if let Some(line_end) = line_end {
        return line_end;
    }
    if end == text.len() || last_start == at {
        end
    } else {
        last_start
    }
}
