//! The two long lists of a `tokenizer.json`: the vocabulary and the merges.
//!
//! Input: the text of a file. Output: [`JsonLists`], and the rest of the file: the same JSON with
//! `null` for the lists, for `serde_json`. Nearly the whole file consists of lists of short texts,
//! which a scanner reads in a quarter of the time of `serde_json`.
//!
//! # Method
//! The scanner goes through the members of the file and of its field `model`, and reads `vocab` and
//! `merges`. In other values it only recognizes strings and brackets. Lists are read strictly: a
//! list that is cut out is valid JSON. So the file is valid if and only if the rest is, which
//! `serde_json` checks. If the rest is valid, strings and brackets were sufficient to find the
//! lists.
//!
//! Texts are stored as ranges of the file (8 bytes each). Texts with escapes are unescaped into a
//! buffer, and their ranges point past the end of the file, into this buffer.
//!
//! Example: `{"model": {"vocab": {"a": 0, "\u0062": 1}, "merges": ["a b"]}}` gives the vocabulary
//! (`a`, 0), (`b`, 1), the merge of `a` and `b`, and the rest
//! `{"model": {"vocab": null, "merges": null}}`.
//!
//! # Cost
//! Linear. Memory: 12 bytes for an entry of a vocabulary with ids, 16 bytes for one with scores and
//! for a merge. The lists grow by doubling.

mod reader;

use std::ops::Range;
use std::sync::Arc;

use self::reader::ListReader;
use super::syntax;
use crate::error::ConvertError;

/// A text of a list: a range of the file, or of the buffer of unescaped texts after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListText {
    start: u32,
    end: u32,
}

impl ListText {
    /// The number of bytes.
    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The texts before and after the one-byte character at position `byte`.
    #[inline]
    fn around(self, byte: u32) -> [Self; 2] {
        let middle = self.start + byte;
        let before = Self {
            end: middle,
            ..self
        };
        let behind = Self {
            start: middle + 1,
            ..self
        };
        [before, behind]
    }
}

/// The texts of a list.
#[derive(Debug)]
struct ListTexts<'j> {
    file: &'j str,
    /// Texts that have escapes in the file.
    unescaped: String,
}

impl<'j> ListTexts<'j> {
    fn new(file: &'j str) -> Self {
        ListTexts {
            file,
            unescaped: String::new(),
        }
    }

    /// The bytes of a text.
    #[inline]
    fn get(&self, text: ListText) -> &[u8] {
        let range = text.start as usize..text.end as usize;
        match range.start.checked_sub(self.file.len()) {
            None => &self.file.as_bytes()[range],
            Some(start) => &self.unescaped.as_bytes()[start..][..range.len()],
        }
    }

    /// Adds an unescaped text; returns its range after the end of the file.
    fn add(&mut self, text: &str) -> Range<usize> {
        let start = self.file.len() + self.unescaped.len();
        self.unescaped.push_str(text);
        start..start + text.len()
    }
}

/// The vocabulary, in the order of the file.
#[derive(Debug)]
pub(super) struct JsonVocab<'j> {
    texts: ListTexts<'j>,
    entries: VocabEntries,
}

#[derive(Debug)]
enum VocabEntries {
    /// Texts and ids.
    Ids(Vec<(ListText, u32)>),
    /// Texts and scores; the position is the id.
    Scores(Vec<(ListText, f64)>),
}

impl JsonVocab<'_> {
    /// The bytes of a text.
    #[inline]
    pub(super) fn text(&self, text: ListText) -> &[u8] {
        self.texts.get(text)
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        match &self.entries {
            VocabEntries::Ids(entries) => entries.len(),
            VocabEntries::Scores(entries) => entries.len(),
        }
    }

    /// Whether it is a list of texts and scores.
    pub(super) fn has_scores(&self) -> bool {
        matches!(self.entries, VocabEntries::Scores(_))
    }

    /// The texts and ids, in the order of the file.
    pub(super) fn ids(&self) -> impl Iterator<Item = (ListText, u32)> + Clone {
        let (ids, scores) = match &self.entries {
            VocabEntries::Ids(ids) => (&ids[..], &[][..]),
            VocabEntries::Scores(scores) => (&[][..], &scores[..]),
        };
        let by_position = scores.iter().map(|(text, _)| *text).zip(0..);
        ids.iter().copied().chain(by_position)
    }

    /// The scores, by id; empty if the vocabulary has ids.
    pub(super) fn scores(&self) -> impl Iterator<Item = f64> {
        let scores = match &self.entries {
            VocabEntries::Scores(scores) => &scores[..],
            VocabEntries::Ids(_) => &[],
        };
        scores.iter().map(|(_, score)| *score)
    }
}

/// The merges.
#[derive(Debug)]
pub(super) struct JsonMerges<'j> {
    texts: ListTexts<'j>,
    pairs: Vec<[ListText; 2]>,
}

impl<'j> JsonMerges<'j> {
    /// No merges.
    fn new(file: &'j str) -> Self {
        Self {
            texts: ListTexts::new(file),
            pairs: Vec::new(),
        }
    }

