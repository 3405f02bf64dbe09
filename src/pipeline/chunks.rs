//! Where a text can be cut before everything else.
//!
//! Most words of a text were seen before. If a text can be cut between words such that the ids of the
//! parts are those of the text, whatever stands in them, then the ids of a part can be kept and looked
//! up by its bytes. So the stages need no fast path of their own: only new words go through them.
//!
//! A cut is made between a character *before* and a single space, after which there is another
//! character; both are letters, digits or punctuation of ASCII. Which ones are allowed is what is left
//! after a look at each stage, which follows what becomes of the three characters. A stage that could see across such a cut takes its characters out;
//! one that cannot be understood leaves none.
//!
//! | stage | it sees across the cut if |
//! |---|---|
//! | Unicode forms, lower case, rules of models, and the like | never: the three are normalized alone |
//! | `Replace` | a match can have the character before the space, or the space before the one after it, in it |
//! | `Prepend`, `Strip` | only at the start of a text, where no cut is; a text ends after a character before |
//! | added tokens in normalized text | one has the two characters in it |
//! | splits | a match can have the two characters in it |
//! | a model, if no step has cut there | a token has the two characters in it, or the whole part is looked up |
//!
//! Example: GPT-2's expression matches ` ?\p{L}+`, but nothing with a space inside. So `one two` is
//! `one` and ` two` for all that follows.

use super::characters::{is_number, is_punctuation};
use super::matcher::MatcherTarget;
use super::model::PipelineModel;
use super::text::{Malformed, MappedText};
use super::{Matcher, Metaspace, Normalizer, Pipeline, PreTokenizer};
use crate::base::num::low_u8;
use crate::pattern::SplitBehavior;

/// See the [module page](self).
#[derive(Debug)]
pub(super) struct Chunks {
    /// The bytes that may stand before a cut.
    before: Box<[bool; 256]>,
    /// The bytes that may stand after the space.
    after: Box<[bool; 256]>,
}

impl Chunks {
    /// `None` if the texts of a pipeline cannot be cut.
    pub(super) fn of(pipeline: &Pipeline) -> Option<Self> {
        let mut cut = Cut::new();
        for step in &pipeline.normalizer {
            cut.normalize(step)?;
        }
        cut.find_added(pipeline)?;
        for step in &pipeline.pre_tokenizer {
            cut.pre_tokenize(step)?;
        }
        if !cut.is_made {
            cut.encode(&pipeline.model)?;
        }
        let mut chunks = Self {
            before: Box::new([false; 256]),
            after: Box::new([false; 256]),
        };
        for (set, sides) in [
            (&mut chunks.before, &cut.before),
            (&mut chunks.after, &cut.after),
        ] {
            for side in sides {
                set[usize::from(low_u8(u64::from(u32::from(side.original))))] = true;
            }
        }
        let is_useful = cut
            .before
            .iter()
            .any(|side| side.original.is_ascii_alphabetic());
        (is_useful && !cut.after.is_empty()).then_some(chunks)
    }

    /// The last position after `start` at which a chunk begins, whatever follows the text.
    pub(super) fn last_start(&self, text: &[u8], start: usize) -> Option<usize> {
        let mut end = text.len();
        while let Some(at) = memchr::memrchr(b' ', text.get(start + 1..end)?) {
            let at = start + 1 + at;
            let after = text.get(at + 1).copied().unwrap_or_default();
            if self.before[usize::from(text[at - 1])] && self.after[usize::from(after)] {
                return Some(at);
            }
            end = at;
        }
        None
    }

    /// The end of the chunk that begins at `start`.
    #[inline]
    pub(super) fn end(&self, text: &[u8], start: usize) -> usize {
        let mut from = start + 1;
        while let Some(found) = text.get(from..).and_then(|rest| memchr::memchr(b' ', rest)) {
            let at = from + found;
            let after = text.get(at + 1).copied().unwrap_or_default();
            if self.before[usize::from(text[at - 1])] && self.after[usize::from(after)] {
                return at;
            }
            from = at + 1;
        }
        text.len()
    }
}

/// A character beside the space.
#[derive(Debug, Clone, Copy)]
struct CutSide {
    original: char,
    /// What it is after the steps so far.
    now: char,
}

