//! Normalization: converts the caller's text to the form in which pieces are stored.
//!
//! The text need not be UTF-8. On request, each normalized byte comes with the offset in the text
//! that it comes from.
//!
//! Text is read once from left to right. At each position the first of these that applies is taken:
//!
//! 1. a user-defined symbol, the longest first; it is copied;
//! 2. a rule of the [charsmap], the longest first; its replacement is written;
//! 3. a well-formed character; it is copied;
//! 4. a malformed byte; U+FFFD is written.
//!
//! Spaces of the result become the whitespace mark U+2581, unless `escape_whitespaces` is off. With
//! `remove_extra_whitespaces`, a space is dropped at the start, after another space, and at the
//! end; marks are trimmed at the end, so a U+2581 of the input is trimmed there too. With
//! `add_dummy_prefix`, one mark, the dummy prefix, is put before the text, or after it with
//! `treat_whitespace_as_suffix`.
//!
//! Example: `"  ＡＢＣ  ½ "` with the rules `nfkc` and the default options.
//!
//! | step | input | output so far |
//! |---|---|---|
//! | leading spaces are dropped, the dummy prefix is written | `  ` | `▁` |
//! | three rules, one for each full-width letter | `ＡＢＣ` | `▁ABC` |
//! | the first space becomes a mark, the second is dropped | `  ` | `▁ABC▁` |
//! | a rule whose replacement has three characters, all with the offset of `½` | `½` | `▁ABC▁1⁄2` |
//! | a space becomes a mark, which is trimmed at the end | ` ` | `▁ABC▁1⁄2` |
//!
//! The result equals that of the reference's `Normalizer::Normalize` for all bytes. Two cases are
//! easy to miss: text that is empty or consists of removed spaces gives no dummy prefix and no
//! offsets, not even the final one; text that rules delete entirely does give a dummy prefix, which
//! `remove_extra_whitespaces` then trims like a space.
//!
//! Runs of characters that begin no rule are copied whole; see [`Charsmap::plain_length`].

pub(crate) mod charsmap;
pub(crate) mod plain_chars;
#[cfg(feature = "train")]
pub(crate) mod rules;
mod sink;

use std::sync::Arc;

use self::charsmap::Charsmap;
use self::sink::{Sink, Text, TracedText};
use crate::base::{WHITESPACE_MARK_STR, decode_char, is_char_start, may_become_char};
use crate::trie::prefix::{KeyScopes, PrefixTrie};

/// The treatment of spaces. The default is that of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NormalizerOptions {
    /// Add one space before the text (or after it).
    pub(crate) add_dummy_prefix: bool,
    /// Keep only single spaces between words.
    pub(crate) remove_extra_whitespaces: bool,
    /// Write spaces as U+2581.
    pub(crate) escape_whitespaces: bool,
    /// Put the dummy prefix after the text.
    pub(crate) treat_whitespace_as_suffix: bool,
}

impl Default for NormalizerOptions {
    fn default() -> Self {
        Self {
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: false,
        }
    }
}

/// Normalizes text. Cloning is cheap: the rules and the symbols are shared.
#[derive(Clone, Debug)]
pub(crate) struct Normalizer {
    pub(crate) options: NormalizerOptions,
    charsmap: Option<Arc<Charsmap>>,
    /// User-defined symbols; empty if there are none.
    symbols: Arc<PrefixTrie>,
    /// Where symbols are found, if not everywhere.
    symbol_scopes: Option<SymbolScopes>,
}

/// Where symbols are found in one input.
#[derive(Clone, Debug)]
struct SymbolScopes {
    scopes: KeyScopes,
    /// The length of the input.
    length: usize,
}

impl SymbolScopes {
    /// What of the rest of the input a symbol at its start can have.
    fn searched<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        let start = self.length - rest.len();
        let end = self.scopes.end_of(start).unwrap_or(start);
        &rest[..end - start]
    }
}

impl Normalizer {
    /// A normalizer without user-defined symbols.
    pub(crate) fn new(options: NormalizerOptions, charsmap: Option<Arc<Charsmap>>) -> Self {
        Self {
            options,
            charsmap,
            symbols: Arc::default(),
            symbol_scopes: None,
        }
    }
}

