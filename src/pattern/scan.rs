//! One scanner for the known patterns, and what they differ in.
//!
//! All of them are alternations in the same order, which is also the order of [`next`]:
//!
//! 1. a contraction: `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d` (in o200k a suffix of words
//!    instead);
//! 2. a word: letters, and before them at most one character of another kind;
//! 3. numbers, from left to right, or grouped by place: as many from the right as a pretoken may have;
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
//! lower case and the marks, W those that are not upper case and the marks. Let X be what both
//! have, and R the longest run of U from the start of the word (after P). If a lower-case letter
//! follows R, the first alternative matches R and the longest run of W after it. Else `U*` has to
//! give back characters until `W+` can match, which is at the last X of R: the match ends after it,
//! because only upper case follows. If R has no X, the first alternative fails and the second
//! matches R.
//!
//! P? can take a mark, which is also an X. With or without P the match is the same: a mark that
//! begins a word is an X of R, and the rules above give what the two alternatives give with the
//! mark as P. (If R without the mark is upper case only, `P?U*W+` fails with the mark as P, and
//! then matches the mark alone without P: the last X of R is the mark.)
//!
//! # Speed
//!
//! Most pretokens of most texts are a space and ASCII letters, or ASCII letters: eight bytes are
//! classified at once. Letters without case that have three bytes each follow each other in Chinese
//! and Japanese; a table has a bit for each of them. The rest goes character by character through the
//! table of classes.

