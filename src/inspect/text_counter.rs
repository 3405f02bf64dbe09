//! Counts over the tokens of a text.
//!
//! Each line is encoded once. The ids are counted by piece, and lines with a long run of tokens
//! inside words are searched for words of many tokens. A line is encoded again, with spans, only if
//! a word of it may be one of the most fragmented ones.
//!
//! # Definitions
//! * *Characters*: bytes that begin a UTF-8 character, so malformed text also has a number of
//!   characters.
//! * *Words*: runs of bytes other than ASCII whitespace.
//! * *Tokens of a word*: the tokens from one that begins with a whitespace mark to the next such
//!   token. A token that contains a mark after its start ends the word. Languages without spaces
//!   have words as long as lines. In pipelines whose tokens have a prefix or suffix instead, such as
//!   `##` of BERT and `</w>` of CLIP, these say where words begin and end.
//!
//! A line costs its encoding, one load and one addition for each token, and two vectorized passes
//! over its bytes. The counts take 9 bytes for each piece.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use memchr::memmem;

use super::statistics::{ExtremeLine, FragmentedWord, TextStatistics};
use super::top_list::TopList;
use super::{is_byte_level, pieces};
use crate::base::utf8::floor_char_boundary;
use crate::base::{WHITESPACE_MARK_STR, is_char_start};
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::{Pipeline, PipelineModel};
use crate::tokenizer::{Encoder, Tokenizer};

/// The number of words in [`TextStatistics::fragmented_words`].
const MAX_WORDS: usize = 50;
/// The number of lines in each list of lines.
const MAX_LINES: usize = 10;
/// Shorter lines are not among those with the most or fewest tokens for each byte.
const MIN_LINE_BYTES: usize = 20;
/// Bytes are counted in blocks of this size, so that the sum of a block fits 8 bits.
const MAX_BLOCK_BYTES: usize = u8::MAX as usize;
/// Words and lines are kept up to this length.
const MAX_EXCERPT_BYTES: usize = 200;

/// A line in the order of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RankedLine {
    line: ExtremeLine,
    order: LineOrder,
}

/// The key by which lines are compared. All lines of a list have the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineOrder {
    /// Most tokens for each byte first.
    Dense,
    /// Fewest tokens for each byte first.
    Sparse,
    /// Most tokens first.
    Long,
}

impl LineOrder {
    /// Compares two lines, each given as its numbers of tokens and bytes. Equal lines are ordered
    /// by their line numbers.
    fn compare(self, a: (u64, u64), b: (u64, u64)) -> Ordering {
        // tokens_a / bytes_a against tokens_b / bytes_b.
        let density_a = u128::from(a.0) * u128::from(b.1);
        let density_b = u128::from(b.0) * u128::from(a.1);
        match self {
            Self::Dense => density_b.cmp(&density_a),
            Self::Sparse => density_a.cmp(&density_b),
            Self::Long => b.0.cmp(&a.0),
        }
    }
}

impl Ord for RankedLine {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order
            .compare(self.size(), other.size())
            .then(self.line.number.cmp(&other.line.number))
    }
}

impl RankedLine {
    /// Tokens and bytes.
    fn size(&self) -> (u64, u64) {
        (self.line.tokens, self.line.bytes)
    }
}

impl PartialOrd for RankedLine {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A list of extreme lines.
#[derive(Debug, Clone)]
struct LineList {
    order: LineOrder,
    lines: TopList<RankedLine>,
}

impl LineList {
    /// An empty list.
    fn new(order: LineOrder) -> Self {
        Self {
            order,
            lines: TopList::new(MAX_LINES),
        }
    }

    /// Takes a line if it is extreme enough. The text is copied only then.
    fn offer(&mut self, number: u64, tokens: u64, text: &[u8]) {
        let bytes = text.len() as u64;
        if let Some(bound) = self.lines.bound() {
            let by_size = self.order.compare((tokens, bytes), bound.size());
            if by_size.then(number.cmp(&bound.line.number)).is_ge() {
                return;
            }
        }
        self.lines.offer(RankedLine {
            line: ExtremeLine {
                number,
                tokens,
                bytes,
                text: excerpt(text).to_vec(),
            },
            order: self.order,
        });
    }

