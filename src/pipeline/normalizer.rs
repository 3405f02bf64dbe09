//! The steps that change a text before it is cut.

use std::sync::Arc;

use unicode_normalization_alignments::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::characters::{
    has_lower_case, is_chinese, is_nonspacing_mark, is_removed, is_space, lower_case,
};
use super::forms::{UnicodeForm, UnicodeVersion};
use super::matcher::{Matcher, MatcherTarget};
use super::text::{Change, MappedText, PartWriter, malformed_byte};
use super::{BertNormalizer, PipelineError};
use crate::base::WHITESPACE_MARK;
use crate::base::byte_chars::byte_char;
use crate::normalize::charsmap::{Charsmap, CharsmapError};

/// A step that changes a text before it is cut.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NormalizerStep {
    /// What BERT does to a text; accents are found with the decompositions of a version of Unicode.
    Bert(BertNormalizer, UnicodeVersion),
    /// Each byte becomes the character that stands for it in byte-level vocabularies.
    ByteLevel,
    /// Lower case, character by character.
    Lowercase,
    /// A Unicode normalization form.
    Unicode(UnicodeForm, UnicodeVersion),
    /// Removes control characters; other white space becomes the space.
    Nmt,
    /// The rules of a SentencePiece model, applied to grapheme clusters.
    Precompiled(PrecompiledRules),
    /// A text before every text that is not empty.
    Prepend(String),
    /// Each match becomes a text.
    Replace {
        /// What matches.
        pattern: Matcher,
        /// What it becomes.
        content: String,
    },
    /// Removes white space at the ends.
    Strip {
        /// At the start.
        left: bool,
        /// At the end.
        right: bool,
    },
    /// Removes combining marks.
    StripAccents,
}

/// The rules of a SentencePiece model.
#[derive(Debug, Clone)]
pub struct PrecompiledRules {
    bytes: Arc<[u8]>,
    charsmap: Arc<Charsmap>,
    /// Whether a byte of ASCII stays as it is.
    kept: Arc<[bool; 256]>,
}

impl PrecompiledRules {
    /// Reads the bytes of a charsmap.
    ///
    /// # Errors
    /// They are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CharsmapError> {
        let charsmap = Charsmap::from_bytes(bytes)?;
        // A line feed after a carriage return is in one cluster with it.
        let is_kept = |byte: usize| {
            let byte = u8::try_from(byte)
                .ok()
                .filter(|byte| byte.is_ascii() && *byte != b'\r');
            byte.is_some_and(|byte| charsmap.shortest_match(&[byte]).is_none())
        };
        Ok(Self {
            bytes: bytes.into(),
            kept: Arc::new(std::array::from_fn(is_kept)),
            charsmap: Arc::new(charsmap),
        })
    }

    /// The bytes of the charsmap.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a text of ASCII has no rule.
    fn keep_ascii(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.kept[usize::from(*byte)])
    }

    /// What the shortest rule at the start of a text makes of it.
    fn transform(&self, text: &str) -> Option<&str> {
        if let [byte] = text.as_bytes()
            && self.kept[usize::from(*byte)]
        {
            return None;
        }
        std::str::from_utf8(self.charsmap.shortest_match(text.as_bytes())?).ok()
    }
}

impl NormalizerStep {
    /// Applies the step. `is_start` is false for a text that goes on another one: it has no start of
    /// its own.
    pub(super) fn apply(&self, text: &mut MappedText, is_start: bool) -> Result<(), PipelineError> {
        if text.is_plain_ascii() && self.keeps_ascii(&text.text) {
            return Ok(());
        }
        match self {
            Self::Bert(bert, version) => {
                bert.apply(text, *version);
                return Ok(());
            }
            Self::Replace { pattern, .. } if !pattern.may_match(&text.text) => return Ok(()),
            _ => {}
        }
        text.change(|part| {
            match self {
                Self::Bert(..) => {}
                Self::ByteLevel => byte_chars(part),
                Self::Lowercase => part.map(lower_case),
                Self::Unicode(form, version) => form.apply(part, *version),
                Self::Nmt => part.filter(|c| !is_nmt_control(c)),
                Self::Precompiled(charsmap) => precompiled(charsmap, part),
                Self::Prepend(prefix) if is_start => part.prepend(prefix),
                Self::Prepend(_) => part.keep(),
                Self::Replace { pattern, content } => return replace(pattern, content, part),
                Self::Strip { left, right } => strip(part, *left && is_start, *right),
                Self::StripAccents => part.filter(|c| !is_combining_mark(c)),
            }
            Ok(())
        })?;
        // The library changes white space in a second pass, too.
        if let Self::Nmt = self {
            infallible(text, |part| part.map(|c| [nmt_space(c)]));
        }
        Ok(())
    }

