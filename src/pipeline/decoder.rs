//! The steps from tokens to a text.

use std::borrow::Cow;

use super::PipelineError;
use super::matcher::Matcher;
use crate::base::begun_char;
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

/// What a step keeps between two tokens.
#[derive(Debug, Clone)]
enum StepState {
    /// Tokens are changed one by one.
    Each { is_first: bool },
    /// All tokens are parts of one: the parts are changed one by one.
    EachPart,
    /// All tokens are parts of one, and the step changes its ends: how many characters it can still
    /// remove from the start, and those at the end that it removes if nothing follows.
    Ends { leading: usize, held: String },
    /// All tokens are parts of one, which the step changes when it is whole.
    Whole(Option<String>),
    /// The last token: of BPE, if it has the end of a word; of CTC, to compare it with the next.
    Last(Option<String>),
    /// Bytes that are no text yet.
    Bytes(Vec<u8>),
}

impl StepState {
    /// `is_joined`: a step before this one makes all tokens one.
    fn new(step: &DecoderStep, is_joined: bool) -> Self {
        match step {
            DecoderStep::Fuse => Self::EachPart,
            DecoderStep::Metaspace { .. } if is_joined => Self::EachPart,
            DecoderStep::WordPiece { cleanup: false, .. } if is_joined => Self::EachPart,
            DecoderStep::Replace { pattern, .. } if is_joined && pattern.is_one_char() => {
                Self::EachPart
            }
            DecoderStep::Strip { start, .. } if is_joined => Self::Ends {
                leading: *start,
                held: String::new(),
            },
            _ if is_joined => Self::Whole(None),
            DecoderStep::Bpe { .. } | DecoderStep::Ctc { .. } => Self::Last(None),
            DecoderStep::ByteFallback | DecoderStep::ByteLevel => Self::Bytes(Vec::new()),
            _ => Self::Each { is_first: true },
        }
    }
}

/// Tokens on their way through the steps of a decoder, one after the other: [`push`](Self::push) appends
/// to a text what is certain, [`finish`](Self::finish) the rest.
///
/// A token goes through all steps at once; a step holds it back if it needs to know what follows. After
/// a step that makes all tokens one, the tokens are parts of it.
///
/// Example: with the steps `ByteFallback`, `Fuse`, `Strip` (one space from the start), the tokens ` a`,
/// `<0xC3>`, `<0xA9>`, `b` append `a`, nothing, nothing, `\u{e9}b`.
#[derive(Debug, Clone)]
pub(crate) struct DecoderState {
    steps: Vec<StepState>,
    is_first: bool,
}

impl DecoderState {
    pub(super) fn new(steps: Option<&[DecoderStep]>) -> Self {
        let mut is_joined = false;
        let make = |step: &DecoderStep| {
            let state = StepState::new(step, is_joined);
            is_joined |= matches!(step, DecoderStep::Fuse | DecoderStep::ByteLevel);
            state
        };
        Self {
            steps: steps.unwrap_or_default().iter().map(make).collect(),
            is_first: true,
        }
    }

    /// Takes the next token.
    pub(super) fn push(
        &mut self,
        steps: Option<&[DecoderStep]>,
        token: &str,
        out: &mut String,
    ) -> Result<(), PipelineError> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if steps.is_none() && !is_first {
            out.push(' ');
        }
        let steps = steps.unwrap_or_default();
        push(steps, &mut self.steps, Cow::Borrowed(token), out)
    }

    /// Ends the tokens.
    pub(super) fn finish(
        mut self,
        steps: Option<&[DecoderStep]>,
        out: &mut String,
    ) -> Result<(), PipelineError> {
        let steps = steps.unwrap_or_default();
        (0..steps.len()).try_for_each(|at| finish(&steps[at..], &mut self.steps[at..], out))
    }
}

/// Passes a token to the first step, and what comes of it to the steps after that one.
fn push(
    steps: &[DecoderStep],
    states: &mut [StepState],
    token: Cow<'_, str>,
    out: &mut String,
) -> Result<(), PipelineError> {
    let (Some((step, later)), Some((state, later_states))) =
        (steps.split_first(), states.split_first_mut())
    else {
        out.push_str(&token);
        return Ok(());
    };
    let mut pass = |token: Cow<'_, str>| push(later, later_states, token, out);
    match (state, step) {
        (StepState::Each { is_first }, _) => {
            let is_first = std::mem::replace(is_first, false);
            pass(step.changed(token, is_first)?)
        }
        (StepState::EachPart, _) => pass(step.changed(token, true)?),
        (StepState::Whole(held), _) => {
            held.get_or_insert_default().push_str(&token);
            Ok(())
        }
        (StepState::Ends { leading, held }, DecoderStep::Strip { content, stop, .. }) => {
            let rest = strip_start(&token, *content, *leading);
            *leading = match rest.is_empty() {
                true => *leading - token.len() / content.len_utf8(),
                false => 0,
            };
            held.push_str(rest);
            let end = strip_end(held, *content, *stop).len();
            let sure: String = held.drain(..end).collect();
            pass(Cow::Owned(sure))
        }
        (StepState::Ends { .. }, _) => pass(token),
        (StepState::Last(held), DecoderStep::Bpe { suffix }) => {
            if let Some(before) = held.take() {
                pass(Cow::Owned(before.replace(suffix, " ")))?;
            }
            match token.contains(suffix) {
                true => *held = Some(token.into_owned()),
                false => pass(token)?,
            }
            Ok(())
        }
        (StepState::Last(last), _) => {
            if last.as_deref() == Some(&*token) {
                return Ok(());
            }
            let changed = step.changed(token.clone(), false)?;
            *last = Some(token.into_owned());
            match changed.is_empty() {
                true => Ok(()),
                false => pass(changed),
            }
        }
        (StepState::Bytes(bytes), DecoderStep::ByteFallback) => match byte_of_token(&token) {
            Some(byte) => {
                bytes.push(byte);
                Ok(())
            }
            None => {
                pass_run(bytes, &mut pass)?;
                pass(token)
            }
        },
        (StepState::Bytes(bytes), _) => {
            append_bytes_of(&token, bytes);
            let begun = begun_char(bytes);
            let rest = bytes.split_off(bytes.len() - begun);
            let whole = std::mem::replace(bytes, rest);
            pass(String::from_utf8_lossy(&whole))
        }
    }
}

