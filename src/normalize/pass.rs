//! One pass over a text: the state of the normalizer between two steps.
//!
//! Input: the text after its leading spaces. Output: normalized parts, written to a [`Sink`]. Each step consumes a space,
//! a run of characters that no rule and no symbol changes, or one unit of [`Normalizer::next`].
//!
//! Example: `"ab  ½"` with the rules `nfkc` and removed extra spaces.
//!
//! | step | consumed | written | `after_space` |
//! |---|---|---|---|
//! | run | `ab` | `ab` | false |
//! | space | ` ` | `▁` | true |
//! | space | ` ` | | true |
//! | rule | `½` | `1⁄2` | false |
//!
//! Cost: linear. Two positions are computed ahead of the current one (`well_formed` and `no_rules`), and computed again
//! only when the pass has reached them, so that each byte is examined once for each. The functions of a step are always
//! inlined, so that the state is kept in registers.

use super::Normalizer;
use super::sink::Sink;
use crate::text::is_char_start;

/// The state between two steps.
pub(super) struct Pass<'n> {
    normalizer: &'n Normalizer,
    input: &'n [u8],
    /// Whether extra spaces are removed.
    removes_spaces: bool,
    /// The length of the input that is consumed.
    at: usize,
    /// Whether spaces at the current position are removed.
    after_space: bool,
    /// The input is well-formed up to here, if this is behind `at`.
    well_formed: usize,
    /// There is no space and no rule up to here, if this is behind `at`.
    no_rules: usize,
}

impl<'n> Pass<'n> {
    /// A pass that begins at `start`.
    #[inline(always)]
    pub(super) fn new(normalizer: &'n Normalizer, input: &'n [u8], start: usize) -> Pass<'n> {
        let removes_spaces = normalizer.options.remove_extra_whitespaces;
        Pass {
            normalizer,
            input,
            removes_spaces,
            at: start,
            after_space: removes_spaces,
            well_formed: 0,
            no_rules: 0,
        }
    }

    /// Normalizes the rest of the input. Returns its end.
    #[inline(always)]
    pub(super) fn run(mut self, sink: &mut impl Sink) -> usize {
        while self.at < self.input.len() {
            self.step(sink);
        }
        self.at
    }

    #[inline(always)]
    fn step(&mut self, sink: &mut impl Sink) {
        let rest = &self.input[self.at..];
        if rest[0] == b' ' && self.normalizer.leaves_space(rest) {
            return self.push_space(sink);
        }
        self.look_ahead(rest);
        match self.plain_length() {
            0 => self.replace(rest, sink),
            plain => self.copy(&rest[..plain], sink),
        }
    }

    /// Consumes a space.
    #[inline(always)]
    fn push_space(&mut self, sink: &mut impl Sink) {
        if !self.after_space {
            sink.push(self.normalizer.mark(), self.at);
        }
        self.at += 1;
        self.after_space = self.removes_spaces;
    }

    /// Computes the positions ahead that the pass has reached.
    #[inline(always)]
    fn look_ahead(&mut self, rest: &[u8]) {
        if self.at >= self.well_formed {
            self.well_formed = self.at + well_formed_length(rest);
        }
        if self.at >= self.no_rules {
            let well_formed = self.well_formed - self.at;
            self.no_rules = self.at + self.normalizer.length_without_rules(rest, well_formed);
        }
    }

    /// The length of the characters from here on that can be copied.
    #[inline(always)]
    fn plain_length(&self) -> usize {
        let text = &self.input[self.at..self.no_rules];
        // A symbol that is not UTF-8 can end inside a well-formed character, whose rest is then malformed.
        match is_char_start(self.input[self.at]) {
            true => self.normalizer.length_without_symbols(text),
            false => 0,
        }
    }

    /// Consumes characters that are not changed.
    #[inline(always)]
    fn copy(&mut self, text: &[u8], sink: &mut impl Sink) {
        sink.copy(text, self.at);
        self.at += text.len();
        self.after_space = false;
    }

    /// Consumes one symbol, rule source or character at the start of `rest`.
    #[inline(always)]
    fn replace(&mut self, rest: &[u8], sink: &mut impl Sink) {
        let (mut piece, consumed) = self.normalizer.next(rest);
        while self.after_space
            && let Some(behind) = piece.strip_prefix(b" ")
        {
            piece = behind;
        }
        self.normalizer.write(piece, self.at, sink);
        self.at += consumed;
        let ends_in_space = piece.last().map_or(self.after_space, |&byte| byte == b' ');
        self.after_space = self.removes_spaces && ends_in_space;
    }
}

/// The length of the well-formed UTF-8 at the start of `text`.
fn well_formed_length(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    }
}
