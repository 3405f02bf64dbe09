//! The two long lists of a `tokenizer.json`: the vocabulary and the merges.
//!
//! Input: the text of a file. Output: [`JsonLists`], and the rest of the file: the same JSON with `null` for the lists, for
//! `serde_json`. Nearly the whole file is lists of short texts, for which a scanner takes a quarter of the time of `serde_json`.
//!
//! # Method
//! The scanner goes through the members of the file and of its field `model`, and reads `vocab` and `merges`. It skips other
//! values by their strings and brackets. Reading is strict: a list that is cut out is valid JSON. So the file is valid exactly if
//! the rest is, which `serde_json` finds out; and if the rest is valid, then strings and brackets were enough to find the lists.
//!
//! Texts are kept as ranges of the file, of 8 bytes. Texts with escapes are replaced by ranges behind the end of the file, of a
//! buffer that has them without.
//!
//! Example: `{"model": {"vocab": {"a": 0, "\u0062": 1}, "merges": ["a b"]}}` gives the vocabulary (`a`, 0), (`b`, 1), the merge
//! of `a` and `b`, and the rest `{"model": {"vocab": null, "merges": null}}`.
//!
//! # Cost
//! Linear. Memory: 12 bytes for an entry of a vocabulary with ids, 16 for one with scores and for a merge; their lists grow by
//! doubling.

use std::ops::Range;
use std::sync::Arc;

use super::scan::{JsonScanner, RawString, ScanProblem};
use super::syntax;
use crate::error::ConvertError;
use crate::text::num::low_u32;

/// Bytes of a file for each entry of a list, as a first guess of their number.
const BYTES_PER_ENTRY: usize = 32;

/// A text of a list: a range of the file, or behind it.
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

    /// Adds a text without its escapes; returns its range behind the file.
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

    /// The scores, by id; none if it has ids.
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

impl JsonMerges<'_> {
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
    /// The lists of a file. The vocabulary is shown to `on_vocab` before what follows it is read.
    ///
    /// # Errors
    /// A list is not valid JSON or has other values; or the file has 2 GiB or more.
    pub(super) fn cut_out(
        file: &'j str,
        on_vocab: &mut dyn FnMut(&Arc<JsonVocab<'j>>),
    ) -> Result<Self, ConvertError> {
        // Ranges of texts without escapes are behind the file, and no text gets longer by their removal.
        if u32::try_from(file.len() * 2).is_err() {
            return Err(syntax("the file has 2 GiB or more".to_owned()));
        }
        let merges = JsonMerges {
            texts: ListTexts::new(file),
            pairs: Vec::new(),
        };
        let mut reader = ListReader {
            scanner: JsonScanner::new(file),
            texts: ListTexts::new(file),
            vocab: None,
            merges,
            on_vocab,
            rest: String::new(),
            kept: 0,
        };
        let read = reader.read_file();
        read.map_err(|problem| reader.scanner.error(problem))?;
        reader.rest.push_str(&file[reader.kept..]);
        Ok(JsonLists {
            vocab: reader.vocab,
            merges: reader.merges,
            rest: reader.rest,
        })
    }
}

/// Reads the lists.
struct ListReader<'j, 'v> {
    scanner: JsonScanner<'j>,
    /// The texts of the list that is read.
    texts: ListTexts<'j>,
    vocab: Option<Arc<JsonVocab<'j>>>,
    merges: JsonMerges<'j>,
    on_vocab: &'v mut dyn FnMut(&Arc<JsonVocab<'j>>),
    rest: String,
    /// What is before this position is in the rest, or cut out.
    kept: usize,
}

