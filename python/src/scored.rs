//! `SampleEncodeAndScore` and `CalculateEntropy` of the drop-in, which the reference had until
//! 0.2.1.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rayon::prelude::*;
use spiece::{EncodeError, Rng, SampleReplacement, ScoredSampleOptions};

use crate::arguments::{to_bool, to_f32, to_i32};
use crate::encode::{EncodeCall, is_message, tokens_object};
use crate::errors;
use crate::loaded::{Loaded, detached_if, is_long};
use crate::nbest::{ScoredTokens, list_message, segmentations};
use crate::pool::{batch_threads, pool};
use crate::random;
use crate::text::{HeldTexts, Text};

/// The options `num_samples`, `alpha`, `wor` and `include_best`.
///
/// # Errors
/// `TypeError` for other types, `RuntimeError` for values that the reference refuses.
pub fn options(values: [&Bound<'_, PyAny>; 4]) -> PyResult<ScoredSampleOptions> {
    let [samples, alpha, without_replacement, include_best] = values;
    let include_best = to_bool(include_best)?;
    let samples = usize::try_from(to_i32(samples)?).unwrap_or(0);
    if samples == 0 {
        return Err(PyRuntimeError::new_err("num_samples must be positive"));
    }
    let replacement = match to_bool(without_replacement)? {
        true => SampleReplacement::Without { include_best },
        false if include_best => {
            return Err(PyRuntimeError::new_err(
                "include_best=True needs wor=True (sampling without replacement)",
            ));
        }
        false => SampleReplacement::With,
    };
    Ok(ScoredSampleOptions::default()
        .with_samples(samples)
        .with_alpha(to_f32(alpha)?)
        .with_replacement(replacement))
}

/// Random segmentations of a text or of each text of a list, with their scores.
pub fn sample<'py>(
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    options: &ScoredSampleOptions,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let seed = random::next_seed();
    let one = |input: &Bound<'py, PyAny>, seed| sample_one(loaded, input, (options, seed), call);
    match input.cast::<PyList>() {
        Err(_) => one(input, seed),
        Ok(texts) => {
            let texts = texts.iter().enumerate();
            let results = texts.map(|(number, text)| one(&text, random::nth(seed, number)));
            Ok(PyList::new(py, results.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

fn sample_one<'py>(
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    (options, seed): (&ScoredSampleOptions, u64),
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let text = Text::of(input)?;
    let drawn = segmentations(py, loaded, call, |encoder, visit| {
        encoder.for_each_scored_sample(text.bytes, options, &mut Rng::with_seed(seed), visit)
    })?;
    if is_message(call.return_type) {
        return list_message(py, &drawn, call.return_type);
    }
    let mut pairs = Vec::with_capacity(drawn.len());
    for ScoredTokens { tokens, score } in drawn {
        pairs.push((tokens_object(py, loaded, tokens, text, call)?, score));
    }
    Ok(PyList::new(py, pairs)?.into_any())
}

/// The entropy of the segmentations of a text, or of each text of a list.
pub fn entropy<'py>(
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    alpha: &Bound<'py, PyAny>,
    num_threads: i64,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let alpha = to_f32(alpha)?;
    let tokenizer = &loaded.tokenizer;
    let of_encode = |error: EncodeError| errors::of_encode(py, &error);
    let Ok(texts) = input.cast::<PyList>() else {
        let text = Text::of(input)?.bytes;
        let found = detached_if(py, is_long(text), || {
            tokenizer.encoder().entropy(text, alpha)
        });
        return Ok(found.map_err(of_encode)?.into_pyobject(py)?.into_any());
    };
    let held = HeldTexts::of(texts.as_any())?;
    let pool = pool(batch_threads(num_threads, None, held.texts().len())?)?;
    let found: Result<Vec<f32>, EncodeError> = py.detach(|| {
        pool.install(|| {
            let texts = held.texts().par_iter();
            let entropies = texts.map_init(
                || tokenizer.encoder(),
                |encoder, text| encoder.entropy(text, alpha),
            );
            entropies.collect()
        })
    });
    Ok(PyList::new(py, found.map_err(of_encode)?)?.into_any())
}