    /// Whether the step certainly leaves a text of ASCII as it is.
    fn keeps_ascii(&self, text: &str) -> bool {
        match self {
            Self::Unicode(..) | Self::StripAccents => true,
            Self::Precompiled(rules) => rules.keep_ascii(text.as_bytes()),
            Self::Lowercase => !text.bytes().any(|byte| byte.is_ascii_uppercase()),
            Self::Strip { left, right } => {
                let is_blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
                let (first, last) = (text.chars().next(), text.chars().next_back());
                !(*left && is_blank(first) || *right && is_blank(last))
            }
            Self::Replace { pattern, .. } => match &pattern.target {
                MatcherTarget::Text(needle) => {
                    !needle.is_empty() && !text.contains(needle.as_str())
                }
                MatcherTarget::Expression(_) => false,
            },
            _ => false,
        }
    }

    /// Whether the step certainly leaves a text as it is. That is known at once of text of ASCII, and
    /// of most text in a normalization form.
    pub(super) fn keeps(&self, text: &[u8]) -> bool {
        if text.is_ascii() {
            return std::str::from_utf8(text).is_ok_and(|text| self.keeps_ascii(text));
        }
        match self {
            Self::Unicode(form, _) => std::str::from_utf8(text).is_ok_and(|text| form.keeps(text)),
            _ => false,
        }
    }

    /// Whether it can put characters at the start of a text that stand for nothing in it.
    pub(super) fn may_insert_at_start(&self) -> bool {
        match self {
            Self::Prepend(text) => text.is_empty(),
            Self::Replace { pattern, .. } => match &pattern.target {
                MatcherTarget::Text(needle) => needle.is_empty(),
                MatcherTarget::Expression(expression) => expression.adjacency().is_none(),
            },
            _ => false,
        }
    }
}