impl<'j> ListReader<'j, '_> {
    fn read_file(&mut self) -> Result<(), ScanProblem> {
        self.scanner.expect(b'{', "a brace is missing")?;
        let mut is_first = true;
        while self.scanner.has_next(b'}', &mut is_first)? {
            let is_model = self.key()? == "model";
            if is_model && self.scanner.peek() == Some(b'{') {
                self.read_model()?;
            } else {
                self.scanner.skip()?;
            }
        }
        Ok(())
    }

    fn read_model(&mut self) -> Result<(), ScanProblem> {
        self.scanner.expect(b'{', "a brace is missing")?;
        let mut is_first = true;
        while self.scanner.has_next(b'}', &mut is_first)? {
            match self.key()?.as_str() {
                "vocab" => {
                    let entries = self.cut_out(ListReader::read_vocab)?;
                    let texts = self.take_texts();
                    let vocab = Arc::new(JsonVocab { texts, entries });
                    (self.on_vocab)(&vocab);
                    self.vocab = Some(vocab);
                }
                "merges" => {
                    let pairs = self.cut_out(ListReader::read_merges)?;
                    let texts = self.take_texts();
                    self.merges = JsonMerges { texts, pairs };
                }
                _ => self.scanner.skip()?,
            }
        }
        Ok(())
    }

    /// The texts of the list that was read.
    fn take_texts(&mut self) -> ListTexts<'j> {
        let next = ListTexts::new(self.texts.file);
        std::mem::replace(&mut self.texts, next)
    }

    /// Goes behind a key and its colon.
    fn key(&mut self) -> Result<String, ScanProblem> {
        let key = self.scanner.string()?;
        let key = match key.has_escapes {
            true => self.scanner.unescaped(&key)?,
            false => self.texts.file[key.range].to_owned(),
        };
        self.scanner.expect(b':', "a colon is missing")?;
        Ok(key)
    }

    /// Reads a value that is cut out of the rest.
    fn cut_out<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ScanProblem>,
    ) -> Result<T, ScanProblem> {
        self.scanner.peek();
        let start = self.scanner.position();
        let list = read(self)?;
        self.rest.push_str(&self.texts.file[self.kept..start]);
        self.rest.push_str("null");
        self.kept = self.scanner.position();
        Ok(list)
    }

    fn read_vocab(&mut self) -> Result<VocabEntries, ScanProblem> {
        match self.scanner.peek() {
            Some(b'{') => self.read_ids().map(VocabEntries::Ids),
            Some(b'[') => self.read_scores().map(VocabEntries::Scores),
            _ => Err(ScanProblem(
                "model.vocab is no object of texts and ids, nor a list of texts and scores",
            )),
        }
    }

    fn read_ids(&mut self) -> Result<Vec<(ListText, u32)>, ScanProblem> {
        let mut entries = Vec::with_capacity(self.expected_entries());
        let mut is_first = true;
        self.scanner.expect(b'{', "a brace is missing")?;
        while self.scanner.has_next(b'}', &mut is_first)? {
            let text = self.text()?;
            self.scanner.expect(b':', "a colon is missing")?;
            entries.push((text, self.scanner.id()?));
        }
        Ok(entries)
    }

    fn read_scores(&mut self) -> Result<Vec<(ListText, f64)>, ScanProblem> {
        let mut entries = Vec::with_capacity(self.expected_entries());
        let mut is_first = true;
        self.scanner.expect(b'[', "a bracket is missing")?;
        while self.scanner.has_next(b']', &mut is_first)? {
            self.scanner.expect(b'[', "a bracket is missing")?;
            let text = self.text()?;
            self.scanner.expect(b',', "a comma is missing")?;
            entries.push((text, self.scanner.number()?));
            self.scanner.expect(b']', "a bracket is missing")?;
        }
        Ok(entries)
    }

    fn read_merges(&mut self) -> Result<Vec<[ListText; 2]>, ScanProblem> {
        let mut merges = Vec::with_capacity(self.expected_entries());
        let mut is_first = true;
        self.scanner.expect(b'[', "a bracket is missing")?;
        while self.scanner.has_next(b']', &mut is_first)? {
            merges.push(match self.scanner.peek() {
                Some(b'[') => self.read_pair()?,
                _ => self.read_line()?,
            });
        }
        Ok(merges)
    }

    /// A merge as a list of two texts.
    fn read_pair(&mut self) -> Result<[ListText; 2], ScanProblem> {
        self.scanner.expect(b'[', "a bracket is missing")?;
        let left = self.text()?;
        self.scanner.expect(b',', "a comma is missing")?;
        let right = self.text()?;
        self.scanner.expect(b']', "a bracket is missing")?;
        Ok([left, right])
    }

    /// A merge as two texts with a space between them.
    fn read_line(&mut self) -> Result<[ListText; 2], ScanProblem> {
        let line = self.text()?;
        let bytes = self.texts.get(line);
        let not_two = ScanProblem("the merge before does not have two parts");
        let space = memchr::memchr(b' ', bytes).ok_or(not_two)?;
        if memchr::memchr(b' ', &bytes[space + 1..]).is_some() {
            return Err(not_two);
        }
        let left_end = line.start + low_u32(space as u64);
        let left = ListText {
            start: line.start,
            end: left_end,
        };
        let right = ListText {
            start: left_end + 1,
            end: line.end,
        };
        Ok([left, right])
    }

    /// The next value, a text.
    #[inline]
    fn text(&mut self) -> Result<ListText, ScanProblem> {
        let string = self.scanner.string()?;
        let range = match string.has_escapes {
            false => string.range,
            true => self.add_unescaped(&string)?,
        };
        // The positions were checked to fit when the file was.
        Ok(ListText {
            start: low_u32(range.start as u64),
            end: low_u32(range.end as u64),
        })
    }

    /// Adds a text without its escapes; returns its range behind the file.
    #[cold]
    fn add_unescaped(&mut self, string: &RawString) -> Result<Range<usize>, ScanProblem> {
        let text = self.scanner.unescaped(string)?;
        Ok(self.texts.add(&text))
    }

    /// A guess of the number of entries of the list that begins here.
    fn expected_entries(&self) -> usize {
        (self.texts.file.len() - self.scanner.position()) / BYTES_PER_ENTRY
    }
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
