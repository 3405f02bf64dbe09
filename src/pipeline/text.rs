//! A text on its way through the steps: what it has become, where each byte of that comes from, and
//! the parts into which it has been cut.
//!
//! Steps change the text of a part or cut a part into smaller ones. Both are done for all parts in
//! one pass, into a second buffer that takes the place of the first. Each byte has an *origin*: the
//! range of the caller's text that its character stands for.
//!
//! The library tokenizers keeps the origins of a part relative to it and gives a new character those
//! of the character whose place it takes, or of the one before it. [`PartWriter::change`] does the same, with
//! the same order of operations, so that spans are equal where characters are removed, joined or
//! reordered.
//!
//! Who asks for ids alone needs no origins; then they are not kept, and changes are written as they
//! come. That is exact unless a step can put characters at the start that stand for nothing, which
//! decide on what later steps do.
//!
//! Example: NFD turns `é` into `e` and U+0301. Both have the origin 0..2, the bytes of `é`.

use std::ops::Range;

use crate::base::steps;
use crate::special::Scope;

/// The bytes of the caller's text that a byte stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl Origin {
    fn is_empty(self) -> bool {
        self.begin == self.end
    }
}

/// A part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextPart {
    /// Its bytes in the changed text.
    pub(super) range: Range<usize>,
    /// Where it began in the caller's text when it was cut.
    pub(super) begin: usize,
    /// The added token that it is; such a part is final.
    pub(super) added: Option<u32>,
}

/// See the [module page](self).
#[derive(Debug, Default)]
pub(super) struct MappedText {
    pub(super) text: String,
    pub(super) origins: Vec<Origin>,
    pub(super) parts: Vec<TextPart>,
    /// Whether origins are kept; if not, there are none.
    tracks: bool,
    /// Whether characters stand for malformed bytes; see [`malformed_byte`].
    has_malformed: bool,
    /// The buffers of the step before.
    next: Buffers,
}

/// What becomes of the malformed bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Each byte is U+FFFD.
    Replaced,
    /// Each byte is a character of its own until it becomes the one that stands for a byte.
    Kept,
}

/// The first of the characters that stand for malformed bytes: private ones, which are no letters,
/// numbers, punctuation or white space. In a text that has malformed bytes these characters are not
/// told from the bytes.
const MALFORMED: u32 = 0x10_FE00;

/// The character of a malformed byte.
fn malformed_char(byte: u8) -> char {
    char::from_u32(MALFORMED + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The malformed byte that a character stands for in a text with malformed bytes.
pub(super) fn malformed_byte(c: char) -> Option<u8> {
    let code = u32::from(c).checked_sub(MALFORMED)?;
    u8::try_from(code).ok().filter(|byte| !byte.is_ascii())
}

#[derive(Debug, Default)]
struct Buffers {
    text: String,
    origins: Vec<Origin>,
    parts: Vec<TextPart>,
}

/// A character of a changed part, and how it relates to the characters before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) c: char,
    /// Positive: it takes no place of a character before. Zero: it takes the place of one. Negative:
    /// it takes the place of one, and as many characters after that are removed.
    pub(super) shift: isize,
}

impl Change {
    pub(super) fn new(c: char, shift: isize) -> Self {
        Self { c, shift }
    }
}

/// Takes the changed text of one part.
pub(super) struct PartWriter<'w> {
    text: &'w mut String,
    origins: &'w mut Vec<Origin>,
    tracks: bool,
    has_malformed: bool,
    part: OldPart<'w>,
}

/// A part before the change.
#[derive(Clone, Copy)]
pub(super) struct OldPart<'w> {
    pub(super) text: &'w str,
    pub(super) origins: &'w [Origin],
    /// Where it began in the caller's text when it was cut.
    pub(super) begin: usize,
}

