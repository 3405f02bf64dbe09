//! Characters that are normalized to themselves, so that most words need not be normalized.
//!
//! A character is *plain* if no rule has it as its whole source, no source has it after the first
//! character, no user-defined symbol begins with its first byte, and it is neither a space nor the
//! whitespace mark.
//!
//! **Lemma.** A text of plain characters is normalized to itself, apart from the dummy prefix. *Proof.* A
//! rule that matches in it has a source of plain characters. Its first character is not the whole source,
//! and any other is not plain. ∎
//!
//! Example: `nmt_nfkc` composes `e` and U+0301 to `é`. So `e` and `é` are plain, and U+0301 is not;
//! `ﬁ`, which becomes `fi`, is not.
//!
//! Cost: one load for each character, and one pass over all rules to make the table. Memory: 8.5 KiB.
//! Characters of four bytes are not plain.

use super::Normalizer;
use crate::base::WHITESPACE_MARK;
use crate::base::num::low_u32;
use crate::base::utf8::first_word;

/// Characters of two bytes, malformed ones among them. Those of three bytes follow.
const TWO_BYTES: usize = 1 << 11;
/// Words of the bits of all characters of two and three bytes.
const WIDE_WORDS: usize = (TWO_BYTES + (1 << 16)) / 64;

/// A plain character at the start of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainChar {
    /// Its bytes as a number, the first one highest.
    pub(crate) code: u32,
    /// Its length in bytes.
    pub(crate) width: usize,
}

/// The plain characters of a normalizer; see the [module page](self).
#[derive(Debug)]
pub(crate) struct PlainChars {
    ascii: [bool; 256],
    /// A bit for each well-formed character of two or three bytes.
    wide: Box<[u64; WIDE_WORDS]>,
}

impl PlainChars {
    /// `None` if the normalizer does not treat each word alone: if a rule has a space or ends inside of a
    /// character, if a replacement has the whitespace mark, or if the options ask for other spaces than one
    /// mark before each word.
    pub(crate) fn of(normalizer: &Normalizer) -> Option<Self> {
        let options = &normalizer.options;
        let has_single_marks = options.add_dummy_prefix
            && options.remove_extra_whitespaces
            && options.escape_whitespaces
            && !options.treat_whitespace_as_suffix;
        if !has_single_marks {
            return None;
        }
        let mut plain = Self::without_rules();
        if let Some(charsmap) = normalizer.charsmap.as_deref() {
            let mut has_space = false;
            let are_all = charsmap.for_each_source_char(|char| {
                has_space |= char.point == u32::from(b' ');
                if !char.is_first || char.ends_key {
                    plain.remove(char.point);
                }
            });
            if !are_all || has_space || charsmap.replacements_contain(normalizer.mark()) {
                return None;
            }
        }
        let begins_symbol = |byte: u8| normalizer.symbols().may_begin_with(byte);
        if (0..=u8::MAX).any(begins_symbol) {
            let mut bytes = [0; 4];
            for char in '\0'..='\u{FFFF}' {
                if begins_symbol(char.encode_utf8(&mut bytes).as_bytes()[0]) {
                    plain.remove(u32::from(char));
                }
            }
        }
        Some(plain)
    }

    /// The plain characters if there are no rules and no symbols.
    fn without_rules() -> Self {
        let mut wide = Box::new([u64::MAX; WIDE_WORDS]);
        // Bytes that are no well-formed characters: longer forms than needed, and surrogates.
        wide[..0x80 / 64].fill(0);
        wide[TWO_BYTES / 64..][..0x800 / 64].fill(0);
        wide[(TWO_BYTES + 0xD800) / 64..][..0x800 / 64].fill(0);
        let mut plain = Self {
            ascii: std::array::from_fn(|byte| byte < 0x80 && byte != usize::from(b' ')),
            wide,
        };
        plain.remove(u32::from(WHITESPACE_MARK));
        plain
    }

    /// Removes the character with this code point.
    fn remove(&mut self, point: u32) {
        match point {
            0x80..0x800 => self.remove_wide(point as usize),
            0x800..0x1_0000 => self.remove_wide(TWO_BYTES + point as usize),
            _ => {
                if let Some(is_plain) = self.ascii.get_mut(point as usize) {
                    *is_plain = false;
                }
            }
        }
    }

    fn remove_wide(&mut self, number: usize) {
        let (word, bit) = bit_at(number);
        self.wide[word] &= !(1 << bit);
    }

    /// The plain character at the start of a text, which is not empty.
    #[cfg(test)]
    fn first_of(&self, text: &[u8]) -> Option<PlainChar> {
        match text[0] {
            byte @ ..0x80 => self.ascii_char(byte),
            _ => self.wide_char(text),
        }
    }

