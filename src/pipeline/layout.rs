//! Results as lists of pieces.
//!
//! A [`Layout`] says which tokens a result has without holding them: each piece is a range of a *source*, the
//! special tokens of a template, or padding. A source is the tokens of one text; here only its length is known. So
//! template, truncation, padding and merging move a few pieces, whatever the number of tokens, and every column of a
//! result (ids, types, masks, spans) is one walk over the pieces, made when it is asked for.
//!
//! # Example
//! A text of seven tokens, cut to three in a template of `[CLS]` and `[SEP]`, with padding up to six:
//!
//! ```text
//! pieces    [CLS] | text 0..3 | [SEP] | padding x 1
//! overflow  [CLS] | text 3..6 | [SEP] | padding x 1
//!           [CLS] | text 6..7 | [SEP] | padding x 3
//! ```
//!
//! What the library tokenizers does to the columns of its encodings is done to pieces here, with its rules, of which
//! some surprise: cutting forgets which sequence tokens belong to, and merging combines every part of the overflow of
//! one side with every part of that of the other, also within the overflow.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Which end of a text is cut off, or filled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The start.
    Left,
    /// The end.
    Right,
}

/// Why a text cannot be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TruncationError {
    /// The second text is to be cut, and there is none.
    NoSecondText,
    /// One text of a pair alone is to be cut, and nothing would be left of it.
    TextTooShort,
    /// As many ids as are left for the text, or more, are to be shared by parts of the overflow.
    StrideTooLong {
        /// The stride.
        stride: usize,
        /// The ids that are left for the text.
        left: usize,
    },
}

impl fmt::Display for TruncationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecondText => f.write_str(
                "truncation.strategy is OnlySecond, and there is one text; use LongestFirst",
            ),
            Self::TextTooShort => f.write_str(
                "truncation.strategy cuts one text alone, and nothing would be left of it; use LongestFirst",
            ),
            Self::StrideTooLong { stride, left } => write!(
                f,
                "truncation.stride is {stride}, and max_length leaves {left} ids for a text; use a smaller stride"
            ),
        }
    }
}

impl std::error::Error for TruncationError {}

/// The tokens of a result, as a list of pieces that do not hold them: a range of a source, the special tokens of a template,
/// or padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout<S> {
    pieces: Vec<LayoutPiece<S>>,
    length: usize,
    /// Sorted by sequence. None: the whole is the sequence 0.
    sequences: Vec<SequenceRange>,
    overflow: Vec<Self>,
}

/// The tokens of a sequence in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceRange {
    /// The number of the sequence.
    pub sequence: usize,
    /// Its tokens.
    pub tokens: Range<usize>,
}

/// A part of a [`Layout`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutPiece<S> {
    /// The tokens.
    pub content: PieceContent<S>,
    /// The type of the tokens; `None` for their own types in the source.
    pub type_id: Option<u32>,
    /// Whether the tokens are text that is attended to, whatever the source says.
    pub is_text: bool,
    /// What becomes of the spans of the tokens, in this order.
    pub span_steps: Vec<SpanStep>,
}

/// The tokens of a [`LayoutPiece`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceContent<S> {
    /// Tokens of a source.
    Tokens {
        /// The source.
        source: S,
        /// The numbers of its tokens.
        range: Range<usize>,
    },
    /// Special tokens of a template.
    Special {
        /// All tokens that stand together in the template.
        tokens: Arc<SpecialTokens>,
        /// Those of them that are left.
        range: Range<usize>,
    },
    /// Padding.
    Padding {
        /// The token.
        token: Arc<PaddingToken>,
        /// How often it stands there.
        length: usize,
    },
}

/// Tokens of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Their ids.
    pub ids: Vec<u32>,
    /// Their texts.
    pub texts: Vec<String>,
}

impl SpecialTokens {
    /// One token.
    pub fn one(id: u32, text: &str) -> Arc<Self> {
        Arc::new(Self {
            ids: vec![id],
            texts: vec![text.to_owned()],
        })
    }
}

/// The token of padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaddingToken {
    /// Its id.
    pub id: u32,
    /// Its type.
    pub type_id: u32,
    /// Its text.
    pub text: String,
}

/// A change of the spans of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanStep {
    /// They move by as many places.
    Shift(usize),
    /// White space at the ends of tokens is taken out of their spans, one place for each character of it.
    Trim {
        /// Whether one space at the start of a text was added, and is no place of the span.
        add_prefix_space: bool,
        /// The number of the token of the source that was the first of its result.
        first: Option<usize>,
    },
}