impl<'w> PartWriter<'w> {
    /// The part before the change.
    pub(super) fn part(&self) -> OldPart<'w> {
        self.part
    }

    /// Whether characters stand for malformed bytes.
    pub(super) fn has_malformed(&self) -> bool {
        self.has_malformed
    }

    /// Whether origins are kept.
    pub(super) fn tracks(&self) -> bool {
        self.tracks
    }

    /// The text as it is.
    pub(super) fn keep(&mut self) {
        self.keep_range(0..self.part.text.len());
    }

    /// A range of the text as it is.
    pub(super) fn keep_range(&mut self, range: Range<usize>) {
        self.text.push_str(&self.part.text[range.clone()]);
        if self.tracks {
            self.origins.extend_from_slice(&self.part.origins[range]);
        }
    }

    /// A character that takes no place of another one, after the byte before `at`.
    pub(super) fn insert(&mut self, c: char, at: usize) {
        let begin = self.part.begin;
        let nothing = Origin { begin, end: begin };
        let before = at.checked_sub(1).and_then(|at| self.part.origins.get(at));
        self.push(c, before.copied().unwrap_or(nothing));
    }

    fn push(&mut self, c: char, origin: Origin) {
        self.text.push(c);
        if self.tracks {
            let width = c.len_utf8();
            self.origins.extend(std::iter::repeat_n(origin, width));
        }
    }

    /// Text before the first character, whose origin it gets.
    pub(super) fn prepend(&mut self, text: &str) {
        let Some(first) = self.part.text.chars().next() else {
            return;
        };
        match text.is_empty() {
            // The library counts the character as new, after nothing.
            true => self.insert(first, 0),
            false => {
                let begin = self.part.begin;
                let nothing = Origin { begin, end: begin };
                let origin = self.part.origins.first().copied().unwrap_or(nothing);
                text.chars().for_each(|c| self.push(c, origin));
                self.push(first, origin);
            }
        }
        self.keep_range(first.len_utf8()..self.part.text.len());
    }

    /// The characters of a changed text, of which the first `removed` characters are gone.
    ///
    /// Only a match of the empty text leaves characters at the start that stand for nothing. They are
    /// not replaced: the new text comes after them, or before them if there are no others.
    pub(super) fn change(&mut self, changes: impl IntoIterator<Item = Change>, removed: usize) {
        let OldPart { text, origins, .. } = self.part;
        if !self.tracks {
            self.text.extend(changes.into_iter().map(|change| change.c));
            return;
        }
        let first = origins.iter().position(|origin| !origin.is_empty());
        let start = first.unwrap_or(0);
        self.keep_range(0..start);
        let mut replaced = text[start..].chars();
        let mut take = |count: usize| -> usize {
            let taken = (&mut replaced).take(count);
            taken.map(char::len_utf8).sum()
        };
        let mut at = start + take(removed);
        for Change { c, shift } in changes {
            if shift > 0 {
                self.insert(c, at);
                continue;
            }
            let last = origins.len().saturating_sub(1);
            if let Some(origin) = origins.get(at.min(last)) {
                self.push(c, *origin);
            }
            at += take(1 + shift.unsigned_abs());
        }
        if first.is_none() {
            self.keep();
        }
    }

    /// The characters for which `keeps` is true.
    pub(super) fn filter(&mut self, keeps: impl Fn(char) -> bool) {
        let text = self.part.text;
        if !self.tracks {
            self.text.extend(text.chars().filter(|c| keeps(*c)));
            return;
        }
        if text.chars().all(&keeps) && !self.begins_with_insertion() {
            return self.keep();
        }
        let mut changes: Vec<Change> = Vec::with_capacity(text.len());
        let mut removed = 0;
        let mut removed_at_start = 0;
        for c in text.chars() {
            if !keeps(c) {
                removed += 1;
                continue;
            }
            match changes.last_mut() {
                Some(last) => last.shift = -removed,
                None => removed_at_start = removed.unsigned_abs(),
            }
            removed = 0;
            changes.push(Change::new(c, 0));
        }
        if let Some(last) = changes.last_mut() {
            last.shift = -removed;
        }
        self.change(changes, removed_at_start);
    }

    /// Each character as `map` changes it: into one or several.
    pub(super) fn map<C: IntoIterator<Item = char>>(&mut self, map: impl Fn(char) -> C) {
        let chars = self.part.text.chars();
        let changed = chars.flat_map(|c| (0..).zip(map(c)));
        self.change(
            changed.map(|(at, c)| Change::new(c, isize::from(at > 0_u32))),
            0,
        );
    }

    /// Whether characters at the start stand for nothing; see [`change`](Self::change).
    fn begins_with_insertion(&self) -> bool {
        self.part
            .origins
            .first()
            .is_some_and(|first| first.is_empty())
    }
}