/// Changes that cannot fail.
fn infallible(text: &mut MappedText, change: impl Fn(&mut PartWriter<'_>)) {
    let Ok(()) = text.change(|part| -> Result<(), std::convert::Infallible> {
        change(part);
        Ok(())
    });
}

impl BertNormalizer {
    /// The four passes of the library.
    fn apply(self, text: &mut MappedText, version: UnicodeVersion) {
        if text.is_plain_ascii() {
            infallible(text, |part| {
                let chars = part.part().text.chars();
                let kept = chars.filter(|c| !self.clean_text || !is_removed(*c));
                let changed = kept.map(|c| match c {
                    _ if self.clean_text && is_space(c) => ' ',
                    _ if self.lowercase => c.to_ascii_lowercase(),
                    _ => c,
                });
                part.change(changed.map(|c| Change::new(c, 0)), 0);
            });
            return;
        }
        // A pass copies the text; a search for characters that it changes costs less. With origins, passes
        // also decide on what stands at the start.
        let needs = |text: &MappedText, is_changed: fn(char) -> bool| {
            text.tracks() || text.text.chars().any(is_changed)
        };
        if self.clean_text {
            if needs(text, is_removed) {
                infallible(text, |part| part.filter(|c| !is_removed(c)));
            }
            if needs(text, |c| c != ' ' && is_space(c)) {
                infallible(text, |part| {
                    part.map(|c| [if is_space(c) { ' ' } else { c }]);
                });
            }
        }
        if self.handle_chinese_chars && text.text.chars().any(is_chinese) {
            infallible(text, |part| {
                let chars = part.part().text.chars();
                let changes = chars.flat_map(|c| {
                    let (begin, length) = if is_chinese(c) { (0, 3) } else { (1, 1) };
                    let shift = isize::from(length > 1);
                    let all = [(' ', 0), (c, shift), (' ', 1)];
                    all.into_iter().skip(begin).take(length)
                });
                part.change(changes.map(|(c, shift)| Change::new(c, shift)), 0);
            });
        }
        if self.removes_accents() {
            infallible(text, |part| UnicodeForm::Nfd.apply(part, version));
            if needs(text, is_nonspacing_mark) {
                infallible(text, |part| part.filter(|c| !is_nonspacing_mark(c)));
            }
        }
        if self.lowercase && needs(text, has_lower_case) {
            infallible(text, |part| part.map(lower_case));
        }
    }
}

/// The character of each byte.
pub(super) fn byte_chars(part: &mut PartWriter<'_>) {
    let chars = part.part().text.chars();
    let has_malformed = part.has_malformed();
    let changes = chars.flat_map(|c| {
        let mut bytes = [0; 4];
        let mut width = c.encode_utf8(&mut bytes).len();
        if has_malformed && let Some(byte) = malformed_byte(c) {
            bytes[0] = byte;
            width = 1;
        }
        let shifts = [0, 1, 1, 1].into_iter();
        let chars = bytes.into_iter().map(byte_char);
        chars.zip(shifts).take(width)
    });
    part.change(changes.map(|(c, shift)| Change::new(c, shift)), 0);
}

fn is_nmt_control(c: char) -> bool {
    matches!(c, '\u{1}'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}' | '\u{8F}' | '\u{9F}')
}

fn nmt_space(c: char) -> char {
    match c {
        '\t'
        | '\n'
        | '\u{C}'
        | '\r'
        | '\u{1680}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'
        | '\u{2029}'
        | WHITESPACE_MARK
        | '\u{FEFF}'
        | '\u{FFFD}' => ' ',
        _ => c,
    }
}

/// Each grapheme cluster of less than six bytes as a whole, if the rules have a beginning of it;
/// otherwise each character.
fn precompiled(charsmap: &PrecompiledRules, part: &mut PartWriter<'_>) {
    let text = part.part().text;
    let mut changes = RuleChanges {
        changes: Vec::with_capacity(text.len()),
        is_changed: false,
    };
    // Between two characters that extend no cluster, one ends.
    let mut begin = 0;
    let mut follows_single = false;
    for (at, c) in text.char_indices() {
        let is_single = extends_no_cluster(c);
        if is_single && follows_single {
            changes.replace_clusters(charsmap, &text[begin..at]);
            begin = at;
        }
        follows_single = is_single;
    }
    changes.replace_clusters(charsmap, &text[begin..]);
    match changes.is_changed {
        true => part.change(changes.changes, 0),
        false => part.keep(),
    }
}

/// Whether a character is in one grapheme cluster with nothing but marks that follow it: a selection of frequent
/// characters.
pub(super) fn extends_no_cluster(c: char) -> bool {
    matches!(c,
        ' '..='~'
        | '\u{C0}'..='\u{24F}'
        | '\u{391}'..='\u{481}'
        | '\u{3000}'..='\u{3029}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30A1}'..='\u{30FA}'
        | '\u{3400}'..='\u{9FFF}'
        | '\u{FF01}'..='\u{FF5E}')
}

/// What rules make of a text.
struct RuleChanges {
    changes: Vec<Change>,
    is_changed: bool,
}

impl RuleChanges {
    /// Whole clusters.
    fn replace_clusters(&mut self, charsmap: &PrecompiledRules, text: &str) {
        if text.chars().nth(1).is_none() {
            return self.replace_chars(charsmap, text);
        }
        for cluster in text.graphemes(true) {
            match charsmap.transform(cluster).filter(|_| cluster.len() < 6) {
                Some(new) => self.replace(cluster, new),
                None => self.replace_chars(charsmap, cluster),
            }
        }
    }

    fn replace_chars(&mut self, charsmap: &PrecompiledRules, text: &str) {
        for (at, c) in text.char_indices() {
            let old = &text[at..at + c.len_utf8()];
            match charsmap.transform(old) {
                Some(new) => self.replace(old, new),
                None => self.changes.push(Change::new(c, 0)),
            }
        }
    }

    fn replace(&mut self, old: &str, new: &str) {
        self.is_changed = true;
        let count = |text: &str| isize::try_from(text.chars().count()).unwrap_or(isize::MAX);
        let more = count(new) - count(old);
        let new = new.chars().map(|c| Change::new(c, 0));
        self.changes.extend(new);
        match more {
            1.. => {
                let added = self.changes.iter_mut().rev().take(more.unsigned_abs());
                added.for_each(|change| change.shift = 1);
            }
            // What nothing stands for at the start is not counted, as in the library.
            _ => {
                if let Some(last) = self.changes.last_mut() {
                    last.shift += more;
                }
            }
        }
    }
}

fn replace(
    pattern: &Matcher,
    content: &str,
    part: &mut PartWriter<'_>,
) -> Result<(), PipelineError> {
    let text = part.part().text;
    pattern.for_each(text, &mut |range, is_match| match is_match {
        true => content.chars().for_each(|c| part.insert(c, range.end)),
        false => part.keep_range(range),
    })
}

fn strip(part: &mut PartWriter<'_>, left: bool, right: bool) {
    let text = part.part().text;
    let spaces =
        |chars: &mut dyn Iterator<Item = char>| chars.take_while(|c| c.is_whitespace()).count();
    let leading = if left { spaces(&mut text.chars()) } else { 0 };
    let trailing = if right {
        spaces(&mut text.chars().rev())
    } else {
        0
    };
    if leading == 0 && trailing == 0 {
        return part.keep();
    }
    let count = text.chars().count();
    let end = count.saturating_sub(trailing);
    let kept = text.chars().enumerate().take(end).skip(leading);
    // The library compares the number of a character with a number of bytes.
    let last = (text.len() - 1).checked_sub(trailing);
    let changes = kept.map(|(at, c)| match last == Some(at) {
        true => Change::new(c, -trailing.cast_signed()),
        false => Change::new(c, 0),
    });
    part.change(changes, leading);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_extend_no_cluster_are_clusters_beside_each_other() {
        let singles = ('\0'..=char::MAX).filter(|c| extends_no_cluster(*c));
        for c in singles {
            let text = format!("a{c}\u{4E00}{c}");
            assert_eq!(text.graphemes(true).count(), 4, "{c:?}");
        }
    }
}