    /// The lines, in order.
    fn into_lines(self) -> Vec<ExtremeLine> {
        let ranked = self.lines.into_values().into_iter();
        ranked.map(|ranked| ranked.line).collect()
    }
}

/// Whether a word begins or ends at a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordRole {
    /// The token is inside a word.
    Inside,
    /// A word begins with the token.
    Begins,
    /// A word ends with the token.
    Ends,
    /// A word begins with the token, and another one ends with it.
    BeginsAndEnds,
}

impl WordRole {
    /// The role of a piece with this text.
    fn of(text: &[u8], mark: &[u8]) -> Self {
        let Some(rest) = text.strip_prefix(mark) else {
            return match memmem::find(text, mark) {
                Some(_) => Self::Ends,
                None => Self::Inside,
            };
        };
        let is_blank = rest.chunks(mark.len()).all(|chunk| chunk == mark);
        match memmem::find(rest, mark) {
            Some(_) if !is_blank => Self::BeginsAndEnds,
            _ => Self::Begins,
        }
    }

    fn begins(self) -> bool {
        matches!(self, Self::Begins | Self::BeginsAndEnds)
    }

    fn ends(self) -> bool {
        matches!(self, Self::Ends | Self::BeginsAndEnds)
    }
}

/// Counts lines for [`TextStatistics`]. Counters of several threads are merged.
///
/// ```
/// use spiece::Tokenizer;
/// use spiece::inspect::TextCounter;
///
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let mut first = TextCounter::new(&tokenizer);
/// first.add_line(1, b"the right");
/// let mut second = TextCounter::new(&tokenizer);
/// second.add_line(2, b"to life");
/// first.merge(second);
/// assert_eq!(first.finish().words, 4);
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug)]
pub struct TextCounter<'t> {
    encoder: Encoder<'t>,
    /// The role of each piece.
    roles: Vec<WordRole>,
    statistics: TextStatistics,
    words: TopList<FragmentedWord>,
    dense: LineList,
    sparse: LineList,
    long: LineList,
    /// The words of the current line that may be among the most fragmented ones, as ranges of
    /// tokens.
    candidates: Vec<Range<usize>>,
}

impl<'t> TextCounter<'t> {
    /// A counter that has seen no line. It takes one pass over the pieces.
    pub fn new(tokenizer: &'t Tokenizer) -> Self {
        Self {
            encoder: tokenizer.encoder(),
            roles: word_roles(tokenizer),
            statistics: TextStatistics {
                counts: vec![0; tokenizer.vocab_size()],
                ..TextStatistics::default()
            },
            words: TopList::new(MAX_WORDS),
            dense: LineList::new(LineOrder::Dense),
            sparse: LineList::new(LineOrder::Sparse),
            long: LineList::new(LineOrder::Long),
            candidates: Vec::new(),
        }
    }

    /// Counts one line, which need not be UTF-8. `number` identifies the line in the results.
    pub fn add_line(&mut self, number: u64, line: &[u8]) {
        let word_threshold = self.words.bound().map_or(2, |word| word.tokens.0.max(2));
        let ids = self.encoder.encode(line);
        let longest_run = count_ids(&mut self.statistics.counts, &self.roles, ids);
        let tokens = ids.len() as u64;
        self.candidates.clear();
        // A word consists at most of a token that begins it, tokens inside it, and a token that
        // ends it.
        if longest_run + 2 >= word_threshold {
            find_words(&self.roles, ids, word_threshold, &mut self.candidates);
        }
        self.add_words(line);
        let statistics = &mut self.statistics;
        statistics.lines += 1;
        statistics.bytes += line.len() as u64;
        statistics.characters += count_characters(line);
        statistics.words += count_words(line);
        statistics.tokens += tokens;
        if line.len() >= MIN_LINE_BYTES {
            self.dense.offer(number, tokens, line);
            self.sparse.offer(number, tokens, line);
        }
        if tokens > 0 {
            self.long.offer(number, tokens, line);
        }
    }

    /// Offers the candidates of a line to the list of words.
    fn add_words(&mut self, line: &[u8]) {
        if self.candidates.is_empty() {
            return;
        }
        let tokens = self.encoder.tokens(line);
        let spans = tokens.as_slice();
        for range in self.candidates.drain(..) {
            let Some([first, .., last]) = spans.get(range.clone()) else {
                continue;
            };
            let text = line.get(first.begin..last.end).unwrap_or_default();
            let text = text.trim_ascii();
            self.words.offer(FragmentedWord {
                tokens: Reverse(range.len() as u64),
                bytes: text.len() as u64,
                word: excerpt(text).to_vec(),
            });
        }
    }