impl MappedText {
    /// Begins with a range of a text as one part. Origins are kept if `tracks`.
    pub(super) fn start(
        &mut self,
        text: &[u8],
        range: Range<usize>,
        tracks: bool,
        malformed: Malformed,
    ) {
        self.text.clear();
        self.origins.clear();
        self.parts.clear();
        self.next.origins.clear();
        self.tracks = tracks;
        self.has_malformed = false;
        match std::str::from_utf8(&text[range.clone()]) {
            Ok(text) if !tracks => self.text.push_str(text),
            _ => self.push_chunks(text, range.clone(), malformed),
        }
        self.parts.push(TextPart {
            range: 0..self.text.len(),
            begin: range.start,
            added: None,
        });
        self.drop_empty();
    }

    /// Whether origins are kept.
    pub(super) fn tracks(&self) -> bool {
        self.tracks
    }

    /// Whether the text is of ASCII and has no origins, so that steps that keep ASCII have nothing to
    /// do.
    pub(super) fn is_plain_ascii(&self) -> bool {
        !self.tracks && self.text.is_ascii()
    }

    fn push_chunks(&mut self, text: &[u8], range: Range<usize>, malformed: Malformed) {
        let mut at = range.start;
        for chunk in text[range].utf8_chunks() {
            for c in chunk.valid().chars() {
                self.push(c, at..at + c.len_utf8());
                at += c.len_utf8();
            }
            let invalid = chunk.invalid();
            match malformed {
                _ if invalid.is_empty() => {}
                Malformed::Replaced => {
                    for at in at..at + invalid.len() {
                        self.push(char::REPLACEMENT_CHARACTER, at..at + 1);
                    }
                }
                Malformed::Kept => {
                    self.has_malformed = true;
                    for (at, byte) in (at..).zip(invalid) {
                        self.push(malformed_char(*byte), at..at + 1);
                    }
                }
            }
            at += invalid.len();
        }
    }

    fn push(&mut self, c: char, origin: Range<usize>) {
        self.text.push(c);
        if self.tracks {
            let origin = Origin {
                begin: origin.start,
                end: origin.end,
            };
            self.origins
                .extend(std::iter::repeat_n(origin, c.len_utf8()));
        }
    }

    fn drop_empty(&mut self) {
        self.parts.retain(|part| !part.range.is_empty());
    }

