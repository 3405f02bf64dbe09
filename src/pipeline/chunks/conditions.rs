//! What the stages ask of the characters beside a cut.
//!
//! | stage | it sees across the cut if |
//! |---|---|
//! | Unicode forms, lower case, rules of models, and the like | never: the three are normalized alone |
//! | `Replace` | a match can have the character before the space, or the space before the one after it, in it |
//! | `Prepend`, `Strip` | only at the start of a text, where no cut is; a text ends after a character before |
//! | added tokens in normalized text | one has the two characters in it |
//! | splits | a match can have the two characters in it |
//! | a model, if no step has cut there | a token has the two characters in it, or the whole part is looked up |

use std::fmt;
use std::sync::Arc;

use super::super::characters::{is_number, is_punctuation, is_removed, is_space};
use super::super::matcher::MatcherTarget;
use super::super::model::PipelineModel;
use super::super::text::{Malformed, MappedText};
use super::super::{Matcher, Metaspace, NormalizerStep, Pipeline, PreTokenizerStep};
use super::{Sides, joins, leads};
use crate::pattern::{Adjacency, SplitBehavior};

/// The conditions for the characters beside a cut, in the order of the steps.
#[derive(Debug)]
pub(super) struct Conditions {
    steps: Vec<Condition>,
    /// Whether any is about the character after the space.
    pub(super) ask_for_after: bool,
    /// Whether each Chinese character is a chunk.
    pub(super) set_chinese_apart: bool,
}

/// What the characters are asked.
enum Condition {
    /// To become one character each.
    Single(NormalizerStep),
    /// The character before the space, as it is then.
    Before(Test),
    /// The character after the space, as it is then.
    After(Test),
    /// The character before the space, to be a token and to be in no token with the space.
    Token(Box<[bool; 128]>),
}

type Test = Box<dyn Fn(char) -> bool + Send + Sync>;

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single(_) => "Single",
            Self::Before(_) => "Before",
            Self::After(_) => "After",
            Self::Token(_) => "Token",
        })
    }
}

impl Conditions {
    /// `None` if no text can be cut.
    pub(super) fn of(pipeline: &Pipeline) -> Option<Self> {
        let mut cut = Cut {
            steps: Vec::new(),
            space: ' ',
            is_made: false,
        };
        for step in pipeline.normalizer.iter() {
            cut.normalize(step)?;
        }
        cut.find_added(pipeline)?;
        for step in pipeline.pre_tokenizer.iter() {
            cut.pre_tokenize(step)?;
        }
        if !cut.is_made {
            cut.encode(&pipeline.model)?;
        }
        let steps = cut.steps;
        Some(Self {
            ask_for_after: steps.iter().any(|it| matches!(it, Condition::After(_))),
            set_chinese_apart: sets_chinese_apart(pipeline),
            steps,
        })
    }

    /// On which sides of a cut a character may stand.
    pub(super) fn sides(&self, pipeline: &Pipeline, c: char) -> Sides {
        let mut sides = Sides::KNOWN
            .with(Sides::JOINS, joins(c))
            .with(Sides::LEADS, leads(c));
        if !is_plain(c) {
            return sides;
        }
        let (mut now, mut before, mut after) = (c, true, true);
        for condition in &self.steps {
            match condition {
                Condition::Single(step) => match changed(step, now).and_then(|it| single(&it)) {
                    Some(single) if is_plain(single) => now = single,
                    _ => return sides,
                },
                Condition::Before(test) => before &= test(now),
                Condition::After(test) => after &= test(now),
                Condition::Token(beside) => {
                    let vocabulary = pipeline.model.vocabulary();
                    let is_token = vocabulary.id(now.encode_utf8(&mut [0; 4])).is_some();
                    before &= is_token && beside.get(now as usize) == Some(&false);
                }
            }
        }
        sides = sides.with(Sides::BEFORE, before);
        sides.with(Sides::AFTER, after)
    }
}

/// Whether the normalizer puts spaces on both sides of each Chinese character, and the step after it
/// removes white space before another one can see it. The other changes of BERT's normalizer concern
/// one character, or one and the marks after it.
fn sets_chinese_apart(pipeline: &Pipeline) -> bool {
    let puts_spaces = match &pipeline.normalizer[..] {
        [NormalizerStep::Bert(bert, _)] => bert.handle_chinese_chars,
        _ => false,
    };
    let removes_spaces = matches!(
        pipeline.pre_tokenizer.first(),
        Some(
            PreTokenizerStep::Bert
                | PreTokenizerStep::Whitespace
                | PreTokenizerStep::WhitespaceSplit
        )
    );
    let mut added = pipeline.added.normalized_tokens();
    puts_spaces
        && removes_spaces
        && added.all(|(token, text)| {
            let sees_more = token.single_word || token.lstrip || token.rstrip;
            !sees_more && !text.contains(char::is_whitespace)
        })
}

/// Whether a character is visible, and none that is one with others.
fn is_plain(c: char) -> bool {
    let is_blank = |c: char| c.is_whitespace() || is_space(c) || is_removed(c);
    match c.is_ascii() {
        true => c.is_ascii_graphic(),
        false => !is_blank(c) && !joins(c) && !leads(c),
    }
}