    /// Adds the lines of another counter, which must be of the same tokenizer.
    ///
    /// # Panics
    /// If the tokenizers have different numbers of pieces.
    pub fn merge(&mut self, other: TextCounter<'_>) {
        let counts = other.statistics.counts;
        let own = &mut self.statistics;
        assert_eq!(own.counts.len(), counts.len(), "counters of two tokenizers");
        for (sum, count) in own.counts.iter_mut().zip(counts) {
            *sum += count;
        }
        own.lines += other.statistics.lines;
        own.bytes += other.statistics.bytes;
        own.characters += other.statistics.characters;
        own.words += other.statistics.words;
        own.tokens += other.statistics.tokens;
        self.words.merge(other.words);
        self.dense.lines.merge(other.dense.lines);
        self.sparse.lines.merge(other.sparse.lines);
        self.long.lines.merge(other.long.lines);
    }

    /// The sums of all lines so far: lines, bytes, characters, words, tokens and counts. The other
    /// fields are empty until [`finish`](TextCounter::finish).
    pub fn sums(&self) -> &TextStatistics {
        &self.statistics
    }

    /// The statistics of all lines.
    pub fn finish(self) -> TextStatistics {
        let tokenizer = self.encoder.tokenizer();
        let counts = &self.statistics.counts;
        let byte_tokens = count_of_kind(tokenizer, counts, PieceKind::Byte);
        // The unknown piece of a pipeline can be a special token, and so a control piece.
        let unknown_tokens = match tokenizer.unk_id() {
            Some(unknown) => counts[unknown.index()],
            None => count_of_kind(tokenizer, counts, PieceKind::Unknown),
        };
        TextStatistics {
            byte_tokens,
            unknown_tokens,
            fragmented_words: self.words.into_values(),
            dense_lines: self.dense.into_lines(),
            sparse_lines: self.sparse.into_lines(),
            long_lines: self.long.into_lines(),
            ..self.statistics
        }
    }
}

/// The tokens that are pieces of a kind.
fn count_of_kind(tokenizer: &Tokenizer, counts: &[u64], kind: PieceKind) -> u64 {
    let pieces = tokenizer.pieces().filter(|piece| piece.kind == kind);
    pieces.map(|piece| counts[piece.id.index()]).sum()
}

/// The roles of all ids. Only pieces for text contain marks; those of byte-level vocabularies are
/// spaces.
fn word_roles(tokenizer: &Tokenizer) -> Vec<WordRole> {
    let mut roles = vec![WordRole::Inside; tokenizer.vocab_size()];
    let is_word = |kind| matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
    if let Some(pipeline) = tokenizer.pipeline()
        && let Some(affix) = WordAffix::of(pipeline)
    {
        for piece in pieces(tokenizer).filter(|piece| is_word(piece.kind)) {
            roles[piece.id.index()] = affix.role(&piece.text);
        }
        return roles;
    }
    let tables = tokenizer.model_tables();
    let mark = match (tables, is_byte_level(tokenizer)) {
        (_, true) => b" ",
        (Some(tables), false) => tables.normalizer().mark(),
        (None, false) => WHITESPACE_MARK_STR.as_bytes(),
    };
    for piece in pieces(tokenizer).filter(|piece| is_word(piece.kind)) {
        roles[piece.id.index()] = WordRole::of(&piece.text, mark);
    }
    roles
}

