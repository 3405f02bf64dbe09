//! The best segmentation of each document as ids or pieces, which is the usual output.
//!
//! The text of each token and the space after it are rendered once, in rows of constant size, so
//! that writing a token is a copy of constant size: the number 278 is the row `"278 "` of length 4.
//!
//! With one call of the encoder for each line, and the digits of each id computed anew, 10 MB of
//! English took 1,010 million instructions instead of 867 million.

use super::{Format, format};
use crate::input::line_ranges;
use crate::io::CliResult;
use crate::stream::Block;
use spiece::{Encoder, Piece, PieceId, PieceKind, Tokenizer};

/// Writes best segmentations.
pub(super) struct BestWriter<'m> {
    tokenizer: &'m Tokenizer,
    format: Format,
    /// By id.
    rows: Vec<Row>,
    /// The piece whose tokens are written as the text of their spans.
    unknown: Option<PieceId>,
}

/// Most pieces are shorter; with the length, a cache line has four rows.
const ROW_BYTES: usize = 15;
/// The most rows: no known vocabulary has as many tokens, and a file can claim any id.
const MAX_ROWS: usize = 1 << 20;

/// The text of a token and a space.
struct Row {
    /// Followed by spaces.
    text: [u8; ROW_BYTES],
    /// With one space; 0 if the text is longer.
    length: u8,
}

impl Row {
    fn new(text: &[u8]) -> Self {
        let mut row = Self {
            text: [b' '; ROW_BYTES],
            length: 0,
        };
        if let Some(start) = row.text[..ROW_BYTES - 1].get_mut(..text.len())
            && let Ok(length) = u8::try_from(text.len() + 1)
        {
            start.copy_from_slice(text);
            row.length = length;
        }
        row
    }
}

impl<'m> BestWriter<'m> {
    /// Renders the tokens of a model. The format is not JSON.
    pub(super) fn new(tokenizer: &'m Tokenizer, format: Format) -> Self {
        let mut digits = itoa::Buffer::new();
        let mut text = Vec::new();
        let mut render = |id: PieceId| {
            text.clear();
            push_token(tokenizer, format, id, &mut digits, &mut text);
            Row::new(&text)
        };
        let is_unknown = |piece: &Piece<'_>| piece.kind == PieceKind::Unknown;
        let unknown = match format {
            Format::Piece => tokenizer.pieces().find(is_unknown).map(|piece| piece.id),
            _ => None,
        };
        Self {
            tokenizer,
            rows: (0..)
                .take(tokenizer.vocab_size().min(MAX_ROWS))
                .map(|id| render(PieceId::new(id)))
                .collect(),
            format,
            unknown,
        }
    }

    /// Appends a line for each document.
    pub(super) fn write(
        &self,
        encoder: &mut Encoder<'_>,
        block: &Block,
        out: &mut Vec<u8>,
    ) -> CliResult {
        let Some(text) = block.text_of_lines() else {
            return block.for_each_document(|_, document| {
                let ids = encoder.encode(document);
                if self.has_unknown(ids) {
                    format::write(Format::Piece, &encoder.tokens(document), out);
                } else {
                    self.write_line(ids, out);
                }
                Ok(())
            });
        };
        let lines = encoder.encode_lines(text);
        if !self.has_unknown(lines.ids()) {
            lines.iter().for_each(|ids| self.write_line(ids, out));
            return Ok(());
        }
        // The spans of a line take the place of the ids in the encoder.
        let lines = lines.clone();
        for (range, ids) in line_ranges(text).zip(lines.iter()) {
            if self.has_unknown(ids) {
                format::write(Format::Piece, &encoder.tokens(&text[range]), out);
            } else {
                self.write_line(ids, out);
            }
        }
        Ok(())
    }

    /// Whether the text of a token is that of its span, which only [`format::write`] knows.
    fn has_unknown(&self, ids: &[PieceId]) -> bool {
        self.unknown.is_some_and(|unknown| ids.contains(&unknown))
    }

    /// Appends a line of tokens.
    fn write_line(&self, ids: &[PieceId], out: &mut Vec<u8>) {
        let start = out.len();
        for id in ids {
            match self.rows.get(id.get() as usize) {
                Some(row) if row.length > 0 => {
                    let end = out.len() + usize::from(row.length);
                    out.extend_from_slice(&row.text);
                    out.truncate(end);
                }
                _ => {
                    let mut digits = itoa::Buffer::new();
                    push_token(self.tokenizer, self.format, *id, &mut digits, out);
                    out.push(b' ');
                }
            }
        }
        format::end_line(start, out);
    }
}

/// Appends the id or the text of a token; a vocabulary may have ids without a text.
fn push_token(
    tokenizer: &Tokenizer,
    format: Format,
    id: PieceId,
    digits: &mut itoa::Buffer,
    out: &mut Vec<u8>,
) {
    match format {
        Format::Id => out.extend_from_slice(digits.format(id.get()).as_bytes()),
        _ => out.extend_from_slice(tokenizer.id_to_piece(id).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::documents::DocumentRules;
    use crate::input::Input;
    use crate::progress::Messages;
    use spiece::Tokenizer;
    use spiece::input::Documents;

    /// The blocks of a file, each document of which is written by [`format::write`] in one list and
    /// by [`BestWriter`] in the other.
    fn both(model: &str, path: &Path, documents: Documents, format: Format) -> [Vec<u8>; 2] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
        let tokenizer = Tokenizer::open(root.join(model)).unwrap();
        let mut encoder = tokenizer.encoder();
        let best = BestWriter::new(&tokenizer, format);
        let rules = Arc::new(DocumentRules::of(documents));
        let mut input = Input::new(vec![path.to_owned()], &rules, &Messages::new(true));
        let mut block = Block::default();
        let [mut expected, mut written] = [Vec::new(), Vec::new()];
        while input.read_block(&mut block).unwrap() {
            best.write(&mut encoder, &block, &mut written).unwrap();
            let write = |_: u64, document: &[u8]| {
                format::write(format, &encoder.tokens(document), &mut expected);
                Ok(())
            };
            block.for_each_document(write).unwrap();
        }
        [expected, written]
    }

    #[test]
    fn best_segmentations_are_those_of_the_general_writer() {
        let text = include_str!("../../../testdata/udhr.txt");
        // Unknown characters in most models, some of them adjacent, and lines without tokens.
        let rare = ["\u{1F980}\u{1F980} x \u{1F980}", "", "   ", "\u{2047}"];
        let lines = text.lines().step_by(9).chain(rare).chain(["last"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
        for model in [
            "golden/llama2.model",
            "golden/word_symbols.model",
            "run/unigram.model",
        ] {
            for documents in [Documents::Lines, Documents::Files] {
                for format in [Format::Id, Format::Piece] {
                    let [expected, written] = both(model, &path, documents.clone(), format);
                    assert!(expected == written, "{model} {documents:?} {format:?}");
                }
            }
        }
    }

    #[test]
    fn a_row_has_room_for_14_bytes_and_a_space() {
        let lengths = [0, 1, 14, 15, 300].map(|length| Row::new(&vec![b'x'; length]).length);
        assert_eq!(lengths, [1, 2, 15, 0, 0]);
        assert!(Row::new(b"278").text.starts_with(b"278 "));
    }
}