impl Normalizer {
    /// The same normalizer with these user-defined symbols.
    pub(crate) fn with_symbols(self, symbols: Arc<PrefixTrie>) -> Self {
        Self { symbols, ..self }
    }

    /// The same normalizer for one input of `length` bytes, in which symbols are found only in these
    /// scopes.
    pub(crate) fn with_symbol_scopes(self, scopes: KeyScopes, length: usize) -> Self {
        let symbol_scopes = Some(SymbolScopes { scopes, length });
        Self {
            symbol_scopes,
            ..self
        }
    }

    #[cfg(feature = "train")]
    pub(crate) fn set_add_dummy_prefix(&mut self, add: bool) {
        self.options.add_dummy_prefix = add;
    }

    /// The user-defined symbols.
    pub(crate) fn symbols(&self) -> &PrefixTrie {
        &self.symbols
    }

    /// Whether a dummy prefix is added, before the text or after it.
    pub(crate) fn adds_dummy_prefix(&self) -> bool {
        self.options.add_dummy_prefix
    }

    /// Whether normalization of well-formed text only replaces spaces by marks and perhaps adds a
    /// dummy prefix. Then the encoder can read raw text.
    pub(crate) fn only_marks_spaces(&self) -> bool {
        let keeps_spaces = !self.options.remove_extra_whitespaces && !self.has_suffix();
        self.charsmap.is_none() && keeps_spaces && self.options.escape_whitespaces
    }

    /// Whether the dummy prefix is put after the text.
    fn has_suffix(&self) -> bool {
        self.options.add_dummy_prefix && self.options.treat_whitespace_as_suffix
    }

    #[cfg(feature = "formats")]
    pub(crate) fn charsmap(&self) -> Option<&Charsmap> {
        self.charsmap.as_deref()
    }

    /// The treatment of spaces.
    #[cfg(feature = "formats")]
    pub(crate) fn options(&self) -> NormalizerOptions {
        self.options
    }

    /// The text that a space becomes.
    pub(crate) fn mark(&self) -> &'static [u8] {
        if self.options.escape_whitespaces {
            WHITESPACE_MARK_STR.as_bytes()
        } else {
            b" "
        }
    }
}

impl Normalizer {
    /// Replaces the content of `out` by the normalized `input`.
    pub(crate) fn normalize(&self, input: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.reserve(input.len() + input.len() / 2);
        self.run(input, &mut Text(out));
    }

    /// The normalized `input`.
    pub(crate) fn normalized(&self, input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.normalize(input, &mut out);
        out
    }

    /// Like [`normalize`](Self::normalize), with offsets: for each byte of `out` and for its end,
    /// the position in `input` that it comes from. There are no offsets if `input` is empty or
    /// consists of removed spaces.
    pub(crate) fn normalize_with_offsets(
        &self,
        input: &[u8],
        out: &mut Vec<u8>,
        offsets: &mut Vec<usize>,
    ) {
        out.clear();
        offsets.clear();
        out.reserve(input.len() + input.len() / 2);
        offsets.reserve(input.len() + input.len() / 2);
        self.run(input, &mut TracedText { text: out, offsets });
    }

    /// As [`normalize_with_offsets`](Self::normalize_with_offsets), for the rest of an input that was
    /// divided at a [place](Self::known_length) before which the output does not end in a space.
    pub(crate) fn normalize_rest(&self, input: &[u8], out: &mut Vec<u8>, offsets: &mut Vec<usize>) {
        out.clear();
        offsets.clear();
        let mut sink = TracedText { text: out, offsets };
        let end = self.run_from(0, false, input, &mut sink);
        self.finish(end, &mut sink);
    }

