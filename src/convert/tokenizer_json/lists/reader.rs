//! Reading the vocabulary and the merges of a `tokenizer.json`, and cutting them out of the rest.
//!
//! Input: the text of a file. Output: [`JsonLists`]. The scanner recognizes strings, numbers and
//! brackets; their grammar is here. Example: `"vocab": {"a": 0}` becomes `"vocab": null` in the
//! rest. Cost: linear.

use std::ops::Range;
use std::sync::Arc;

use super::{JsonLists, JsonMerges, JsonVocab, ListText, ListTexts, VocabEntries};
use crate::convert::tokenizer_json::scan::{JsonScanner, RawString, ScanProblem};
use crate::error::ConvertError;
use crate::text::num::low_u32;

/// Bytes of a file for each entry of a list, to estimate the number of entries.
const BYTES_PER_ENTRY: usize = 32;

/// Reads the lists.
pub(super) struct ListReader<'j, 'v> {
    scanner: JsonScanner<'j>,
    /// The texts of the list that is being read.
    texts: ListTexts<'j>,
    vocab: Option<Arc<JsonVocab<'j>>>,
    merges: JsonMerges<'j>,
    on_vocab: &'v mut dyn FnMut(&Arc<JsonVocab<'j>>),
    rest: String,
    /// Everything before this position is in `rest` or was cut out.
    kept: usize,
}

impl<'j, 'v> ListReader<'j, 'v> {
    pub(super) fn new(file: &'j str, on_vocab: &'v mut dyn FnMut(&Arc<JsonVocab<'j>>)) -> Self {
        Self {
            scanner: JsonScanner::new(file),
            texts: ListTexts::new(file),
            vocab: None,
            merges: JsonMerges::new(file),
            on_vocab,
            rest: String::new(),
            kept: 0,
        }
    }

    /// The lists, and the rest of the file.
    ///
    /// # Errors
    /// A list is not valid JSON or has values of other types.
    pub(super) fn lists(mut self) -> Result<JsonLists<'j>, ConvertError> {
        let read = self.read_file();
        read.map_err(|problem| self.scanner.error(problem))?;
        Ok(self.into_lists())
    }

    /// Appends the end of the file to the rest, and returns what was read.
    fn into_lists(mut self) -> JsonLists<'j> {
        self.keep_until(self.texts.file.len());
        JsonLists {
            vocab: self.vocab,
            merges: self.merges,
            rest: self.rest,
        }
    }

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
                    let vocab = self.cut_out_vocab()?;
                    self.show_and_keep(vocab);
                }
                "merges" => self.merges = self.cut_out_merges()?,
                _ => self.scanner.skip()?,
            }
        }
        Ok(())
    }

    fn cut_out_vocab(&mut self) -> Result<JsonVocab<'j>, ScanProblem> {
        Ok(JsonVocab {
            entries: self.cut_out(Self::read_vocab)?,
            texts: self.take_texts(),
        })
    }

    fn show_and_keep(&mut self, vocab: JsonVocab<'j>) {
        let vocab = Arc::new(vocab);
        (self.on_vocab)(&vocab);
        self.vocab = Some(vocab);
    }

    fn cut_out_merges(&mut self) -> Result<JsonMerges<'j>, ScanProblem> {
        Ok(JsonMerges {
            pairs: self.cut_out(Self::read_merges)?,
            texts: self.take_texts(),
        })
    }

    /// Takes the texts of the list that was read.
    fn take_texts(&mut self) -> ListTexts<'j> {
        let next = ListTexts::new(self.texts.file);
        std::mem::replace(&mut self.texts, next)
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<String, ScanProblem> {
        let key = self.scanner.string()?;
        let key = match key.has_escapes {
            true => self.scanner.unescaped(&key)?,
            false => self.texts.file[key.range].to_owned(),
        };
        self.scanner.expect(b':', "a colon is missing")?;
        Ok(key)
    }

    /// Reads a value, which becomes `null` in the rest.
    fn cut_out<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ScanProblem>,
    ) -> Result<T, ScanProblem> {
        self.scanner.peek();
        let start = self.scanner.position();
        let list = read(self)?;
        self.keep_until(start);
        self.rest.push_str("null");
        self.kept = self.scanner.position();
        Ok(list)
    }

    fn keep_until(&mut self, end: usize) {
        self.rest.push_str(&self.texts.file[self.kept..end]);
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

    /// Reads a merge that is a list of two texts.
    fn read_pair(&mut self) -> Result<[ListText; 2], ScanProblem> {
        self.scanner.expect(b'[', "a bracket is missing")?;
        let left = self.text()?;
        self.scanner.expect(b',', "a comma is missing")?;
        let right = self.text()?;
        self.scanner.expect(b']', "a bracket is missing")?;
        Ok([left, right])
    }

    /// Reads a merge that is two texts with a space between them.
    fn read_line(&mut self) -> Result<[ListText; 2], ScanProblem> {
        let line = self.text()?;
        let bytes = self.texts.get(line);
        let not_two = ScanProblem("the merge before does not have two parts");
        let space = memchr::memchr(b' ', bytes).ok_or(not_two)?;
        if memchr::memchr(b' ', &bytes[space + 1..]).is_some() {
            return Err(not_two);
        }
        Ok(line.around(low_u32(space as u64)))
    }

    /// Reads the next value, which must be a string.
    #[inline]
    fn text(&mut self) -> Result<ListText, ScanProblem> {
        let string = self.scanner.string()?;
        let range = match string.has_escapes {
            false => string.range,
            true => self.add_unescaped(&string)?,
        };
        // `check_length` has checked that the positions fit.
        Ok(ListText {
            start: low_u32(range.start as u64),
            end: low_u32(range.end as u64),
        })
    }

    /// Adds an unescaped text; returns its range after the end of the file.
    #[cold]
    fn add_unescaped(&mut self, string: &RawString) -> Result<Range<usize>, ScanProblem> {
        Ok(self.texts.add(&self.scanner.unescaped(string)?))
    }

    /// An estimate of the number of entries in the list that begins here.
    fn expected_entries(&self) -> usize {
        (self.texts.file.len() - self.scanner.position()) / BYTES_PER_ENTRY
    }
}