/// What the steps so far make of a cut.
struct Cut {
    before: Vec<CutSide>,
    space: char,
    after: Vec<CutSide>,
    /// Whether a step has cut there, so that those after it see the parts alone.
    is_made: bool,
}

impl Cut {
    fn new() -> Self {
        let side = |c: u8| CutSide {
            original: char::from(c),
            now: char::from(c),
        };
        let graphic = || (b'!'..=b'~').map(side);
        Self {
            before: graphic().collect(),
            space: ' ',
            after: graphic().collect(),
            is_made: false,
        }
    }

    fn retain_before(&mut self, keeps: impl Fn(char) -> bool) {
        self.before.retain(|side| keeps(side.now));
    }

    fn retain_after(&mut self, keeps: impl Fn(char) -> bool) {
        self.after.retain(|side| keeps(side.now));
    }

    fn normalize(&mut self, step: &Normalizer) -> Option<()> {
        match step {
            Normalizer::Prepend(_) | Normalizer::Strip { .. } => return Some(()),
            Normalizer::Replace { pattern, content } => {
                self.replace(pattern, content)?;
            }
            _ => {
                let change = |c: char| single(&changed(step, c)?);
                self.space = change(self.space)?;
                let changes = |sides: &mut Vec<CutSide>| {
                    let sides_now = sides.iter().filter_map(|side| {
                        let now = change(side.now)?;
                        Some(CutSide { now, ..*side })
                    });
                    *sides = sides_now.collect();
                };
                changes(&mut self.before);
                changes(&mut self.after);
            }
        }
        // What follows relies on them.
        self.retain_before(|c| c.is_ascii_graphic());
        self.retain_after(|c| c.is_ascii_graphic());
        Some(())
    }

    fn replace(&mut self, pattern: &Matcher, content: &str) -> Option<()> {
        let space = self.space;
        match &pattern.target {
            MatcherTarget::Text(text) if text.is_empty() => return None,
            MatcherTarget::Text(text) => {
                self.keep_apart(text);
                if *text == space.to_string() {
                    self.space = single(content)?;
                    return Some(());
                }
                let (first, last) = (text.chars().next(), text.chars().next_back());
                self.retain_before(|c| last != Some(c));
                self.retain_after(|c| first != Some(c));
            }
            MatcherTarget::Expression(expression) => {
                let adjacency = expression.adjacency()?;
                self.retain_before(|c| !adjacency.has(c));
                self.retain_after(|c| !adjacency.has(c));
                let step = Normalizer::Replace {
                    pattern: pattern.clone(),
                    content: content.to_owned(),
                };
                self.space = single(&changed(&step, space)?)?;
            }
        }
        Some(())
    }

    /// Takes out the characters that a text has beside the space.
    fn keep_apart(&mut self, text: &str) {
        let space = self.space;
        let pairs: Vec<(char, char)> = text.chars().zip(text.chars().skip(1)).collect();
        self.retain_before(|c| !pairs.contains(&(c, space)));
        // A text can begin with the space, and end with the character after it or a later one.
        if text.starts_with(space) {
            let second = text.chars().nth(1);
            self.retain_after(|c| second != Some(c));
        }
    }

    fn find_added(&mut self, pipeline: &Pipeline) -> Option<()> {
        for (token, text) in pipeline.added.normalized_tokens() {
            let space = self.space;
            let pairs: Vec<(char, char)> = text.chars().zip(text.chars().skip(1)).collect();
            self.retain_before(|c| !pairs.contains(&(c, space)));
            if token.single_word && (space.is_alphanumeric() || text.starts_with(space)) {
                return None;
            }
            if token.rstrip && space.is_whitespace() {
                let last = text.chars().next_back();
                self.retain_before(|c| last != Some(c));
            }
        }
        Some(())
    }

