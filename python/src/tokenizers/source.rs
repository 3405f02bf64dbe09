//! Sources of encodings: one text, or the words of one, with its ids, and with everything else about its tokens once a
//! program asks for it.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use spiece::{EncodeError, Encoder, PieceId, Rng, SampleOptions};

use super::state::{Engine, exception};
use crate::random;
use crate::text::CharPositions;

/// What is encoded.
pub enum Input {
    /// A text.
    Text(PyBackedStr),
    /// The words of a text that was cut by the caller.
    Words(Vec<PyBackedStr>),
}

impl Input {
    /// The texts that are encoded one by one.
    fn texts(&self) -> &[PyBackedStr] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Words(words) => words,
        }
    }

    /// The bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.texts().iter().map(|text| text.len()).sum()
    }
}

/// What spans count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Characters.
    Chars,
    /// Bytes: `async_encode` of tokenizers, which is thought to count characters.
    Bytes,
    /// Nothing: the calls of tokenizers whose names end with `_fast` give neither spans nor texts of tokens.
    Nothing,
}

/// Which tokens a call finds, and what it wants to know of them.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub places: Places,
    /// Whether special tokens are found in texts.
    pub finds_special: bool,
}

/// Where the details of tokens come from.
enum Origin {
    /// They are found by encoding again.
    Input {
        engine: Arc<Engine>,
        input: Input,
        call: Call,
    },
    /// They were read.
    Given,
}

/// Everything about the tokens of a source but their ids.
#[derive(Debug, Default)]
pub struct Details {
    pub texts: Vec<Box<str>>,
    pub spans: Vec<(usize, usize)>,
    pub words: Vec<Option<u32>>,
    /// Those of tokens that were read; otherwise all are text of one type.
    pub given: Option<GivenColumns>,
}

/// What only tokens that were read have.
#[derive(Debug)]
pub struct GivenColumns {
    pub type_ids: Vec<u32>,
    pub special: Vec<u32>,
    pub attention: Vec<u32>,
}

/// What encodes one text after another.
pub struct Worker<'e> {
    encoder: Encoder<'e>,
    /// The ids of a text, of which a source has a copy of the right size: there are many sources.
    ids: Vec<PieceId>,
}

impl<'e> Worker<'e> {
    pub fn new(engine: &'e Engine, call: Call) -> Result<Self, EncodeError> {
        Ok(Worker {
            encoder: engine.encoder(call.finds_special)?,
            ids: Vec::new(),
        })
    }
}

/// See the [module](self).
pub struct Source {
    pub ids: Box<[PieceId]>,
    /// The type of its tokens, unless they were read.
    pub type_id: u32,
    origin: Origin,
    /// On the heap, since most sources never have them.
    details: OnceLock<Box<Details>>,
}

impl Source {
    /// The source of a text that is the first or the second of a call.
    pub fn encode(
        engine: &Arc<Engine>,
        worker: &mut Worker<'_>,
        input: Input,
        is_second: bool,
        call: Call,
    ) -> Result<Source, EncodeError> {
        let Worker { encoder, ids } = worker;
        ids.clear();
        let mut sampled = None;
        match engine.dropout {
            // Another segmentation each time: the details are those of this one.
            Some(probability) => {
                let mut details = Details::default();
                let mut rng = Rng::with_seed(random::next_seed());
                let reader = DetailsReader::new(&input, call);
                reader.sample(encoder, probability, &mut rng, ids, &mut details)?;
                sampled = Some(details);
            }
            None => {
                for text in input.texts() {
                    encoder.encode_into(text.as_bytes(), ids);
                }
                if let Some(error) = encoder.take_failure() {
                    return Err(error);
                }
            }
        }
        Ok(Source {
            ids: ids.as_slice().into(),
            type_id: u32::from(is_second && call.places != Places::Nothing),
            origin: Origin::Input {
                engine: Arc::clone(engine),
                input,
                call,
            },
            details: sampled
                .map_or_else(OnceLock::new, |details| OnceLock::from(Box::new(details))),
        })
    }

    /// The source of tokens that were read; all columns have one length.
    pub fn given(ids: Vec<PieceId>, details: Details) -> Source {
        Source {
            ids: ids.into(),
            type_id: 0,
            origin: Origin::Given,
            details: OnceLock::from(Box::new(details)),
        }
    }