impl SpanStep {
    /// The span of a token after the step. The text is that of the token.
    pub fn apply(&self, span: Range<usize>, text: &str, token: usize) -> Range<usize> {
        let (add_prefix_space, first) = match self {
            Self::Shift(places) => return span.start + places..span.end + places,
            Self::Trim {
                add_prefix_space,
                first,
            } => (*add_prefix_space, *first),
        };
        let is_space = |c: &char| *c == '\u{120}' || c.is_whitespace();
        let mut leading = text.chars().take_while(is_space).count();
        let trailing = text.chars().rev().take_while(is_space).count();
        let is_first = first == Some(token) || span.start == 0;
        if leading == 1 && add_prefix_space && is_first {
            leading = 0;
        }
        let Range { mut start, mut end } = span;
        if leading > 0 {
            start = (start + leading).min(end);
        }
        if let Some(trimmed) = end.checked_sub(trailing) {
            end = if trailing > 0 {
                trimmed.max(start)
            } else {
                end
            };
        }
        start..end
    }
}

impl<S> PieceContent<S> {
    /// The number of tokens.
    pub fn len(&self) -> usize {
        match self {
            Self::Tokens { range, .. } | Self::Special { range, .. } => range.len(),
            Self::Padding { length, .. } => *length,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<S: Clone> LayoutPiece<S> {
    /// Tokens of this part of the piece.
    fn part(&self, part: Range<usize>) -> Self {
        let within = |range: &Range<usize>| range.start + part.start..range.start + part.end;
        let content = match &self.content {
            PieceContent::Tokens { source, range } => PieceContent::Tokens {
                source: source.clone(),
                range: within(range),
            },
            PieceContent::Special { tokens, range } => PieceContent::Special {
                tokens: Arc::clone(tokens),
                range: within(range),
            },
            PieceContent::Padding { token, .. } => PieceContent::Padding {
                token: Arc::clone(token),
                length: part.len(),
            },
        };
        Self {
            content,
            type_id: self.type_id,
            is_text: self.is_text,
            span_steps: self.span_steps.clone(),
        }
    }
}

impl<S> Default for Layout<S> {
    fn default() -> Self {
        Self {
            pieces: Vec::new(),
            length: 0,
            sequences: Vec::new(),
            overflow: Vec::new(),
        }
    }
}

/// What a result has.
impl<S> Layout<S> {
    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces.
    pub fn pieces(&self) -> &[LayoutPiece<S>] {
        &self.pieces
    }

    /// The sequences that tokens are known to belong to.
    pub fn sequences(&self) -> &[SequenceRange] {
        &self.sequences
    }

    /// What was cut off.
    pub fn overflow(&self) -> &[Self] {
        &self.overflow
    }

    /// The number of sequences, at least 1.
    pub fn sequence_count(&self) -> usize {
        self.sequences.len().max(1)
    }

    /// The tokens of a sequence: all of them if it is not known.
    pub fn tokens_of(&self, sequence: usize) -> Range<usize> {
        let mut known = self.sequences.iter();
        let known = known.find(|known| known.sequence == sequence);
        known.map_or(0..self.length, |known| known.tokens.clone())
    }

    /// The sequence of a token. The number after the last token counts as one, as in tokenizers.
    pub fn sequence_of(&self, token: usize) -> Option<usize> {
        if token > self.length {
            return None;
        }
        if self.sequences.is_empty() {
            return Some(0);
        }
        let mut known = self.sequences.iter();
        let found = known.find(|known| known.tokens.contains(&token));
        found.map(|known| known.sequence)
    }

    /// A result with other sources.
    ///
    /// # Errors
    /// The first one of the function.
    pub fn try_map<T, E>(&self, map: &mut impl FnMut(&S) -> Result<T, E>) -> Result<Layout<T>, E> {
        let piece = |piece: &LayoutPiece<S>, map: &mut dyn FnMut(&S) -> Result<T, E>| {
            Ok(LayoutPiece {
                content: match &piece.content {
                    PieceContent::Tokens { source, range } => PieceContent::Tokens {
                        source: map(source)?,
                        range: range.clone(),
                    },
                    PieceContent::Special { tokens, range } => PieceContent::Special {
                        tokens: Arc::clone(tokens),
                        range: range.clone(),
                    },
                    PieceContent::Padding { token, length } => PieceContent::Padding {
                        token: Arc::clone(token),
                        length: *length,
                    },
                },
                type_id: piece.type_id,
                is_text: piece.is_text,
                span_steps: piece.span_steps.clone(),
            })
        };
        let pieces = self.pieces.iter().map(|it| piece(it, map));
        let pieces = pieces.collect::<Result<_, E>>()?;
        let overflow = self.overflow.iter().map(|part| part.try_map(map));
        Ok(Layout {
            pieces,
            length: self.length,
            sequences: self.sequences.clone(),
            overflow: overflow.collect::<Result<_, E>>()?,
        })
    }
}

/// Results are made and changed.
impl<S: Clone> Layout<S> {
    /// The tokens of a source, of which there are `length`, with their own types.
    pub fn of_source(source: S, length: usize) -> Self {
        let range = 0..length;
        Self::of_content(PieceContent::Tokens { source, range }, None)
    }

    pub(super) fn of_content(content: PieceContent<S>, type_id: Option<u32>) -> Self {
        let length = content.len();
        let piece = LayoutPiece {
            content,
            type_id,
            is_text: false,
            span_steps: Vec::new(),
        };
        Self {
            // Many results have one piece: no room is kept for others.
            pieces: if length > 0 { vec![piece] } else { Vec::new() },
            length,
            sequences: Vec::new(),
            overflow: Vec::new(),
        }
    }

    /// Gives all tokens the same type, but not those of the overflow.
    pub(super) fn set_type(&mut self, type_id: u32) {
        let pieces = self.pieces.iter_mut();
        pieces.for_each(|piece| piece.type_id = Some(type_id));
    }

    /// Makes all tokens text that is attended to.
    pub(super) fn set_text(&mut self) {
        self.pieces
            .iter_mut()
            .for_each(|piece| piece.is_text = true);
    }

    /// Takes white space out of the spans of tokens, but not in the overflow.
    pub(super) fn trim(&mut self, add_prefix_space: bool) {
        let mut is_first = true;
        for piece in &mut self.pieces {
            if let PieceContent::Tokens { range, .. } = &piece.content {
                let first = is_first.then_some(range.start);
                piece.span_steps.push(SpanStep::Trim {
                    add_prefix_space,
                    first,
                });
            }
            is_first = false;
        }
    }

    /// The parts of the overflow, to be changed.
    pub fn overflow_mut(&mut self) -> &mut Vec<Self> {
        &mut self.overflow
    }

    /// Says that all tokens belong to a sequence.
    pub fn set_sequence(&mut self, sequence: usize) {
        self.set_tokens_of(sequence, 0..self.length);
    }

    /// Says which tokens belong to a sequence.
    pub fn set_tokens_of(&mut self, sequence: usize, tokens: Range<usize>) {
        let known = |known: &SequenceRange| known.sequence;
        match self.sequences.binary_search_by_key(&sequence, known) {
            Ok(at) => self.sequences[at].tokens = tokens,
            Err(at) => self
                .sequences
                .insert(at, SequenceRange { sequence, tokens }),
        }
    }

    /// Forgets the sequences.
    pub(super) fn forget_sequences(&mut self) {
        self.sequences.clear();
    }

    /// A range of the tokens, without sequences and overflow.
    fn part(&self, part: Range<usize>) -> Self {
        let mut pieces = Vec::new();
        let mut start = 0;
        for piece in &self.pieces {
            let end = start + piece.content.len();
            let within = part.start.clamp(start, end)..part.end.clamp(start, end);
            if !within.is_empty() {
                pieces.push(piece.part(within.start - start..within.end - start));
            }
            start = end;
        }
        Self {
            pieces,
            length: part.len(),
            sequences: Vec::new(),
            overflow: Vec::new(),
        }
    }

    /// Cuts the tokens into parts of at most `max_length` tokens, each of which shares `stride` tokens with the one
    /// before. The first is kept, the others are the overflow.
    ///
    /// # Errors
    /// The stride is as long as a part, or longer.
    pub fn truncate(
        &mut self,
        max_length: usize,
        stride: usize,
        direction: Side,
    ) -> Result<(), TruncationError> {
        if max_length >= self.length {
            return Ok(());
        }
        if max_length == 0 {
            let whole = std::mem::take(self);
            self.overflow.push(whole);
            return Ok(());
        }
        let Some(step) = max_length.checked_sub(stride).filter(|step| *step > 0) else {
            return Err(TruncationError::StrideTooLong {
                stride,
                left: max_length,
            });
        };
        let mut overflow = Vec::new();
        let mut done: usize = 0;
        loop {
            let end = done.saturating_add(max_length).min(self.length);
            overflow.push(self.part(match direction {
                Side::Right => done..end,
                Side::Left => self.length - end..self.length - done,
            }));
            if end == self.length {
                break;
            }
            done += step;
        }
        *self = overflow.remove(0);
        self.overflow = overflow;
        Ok(())
    }

    /// Appends another result, and combines the parts of the overflow. `shift` gives how far the spans of what is
    /// appended move, from what they are appended to.
    pub fn merge(&mut self, other: Self, shift: &impl Fn(&Self) -> usize) {
        let merged = |left: &Self, right: &Self| {
            let mut left = left.clone();
            left.merge(right.clone(), shift);
            left
        };
        let mut overflow = Vec::new();
        for part in &self.overflow {
            overflow.push(merged(part, &other));
            overflow.extend(other.overflow.iter().map(|right| merged(part, right)));
        }
        overflow.extend(other.overflow.iter().map(|right| merged(self, right)));
        self.append(other, shift(self));
        self.overflow = overflow;
    }

    /// Appends the tokens of another result, without its overflow.
    fn append(&mut self, other: Self, shift: usize) {
        let start = self.length;
        for SequenceRange { sequence, tokens } in other.sequences {
            self.set_tokens_of(sequence, start + tokens.start..start + tokens.end);
        }
        let mut pieces = other.pieces;
        if shift > 0 {
            let steps = pieces.iter_mut().map(|piece| &mut piece.span_steps);
            steps.for_each(|steps| steps.push(SpanStep::Shift(shift)));
        }
        self.pieces.append(&mut pieces);
        self.length += other.length;
    }

    /// Fills the result and its overflow up to a length.
    pub fn pad(&mut self, length: usize, token: &Arc<PaddingToken>, direction: Side) {
        for part in &mut self.overflow {
            part.pad(length, token, direction);
        }
        let Some(missing) = length.checked_sub(self.length).filter(|it| *it > 0) else {
            return;
        };
        let piece = LayoutPiece {
            content: PieceContent::Padding {
                token: Arc::clone(token),
                length: missing,
            },
            type_id: None,
            is_text: false,
            span_steps: Vec::new(),
        };
        match direction {
            Side::Right => self.pieces.push(piece),
            Side::Left => {
                self.pieces.insert(0, piece);
                for SequenceRange { tokens, .. } in &mut self.sequences {
                    *tokens = tokens.start + missing..tokens.end + missing;
                }
            }
        }
        self.length += missing;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::{Layout, PaddingToken, PieceContent, Side, SpanStep, TruncationError};

    /// A result whose tokens are the characters of a text.
    pub(in crate::pipeline) fn characters(text: &str) -> Layout<&str> {
        Layout::of_source(text, text.len())
    }

    /// The tokens of a result, and those of the parts of its overflow in brackets.
    pub(in crate::pipeline) fn shown(result: &Layout<&str>) -> String {
        let piece = |content: &PieceContent<&str>| match content {
            PieceContent::Tokens { source, range } => source[range.clone()].to_owned(),
            PieceContent::Special { tokens, range } => tokens.texts[range.clone()].concat(),
            PieceContent::Padding { token, length } => token.text.repeat(*length),
        };
        let pieces = result.pieces().iter().map(|it| piece(&it.content));
        let tokens: String = pieces.collect();
        match result.overflow() {
            [] => tokens,
            overflow => {
                let parts: Vec<String> = overflow.iter().map(shown).collect();
                format!("{tokens}[{}]", parts.join(" "))
            }
        }
    }

    /// The sequence of each token.
    pub(in crate::pipeline) fn sequences(result: &Layout<&str>) -> Vec<Option<usize>> {
        let tokens = 0..result.len();
        tokens.map(|token| result.sequence_of(token)).collect()
    }

    fn cut(text: &str, max_length: usize, stride: usize, direction: Side) -> Layout<&str> {
        let mut result = characters(text);
        result.truncate(max_length, stride, direction).unwrap();
        result
    }

    fn padding() -> Arc<PaddingToken> {
        Arc::new(PaddingToken {
            id: 0,
            type_id: 0,
            text: "_".to_owned(),
        })
    }

    // The expected values of all tests are those of `Encoding` of tokenizers 0.23.3.

    #[test]
    fn parts_share_the_stride_from_either_side() {
        let cases = [
            (3, 0, Side::Right, "abc[def g]"),
            (3, 1, Side::Right, "abc[cde efg]"),
            (3, 2, Side::Right, "abc[bcd cde def efg]"),
            (4, 0, Side::Right, "abcd[efg]"),
            (3, 0, Side::Left, "efg[bcd a]"),
            (3, 1, Side::Left, "efg[cde abc]"),
            (3, 2, Side::Left, "efg[def cde bcd abc]"),
            (4, 0, Side::Left, "defg[abc]"),
            (7, 9, Side::Left, "abcdefg"),
            (0, 9, Side::Left, "[abcdefg]"),
        ];
        for (max_length, stride, direction, expected) in cases {
            let found = cut("abcdefg", max_length, stride, direction);
            assert_eq!(
                shown(&found),
                expected,
                "{max_length} {stride} {direction:?}"
            );
            assert_eq!(found.len(), max_length);
        }
    }

    #[test]
    fn a_stride_as_long_as_a_part_is_refused_where_something_is_cut_off() {
        let mut result = characters("abc");
        let refused = TruncationError::StrideTooLong { stride: 2, left: 2 };
        assert_eq!(result.truncate(2, 2, Side::Right), Err(refused));
        assert_eq!(result, characters("abc"));
        assert_eq!(result.truncate(3, 3, Side::Right), Ok(()));
    }

    #[test]
    fn cutting_forgets_sequences() {
        let mut pair = characters("ab");
        pair.set_sequence(0);
        let mut second = characters("cd");
        second.set_sequence(1);
        pair.merge(second, &|_| 0);
        assert_eq!(sequences(&pair), [Some(0), Some(0), Some(1), Some(1)]);
        pair.truncate(3, 0, Side::Right).unwrap();
        assert_eq!(shown(&pair), "abc[d]");
        assert_eq!(sequences(&pair), [Some(0); 3]);
        assert_eq!(sequences(&pair.overflow()[0]), [Some(0)]);
    }

    #[test]
    fn merging_combines_the_overflow_of_both_sides_part_by_part() {
        let mut left = cut("abc", 1, 0, Side::Right);
        left.merge(cut("def", 1, 0, Side::Right), &Layout::len);
        assert_eq!(
            shown(&left),
            "ad[bd[be bf] be bf cd[ce cf] ce cf ae[be ce] af[bf cf]]"
        );
        // The spans of each part move from those that it is appended to.
        let steps = |result: &Layout<&str>| {
            let pieces = result.pieces().iter();
            let steps: Vec<_> = pieces.map(|piece| piece.span_steps.clone()).collect();
            steps
        };
        let moved = [vec![], vec![SpanStep::Shift(1)]];
        assert_eq!(steps(&left), moved);
        for part in left.overflow() {
            assert_eq!(steps(part), moved);
        }
    }

    #[test]
    fn padding_at_the_left_moves_the_sequences_that_are_known() {
        let mut pair = characters("ab");
        pair.set_sequence(0);
        let mut second = characters("cd");
        second.set_sequence(1);
        pair.merge(second, &|_| 0);
        let mut right = pair.clone();

        pair.pad(6, &padding(), Side::Left);
        assert_eq!(shown(&pair), "__abcd");
        let text = [Some(0), Some(0), Some(1), Some(1)];
        assert_eq!(sequences(&pair)[..2], [None, None]);
        assert_eq!(sequences(&pair)[2..], text);

        right.pad(6, &padding(), Side::Right);
        assert_eq!(shown(&right), "abcd__");
        assert_eq!(sequences(&right)[..4], text);
        assert_eq!(sequences(&right)[4..], [None, None]);
    }

    #[test]
    fn padding_belongs_to_the_sequence_0_if_none_is_known() {
        let mut result = characters("ab");
        result.pad(4, &padding(), Side::Left);
        assert_eq!(shown(&result), "__ab");
        assert_eq!(sequences(&result), [Some(0); 4]);
    }

    #[test]
    fn the_overflow_is_filled_up_and_a_long_result_stays() {
        let mut result = cut("abc", 2, 0, Side::Right);
        result.pad(3, &padding(), Side::Left);
        assert_eq!(shown(&result), "_ab[__c]");
        result.pad(1, &padding(), Side::Left);
        assert_eq!(shown(&result), "_ab[__c]");
    }

    #[test]
    fn the_token_number_after_the_last_has_a_sequence_if_none_is_known() {
        let mut result = characters("ab");
        assert_eq!(result.sequence_of(2), Some(0));
        assert_eq!(result.sequence_of(3), None);
        result.set_sequence(1);
        assert_eq!(result.sequence_of(2), None);
        assert_eq!(result.sequence_count(), 1);
        assert_eq!(result.tokens_of(0), 0..2);
    }
}
