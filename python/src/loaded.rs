//! A tokenizer with prebuilt Python objects, shared by all Python objects that were made from it:
//! one integer object and one string object for each id, made by the first call that needs them:
//! filling a list with references to them is several times faster than creating new objects.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList, PyString};
use spiece::{
    ByteBpe, EncodeCache, EncodeError, EncodeOptions, Model, PieceId, PieceKind, PreparedOptions,
    Tokenizer,
};

use crate::buffer::list_of;
use crate::errors;

/// Texts of up to this many bytes are encoded while the thread is attached to the interpreter,
/// because detaching would cost more.
const MAX_ATTACHED_BYTES: usize = 4096;

/// A tokenizer with prebuilt Python objects; see the [module](self).
pub struct Loaded {
    pub tokenizer: Tokenizer,
    /// The id of texts that are not pieces; -1 if there is none.
    pub unknown: i32,
    ints: PyOnceLock<Vec<Py<PyInt>>>,
    strings: PyOnceLock<Strings>,
    worker: Mutex<Worker>,
    /// The options of the last call that had any.
    prepared: Mutex<Option<Arc<PreparedOptions>>>,
    hash: OnceLock<u64>,
}

/// The string objects of all pieces.
struct Strings {
    all: Vec<Py<PyString>>,
    /// The pieces that are not UTF-8, in the order of their ids, but not those of a byte-level
    /// vocabulary; their strings have U+FFFD.
    malformed: Vec<PieceId>,
}

/// The memory of single calls.
struct Worker {
    cache: EncodeCache,
    ids: Vec<PieceId>,
}

impl Loaded {
    pub fn new(tokenizer: Tokenizer) -> Loaded {
        let worker = Worker {
            cache: tokenizer.create_cache(),
            ids: Vec::new(),
        };
        Loaded {
            unknown: unknown_id(&tokenizer),
            tokenizer,
            ints: PyOnceLock::new(),
            strings: PyOnceLock::new(),
            worker: Mutex::new(worker),
            prepared: Mutex::default(),
            hash: OnceLock::new(),
        }
    }

    /// The SentencePiece model.
    pub fn model(&self, py: Python<'_>) -> PyResult<&Model> {
        let model = self.tokenizer.require_model();
        model.map_err(|error| errors::refused(py, &error))
    }

    /// Bytes that are equal for equal models only.
    fn content(&self) -> Vec<u8> {
        self.tokenizer.to_bytes().unwrap_or_else(|_| {
            // No file holds some byte-level vocabularies.
            let parts = self.tokenizer.byte_bpe().map(ByteBpe::parts);
            format!("{parts:?}").into_bytes()
        })
    }

    /// Whether both have equal models.
    pub fn is_of_model(&self, other: &Loaded) -> bool {
        std::ptr::eq(self, other)
            || self.tokenizer.vocab_size() == other.tokenizer.vocab_size()
                && self.content() == other.content()
    }

