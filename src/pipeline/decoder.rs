//! The steps from tokens to a text.

use super::PipelineError;
use super::matcher::Matcher;
use crate::base::byte_chars::byte_of;

/// A step from tokens to a text: it changes the texts of tokens, which are joined at the end.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DecoderStep {
    /// The end of a word becomes a space, but not in the last token.
    Bpe {
        /// What words end with.
        suffix: String,
    },
    /// Tokens of bytes, such as `<0x0A>`, become characters.
    ByteFallback,
    /// The characters of byte-level vocabularies become bytes.
    ByteLevel,
    /// Equal tokens one after the other become one; padding is removed.
    Ctc {
        /// What is removed.
        pad_token: String,
        /// What becomes a space.
        word_delimiter_token: String,
        /// Whether spaces before punctuation are removed, and delimiters become spaces.
        cleanup: bool,
    },
    /// All tokens become one.
    Fuse,
    /// A mark becomes a space, or nothing in the first token.
    Metaspace {
        /// The mark.
        replacement: char,
        /// Whether the first token loses its marks.
        strips_first: bool,
    },
    /// Each match becomes a text.
    Replace {
        /// What matches.
        pattern: Matcher,
        /// What it becomes.
        content: String,
    },
    /// A character is removed from the ends.
    Strip {
        /// The character.
        content: char,
        /// At most as often from the start.
        start: usize,
        /// At most as often from the end.
        stop: usize,
    },
    /// Tokens that continue a word lose their prefix, all others get a space before them.
    WordPiece {
        /// The prefix.
        prefix: String,
        /// Whether spaces before punctuation are removed.
        cleanup: bool,
    },
}

impl DecoderStep {
    pub(super) fn apply(&self, mut tokens: Vec<String>) -> Result<Vec<String>, PipelineError> {
        match self {
            Self::Bpe { suffix } => {
                let last = tokens.len().saturating_sub(1);
                for (at, token) in tokens.iter_mut().enumerate() {
                    *token = token.replace(suffix, if at == last { "" } else { " " });
                }
            }
            Self::ByteFallback => tokens = byte_fallback(tokens),
            Self::ByteLevel => {
                let mut bytes = Vec::new();
                for token in &tokens {
                    let start = bytes.len();
                    for c in token.chars() {
                        match byte_of(c) {
                            Some(byte) => bytes.push(byte),
                            None => {
                                bytes.truncate(start);
                                bytes.extend_from_slice(token.as_bytes());
                                break;
                            }
                        }
                    }
                }
                tokens = vec![String::from_utf8_lossy(&bytes).into_owned()];
            }
            Self::Ctc {
                pad_token,
                word_delimiter_token,
                cleanup,
            } => {
                tokens.dedup();
                for token in &mut tokens {
                    *token = token.replace(pad_token, "");
                    if *cleanup {
                        let clean = cleaned(std::mem::take(token));
                        *token = clean.replace(word_delimiter_token, " ");
                    }
                }
                tokens.retain(|token| !token.is_empty());
            }
            Self::Fuse => tokens = vec![tokens.concat()],
            Self::Metaspace {
                replacement,
                strips_first,
            } => {
                for (at, token) in tokens.iter_mut().enumerate() {
                    let space = if at == 0 && *strips_first { "" } else { " " };
                    *token = token.replace(*replacement, space);
                }
            }
            Self::Replace { pattern, content } => {
                for token in &mut tokens {
                    let mut replaced = String::with_capacity(token.len());
                    pattern.for_each(token, &mut |range, is_match| match is_match {
                        true => replaced.push_str(content),
                        false => replaced.push_str(&token[range]),
                    })?;
                    *token = replaced;
                }
            }
            Self::Strip {
                content,
                start,
                stop,
            } => {
                for token in &mut tokens {
                    let count = |chars: &mut dyn Iterator<Item = char>, limit: usize| {
                        chars.take(limit).take_while(|c| c == content).count()
                    };
                    let leading = count(&mut token.chars(), *start) * content.len_utf8();
                    let trailing = count(&mut token.chars().rev(), *stop) * content.len_utf8();
                    let end = (token.len() - trailing).max(leading);
                    *token = token[leading..end].to_owned();
                }
            }
            Self::WordPiece { prefix, cleanup } => {
                for (at, token) in tokens.iter_mut().enumerate() {
                    if at > 0 {
                        *token = match token.strip_prefix(prefix) {
                            Some(rest) => rest.to_owned(),
                            None => format!(" {token}"),
                        };
                    }
                    if *cleanup {
                        *token = cleaned(std::mem::take(token));
                    }
                }
            }
        }
        Ok(tokens)
    }
}

/// Runs of tokens of bytes become characters, or as many U+FFFD if they are malformed.
fn byte_fallback(tokens: Vec<String>) -> Vec<String> {
    let mut changed = Vec::with_capacity(tokens.len());
    let mut bytes: Vec<u8> = Vec::new();
    let flush = |bytes: &mut Vec<u8>, changed: &mut Vec<String>| {
        if bytes.is_empty() {
            return;
        }
        let run = std::mem::take(bytes);
        let length = run.len();
        match String::from_utf8(run) {
            Ok(text) => changed.push(text),
            Err(_) => changed.extend(std::iter::repeat_n("\u{FFFD}".to_owned(), length)),
        }
    };
    for token in tokens {
        match byte_of_token(&token) {
            Some(byte) => bytes.push(byte),
            None => {
                flush(&mut bytes, &mut changed);
                changed.push(token);
            }
        }
    }
    flush(&mut bytes, &mut changed);
    changed
}

/// The byte of a token such as `<0x0A>`; as in the library, a sign may stand for the first digit.
fn byte_of_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    match digits.len() {
        2 => u8::from_str_radix(digits, 16).ok(),
        _ => None,
    }
}

/// A text without spaces before punctuation and English contractions, as the library leaves them out.
fn cleaned(text: String) -> String {
    const REPLACEMENTS: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    let replace = |text: String, (from, to)| match text.contains(from) {
        true => text.replace(from, to),
        false => text,
    };
    REPLACEMENTS.into_iter().fold(text, replace)
}
