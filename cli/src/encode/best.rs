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
use spiece::{Encoder, Model, Piece, PieceId, PieceKind};

/// Writes best segmentations.
pub(super) struct BestWriter<'m> {
    model: &'m Model,
    /// By id.
    rows: Vec<Row>,
    /// The piece whose tokens are written as the text of their spans.
    unknown: Option<PieceId>,
}

/// Most pieces are shorter; with the length, a cache line has four rows.
const ROW_BYTES: usize = 15;

/// The text of a token and a space.
struct Row {
    /// Followed by zeros.
    text: [u8; ROW_BYTES],
    /// 0 if the text is longer than a row.
    length: u8,
}

impl Row {
    /// The row of a text with the space behind it.
    fn new(text: &[u8]) -> Self {
        let mut row = Self {
            text: [0; ROW_BYTES],
            length: 0,
        };
        if let Some(start) = row.text.get_mut(..text.len())
            && let Ok(length) = u8::try_from(text.len())
        {
            start.copy_from_slice(text);
            row.length = length;
        }
        row
    }
}

impl<'m> BestWriter<'m> {
    /// Renders the tokens of a model. The format is not JSON.
    pub(super) fn new(model: &'m Model, format: Format) -> Self {
        let mut text = Vec::new();
        let render = |piece: Piece<'_>| {
            text.clear();
            match format {
                Format::Id => text.extend_from_slice(piece.id.to_string().as_bytes()),
                _ => text.extend_from_slice(piece.text),
            }
            text.push(b' ');
            Row::new(&text)
        };
        let is_unknown = |piece: &Piece<'_>| piece.kind == PieceKind::Unknown;
        let unknown = model.pieces().find(is_unknown).map(|piece| piece.id);
        Self {
            model,
            rows: model.pieces().map(render).collect(),
            unknown: unknown.filter(|_| format == Format::Piece),
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
            let row = &self.rows[id.get() as usize];
            if row.length == 0 {
                let piece = self.model.piece(*id);
                out.extend_from_slice(piece.map_or(&[][..], |piece| piece.text));
                out.push(b' ');
            } else {
                let end = out.len() + usize::from(row.length);
                out.extend_from_slice(&row.text);
                out.truncate(end);
            }
        }
        format::end_line(start, out);
    }
}