/// What the steps so far make of a cut.
struct Cut {
    steps: Vec<Condition>,
    space: char,
    /// Whether a step has cut there, so that those after it see the parts alone.
    is_made: bool,
}

impl Cut {
    fn before(&mut self, test: impl Fn(char) -> bool + Send + Sync + 'static) {
        self.steps.push(Condition::Before(Box::new(test)));
    }

    fn after(&mut self, test: impl Fn(char) -> bool + Send + Sync + 'static) {
        self.steps.push(Condition::After(Box::new(test)));
    }

    /// Takes out the characters of matches on both sides.
    fn apart_from(&mut self, matches: Arc<Adjacency>) {
        let same = Arc::clone(&matches);
        self.before(move |c| !same.has(c));
        self.after(move |c| !matches.has(c));
    }

    fn normalize(&mut self, step: &NormalizerStep) -> Option<()> {
        match step {
            NormalizerStep::Prepend(_) | NormalizerStep::Strip { .. } => Some(()),
            NormalizerStep::Replace { pattern, content } => self.replace(pattern, content),
            _ => {
                self.space = single(&changed(step, self.space)?)?;
                self.steps.push(Condition::Single(step.clone()));
                Some(())
            }
        }
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
                self.before(move |c| last != Some(c));
                self.after(move |c| first != Some(c));
            }
            MatcherTarget::Expression(expression) => {
                self.apart_from(Arc::new(expression.adjacency()?));
                let step = NormalizerStep::Replace {
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
        self.before_is_not_in(text);
        // A text can begin with the space, and end with the character after it or a later one.
        let mut chars = text.chars();
        if chars.next() == Some(space)
            && let Some(second) = chars.next()
        {
            self.after(move |c| c != second);
        }
    }

    /// Takes out the characters before the space in a text.
    fn before_is_not_in(&mut self, text: &str) {
        let space = self.space;
        let pairs = text.chars().zip(text.chars().skip(1));
        let before = pairs.filter(|(_, second)| *second == space);
        let before: Vec<char> = before.map(|(first, _)| first).collect();
        if !before.is_empty() {
            self.before(move |c| !before.contains(&c));
        }
    }

    fn find_added(&mut self, pipeline: &Pipeline) -> Option<()> {
        let space = self.space;
        for (token, text) in pipeline.added.normalized_tokens() {
            self.before_is_not_in(text);
            if token.single_word && (space.is_alphanumeric() || text.starts_with(space)) {
                return None;
            }
            if token.rstrip && space.is_whitespace() {
                let last = text.chars().next_back();
                self.before(move |c| last != Some(c));
            }
        }
        Some(())
    }

    fn pre_tokenize(&mut self, step: &PreTokenizerStep) -> Option<()> {
        if self.is_made {
            return Some(());
        }
        let space = self.space;
        match step {
            PreTokenizerStep::Bert => {
                self.is_made = space.is_whitespace() || is_punctuation(space);
            }
            PreTokenizerStep::WhitespaceSplit => self.is_made = space.is_whitespace(),
            PreTokenizerStep::Whitespace => {
                if !space.is_whitespace() {
                    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    if space.is_alphanumeric() || is_word(space) {
                        return None;
                    }
                    self.before(is_word);
                }
                self.is_made = true;
            }
            PreTokenizerStep::ByteLevel { use_regex, .. } => {
                if space != ' ' {
                    return None;
                }
                self.is_made = *use_regex;
                // Without the expression, the model sees the characters of bytes: another one for the
                // space, and several for a character that is not of ASCII.
                if !use_regex {
                    self.space = '\u{120}';
                    self.before(|c| c.is_ascii());
                    self.after(|c| c.is_ascii());
                }
            }
            PreTokenizerStep::CharDelimiter(delimiter) => self.is_made = *delimiter == space,
            PreTokenizerStep::Digits { .. } if !is_number(space) => {}
            PreTokenizerStep::Punctuation(_) if !is_punctuation(space) => {}
            PreTokenizerStep::Metaspace(metaspace) => self.mark(*metaspace)?,
            PreTokenizerStep::Split {
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
                    self.before(move |c| last != Some(c));
                }
            }
            MatcherTarget::Expression(expression) => {
                let adjacency = Arc::new(expression.adjacency()?);
                let pairs = Arc::clone(&adjacency);
                self.before(move |c| !pairs.has_pair(c, space));
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
                    self.apart_from(adjacency);
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
        let space = self.space.to_string();
        vocabulary.id(&space)?;
        let mut beside = Box::new([false; 128]);
        for (text, _) in vocabulary.tokens() {
            for (at, _) in text.match_indices(&space) {
                if let Some(before) = text[..at].bytes().next_back().filter(u8::is_ascii) {
                    beside[usize::from(before)] = true;
                }
            }
        }
        self.steps.push(Condition::Token(beside));
        Some(())
    }
}

/// What a step makes of a character alone; `None` if it cannot be applied.
fn changed(step: &NormalizerStep, c: char) -> Option<String> {
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