    /// A hash of the model, the same in every process.
    pub fn hash(&self) -> u64 {
        *self.hash.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            hasher.write(&self.content());
            hasher.finish()
        })
    }

    /// The integer objects of all ids.
    #[inline]
    pub fn ints(&self, py: Python<'_>) -> &[Py<PyInt>] {
        self.ints.get_or_init(py, || {
            let ids = 0..self.tokenizer.vocab_size();
            ids.map(|id| PyInt::new(py, id).unbind()).collect()
        })
    }

    /// The string objects of all pieces.
    fn strings(&self, py: Python<'_>) -> &Strings {
        self.strings.get_or_init(py, || {
            let mut all = Vec::with_capacity(self.tokenizer.vocab_size());
            let mut malformed = Vec::new();
            // The tokens of a byte-level vocabulary can be any bytes.
            let is_byte_level = self.tokenizer.byte_bpe().is_some();
            let ids = (0..).map(PieceId::new).take(self.tokenizer.vocab_size());
            for id in ids {
                // A byte-level vocabulary may have ids without a piece.
                let text = self.tokenizer.id_to_piece(id).unwrap_or_default();
                let text = String::from_utf8_lossy(text);
                if matches!(text, Cow::Owned(_)) && !is_byte_level {
                    malformed.push(id);
                }
                all.push(PyString::new(py, &text).unbind());
            }
            Strings { all, malformed }
        })
    }

    /// The string object of a piece; `None` if the piece is not UTF-8.
    #[inline]
    pub fn string<'py>(&self, py: Python<'py>, id: PieceId) -> Option<Bound<'py, PyString>> {
        let strings = self.strings(py);
        if !strings.malformed.is_empty() && strings.malformed.binary_search(&id).is_ok() {
            return None;
        }
        strings
            .all
            .get(index(id))
            .map(|string| string.bind(py).clone())
    }

    /// The pieces of ids as a list of `str`; `None` if the model has pieces that are not UTF-8.
    pub fn string_list<'py>(
        &self,
        py: Python<'py>,
        ids: &[PieceId],
    ) -> Option<PyResult<Bound<'py, PyList>>> {
        let strings = self.strings(py);
        let all = &strings.all;
        let items = ids.iter().map(|id| all[index(*id)].bind_borrowed(py));
        strings.malformed.is_empty().then(|| PyList::new(py, items))
    }

    /// Whether some id is the unknown piece, whose text depends on the encoded text.
    pub fn has_unknown(&self, ids: &[PieceId]) -> bool {
        ids.iter().any(|id| signed(*id) == self.unknown)
    }

    /// A list of ids.
    #[inline]
    pub fn list<'py>(&self, py: Python<'py>, ids: &[PieceId]) -> PyResult<Bound<'py, PyList>> {
        list_of(py, self.ints(py), ids.iter().map(|id| index(*id)))
    }

    /// The ids of a text, as a list.
    #[inline]
    pub fn encode_to_list<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        if text.len() <= MAX_ATTACHED_BYTES
            && let Some(mut worker) = self.try_worker()
        {
            let Worker { cache, ids } = &mut *worker;
            ids.clear();
            self.tokenizer.encode_with(cache, text, ids);
            return self.list(py, ids);
        }
        let ids = self.encode(py, text);
        self.list(py, &ids)
    }

    /// The ids of a text. Long texts are encoded while other threads of Python run.
    pub fn encode(&self, py: Python<'_>, text: &[u8]) -> Vec<PieceId> {
        detached_if(py, text.len() > MAX_ATTACHED_BYTES, || {
            self.tokenizer.encode(text)
        })
    }

    /// Checked options. Those of the last call are kept: most programs always have the same.
    pub fn prepared(&self, options: EncodeOptions) -> Result<Arc<PreparedOptions>, EncodeError> {
        let mut last = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(prepared) if *prepared.options() == options => Ok(Arc::clone(prepared)),
            _ => {
                let prepared = Arc::new(self.tokenizer.prepare_options(&options)?);
                *last = Some(Arc::clone(&prepared));
                Ok(prepared)
            }
        }
    }

    /// The memory of single calls, if no other thread uses it. Waiting for it could deadlock: the
    /// collector can run Python code while a list is filled.
    fn try_worker(&self) -> Option<std::sync::MutexGuard<'_, Worker>> {
        match self.worker.try_lock() {
            Ok(worker) => Some(worker),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Calls `work`, during which other Python threads can run if `detaches` is true.
pub fn detached_if<T: Send>(py: Python<'_>, detaches: bool, work: impl FnOnce() -> T + Send) -> T {
    if detaches { py.detach(work) } else { work() }
}

/// Whether a text is long enough to detach from the interpreter while it is encoded.
pub fn is_long(text: &[u8]) -> bool {
    text.len() > MAX_ATTACHED_BYTES
}

/// An id as an index.
#[inline]
pub fn index(id: PieceId) -> usize {
    id.get() as usize
}

/// An id as the reference's signed number. Ids are below 2^27.
#[inline]
pub fn signed(id: PieceId) -> i32 {
    id.get().cast_signed()
}

/// An id or -1.
pub fn signed_or_none(id: Option<PieceId>) -> i32 {
    id.map_or(-1, signed)
}

/// The id of the unknown piece of a model, or -1.
fn unknown_id(tokenizer: &Tokenizer) -> i32 {
    let mut pieces = tokenizer.pieces();
    let unknown = pieces.find(|piece| piece.kind == PieceKind::Unknown);
    signed_or_none(unknown.map(|piece| piece.id))
}

/// Python's garbage collector, disabled while many objects are created: it would traverse all of
/// them repeatedly, and lists of integers have no cycles. Python 3.12 and newer postpone
/// collections themselves.
pub struct PausedCollector<'py> {
    enable: Option<Bound<'py, PyAny>>,
}

impl<'py> PausedCollector<'py> {
    /// Disables the collector if it is enabled and there are many objects.
    pub fn new(py: Python<'py>, objects: usize) -> PyResult<PausedCollector<'py>> {
        const MANY: usize = 700;
        let mut enable = None;
        if objects >= MANY {
            let gc = py.import("gc")?;
            if gc.call_method0("isenabled")?.is_truthy()? {
                gc.call_method0("disable")?;
                enable = Some(gc.getattr("enable")?);
            }
        }
        Ok(PausedCollector { enable })
    }
}

impl Drop for PausedCollector<'_> {
    fn drop(&mut self) {
        if let Some(enable) = &self.enable
            && let Err(error) = enable.call0()
        {
            error.write_unraisable(enable.py(), None);
        }
    }
}
