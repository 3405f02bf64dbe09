//! The state of a processor: its model and the defaults of its calls.
//!
//! The defaults are Python objects, as they were given: like the reference, calls check them only
//! when they use them. [`Settings::is_plain`] says that none of them changes a result, so calls
//! without arguments can skip the checks.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyInt;
use spiece::ExtraOption;

use crate::arguments::{ReturnType, to_bool, to_threads};
use crate::loaded::Loaded;

/// The names of the settings, in the order of [`Settings::values`].
pub const NAMES: [&str; 9] = [
    "_return_type",
    "_add_bos",
    "_add_eos",
    "_reverse",
    "_emit_unk_piece",
    "_enable_sampling",
    "_nbest_size",
    "_alpha",
    "_num_threads",
];

/// The defaults of calls; see the [module](self).
pub struct Settings {
    values: [Option<Py<PyAny>>; NAMES.len()],
    pub encode_extra: Vec<ExtraOption>,
    pub decode_extra: Vec<ExtraOption>,
    is_plain: bool,
}

/// A model and settings, as one call sees them.
pub struct State {
    pub loaded: Option<Arc<Loaded>>,
    pub settings: Arc<Settings>,
    /// The model before its vocabulary was restricted.
    pub unrestricted: Option<spiece::Model>,
}

impl Settings {
    pub fn new() -> Settings {
        Settings {
            values: [const { None }; NAMES.len()],
            encode_extra: Vec::new(),
            decode_extra: Vec::new(),
            is_plain: false,
        }
    }

    /// A copy to change.
    pub fn copy(&self, py: Python<'_>) -> Settings {
        let copy = |value: &Option<Py<PyAny>>| value.as_ref().map(|value| value.clone_ref(py));
        Settings {
            values: self.values.each_ref().map(copy),
            encode_extra: self.encode_extra.clone(),
            decode_extra: self.decode_extra.clone(),
            is_plain: self.is_plain,
        }
    }

    /// The value of a setting, by its name without the underscore.
    pub fn get<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyAny>> {
        let place = NAMES.iter().position(|known| &known[1..] == name)?;
        let value = self.values[place].as_ref()?.bind(py);
        (!value.is_none()).then(|| value.clone())
    }

    pub fn get_at<'py>(&self, py: Python<'py>, place: usize) -> Option<Bound<'py, PyAny>> {
        Some(self.values.get(place)?.as_ref()?.bind(py).clone())
    }

    pub fn set_at(&mut self, place: usize, value: &Bound<'_, PyAny>) {
        if let Some(slot) = self.values.get_mut(place) {
            *slot = Some(value.clone().unbind());
        }
        self.update(value.py());
    }

    pub fn update(&mut self, py: Python<'_>) {
        self.is_plain = self.has_plain_values(py) && self.encode_extra.is_empty();
    }

    fn has_plain_values(&self, py: Python<'_>) -> bool {
        let is_off = |name| match self.get(py, name) {
            None => false,
            Some(value) => to_bool(&value).is_ok_and(|value| !value),
        };
        let flags = [
            "add_bos",
            "add_eos",
            "reverse",
            "emit_unk_piece",
            "enable_sampling",
        ];
        let return_type = self.get(py, "return_type");
        return_type.is_some_and(|value| value.is(py.get_type::<PyInt>()))
            && flags.into_iter().all(is_off)
            && to_threads(self.get(py, "num_threads").as_ref()).is_ok()
    }

    /// Whether the extra options of decoding reverse the ids. The others only add control pieces,
    /// which decode to nothing.
    pub fn reverses_decoding(&self) -> bool {
        let extra = self.decode_extra.iter();
        let reversals = extra.filter(|option| **option == ExtraOption::Reverse);
        !reversals.count().is_multiple_of(2)
    }

    /// Whether a call without arguments gives plain ids.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The result type of calls that do not name one.
    pub fn return_type(&self, py: Python<'_>) -> PyResult<ReturnType> {
        match self.get(py, "return_type") {
            Some(value) if value.eq("immutable_proto")? => Ok(ReturnType::ImmutableProto),
            Some(value) => ReturnType::of(&value),
            None => Ok(ReturnType::Ids),
        }
    }
}

/// The time limit of n-best searches, in milliseconds; 0 or less means no limit.
pub static NBEST_TIMEOUT_MS: std::sync::atomic::AtomicI64 =
    std::sync::atomic::AtomicI64::new(30_000);

/// The limit of [`NBEST_TIMEOUT_MS`].
pub fn nbest_timeout() -> Option<Duration> {
    let milliseconds = NBEST_TIMEOUT_MS.load(std::sync::atomic::Ordering::Relaxed);
    let milliseconds = u64::try_from(milliseconds).ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}
