//! The pieces of WordPiece vocabularies as text, as the decoder `WordPiece` of tokenizers makes it.
//!
//! A piece with the prefix of continuations goes on with the text without it, all others are
//! separated by a space; the first piece stands as it is. Then spaces before punctuation and the
//! like are removed in each piece on its own, so that the text of a piece depends only on whether
//! it is the first one. Special tokens become nothing.
//!
//! Example: `do`, `n`, `'`, `##t`, `.` become `do n 't.`.

use super::short::ShortTexts;
use super::{Decoder, Role};
use crate::base::TextArena;

/// How the ids of a WordPiece vocabulary become text; the default is that of BERT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordDecoding {
    /// The prefix of pieces that go on with a word; `None` if each piece is a word.
    pub prefix: Option<String>,
    /// Whether spaces before punctuation and English contractions are removed.
    pub cleanup: bool,
}

impl Default for WordDecoding {
    fn default() -> Self {
        Self {
            prefix: Some("##".to_owned()),
            cleanup: true,
        }
    }
}

impl WordDecoding {
    /// The text of a piece, as the first one of a text or after another one.
    pub(super) fn text(&self, piece: &str, is_first: bool) -> String {
        let prefix = self.prefix.as_deref();
        let text = match prefix.and_then(|prefix| piece.strip_prefix(prefix)) {
            _ if is_first => piece.to_owned(),
            Some(rest) => rest.to_owned(),
            None => format!(" {piece}"),
        };
        if !self.cleanup {
            return text;
        }
        without_spaces_before_punctuation(text)
    }
}

/// A text without spaces before punctuation and English contractions, as tokenizers leaves them out.
pub(crate) fn without_spaces_before_punctuation(text: String) -> String {
    const REPLACEMENTS: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    let replace = |text: String, (from, to)| match text.contains(from) {
        true => text.replace(from, to),
        false => text,
    };
    REPLACEMENTS.into_iter().fold(text, replace)
}

impl Decoder {
    /// The decoder of a WordPiece vocabulary. `pieces` are the text of each id, or `None` for
    /// special tokens; `None` for ids without a piece.
    pub(crate) fn of_words<'p>(
        pieces: impl Iterator<Item = Option<Option<&'p [u8]>>>,
        decoding: &WordDecoding,
    ) -> Self {
        let [mut texts, mut first_texts] = [TextArena::default(), TextArena::default()];
        let mut roles = Vec::new();
        for piece in pieces {
            roles.push(match piece {
                None => Role::Missing,
                Some(None) => Role::Control,
                Some(Some(_)) => Role::Word,
            });
            // Pieces are made of text.
            let piece = piece.flatten();
            let piece = piece.and_then(|text| std::str::from_utf8(text).ok());
            let text = |is_first| piece.map(|piece| decoding.text(piece, is_first));
            texts.push(text(false).unwrap_or_default().as_bytes());
            first_texts.push(text(true).unwrap_or_default().as_bytes());
        }
        let own_texts = roles
            .iter()
            .enumerate()
            .map(|(index, role)| (*role != Role::Missing).then(|| texts.get(index)));
        Self {
            short_texts: ShortTexts::new(own_texts),
            has_gaps: roles.contains(&Role::Missing),
            roles,
            texts,
            words: Some(FirstTexts {
                texts: first_texts,
                decoding: decoding.clone(),
            }),
            unknown_surface: Vec::new(),
            strips_mark: false,
            strips_all: false,
            denormalizer: None,
            splits_chars: false,
        }
    }
}

/// What only decoders of WordPiece vocabularies have.
#[derive(Debug)]
pub(super) struct FirstTexts {
    /// The text of each piece as the first one.
    pub(super) texts: TextArena,
    pub(super) decoding: WordDecoding,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::PieceId;

    #[test]
    fn pieces_are_separated_joined_and_cleaned_one_by_one() {
        let pieces = ["do", "n", "'", "##t", ".", "n't", "##.", "", "[CLS]", "##"];
        let given = |decoding: &WordDecoding| {
            let pieces = pieces
                .iter()
                .map(|piece| Some((!piece.starts_with('[')).then_some(piece.as_bytes())));
            Decoder::of_words(pieces.chain([None]), decoding)
        };
        let plain = WordDecoding {
            prefix: None,
            cleanup: false,
        };
        let [default, plain] = [WordDecoding::default(), plain].map(|decoding| given(&decoding));
        let cases: [(&[u32], &str, &str); 8] = [
            (&[0, 1, 2, 3, 4], "do n 't.", "do n ' ##t ."),
            (&[0, 5, 4], "don't.", "do n't ."),
            (&[3, 3], "##tt", "##t ##t"),
            (&[8, 3, 8, 0, 8], "##t do", "##t do"),
            (&[6, 6], "##..", "##. ##."),
            (&[7, 0], " do", " do"),
            (&[9, 0, 9, 9, 0], "## do do", "## do ## ## do"),
            (&[], "", ""),
        ];
        for (ids, cleaned, separated) in cases {
            let ids: Vec<PieceId> = ids.iter().map(|id| PieceId::new(*id)).collect();
            for (decoder, expected) in [(&default, cleaned), (&plain, separated)] {
                let mut text = b"> ".to_vec();
                decoder.decode(&ids, &mut text).unwrap();
                assert_eq!(text, format!("> {expected}").as_bytes(), "{ids:?}");
                let given = ids
                    .iter()
                    .map(|id| (pieces[id.index()].as_bytes(), Some(*id)));
                assert_eq!(decoder.decode_pieces(given), expected.as_bytes());
            }
        }
        assert!(
            default
                .decode(&[PieceId::new(10)], &mut Vec::new())
                .is_err()
        );
        let unknown = [(&b"a"[..], None), (b"##b", None), (b".", None)];
        assert_eq!(default.decode_pieces(unknown.into_iter()), b"ab.");
    }
}
