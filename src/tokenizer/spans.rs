//! Unknown ids and spans, for text that was normalized.
//!
//! An encoder gives one unknown id for each unknown character (for each unknown word in word
//! models), so the position of each id follows from the ids before it: an id covers as many bytes
//! as its piece has, and an unknown id covers a character or word. Here these ids are *resolved*:
//!
//! - with byte fallback each unknown character becomes the pieces of its bytes;
//! - otherwise adjacent unknown ids become one.
//!
//! Example: `▁日本` has the ids `[▁, unknown, unknown]`. With byte fallback they become `▁`,
//! `<0xE6>`, `<0x97>`, `<0xA5>`, `<0xE6>`, `<0x9C>`, `<0xAC>`, where `<0xA5>` and `<0xAC>` have the
//! spans of `日` and `本`; without, `▁` and one unknown id with the span of `日本`.
//!
//! Ids without an unknown one are passed over without reading the text.

use super::cache::TextBuffers;
use super::model_tables::ModelContext;
use crate::piece::PieceId;

impl ModelContext<'_> {
    /// How many bytes of `rest` an id at its start covers.
    #[inline]
    fn length(&self, id: PieceId, rest: &[u8]) -> usize {
        let encoder = &self.stages.encoder;
        if id == self.tables.unknown {
            return encoder.unknown_length(rest);
        }
        let text = self.tables.model().table().text(id.index());
        encoder.piece_length(text.len(), rest)
    }

    /// Replaces each run of unknown ids from `start` on by one id. With byte fallback, raw text has
    /// none.
    #[inline]
    pub(super) fn join_unknowns(&self, ids: &mut Vec<PieceId>, start: usize) {
        if !self.has_byte_fallback() {
            join_unknowns(ids, start, self.tables.unknown);
        }
    }

    /// Resolves the unknown ids from `start` on, which are those of the normalized text.
    pub(super) fn resolve_unknowns(
        &self,
        buffers: &mut TextBuffers,
        ids: &mut Vec<PieceId>,
        start: usize,
    ) {
        let unknown = self.tables.unknown;
        if !ids[start..].contains(&unknown) {
            return;
        }
        let Some(byte_ids) = &self.tables.byte_ids else {
            return join_unknowns(ids, start, unknown);
        };
        buffers.unresolved.clear();
        buffers.unresolved.extend(ids.drain(start..));
        let mut rest = &buffers.normalized[..];
        for id in buffers.unresolved.iter().copied() {
            let (text, after) = rest.split_at(self.length(id, rest));
            if id == unknown {
                ids.extend(text.iter().map(|byte| byte_ids[usize::from(*byte)]));
            } else {
                ids.push(id);
            }
            rest = after;
        }
    }

    /// Appends the tokens of the unresolved ids, which are those of the normalized text. The text
    /// that was normalized begins at `base` in the caller's text.
    pub(super) fn assign_spans(&self, buffers: &mut TextBuffers, base: usize) {
        let TextBuffers {
            normalized,
            origins,
            unresolved,
            tokens,
            ..
        } = buffers;
        let pieces = self.tables.model().table();
        let extends_pieces = self.stages.encoder.extends_pieces();
        let mut start = 0;
        let mut follows_unknown = false;
        for id in unresolved.iter().copied() {
            let end = start + self.length(id, &normalized[start..]);
            let text = &normalized[start..end];
            let span = base + origins[start]..base + origins[end];
            let is_unknown = id == self.tables.unknown;
            match &self.tables.byte_ids {
                _ if !is_unknown => {
                    if extends_pieces && pieces.text(id.index()) != text {
                        tokens.push_extended(id, span, text);
                    } else {
                        tokens.push(id, span);
                    }
                }
                Some(byte_ids) => {
                    let ids = text.iter().map(|byte| byte_ids[usize::from(*byte)]);
                    tokens.push_bytes(ids, span);
                }
                None if follows_unknown => tokens.extend_unknown(span.end, text),
                None => tokens.push_unknown(id, span, text),
            }
            start = end;
            follows_unknown = is_unknown;
        }
    }
}

/// Replaces each run of `unknown` ids from `start` on by one id.
fn join_unknowns(ids: &mut Vec<PieceId>, start: usize, unknown: PieceId) {
    let mut kept = start;
    for at in start..ids.len() {
        if at == start || ids[at] != unknown || ids[at - 1] != unknown {
            ids[kept] = ids[at];
            kept += 1;
        }
    }
    ids.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::join_unknowns;
    use crate::piece::PieceId;

    #[test]
    fn runs_of_unknown_ids_from_start_on_become_one() {
        let cases: [(&[u32], usize, &[u32]); 5] = [
            (&[], 0, &[]),
            (&[0, 0, 0], 0, &[0]),
            (&[0, 0, 0], 1, &[0, 0]),
            (&[5, 0, 0, 6, 0, 7, 7], 0, &[5, 0, 6, 0, 7, 7]),
            (&[0, 5, 5, 0], 3, &[0, 5, 5, 0]),
        ];
        let ids = |numbers: &[u32]| -> Vec<PieceId> {
            numbers.iter().map(|number| PieceId::new(*number)).collect()
        };
        for (before, start, after) in cases {
            let mut joined = ids(before);
            join_unknowns(&mut joined, start, PieceId::new(0));
            assert_eq!(joined, ids(after), "{before:?} from {start}");
        }
    }
}