use super::classes::{
    ASCII, Character, HAN, LETTER, LOWER, MARK, NUMBER, SPACE, SYMBOL, UNCASED, UPPER, character,
    long_character, uncased_letters_end,
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
pub(super) trait PatternRules {
    const CONTRACTIONS: Contractions;
    const WORDS: Words;
    /// Only a space stands before letters and before numbers; else any character but line ends,
    /// letters, numbers (with [`Words::LettersAndMarks`]: but line ends, letters, symbols).
    const ONLY_SPACE_BEFORE: bool = false;
    /// How many numbers a pretoken has at most; 0 if the pattern has no numbers.
    const NUMBERS: usize;
    /// The numbers of a run are grouped from the right: only its first pretoken has fewer than
    /// [`NUMBERS`](Self::NUMBERS).
    const NUMBERS_FROM_RIGHT: bool = false;
    /// Line ends may follow symbols.
    const LINE_ENDS_AFTER_SYMBOLS: bool = true;
    /// Slashes as well.
    const SLASHES_AFTER_SYMBOLS: bool = false;
    /// `\s*[\r\n]+`
    const LINE_ENDS: bool = true;
    /// `\s++$`
    const END: bool = false;

    /// See [`starts`].
    const STARTS: [u16; 256] = starts::<Self>();
    /// See [`alone`].
    const ALONE: [u8; 256] = alone::<Self>();
}

/// For the first character of a match, the bits of [`no_letters`] that a word of ASCII letters does
/// not have: none for a letter; that of the second byte for what may stand before letters, and is
/// no part of a rule that comes first; its own for all others.
const fn starts<R: PatternRules + ?Sized>() -> [u16; 256] {
    let mut starts = [NO_START; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        let class = ASCII[byte as usize];
        let first = matches!(
            R::CONTRACTIONS,
            Contractions::First | Contractions::FirstAnyCase
        );
        if class & LETTER != 0 {
            starts[byte as usize] = 0;
        } else if before_letters::<R>(class, byte as u32) && !(first && byte == b'\'') {
            starts[byte as usize] = 0x8000;
        }
        byte += 1;
    }
    starts
}

/// The bit of the first byte.
const NO_START: u16 = 0x80;

/// Whether a character that is no letter may stand before the letters of a word.
#[inline(always)]
const fn before_letters<R: PatternRules + ?Sized>(class: u8, code: u32) -> bool {
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
pub(super) fn scan<R: PatternRules>(text: &[u8], mut on_part: impl FnMut(usize, usize, bool)) {
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
fn next<R: PatternRules>(text: &[u8], at: usize) -> Option<usize> {
    let bytes = eight(text, at);
    if let Some(end) = short_word::<R>(text, at, bytes) {
        return Some(end);
    }
    let [first, second, ..] = bytes.to_le_bytes();
    if R::ALONE[usize::from(first)] & KINDS[usize::from(second)] != 0 {
        return Some(at + 1);
    }
    next_of_any::<R>(text, at, bytes & HIGH_BITS == 0)
}

/// The classes of ASCII, with [`LINE_END`] instead of [`SPACE`] for line ends.
static KINDS: [u8; 256] = {
    let mut kinds = ASCII;
    kinds[b'\n' as usize] = LINE_END;
    kinds[b'\r' as usize] = LINE_END;
    kinds
};
/// A bit that no class of ASCII has.
const LINE_END: u8 = HAN;

/// For an ASCII character, the kinds of characters before which it is a match by itself, if it is
/// not the beginning of a word. Not all of them.
const fn alone<R: PatternRules + ?Sized>() -> [u8; 256] {
    let mut alone = [0; 256];
    let mut byte = 0;
    while byte < 0x80 {
        alone[byte] = match KINDS[byte] {
            SYMBOL if R::LINE_ENDS_AFTER_SYMBOLS => SPACE | NUMBER,
            SYMBOL => SPACE | LINE_END | NUMBER,
            LINE_END => LETTER | NUMBER | SYMBOL,
            SPACE if byte != b' ' as usize => NUMBER | SYMBOL,
            SPACE if !R::ONLY_SPACE_BEFORE => NUMBER,
            NUMBER if R::NUMBERS == 1 => LETTER | SPACE | LINE_END | SYMBOL | NUMBER,
            NUMBER if R::NUMBERS != 0 => LETTER | SPACE | LINE_END | SYMBOL,
            _ => 0,
        };
        byte += 1;
    }
    alone
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The eight bytes at `at`; zeros after the end of the text.
#[inline(always)]
fn eight(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return u64::from_le_bytes(*bytes);
    }
    // The last eight bytes without those before `at`. In lines of 20 bytes every third match ends
    // here.
    if let Some(last) = text.last_chunk() {
        return u64::from_le_bytes(*last) >> (8 * (7 - rest.len())) >> 8;
    }
    short_text(rest)
}

/// Fewer than eight bytes.
#[inline(never)]
fn short_text(rest: &[u8]) -> u64 {
    let bytes = rest.iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The high bit of each byte that is not between the two ASCII characters.
#[inline(always)]
const fn outside(bytes: u64, first: u8, last: u8) -> u64 {
    let low = bytes & !HIGH_BITS;
    let ones = 0x0101_0101_0101_0101;
    let from_first = low + ones * (0x80 - first as u64);
    let after_last = low + ones * (0x7F - last as u64);
    (!from_first | after_last | bytes) & HIGH_BITS
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

/// The end of a word of ASCII letters that ends before an ASCII character; `bytes` are at `at`.
#[inline(always)]
fn short_word<R: PatternRules>(text: &[u8], at: usize, mut bytes: u64) -> Option<usize> {
    let start = R::STARTS[usize::from(bytes.to_le_bytes()[0])];
    // The lowest set bit of `stops` is that of the byte at which the word ends.
    let mut stops = match R::WORDS {
        Words::Letters | Words::LettersAndMarks => {
            let no_letters = no_letters(bytes);
            if no_letters & u64::from(start) != 0 {
                return None;
            }
            no_letters & !0x80
        }
        Words::Cased | Words::CasedAfterHan => {
            let no_upper = outside(bytes, b'A', b'Z');
            let no_lower = outside(bytes, b'a', b'z');
            if no_upper & no_lower & u64::from(start) != 0 {
                return None;
            }
            // What stands before the letters is not the end of the upper case.
            let no_upper = no_upper & !u64::from(start >> 8);
            let upper_end = no_upper & no_upper.wrapping_neg();
            if upper_end == 0 {
                return None;
            }
            no_lower & !(upper_end - 1)
        }
    };
    let mut from = at;
    while stops == 0 {
        from += 8;
        bytes = eight(text, from);
        stops = match R::WORDS {
            Words::Letters | Words::LettersAndMarks => no_letters(bytes),
            Words::Cased | Words::CasedAfterHan => outside(bytes, b'a', b'z'),
        };
    }
    if bytes & stops & stops.wrapping_neg() != 0 {
        return None;
    }
    let end = from + stops.trailing_zeros() as usize / 8;
    if R::CONTRACTIONS == Contractions::LastAnyCase && text.get(end) == Some(&b'\'') {
        return contraction::<R>(text, end).or(Some(end));
    }
    Some(end)
}

/// The end of the match that starts at `at`, by each rule after the other.
#[inline(never)]
fn next_of_any<R: PatternRules>(text: &[u8], at: usize, try_ascii: bool) -> Option<usize> {
    if try_ascii {
        let mut ascii = Ascii { text, seen: 0 };
        let end = next_by_rules::<R>(&mut ascii, at);
        if ascii.seen < 0x80 {
            return end;
        }
    }
    next_by_rules::<R>(&mut AnyCharacters { text }, at)
}

/// A text whose characters are read one by one.
trait Characters {
    fn text(&self) -> &[u8];
    fn get(&mut self, at: usize) -> Option<Character>;
    /// The character at `at` if it is longer than a byte or malformed.
    fn get_long(&mut self, at: usize) -> Option<Character>;
    /// The end of letters without case from `at`, or a position up to it.
    #[inline(always)]
    fn uncased_letters_end(&self, at: usize) -> usize {
        at
    }
    /// As [`get`](Self::get), for loops over many long characters.
    #[inline(always)]
    fn get_inlined(&mut self, at: usize) -> Option<Character> {
        self.get_long(at).or_else(|| self.get(at))
    }
}

/// Reads bytes as characters.
struct Ascii<'t> {
    text: &'t [u8],
    /// All bytes that were read, or'ed: the result is right if they are ASCII.
    seen: u8,
}

impl Characters for Ascii<'_> {
    #[inline(always)]
    fn text(&self) -> &[u8] {
        self.text
    }

    #[inline(always)]
    fn get(&mut self, at: usize) -> Option<Character> {
        let byte = *self.text.get(at)?;
        self.seen |= byte;
        Some(Character {
            class: ASCII[usize::from(byte)],
            len: 1,
            code: byte.into(),
        })
    }

    #[inline(always)]
    fn get_long(&mut self, at: usize) -> Option<Character> {
        self.seen |= *self.text.get(at)?;
        None
    }
}

struct AnyCharacters<'t> {
    text: &'t [u8],
}

impl Characters for AnyCharacters<'_> {
    #[inline(always)]
    fn text(&self) -> &[u8] {
        self.text
    }

    #[inline(always)]
    fn get(&mut self, at: usize) -> Option<Character> {
        character(self.text, at)
    }

    #[inline(always)]
    fn uncased_letters_end(&self, at: usize) -> usize {
        uncased_letters_end(self.text, at)
    }

    #[inline(always)]
    fn get_long(&mut self, at: usize) -> Option<Character> {
        let byte = self.text.get(at)?;
        (*byte >= 0x80).then(|| long_character(self.text, at))
    }
}

#[inline(always)]
fn next_by_rules<R: PatternRules>(text: &mut impl Characters, at: usize) -> Option<usize> {
    let first = text.get(at)?;
    let after = at + first.len;
    if first.code == u32::from(b'\'')
        && matches!(
            R::CONTRACTIONS,
            Contractions::First | Contractions::FirstAnyCase
        )
        && let Some(end) = contraction::<R>(text.text(), at)
    {
        return Some(end);
    }
    if R::WORDS == Words::CasedAfterHan && first.class & HAN != 0 {
        return Some(run(text, after, |class| class & HAN != 0));
    }
    if R::WORDS == Words::LettersAndMarks
        && first.len == 1
        && first.class & SYMBOL != 0
        && text.text().get(after).is_some_and(u8::is_ascii_alphabetic)
    {
        return Some(ascii_letters_end(text.text(), after));
    }
    // A letter begins a word, whatever follows.
    let second = match first.class & LETTER {
        0 => text.get(after),
        _ => None,
    };
    if let Some(end) = word::<R>(text, at, first, second) {
        return Some(end);
    }
    let second = second.filter(|_| first.code == u32::from(b' '));
    if R::NUMBERS != 0 {
        let digits = if first.class & NUMBER != 0 {
            Some(after)
        } else if R::ONLY_SPACE_BEFORE
            && let Some(second) = second
            && second.class & NUMBER != 0
        {
            Some(after + second.len)
        } else {
            None
        };
        if let Some(mut end) = digits {
            // All groups but the first have the same size, so that only the beginning of a run looks
            // to its end, and all groups together take linear time.
            let most = match R::NUMBERS_FROM_RIGHT && !follows_number(text.text(), at) {
                true => first_group::<R>(text, end),
                false => R::NUMBERS,
            };
            let mut count = 1;
            while count < most
                && let Some(digit) = text.get(end)
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
        Some(after)
    } else {
        second.and_then(|second| is_symbol(second.class).then_some(after + second.len))
    };
    if let Some(symbols) = symbols {
        let mut end = run(text, symbols, is_symbol);
        while let Some(byte) = text.text().get(end)
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

/// Whether the character before `at` is a number.
fn follows_number(text: &[u8], at: usize) -> bool {
    let nearest = at.saturating_sub(4);
    let before = text.get(nearest..at).unwrap_or_default();
    // A character begins at the last byte that continues none; if it is malformed, that is no number.
    let Some(last) = before.iter().rposition(|byte| byte & 0xC0 != 0x80) else {
        return false;
    };
    let begin = nearest + last;
    character(text, begin).is_some_and(|it| it.class & NUMBER != 0 && begin + it.len == at)
}

/// How many numbers the first group of a run has whose first number ends at `at`.
fn first_group<R: PatternRules>(text: &mut impl Characters, mut at: usize) -> usize {
    let mut others = 0;
    while let Some(digit) = text.get(at)
        && digit.class & NUMBER != 0
    {
        at += digit.len;
        others += 1;
    }
    others % R::NUMBERS + 1
}

/// The end of the characters from `at` whose class is of a kind.
#[inline(always)]
fn run(text: &mut impl Characters, mut at: usize, is_of_kind: impl Fn(u8) -> bool) -> usize {
    while let Some(found) = text.get(at)
        && is_of_kind(found.class)
    {
        at += found.len;
    }
    at
}

/// The end of the contraction whose apostrophe is at `at`. `(?i:s)` also matches U+017F.
#[inline(always)]
fn contraction<R: PatternRules>(text: &[u8], at: usize) -> Option<usize> {
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

/// The end of the ASCII letters from `at`.
#[inline(always)]
fn ascii_letters_end(text: &[u8], mut at: usize) -> usize {
    loop {
        let stops = no_letters(eight(text, at));
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
}

/// The end of the word that starts at `at`, where `first` and `second` are.
#[inline(always)]
fn word<R: PatternRules>(
    text: &mut impl Characters,
    at: usize,
    first: Character,
    second: Option<Character>,
) -> Option<usize> {
    let is_letter = |class: u8| match R::WORDS {
        Words::Letters => class & LETTER != 0,
        Words::LettersAndMarks => class & (LETTER | MARK) != 0,
        Words::Cased => class & (LETTER | MARK) != 0,
        Words::CasedAfterHan => class & (LETTER | MARK) != 0 && class & HAN == 0,
    };
    let (start, letter) = if is_letter(first.class) {
        (at, first)
    } else if let Some(second) = second
        && is_letter(second.class)
        && before_letters::<R>(first.class, first.code)
    {
        (at + first.len, second)
    } else {
        return None;
    };
    let mut end = start + letter.len;
    match R::WORDS {
        Words::Letters | Words::LettersAndMarks => loop {
            end = ascii_letters_end(text.text(), end);
            let ascii_end = end;
            end = text.uncased_letters_end(end);
            while let Some(found) = text.get_long(end)
                && is_letter(found.class)
            {
                end += found.len;
            }
            if end == ascii_end {
                return Some(end);
            }
        },
        Words::Cased | Words::CasedAfterHan => {
            if letter.class & UNCASED != 0 && R::WORDS == Words::Cased {
                end = text.uncased_letters_end(end);
            }
            let mut shared_end = (letter.class & (UPPER | LOWER) == 0).then_some(end);
            let mut is_lower = letter.class & LOWER != 0;
            while !is_lower
                && let Some(found) = text.get_inlined(end)
                && is_letter(found.class)
            {
                is_lower = found.class & LOWER != 0;
                end += found.len;
                if found.class & (UPPER | LOWER) == 0 {
                    shared_end = Some(end);
                }
            }
            if is_lower {
                end = run(text, end, |class| class & UPPER == 0 && is_letter(class));
            } else if let Some(shared_end) = shared_end {
                end = shared_end;
            }
            if R::CONTRACTIONS == Contractions::LastAnyCase && text.text().get(end) == Some(&b'\'')
            {
                end = contraction::<R>(text.text(), end).unwrap_or(end);
            }
            Some(end)
        }
    }
}

/// The end of the match of the alternatives for white space at `at`, where a run of it starts: see
/// the page of the module.
#[inline(always)]
fn white_space<R: PatternRules>(text: &mut impl Characters, at: usize) -> usize {
    let mut end = at;
    let mut last_start = at;
    let mut line_end = None;
    loop {
        if eight(text.text(), end) == 0x2020_2020_2020_2020 {
            end += 8;
            last_start = end - 1;
            continue;
        }
        match text.get(end) {
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
    if R::END && end == text.text().len() {
        return end;
    }
    if let Some(line_end) = line_end {
        return line_end;
    }
    if end == text.text().len() || last_start == at {
        end
    } else {
        last_start
    }
}