/// Passes on what the first step holds back.
fn finish(
    steps: &[DecoderStep],
    states: &mut [StepState],
    out: &mut String,
) -> Result<(), PipelineError> {
    let (Some((step, later)), Some((state, later_states))) =
        (steps.split_first(), states.split_first_mut())
    else {
        return Ok(());
    };
    if let StepState::Whole(held) = state {
        let token = held.take();
        *state = StepState::new(step, false);
        if let Some(token) = token {
            push(steps, states, Cow::Owned(token), out)?;
        }
        return finish(steps, states, out);
    }
    let mut pass = |token: Cow<'_, str>| push(later, later_states, token, out);
    match (state, step) {
        (StepState::Last(Some(held)), DecoderStep::Bpe { suffix }) => {
            pass(Cow::Owned(held.replace(suffix, "")))
        }
        (StepState::Bytes(bytes), DecoderStep::ByteFallback) => pass_run(bytes, &mut pass),
        (StepState::Bytes(bytes), _) => pass(String::from_utf8_lossy(bytes)),
        // All tokens are one, even if there are none.
        (StepState::EachPart, DecoderStep::Fuse) => pass(Cow::Borrowed("")),
        _ => Ok(()),
    }
}

impl DecoderStep {
    /// A token after a step that changes tokens one by one.
    fn changed<'t>(
        &self,
        token: Cow<'t, str>,
        is_first: bool,
    ) -> Result<Cow<'t, str>, PipelineError> {
        Ok(match self {
            Self::Metaspace {
                replacement,
                strips_first,
            } => {
                let space = if is_first && *strips_first { "" } else { " " };
                match token.contains(*replacement) {
                    true => Cow::Owned(token.replace(*replacement, space)),
                    false => token,
                }
            }
            Self::Replace { pattern, content } => {
                let mut replaced = String::with_capacity(token.len());
                pattern.for_each(&token, &mut |range, is_match| match is_match {
                    true => replaced.push_str(content),
                    false => replaced.push_str(&token[range]),
                })?;
                Cow::Owned(replaced)
            }
            Self::Strip {
                content,
                start,
                stop,
            } => {
                let rest = strip_start(&token, *content, *start);
                Cow::Owned(strip_end(rest, *content, *stop).to_owned())
            }
            Self::WordPiece { prefix, cleanup } => {
                let token = match token.strip_prefix(prefix) {
                    _ if is_first => token,
                    Some(rest) => Cow::Owned(rest.to_owned()),
                    None => Cow::Owned(format!(" {token}")),
                };
                match cleanup {
                    true => Cow::Owned(cleaned(token.into_owned())),
                    false => token,
                }
            }
            Self::Ctc {
                pad_token,
                word_delimiter_token,
                cleanup,
            } => {
                let text = token.replace(pad_token, "");
                Cow::Owned(match cleanup {
                    true => cleaned(text).replace(word_delimiter_token, " "),
                    false => text,
                })
            }
            Self::Bpe { .. } | Self::ByteFallback | Self::ByteLevel | Self::Fuse => token,
        })
    }
}

/// A text without the first characters, if they are `content`; at most `limit` are removed.
fn strip_start(text: &str, content: char, limit: usize) -> &str {
    let leading = text.chars().take(limit).take_while(|c| *c == content);
    &text[leading.count() * content.len_utf8()..]
}

/// A text without the last characters, if they are `content`; at most `limit` are removed.
fn strip_end(text: &str, content: char, limit: usize) -> &str {
    let trailing = text.chars().rev().take(limit);
    let trailing = trailing.take_while(|c| *c == content).count();
    &text[..text.len() - trailing * content.len_utf8()]
}

/// Appends the bytes for which the characters of a token stand. A token with other characters stands for
/// itself.
fn append_bytes_of(token: &str, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    for c in token.chars() {
        let Some(byte) = byte_of(c) else {
            bytes.truncate(start);
            bytes.extend_from_slice(token.as_bytes());
            return;
        };
        bytes.push(byte);
    }
}

/// Passes a run of bytes as characters, or as many U+FFFD if it is malformed, and empties it.
fn pass_run(
    run: &mut Vec<u8>,
    pass: &mut impl FnMut(Cow<'_, str>) -> Result<(), PipelineError>,
) -> Result<(), PipelineError> {
    if run.is_empty() {
        return Ok(());
    }
    let run = std::mem::take(run);
    let length = run.len();
    match String::from_utf8(run) {
        Ok(text) => pass(Cow::Owned(text)),
        Err(_) => (0..length).try_for_each(|_| pass(Cow::Borrowed("\u{FFFD}"))),
    }
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

#[cfg(test)]
mod tests;