    /// The two texts of each merge.
    pub(super) fn pairs(&self) -> &[[ListText; 2]] {
        &self.pairs
    }

    /// The bytes of a text.
    #[inline]
    pub(super) fn text(&self, text: ListText) -> &[u8] {
        self.texts.get(text)
    }
}

/// The lists of a file, and the rest of the file.
#[derive(Debug)]
pub(super) struct JsonLists<'j> {
    /// `None` if the file has none.
    pub(super) vocab: Option<Arc<JsonVocab<'j>>>,
    pub(super) merges: JsonMerges<'j>,
    /// The file with `null` for the lists.
    pub(super) rest: String,
}

impl<'j> JsonLists<'j> {
    /// The lists of a file. `on_vocab` is called with the vocabulary before the rest of the file is
    /// read.
    ///
    /// # Errors
    /// A list is not valid JSON or has values of other types, or the file has 2 GiB or more.
    pub(super) fn cut_out(
        file: &'j str,
        on_vocab: &mut dyn FnMut(&Arc<JsonVocab<'j>>),
    ) -> Result<Self, ConvertError> {
        check_length(file)?;
        ListReader::new(file, on_vocab).lists()
    }

    /// The vocabulary; an error if the file has none.
    pub(super) fn vocabulary(&self) -> Result<&JsonVocab<'j>, ConvertError> {
        let vocab = self.vocab.as_deref();
        vocab.ok_or_else(|| syntax("model.vocab is missing"))
    }
}

/// Refuses a file whose ranges do not fit in [`ListText`].
fn check_length(file: &str) -> Result<(), ConvertError> {
    // The ranges of unescaped texts are after the file, and unescaping makes no text longer.
    let end = u32::try_from(file.len() * 2);
    end.map_err(|_| syntax("the file has 2 GiB or more"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_out(json: &str) -> Result<JsonLists<'_>, ConvertError> {
        let mut shown = 0;
        let lists = JsonLists::cut_out(json, &mut |_| shown += 1);
        if let Ok(lists) = &lists {
            assert_eq!(shown, usize::from(lists.vocab.is_some()));
        }
        lists
    }

    fn vocab(lists: &JsonLists<'_>) -> Vec<(String, u32)> {
        let vocab = lists.vocab.as_ref().unwrap();
        let text = |text| String::from_utf8_lossy(vocab.text(text)).into_owned();
        vocab.ids().map(|(key, id)| (text(key), id)).collect()
    }

    fn merges(lists: &JsonLists<'_>) -> Vec<[String; 2]> {
        let merges = &lists.merges;
        let text = |text| String::from_utf8_lossy(merges.text(text)).into_owned();
        merges.pairs().iter().map(|pair| pair.map(text)).collect()
    }

    #[test]
    fn the_example_of_the_module_page() {
        let json =
            r#"{"model": {"vocab": {"a": 0, "\u0062": 1}, "merges": ["a b", ["\u0062", ""]]}}"#;
        let lists = cut_out(json).unwrap();
        assert_eq!(lists.rest, r#"{"model": {"vocab": null, "merges": null}}"#);
        assert_eq!(vocab(&lists), [("a".to_owned(), 0), ("b".to_owned(), 1)]);
        assert_eq!(merges(&lists), [["a", "b"], ["b", ""]]);
    }

    #[test]
    fn keys_with_escapes_are_found_and_lists_elsewhere_are_not() {
        let json = r#"{"vocab": [1], "model" : {"a": {"merges": 1}, "voc\u0061b" :[["\n", -1.5e0]]}, "x": "{"}"#;
        let lists = cut_out(json).unwrap();
        let expected =
            r#"{"vocab": [1], "model" : {"a": {"merges": 1}, "voc\u0061b" :null}, "x": "{"}"#;
        assert_eq!(lists.rest, expected);
        let scores = lists.vocab.as_ref().unwrap().scores();
        assert!(scores.eq([-1.5]));
        assert_eq!(vocab(&lists), [("\n".to_owned(), 0)]);
    }

    #[test]
    fn lists_of_other_values_are_refused() {
        for model in [
            r#"{"vocab": null}"#,
            r#"{"vocab": {"a": "b"}}"#,
            r#"{"vocab": {"a": 1,}}"#,
            r#"{"vocab": {"a" 1}}"#,
            r#"{"vocab": {a: 1}}"#,
            r#"{"vocab": [["a", 1, 2]]}"#,
            r#"{"vocab": [["a", nan]]}"#,
            r#"{"merges": ["ab"]}"#,
            r#"{"merges": ["a b c"]}"#,
            r#"{"merges": [["a"]]}"#,
            r#"{"merges": [["a", "b", "c"]]}"#,
            r#"{"merges": ["a b" "a b"]}"#,
            r#"{"merges": ["\x b"]}"#,
            r#"{"merges": ["a b""#,
        ] {
            let json = format!(r#"{{"model": {model}}}"#);
            assert!(cut_out(&json).is_err(), "{json}");
        }
    }
}