    fn pre_tokenize(&mut self, step: &PreTokenizer) -> Option<()> {
        if self.is_made {
            return Some(());
        }
        let space = self.space;
        match step {
            PreTokenizer::Bert => {
                self.is_made = space.is_whitespace() || is_punctuation(space);
            }
            PreTokenizer::WhitespaceSplit => self.is_made = space.is_whitespace(),
            PreTokenizer::Whitespace => {
                if !space.is_whitespace() {
                    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    if space.is_alphanumeric() || is_word(space) {
                        return None;
                    }
                    self.retain_before(is_word);
                }
                self.is_made = true;
            }
            PreTokenizer::ByteLevel { use_regex, .. } => {
                if space != ' ' {
                    return None;
                }
                self.is_made = *use_regex;
                // Without the expression, the space becomes another character.
                if !use_regex {
                    self.space = '\u{120}';
                }
            }
            PreTokenizer::CharDelimiter(delimiter) => self.is_made = *delimiter == space,
            PreTokenizer::Digits { .. } if !is_number(space) => {}
            PreTokenizer::Punctuation(_) if !is_punctuation(space) => {}
            PreTokenizer::Metaspace(metaspace) => self.mark(*metaspace)?,
            PreTokenizer::Split {
                pattern,
                behavior,
                invert,
            } => self.split(pattern, *behavior, *invert)?,
            _ => return None,
        }
        Some(())
    }

    fn mark(&mut self, metaspace: Metaspace) -> Option<()> {
        if self.space != ' ' && self.space != metaspace.replacement {
            return None;
        }
        self.space = metaspace.replacement;
        self.is_made = metaspace.split;
        Some(())
    }

    fn split(&mut self, pattern: &Matcher, behavior: SplitBehavior, invert: bool) -> Option<()> {
        let space = self.space;
        match &pattern.target {
            MatcherTarget::Text(_) if invert => return None,
            MatcherTarget::Text(text) if text.is_empty() => return None,
            MatcherTarget::Text(text) if *text == space.to_string() => {
                if behavior == SplitBehavior::MergedWithPrevious {
                    return None;
                }
                self.is_made = true;
            }
            MatcherTarget::Text(text) => {
                self.keep_apart(text);
                let last = text.chars().next_back();
                if text.contains(space) || behavior == SplitBehavior::MergedWithNext {
                    self.retain_before(|c| last != Some(c));
                }
            }
            MatcherTarget::Expression(expression) => {
                let adjacency = expression.adjacency()?;
                self.retain_before(|c| !adjacency.has_pair(c, space));
                let is_kept = match behavior {
                    SplitBehavior::Isolated => expression.is_total(),
                    SplitBehavior::Removed => invert,
                    _ => false,
                };
                if is_kept {
                    self.is_made = true;
                } else if invert || adjacency.has(space) {
                    return None;
                } else if behavior != SplitBehavior::Isolated {
                    self.retain_before(|c| !adjacency.has(c));
                    self.retain_after(|c| !adjacency.has(c));
                }
            }
        }
        Some(())
    }

    /// The model gets parts with the cut inside.
    fn encode(&mut self, model: &PipelineModel) -> Option<()> {
        let PipelineModel::Bpe(bpe) = model else {
            return None;
        };
        let options = bpe.options();
        let affixes = [
            &options.continuing_subword_prefix,
            &options.end_of_word_suffix,
        ];
        let has_affix = affixes.into_iter().flatten().any(|affix| !affix.is_empty());
        if has_affix || options.whole_parts_first {
            return None;
        }
        let vocabulary = bpe.vocabulary();
        let is_token = |c: char| vocabulary.id(c.encode_utf8(&mut [0; 4])).is_some();
        if !is_token(self.space) {
            return None;
        }
        self.retain_before(is_token);
        let space = self.space;
        let mut beside = [false; 128];
        let mut text_of_space = [0; 4];
        let text_of_space = space.encode_utf8(&mut text_of_space);
        for (text, _) in vocabulary.tokens() {
            for (at, _) in text.match_indices(&*text_of_space) {
                if let Some(before) = text[..at].bytes().next_back().filter(u8::is_ascii) {
                    beside[usize::from(before)] = true;
                }
            }
        }
        self.retain_before(|c| !beside.get(c as usize).copied().unwrap_or(true));
        Some(())
    }
}

/// What a step makes of a character alone; `None` if it cannot be applied.
fn changed(step: &Normalizer, c: char) -> Option<String> {
    let mut text = MappedText::default();
    text.start(
        c.encode_utf8(&mut [0; 4]).as_bytes(),
        0..c.len_utf8(),
        true,
        Malformed::Replaced,
    );
    step.apply(&mut text, false).ok()?;
    Some(text.text)
}

/// The character of a text of one.
fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