    /// The tokenizer, if the tokens are of one.
    pub fn engine(&self) -> Option<&Arc<Engine>> {
        match &self.origin {
            Origin::Input { engine, .. } => Some(engine),
            Origin::Given => None,
        }
    }

    /// Everything about the tokens but their ids.
    pub fn details(&self) -> PyResult<&Details> {
        if let Some(details) = self.details.get() {
            return Ok(details);
        }
        let details = match &self.origin {
            Origin::Given => Details::default(),
            Origin::Input {
                input,
                engine,
                call,
            } => {
                let mut encoder = engine.encoder(call.finds_special).map_err(exception)?;
                let mut details = Details::default();
                DetailsReader::new(input, *call)
                    .read(&mut encoder, self.ids.len(), &mut details)
                    .map_err(exception)?;
                details
            }
        };
        if details.texts.len() != self.ids.len() {
            return Err(exception("the text has other tokens than before"));
        }
        Ok(self.details.get_or_init(|| Box::new(details)))
    }
}

/// Reads the details of the tokens of an input.
struct DetailsReader<'i> {
    input: &'i Input,
    call: Call,
}

impl<'i> DetailsReader<'i> {
    fn new(input: &'i Input, call: Call) -> Self {
        Self { input, call }
    }

    /// The details of tokens, of which there are as many.
    fn read(
        &self,
        encoder: &mut Encoder<'_>,
        length: usize,
        details: &mut Details,
    ) -> Result<(), EncodeError> {
        if self.call.places == Places::Nothing {
            push_nothing(length, details);
            return Ok(());
        }
        for (number, text) in self.input.texts().iter().enumerate() {
            let tokens = encoder.tokens(text.as_bytes());
            self.push(number, text, &tokens, details);
            if let Some(error) = encoder.take_failure() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The ids and details of a random segmentation.
    fn sample(
        &self,
        encoder: &mut Encoder<'_>,
        probability: f32,
        rng: &mut Rng,
        ids: &mut Vec<PieceId>,
        details: &mut Details,
    ) -> Result<(), EncodeError> {
        let options = SampleOptions::Dropout { probability };
        for (number, text) in self.input.texts().iter().enumerate() {
            let tokens = encoder.sample(text.as_bytes(), &options, rng)?;
            ids.extend(tokens.ids());
            match self.call.places {
                Places::Nothing => push_nothing(tokens.len(), details),
                Places::Chars | Places::Bytes => self.push(number, text, &tokens, details),
            }
        }
        Ok(())
    }

    fn push(&self, number: usize, text: &str, tokens: &spiece::Tokens<'_>, details: &mut Details) {
        let given_word = match self.input {
            Input::Text(_) => None,
            Input::Words(_) => u32::try_from(number).ok(),
        };
        let mut places = SpanPlaces::new(text, self.call.places);
        for token in tokens {
            let piece = String::from_utf8_lossy(token.piece());
            details.texts.push(piece.into());
            details
                .spans
                .push(places.of(token.span().start, token.span().end));
            details.words.push(given_word.or(token.word()));
        }
    }
}

/// Details of tokens of which a call wants to know nothing.
fn push_nothing(tokens: usize, details: &mut Details) {
    let length = details.texts.len() + tokens;
    details.texts.resize(length, Box::default());
    details.spans.resize(length, (0, 0));
    details.words.resize(length, None);
}

/// Spans of bytes in the places of a call.
struct SpanPlaces<'t> {
    text: &'t str,
    places: Places,
    // The begins of tokens ascend, and so do the ends: two searches that go forward.
    begins: CharPositions<'t>,
    ends: CharPositions<'t>,
}

impl<'t> SpanPlaces<'t> {
    fn new(text: &'t str, places: Places) -> Self {
        Self {
            text,
            places,
            begins: CharPositions::new(text.as_bytes()),
            ends: CharPositions::new(text.as_bytes()),
        }
    }

    fn of(&mut self, begin: usize, end: usize) -> (usize, usize) {
        // tokenizers leaves the span of a token that begins at the end of the text in bytes.
        if self.places != Places::Chars || begin >= self.text.len() {
            return (begin, end);
        }
        let last = if end < self.text.len() {
            self.ends.at(end)
        } else {
            self.ends.at(self.text.len() - 1) + 1
        };
        (self.begins.at(begin), last)
    }
}