    /// How much of an input has been read by steps that stay the same if more text follows. Each step
    /// begins where the one before ends, so all are the same up to the first symbol, rule or character
    /// that more text may complete.
    pub(crate) fn known_length(&self, input: &[u8]) -> usize {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            let charsmap = self.charsmap.as_deref();
            if self.symbols.may_continue(rest)
                || charsmap.is_some_and(|charsmap| charsmap.may_continue(rest))
                || may_become_char(rest)
            {
                break;
            }
            at += self.next(rest).1;
        }
        at
    }

    /// One step: the replacement for the start of `input`, before the treatment of spaces, and the
    /// number of bytes that it replaces (0 only for empty input).
    #[inline]
    pub(crate) fn next<'a>(&'a self, input: &'a [u8]) -> (&'a [u8], usize) {
        let searched = match &self.symbol_scopes {
            None => input,
            Some(scopes) => scopes.searched(input),
        };
        if let Some(length) = self.symbols.longest(searched)
            && let Some(symbol @ [_, ..]) = input.get(..length)
        {
            return (symbol, length);
        }
        if let Some(charsmap) = &self.charsmap
            && let Some((consumed, replacement)) = charsmap.longest_match(input)
        {
            return (replacement, consumed);
        }
        match decode_char(input) {
            (None, 1) => ("\u{FFFD}".as_bytes(), 1),
            (_, width) => (&input[..width], width),
        }
    }

    /// Whether a raw space extends a run of whitespace in the normalized text without following
    /// another raw space directly: a rule deletes a whole word, or replaces the end of a word by a
    /// space, and a raw space follows. Spaces must be kept (`remove_extra_whitespaces` is off).
    ///
    /// Training counts a sentence by its raw words, each with the spaces before it. That is exact
    /// for runs of whitespace unless this function returns true. It takes one load for each
    /// byte that begins no rule.
    ///
    /// Example with rules that delete U+0001 and replace a tab by a space: true for `"a \u{1} b"`
    /// (the second raw space extends the run of the first one) and for `"a\t b"`, false for `"a
    /// \tb"` (the raw space begins the run).
    #[cfg(feature = "train")]
    pub(crate) fn extends_run_by_raw_space(&self, input: &[u8]) -> bool {
        let Some(charsmap) = &self.charsmap else {
            return false;
        };
        if charsmap.leads().match_nothing_in(input) {
            return false;
        }
        let mut at = 0;
        let mut ends_in_space = self.options.add_dummy_prefix;
        let mut follows_raw_space = true;
        while at < input.len() {
            let rest = &input[at..];
            let plain = charsmap.leads().plain_length(rest);
            if plain > 0 {
                at += plain;
                ends_in_space = false;
                follows_raw_space = false;
            } else if rest[0] == b' ' {
                if ends_in_space && !follows_raw_space {
                    return true;
                }
                at += 1;
                ends_in_space = true;
                follows_raw_space = true;
            } else {
                let (piece, consumed) = self.next(rest);
                at += consumed;
                ends_in_space = piece.last().map_or(ends_in_space, |&byte| byte == b' ');
                follows_raw_space = false;
            }
        }
        false
    }

    fn run(&self, input: &[u8], sink: &mut impl Sink) {
        let start = self.leading_spaces(input);
        if start == input.len() {
            return;
        }
        if self.options.add_dummy_prefix && !self.has_suffix() {
            sink.push(self.mark(), start);
        }
        let after_space = self.options.remove_extra_whitespaces;
        let end = self.run_from(start, after_space, input, sink);
        self.finish(end, sink);
    }

    /// Normalizes the input from `start` on, after the leading spaces. `after_space`: a space there is
    /// dropped. Returns the length of the input.
    ///
    /// The state of the loop is in local variables: fields of a struct cost 4 % more instructions.
    #[inline]
    fn run_from(
        &self,
        start: usize,
        mut after_space: bool,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> usize {
        let remove_extra_whitespaces = self.options.remove_extra_whitespaces;
        let mut at = start;
        // The input is well-formed up to here. Computed again after each malformed byte: each byte
        // is examined once.
        let mut well_formed = 0;
        // No space and no rule up to here. Computed again after it: each byte is examined once.
        let mut no_rules = 0;
        while at < input.len() {
            if input[at] == b' ' && self.leaves_space(&input[at..]) {
                if !after_space {
                    sink.push(self.mark(), at);
                }
                after_space = remove_extra_whitespaces;
                at += 1;
                continue;
            }
            if at >= well_formed {
                well_formed = at + well_formed_length(&input[at..]);
            }
            if at >= no_rules {
                no_rules = at + self.length_without_rules(&input[at..], well_formed - at);
            }
            // A symbol that is not UTF-8 can end inside a well-formed character, the rest of which
            // is then malformed.
            let plain = match is_char_start(input[at]) {
                true => self.length_without_symbols(&input[at..no_rules]),
                false => 0,
            };
            if plain > 0 {
                sink.copy(&input[at..at + plain], at);
                at += plain;
                after_space = false;
                continue;
            }
            let (consumed, ends_in_space) = self.advance(&input[at..], at, after_space, sink);
            at += consumed;
            after_space = remove_extra_whitespaces && ends_in_space;
        }
        at
    }

    /// Normalizes one symbol, rule source or character at the start of `rest`, which begins at `at`
    /// in the input. Returns the number of bytes consumed and whether the output ends in a space.
    #[inline]
    fn advance(
        &self,
        rest: &[u8],
        at: usize,
        after_space: bool,
        sink: &mut impl Sink,
    ) -> (usize, bool) {
        let (mut piece, consumed) = self.next(rest);
        while after_space && let Some(rest) = piece.strip_prefix(b" ") {
            piece = rest;
        }
        let ends_in_space = piece.last().map_or(after_space, |&byte| byte == b' ');
        self.write(piece, at, sink);
        (consumed, ends_in_space)
    }

    /// Trims the end of the text and adds the dummy prefix if it is a suffix. The input was
    /// consumed up to `end`.
    fn finish(&self, mut end: usize, sink: &mut impl Sink) {
        if self.options.remove_extra_whitespaces {
            end = self.trim_end(end, sink);
        }
        if self.has_suffix() {
            sink.push(self.mark(), end);
        }
        sink.finish(end);
    }

    /// Writes one replacement, with marks in place of spaces.
    fn write(&self, piece: &[u8], at: usize, sink: &mut impl Sink) {
        let mut parts = piece.split(|&byte| byte == b' ');
        sink.push(parts.next().unwrap_or_default(), at);
        for part in parts {
            sink.push(self.mark(), at);
            sink.push(part, at);
        }
    }

    /// Whether no rule and no symbol begins with the space at the start of `text`.
    #[inline]
    fn leaves_space(&self, text: &[u8]) -> bool {
        !self.symbols.may_begin_with(b' ')
            && self
                .charsmap
                .as_deref()
                .is_none_or(|charsmap| !charsmap.leads().may_match(text))
    }

    /// The number of bytes at the start of `text` that are not spaces and that no rule changes. The
    /// first `well_formed` bytes of `text` are well-formed.
    fn length_without_rules(&self, text: &[u8], well_formed: usize) -> usize {
        match &self.charsmap {
            None => memchr::memchr(b' ', &text[..well_formed]).unwrap_or(well_formed),
            Some(charsmap) => charsmap.plain_length(text, well_formed),
        }
    }

    /// The number of bytes before the first position in `text` at which a symbol may begin.
    fn length_without_symbols(&self, text: &[u8]) -> usize {
        if self.symbols.is_empty() {
            return text.len();
        }
        let begins_symbol = |&byte: &u8| is_char_start(byte) && self.symbols.may_begin_with(byte);
        text.iter().position(begins_symbol).unwrap_or(text.len())
    }

    /// The length of the spaces at the start of the input that are removed.
    fn leading_spaces(&self, input: &[u8]) -> usize {
        let mut at = 0;
        while self.options.remove_extra_whitespaces
            && at < input.len()
            && let (b" ", consumed) = self.next(&input[at..])
        {
            at += consumed;
        }
        at
    }

    /// Removes marks at the end. Returns the position in the input of the first mark that is
    /// removed, or `end` if there is none.
    fn trim_end(&self, mut end: usize, sink: &mut impl Sink) -> usize {
        while let Some(kept) = sink.text().strip_suffix(self.mark()) {
            end = sink.truncate(kept.len()).unwrap_or(end);
        }
        end
    }
}

/// The length of the well-formed UTF-8 at the start of `text`.
fn well_formed_length(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    }
}

#[cfg(all(test, feature = "train"))]
mod tests;