    /// Changes the text of each part that is no added token.
    pub(super) fn change<E>(
        &mut self,
        mut change: impl FnMut(&mut PartWriter<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        steps::count(self.text.len() + self.parts.len());
        let next = &mut self.next;
        next.text.clear();
        next.origins.clear();
        next.parts.clear();
        for part in &self.parts {
            let start = next.text.len();
            let old = OldPart {
                text: &self.text[part.range.clone()],
                origins: self.origins.get(part.range.clone()).unwrap_or_default(),
                begin: part.begin,
            };
            let mut writer = PartWriter {
                text: &mut next.text,
                origins: &mut next.origins,
                tracks: self.tracks,
                has_malformed: self.has_malformed,
                part: old,
            };
            match part.added {
                Some(_) => writer.keep(),
                None => change(&mut writer)?,
            }
            next.parts.push(TextPart {
                range: start..next.text.len(),
                ..part.clone()
            });
        }
        std::mem::swap(&mut self.text, &mut next.text);
        std::mem::swap(&mut self.origins, &mut next.origins);
        std::mem::swap(&mut self.parts, &mut next.parts);
        Ok(())
    }

    /// Cuts each part that is no added token: `cut` passes the ranges of a text that stay, each with
    /// the added token that it is. Empty ranges are dropped.
    pub(super) fn cut<E>(
        &mut self,
        mut cut: impl FnMut(&str, &mut dyn FnMut(Range<usize>, Option<u32>)) -> Result<(), E>,
    ) -> Result<(), E> {
        steps::count(self.text.len() + self.parts.len());
        let parts = &mut self.next.parts;
        parts.clear();
        for part in &self.parts {
            if part.added.is_some() {
                parts.push(part.clone());
                continue;
            }
            let text = &self.text[part.range.clone()];
            let origins = self.origins.get(part.range.clone()).unwrap_or_default();
            cut(text, &mut |range, added| {
                if range.is_empty() {
                    return;
                }
                let origin = origins.get(range.start);
                parts.push(TextPart {
                    range: part.range.start + range.start..part.range.start + range.end,
                    begin: origin.map_or(part.begin, |origin| origin.begin),
                    added,
                });
            })?;
        }
        std::mem::swap(&mut self.parts, &mut self.next.parts);
        self.drop_empty();
        Ok(())
    }

    /// The bytes of the caller's text that a range of a part stands for.
    ///
    /// Tokens of bytes can be longer than the part, if affixes fall back to bytes. They have their
    /// range in the part, as in the library.
    pub(super) fn original(&self, part: &TextPart, range: Range<usize>) -> Range<usize> {
        let origins = self.origins.get(part.range.clone()).unwrap_or_default();
        match origins.get(range.clone()) {
            Some([first, .., last]) => first.begin..last.end,
            Some([one]) => one.begin..one.end,
            _ => range,
        }
    }

    /// Appends the text and the origins of its bytes; malformed bytes are bytes again.
    pub(super) fn push_bytes(&self, out: &mut Vec<u8>, origins: &mut Vec<usize>) {
        for (at, c) in self.text.char_indices() {
            let start = out.len();
            match malformed_byte(c).filter(|_| self.has_malformed) {
                Some(byte) => out.push(byte),
                None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            let origin = self.origins.get(at).map_or(0, |origin| origin.begin);
            origins.extend(std::iter::repeat_n(origin, out.len() - start));
        }
    }

    /// The scopes of the caller's text, in the changed text, of which origins are kept. A character
    /// that stands for text of two scopes belongs to none.
    pub(super) fn scopes<'s, S>(&self, scopes: &[Scope<'s, S>]) -> Vec<Scope<'s, S>> {
        let of_origin = |origin: &Origin| {
            let count = scopes.partition_point(|scope| scope.range.start <= origin.begin);
            let number = count.checked_sub(1)?;
            (origin.end <= scopes[number].range.end).then_some(number)
        };
        let mut changed: Vec<Scope<'s, S>> = Vec::new();
        let mut last = None;
        for (at, origin) in self.origins.iter().enumerate() {
            let number = of_origin(origin);
            match (number, changed.last_mut()) {
                (Some(_), Some(scope)) if number == last => scope.range.end = at + 1,
                (Some(number), _) => changed.push(Scope {
                    range: at..at + 1,
                    found: scopes[number].found,
                }),
                (None, _) => {}
            }
            last = number;
        }
        changed
    }

    /// Bytes of memory in use.
    pub(super) fn memory_usage(&self) -> usize {
        let texts = self.text.capacity() + self.next.text.capacity();
        let origins = self.origins.capacity() + self.next.origins.capacity();
        let parts = self.parts.capacity() + self.next.parts.capacity();
        texts + origins * size_of::<Origin>() + parts * size_of::<TextPart>()
    }
}