/// How the tokens of a pipeline say where words begin or end, if not by a mark.
enum WordAffix<'p> {
    /// Tokens with it go on a word.
    Continues(&'p str),
    /// Tokens with it end a word.
    Ends(&'p str),
    /// Every token is a word.
    Whole,
}
impl<'p> WordAffix<'p> {
    fn of(pipeline: &'p Pipeline) -> Option<Self> {
        match pipeline.model() {
            PipelineModel::WordPiece(words) => Some(Self::Continues(words.prefix())),
            PipelineModel::WordLevel(_) => Some(Self::Whole),
            PipelineModel::Bpe(bpe) => {
                let options = bpe.options();
                let given =
                    |affix: &'p Option<String>| affix.as_deref().filter(|it| !it.is_empty());
                let prefix = given(&options.continuing_subword_prefix).map(Self::Continues);
                prefix.or_else(|| given(&options.end_of_word_suffix).map(Self::Ends))
            }
            PipelineModel::Bytes(_) | PipelineModel::Unigram(_) => None,
        }
    }

    fn role(&self, text: &[u8]) -> WordRole {
        let is_inside = match self {
            Self::Continues(prefix) => text.starts_with(prefix.as_bytes()),
            Self::Ends(suffix) if text.ends_with(suffix.as_bytes()) => return WordRole::Ends,
            Self::Ends(_) => true,
            Self::Whole => false,
        };
        match is_inside {
            true => WordRole::Inside,
            false => WordRole::Begins,
        }
    }
}

/// Counts ids. Returns the length of the longest run of tokens inside words. The loop has no
/// branches, since whether a token begins a word is unpredictable.
fn count_ids(counts: &mut [u64], roles: &[WordRole], ids: &[PieceId]) -> u64 {
    let mut run = 0;
    let mut longest = 0;
    for id in ids {
        counts[id.index()] += 1;
        let is_inside = u64::from(roles[id.index()] == WordRole::Inside);
        run = (run + is_inside) * is_inside;
        longest = run.max(longest);
    }
    longest
}

/// Appends the words of at least `threshold` tokens, as ranges of `ids`.
fn find_words(roles: &[WordRole], ids: &[PieceId], threshold: u64, found: &mut Vec<Range<usize>>) {
    let mut start = 0;
    let mut end_word = |range: Range<usize>| {
        if range.len() as u64 >= threshold {
            found.push(range);
        }
    };
    for (at, id) in ids.iter().enumerate() {
        let role = roles[id.index()];
        if role == WordRole::Inside {
            continue;
        }
        if role.begins() {
            end_word(start..at);
            start = at;
        }
        if role.ends() {
            end_word(start..at + 1);
            start = at + 1;
        }
    }
    end_word(start..ids.len());
}

/// The number of bytes that begin a character.
fn count_characters(text: &[u8]) -> u64 {
    let blocks = text.chunks(MAX_BLOCK_BYTES).map(|block| {
        let starts = block.iter().map(|byte| u8::from(is_char_start(*byte)));
        u64::from(starts.sum::<u8>())
    });
    blocks.sum()
}

/// The number of runs of bytes other than ASCII whitespace.
fn count_words(text: &[u8]) -> u64 {
    let Some((first, rest)) = text.split_first() else {
        return 0;
    };
    let before = text.chunks(MAX_BLOCK_BYTES);
    let blocks = before.zip(rest.chunks(MAX_BLOCK_BYTES));
    let starts = blocks.map(|(before, block)| {
        let pairs = before.iter().zip(block);
        // Without short circuits the loop is vectorized.
        let starts = pairs.map(|(before, byte)| u8::from(is_space(*before) & !is_space(*byte)));
        u64::from(starts.sum::<u8>())
    });
    u64::from(!is_space(*first)) + starts.sum::<u64>()
}

/// Whether a byte is ASCII whitespace: a space, or a tab, line feed, vertical tab, form feed or
/// carriage return.
fn is_space(byte: u8) -> bool {
    (byte == b' ') | (byte.wrapping_sub(b'\t') < 5)
}

/// The start of a text, at most [`MAX_EXCERPT_BYTES`], cut between characters.
pub(super) fn excerpt(text: &[u8]) -> &[u8] {
    if text.len() <= MAX_EXCERPT_BYTES {
        return text;
    }
    &text[..floor_char_boundary(text, MAX_EXCERPT_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::{count_characters, count_words};

    #[test]
    fn counts_continue_across_blocks() {
        for length in [0, 1, 254, 255, 256, 509, 510, 511, 2000] {
            let words = "a ".repeat(length);
            assert_eq!(count_words(words.as_bytes()), length as u64);
            assert_eq!(
                count_words("a".repeat(length).as_bytes()),
                u64::from(length > 0)
            );
            assert_eq!(count_words(" ".repeat(length).as_bytes()), 0);
            assert_eq!(
                count_characters("é".repeat(length).as_bytes()),
                length as u64
            );
        }
        assert_eq!(count_words(b"\ta\r\nb\x0b\x0cc\x1fd"), 3);
    }
}