    /// A byte of ASCII, if it is plain.
    #[inline(always)]
    pub(crate) fn ascii_char(&self, byte: u8) -> Option<PlainChar> {
        let code = u32::from(byte);
        self.ascii[usize::from(byte)].then_some(PlainChar { code, width: 1 })
    }

    /// The character at the start of a text that does not begin with ASCII, if it is plain.
    #[inline(always)]
    pub(crate) fn wide_char(&self, text: &[u8]) -> Option<PlainChar> {
        let word = first_word(text);
        let bits = |shift: u32| (word >> shift & 0x3F) as usize;
        let (number, code, width) = if word & 0x00C0_C0F0 == 0x0080_80E0 {
            let point = ((word & 0x0F) << 12) as usize | bits(8) << 6 | bits(16);
            (TWO_BYTES + point, word.swap_bytes() >> 8, 3)
        } else if word & 0xC0E0 == 0x80C0 {
            let point = ((word & 0x1F) << 6) as usize | bits(8);
            (point, word.swap_bytes() >> 16, 2)
        } else {
            return None;
        };
        let (word, bit) = bit_at(number);
        (self.wide[word] >> bit & 1 != 0).then_some(PlainChar { code, width })
    }
}

/// The word and the bit with a number.
#[inline(always)]
fn bit_at(number: usize) -> (usize, u32) {
    (number / 64 % WIDE_WORDS, low_u32(number as u64 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::{NormalizerOptions, PrefixTrie};
    use std::sync::Arc;

    fn plain_of(symbols: &[&str]) -> PlainChars {
        let keys = symbols.iter().zip(0..);
        let symbols = PrefixTrie::with_values(keys.map(|(key, id)| (key.as_bytes(), id))).unwrap();
        let normalizer = Normalizer::new(NormalizerOptions::default(), None);
        PlainChars::of(&normalizer.with_symbols(Arc::new(symbols))).unwrap()
    }

    #[test]
    fn all_well_formed_characters_of_at_most_three_bytes_are_plain_but_spaces_and_marks() {
        let plain = plain_of(&[]);
        let mut bytes = [0; 4];
        for char in '\0'..=char::MAX {
            let text = char.encode_utf8(&mut bytes).as_bytes();
            let found = plain.first_of(text).map(|char| char.width);
            let is_plain = text.len() < 4 && char != ' ' && char != WHITESPACE_MARK;
            assert_eq!(found, is_plain.then_some(text.len()), "{char:?}");
        }
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for third in [0x00, 0x7F, 0x80, 0xBF, 0xC0] {
                    let text = [first, second, third];
                    let char = plain.first_of(&text);
                    let is_valid = |char: PlainChar| {
                        std::str::from_utf8(&text[..char.width])
                            .is_ok_and(|it| it.chars().count() == 1)
                    };
                    assert!(char.is_none_or(is_valid), "{text:?}");
                }
                assert_eq!(
                    plain
                        .first_of(&[first, second])
                        .is_some_and(|char| char.width == 2),
                    first >= 0x80 && std::str::from_utf8(&[first, second]).is_ok(),
                );
            }
        }
    }

    /// The rest of the lemma is on the module page.
    #[cfg(feature = "train")]
    #[test]
    fn no_rule_has_a_source_of_plain_characters() {
        use crate::normalize::charsmap::{Charsmap, builtin_charsmap};
        for name in ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"] {
            let charsmap = Charsmap::from_bytes(builtin_charsmap(name).unwrap().unwrap()).unwrap();
            let rules = charsmap.rules().unwrap();
            let normalizer =
                Normalizer::new(NormalizerOptions::default(), Some(Arc::new(charsmap)));
            let plain = PlainChars::of(&normalizer).unwrap();
            for (source, _) in &rules {
                let text = std::str::from_utf8(source).unwrap();
                let mut starts = text.char_indices();
                let is_plain = starts.all(|(at, _)| plain.first_of(&source[at..]).is_some());
                assert!(!is_plain, "{name}: {text:?}");
            }
            // Letters that begin rules, and what rules make, stay plain.
            let is_plain = |text: &str| plain.first_of(text.as_bytes()).is_some();
            for text in ["e", "é", "и", "й", "न", "か", "が", "가", "中", "я"] {
                assert!(is_plain(text), "{name}: {text}");
            }
            for text in ["\u{301}", "\u{3099}", "\u{1161}", "ﬁ", "Ａ", "\u{3000}"] {
                assert!(!is_plain(text), "{name}: {text}");
            }
        }
    }

    #[test]
    fn characters_with_which_symbols_may_begin_are_not_plain() {
        let plain = plain_of(&["<sep>", "日本"]);
        let is_plain = |text: &str| plain.first_of(text.as_bytes()).is_some();
        assert!(is_plain("s") && is_plain("é") && is_plain("가"));
        // The first byte alone decides.
        assert!(!is_plain("<") && !is_plain("日") && !is_plain("本"));
    }
}
