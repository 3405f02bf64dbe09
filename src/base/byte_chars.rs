//! Bytes as printable characters, as GPT-2 writes tokens into JSON and merge lists.
//!
//! The 188 bytes that are printable in Latin-1 stand for themselves; the other 68 are the
//! characters from U+0100 on, in their order. A space is `Ġ` (U+0120), a line feed `Ċ` (U+010A).

/// The number of code points up to the last character of a byte.
const CODE_POINTS: usize = 256 + 68;

/// The character of each byte.
const CHARS: [char; 256] = chars_by_byte();

/// The byte of each code point that stands for one.
const BYTES: [Option<u8>; CODE_POINTS] = bytes_by_code_point();

const fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

const fn chars_by_byte() -> [char; 256] {
    let mut chars = ['\0'; 256];
    let mut next = '\u{100}';
    let mut byte = 0_u8;
    loop {
        if is_printable(byte) {
            chars[byte as usize] = byte as char;
        } else {
            chars[byte as usize] = next;
            next = match char::from_u32(next as u32 + 1) {
                Some(char) => char,
                None => char::MAX,
            };
        }
        if byte == u8::MAX {
            return chars;
        }
        byte += 1;
    }
}

const fn bytes_by_code_point() -> [Option<u8>; CODE_POINTS] {
    let mut bytes = [None; CODE_POINTS];
    let mut byte = 0_u8;
    loop {
        bytes[CHARS[byte as usize] as usize] = Some(byte);
        if byte == u8::MAX {
            return bytes;
        }
        byte += 1;
    }
}

/// A token in printable characters.
pub(crate) fn printable(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| CHARS[usize::from(*byte)]).collect()
}

/// The character that stands for a byte.
pub(crate) fn byte_char(byte: u8) -> char {
    CHARS[usize::from(byte)]
}

/// The byte that a character stands for.
pub(crate) fn byte_of(char: char) -> Option<u8> {
    *BYTES.get(u32::from(char) as usize)?
}

/// The bytes of a token; `None` if one of its characters stands for no byte.
pub(crate) fn spelled(token: &str) -> Option<Vec<u8>> {
    token.chars().map(byte_of).collect()
}

/// Appends the bytes of a token. Returns false, and appends nothing, if one of its characters
/// stands for no byte.
pub(crate) fn append_bytes(token: &str, bytes: &mut Vec<u8>) -> bool {
    let start = bytes.len();
    for char in token.chars() {
        let Some(byte) = byte_of(char) else {
            bytes.truncate(start);
            return false;
        };
        bytes.push(byte);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of GPT-2's `bytes_to_unicode`, at places where it changes.
    #[test]
    fn characters_stand_for_the_bytes_of_gpt2() {
        let rows = [
            ('Ā', 0),
            ('Ċ', b'\n'),
            ('Ġ', b' '),
            ('!', b'!'),
            ('~', b'~'),
            ('ġ', 0x7F),
            ('ł', 0xA0),
            ('¡', 0xA1),
            ('¬', 0xAC),
            ('Ń', 0xAD),
            ('®', 0xAE),
            ('ÿ', 0xFF),
        ];
        for (char, byte) in rows {
            assert_eq!(byte_of(char), Some(byte), "{char}");
            assert_eq!(printable(&[byte]), char.to_string());
        }
        for char in [' ', '\n', '\u{a0}', '\u{ad}', '\u{144}', '▁', '中'] {
            assert_eq!(byte_of(char), None, "{char:?}");
        }
        let mut all: Vec<u8> = ('\0'..='\u{144}').filter_map(byte_of).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..=u8::MAX));
    }

    #[test]
    fn tokens_with_other_characters_append_nothing() {
        let mut bytes = b"x".to_vec();
        assert!(append_bytes("Ġé", &mut bytes));
        assert_eq!(bytes, b"x \xE9");
        assert!(!append_bytes("Ġ中", &mut bytes));
        assert_eq!(bytes, b"x \xE9");
    }
}
