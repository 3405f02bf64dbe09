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
        self.pass(steps.unwrap_or_default(), 0, Cow::Borrowed(token), out)
    }

    /// Ends the tokens.
    pub(super) fn finish(
        mut self,
        steps: Option<&[DecoderStep]>,
        out: &mut String,
    ) -> Result<(), PipelineError> {
        let steps = steps.unwrap_or_default();
        for (at, step) in steps.iter().enumerate() {
            if let StepState::Whole(held) = &mut self.steps[at] {
                let token = held.take();
                self.steps[at] = StepState::new(step, false);
                if let Some(token) = token {
                    self.pass(steps, at, Cow::Owned(token), out)?;
                }
            }
            match self.steps[at].finish(step) {
                Emitted::Nothing => {}
                Emitted::One(token) => self.pass(steps, at + 1, token, out)?,
                Emitted::Several(tokens) => {
                    for token in tokens {
                        self.pass(steps, at + 1, token, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes a token through the steps from one on. A file can list any number of them, so that this
    /// is no recursion.
    fn pass<'t>(
        &mut self,
        steps: &[DecoderStep],
        from: usize,
        token: Cow<'t, str>,
        out: &mut String,
    ) -> Result<(), PipelineError> {
        // The tokens that wait, with their steps; the next one is the last.
        let mut waiting: Vec<(usize, Cow<'t, str>)> = Vec::new();
        let mut next = Some((from, token));
        while let Some((at, token)) = next.take().or_else(|| waiting.pop()) {
            let (Some(step), Some(state)) = (steps.get(at), self.steps.get_mut(at)) else {
                out.push_str(&token);
                continue;
            };
            match state.push(step, token)? {
                Emitted::Nothing => {}
                Emitted::One(token) => next = Some((at + 1, token)),
                Emitted::Several(tokens) => {
                    let tokens = tokens.into_iter().rev();
                    waiting.extend(tokens.map(|token| (at + 1, token)));
                }
            }
        }
        Ok(())
    }
}

/// What a step makes of a token.
enum Emitted<'t> {
    Nothing,
    One(Cow<'t, str>),
    Several(Vec<Cow<'t, str>>),
}

impl StepState {
    /// What a step makes of the next token.
    fn push<'t>(
        &mut self,
        step: &DecoderStep,
        token: Cow<'t, str>,
    ) -> Result<Emitted<'t>, PipelineError> {
        Ok(match (self, step) {
            (Self::Each { is_first }, _) => {
                let is_first = std::mem::replace(is_first, false);
                Emitted::One(step.changed(token, is_first)?)
            }
            (Self::EachPart, _) => Emitted::One(step.changed(token, true)?),
            (Self::Whole(held), _) => {
                held.get_or_insert_default().push_str(&token);
                Emitted::Nothing
            }
            (Self::Ends { leading: 0, .. }, DecoderStep::Strip { stop: 0, .. }) => {
                Emitted::One(token)
            }
            (Self::Ends { leading, held }, DecoderStep::Strip { content, stop, .. }) => {
                let rest = strip_start(&token, *content, *leading);
                *leading = match rest.is_empty() {
                    true => *leading - token.len() / content.len_utf8(),
                    false => 0,
                };
                held.push_str(rest);
                let end = strip_end(held, *content, *stop).len();
                let sure: String = held.drain(..end).collect();
                Emitted::One(Cow::Owned(sure))
            }
            (Self::Ends { .. }, _) => Emitted::One(token),
            (Self::Last(held), DecoderStep::Bpe { suffix }) => {
                let before = held.take();
                let before = before.map(|before| Cow::Owned(before.replace(suffix, " ")));
                let sure = match token.contains(suffix) {
                    true => {
                        *held = Some(token.into_owned());
                        None
                    }
                    false => Some(token),
                };
                match (before, sure) {
                    (None, None) => Emitted::Nothing,
                    (Some(token), None) | (None, Some(token)) => Emitted::One(token),
                    (Some(before), Some(token)) => Emitted::Several(vec![before, token]),
                }
            }
            (Self::Last(last), _) => {
                if last.as_deref() == Some(&*token) {
                    return Ok(Emitted::Nothing);
                }
                let changed = step.changed(token.clone(), false)?;
                *last = Some(token.into_owned());
                match changed.is_empty() {
                    true => Emitted::Nothing,
                    false => Emitted::One(changed),
                }
            }
            (Self::Bytes(bytes), DecoderStep::ByteFallback) => match byte_of_token(&token) {
                Some(byte) => {
                    bytes.push(byte);
                    Emitted::Nothing
                }
                None if bytes.is_empty() => Emitted::One(token),
                None => {
                    let mut tokens = characters_of_run(bytes);
                    tokens.push(token);
                    Emitted::Several(tokens)
                }
            },
            (Self::Bytes(bytes), _) => {
                append_bytes_of(&token, bytes);
                let begun = begun_char(bytes);
                let rest = bytes.split_off(bytes.len() - begun);
                let whole = std::mem::replace(bytes, rest);
                Emitted::One(Cow::Owned(String::from_utf8_lossy(&whole).into_owned()))
            }
        })
    }

    /// What a step holds back, at the end.
    fn finish(&mut self, step: &DecoderStep) -> Emitted<'static> {
        match (self, step) {
            (Self::Last(Some(held)), DecoderStep::Bpe { suffix }) => {
                Emitted::One(Cow::Owned(held.replace(suffix, "")))
            }
            (Self::Bytes(bytes), DecoderStep::ByteFallback) => {
                Emitted::Several(characters_of_run(bytes))
            }
            (Self::Bytes(bytes), _) => {
                Emitted::One(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
            }
            // All tokens are one, even if there are none.
            (Self::EachPart, DecoderStep::Fuse) => Emitted::One(Cow::Borrowed("")),
            _ => Emitted::Nothing,
        }
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
            Self::Replace { pattern, .. } if !pattern.may_match(&token) => token,
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

/// A run of bytes as characters, or as many U+FFFD if it is malformed. The run is then empty.
fn characters_of_run(run: &mut Vec<u8>) -> Vec<Cow<'static, str>> {
    let run = std::mem::take(run);
    let length = run.len();
    match String::from_utf8(run) {
        Ok(text) if text.is_empty() => Vec::new(),
        Ok(text) => vec![Cow::Owned(text)],
        Err(_) => vec![Cow::Borrowed("\u{FFFD}"); length],
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
