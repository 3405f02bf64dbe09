//! Changes of trained models and byte-level vocabularies, and reports on them, for `spiece.Model`.
//!
//! A change gives the tokenizer of the changed model and a `dict` that describes it.

use std::num::{NonZeroU16, NonZeroUsize};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use spiece::adapt::{
    ByteExtendOptions, EditError, EditStep, ExtendOptions, ExtendSize, ExtensionPiece, IdMap,
    LineComparison, MergeOptions, NormalizerFlag, PieceUsage, PruneGoal, PruneOptions, SpecialRole,
    TextChange, UsageCounter,
};
use spiece::inspect::{ComparisonCounter, Inspection, InspectionDetails};
use spiece::train::Summary;
use spiece::{ByteBpe, Corpus, Model, ModelError, PieceId, PieceKind, Tokenizer, TokenizerConfig};

use crate::arguments::to_int_in;
use crate::errors;
use crate::text::{HeldTexts, iterable_items};
use crate::tokenizer::{PyTokenizer, threads_or_all};
use crate::trainer::{Failure, LineEnds, PyObserver, PySentences, summary_dict};

/// The largest number of pieces that a model can have.
const MAX_PIECES: usize = (1 << 27) - 1;

/// A changed model and its report.
type Changed<'py> = (PyTokenizer, Bound<'py, PyDict>);

/// A changed model, and a report on its ids and texts.
fn changed<'py>(
    py: Python<'py>,
    model: &Model,
    ids: &IdMap,
    change: Option<&TextChange>,
) -> PyResult<Changed<'py>> {
    let report = report(py, ids)?;
    if let Some(change) = change {
        report.set_item("changes_no_text", change.is_none())?;
        report.set_item("changes_normalization", change.changes_normalization())?;
        report.set_item("texts", change.texts().map(lossy).collect::<Vec<_>>())?;
    }
    let tokenizer = py.detach(|| Tokenizer::new(model.clone()));
    Ok((PyTokenizer::of(tokenizer), report))
}

/// A changed vocabulary, and a report on its ids.
fn changed_bytes<'py>(py: Python<'py>, bpe: ByteBpe, ids: &IdMap) -> PyResult<Changed<'py>> {
    let tokenizer = py.detach(|| Tokenizer::from_pipeline(bpe, TokenizerConfig::default()));
    Ok((PyTokenizer::of(tokenizer), report(py, ids)?))
}

/// A report on the ids of a changed model.
fn report<'py>(py: Python<'py>, ids: &IdMap) -> PyResult<Bound<'py, PyDict>> {
    let pairs = |pairs: &mut dyn Iterator<Item = (PieceId, PieceId)>| -> Vec<(u32, u32)> {
        pairs.map(|(old, new)| (old.get(), new.get())).collect()
    };
    let report = PyDict::new(py);
    report.set_item("moved", pairs(&mut ids.moved()))?;
    report.set_item("removed", numbers(ids.removed()))?;
    report.set_item("added", numbers(ids.added()))?;
    Ok(report)
}

fn numbers(ids: impl IntoIterator<Item = PieceId>) -> Vec<u32> {
    ids.into_iter().map(PieceId::get).collect()
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn kind(name: &str) -> PyResult<PieceKind> {
    name.parse()
        .map_err(|error| PyValueError::new_err(format!("kind: {error}")))
}

/// The step with this name and these arguments.
fn step(name: &str, arguments: &[String]) -> PyResult<EditStep> {
    let text = |index: usize| -> PyResult<Vec<u8>> {
        let text = arguments.get(index).ok_or_else(|| {
            PyValueError::new_err(format!(
                "the step {name:?} needs more arguments than {arguments:?}"
            ))
        })?;
        Ok(text.clone().into_bytes())
    };
    let word = |index: usize| text(index).map(|word| lossy(&word));
    Ok(match name {
        "add" => EditStep::Add {
            text: text(0)?,
            kind: kind(&word(1)?)?,
        },
        "insert" => EditStep::Insert {
            id: PieceId::new(
                word(2)?
                    .parse()
                    .map_err(|_| PyValueError::new_err("insert: the last argument is no id"))?,
            ),
            text: text(0)?,
            kind: kind(&word(1)?)?,
        },
        "rename" => EditStep::Rename {
            old: text(0)?,
            new: text(1)?,
        },
        "remove" => EditStep::Remove { text: text(0)? },
        "kind" => EditStep::SetKind {
            text: text(0)?,
            kind: kind(&word(1)?)?,
        },
        "special" => EditStep::SetSpecial {
            role: role(&word(0)?)?,
            text: text(1)?,
        },
        "flag" => EditStep::SetFlag {
            flag: flag(&word(0)?)?,
            value: word(1)?.eq_ignore_ascii_case("true"),
        },
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no step {name:?}; use add, insert, rename, remove, kind, special or flag"
            )));
        }
    })
}

fn role(name: &str) -> PyResult<SpecialRole> {
    match name {
        "bos" => Ok(SpecialRole::Bos),
        "eos" => Ok(SpecialRole::Eos),
        "pad" => Ok(SpecialRole::Pad),
        _ => Err(PyValueError::new_err(format!(
            "special: {name:?} is not bos, eos or pad"
        ))),
    }
}

fn flag(name: &str) -> PyResult<NormalizerFlag> {
    match name {
        "add_dummy_prefix" => Ok(NormalizerFlag::AddDummyPrefix),
        "remove_extra_whitespaces" => Ok(NormalizerFlag::RemoveExtraWhitespaces),
        "escape_whitespaces" => Ok(NormalizerFlag::EscapeWhitespaces),
        _ => Err(PyValueError::new_err(format!(
            "flag: the normalizer has no flag {name:?}"
        ))),
    }
}

/// Texts to check a change on.
fn check_texts(py: Python<'_>, texts: Option<&Bound<'_, PyAny>>) -> PyResult<HeldTexts> {
    match texts {
        Some(texts) => HeldTexts::of_items(iterable_items(texts, "texts")?),
        None => HeldTexts::of_items(PyTuple::empty(py)),
    }
}

/// Applies steps to a model.
#[pyfunction]
pub fn _edit<'py>(
    py: Python<'py>,
    tokenizer: &Bound<'py, PyTokenizer>,
    steps: Vec<(String, Vec<String>)>,
    texts: Option<&Bound<'py, PyAny>>,
) -> PyResult<Changed<'py>> {
    let model = tokenizer.get().loaded.model(py)?;
    let steps = steps.iter().map(|(name, arguments)| step(name, arguments));
    let steps = steps.collect::<PyResult<Vec<_>>>()?;
    let held = check_texts(py, texts)?;
    let edited = py.detach(|| model.apply_edits(&steps));
    let edited = edited.map_err(|error: EditError| errors::of_edit(py, &error))?;
    let change = changed(py, edited.model(), edited.ids(), Some(edited.text_change()))?;
    if texts.is_some() {
        let old = &tokenizer.get().loaded.tokenizer;
        let counts = py.detach(|| {
            let new = spiece::Tokenizer::new(edited.model().clone());
            let mut comparison = LineComparison::new(edited.ids(), old, &new);
            for text in held.texts() {
                comparison.add(text);
            }
            comparison.finish()
        });
        change.1.set_item("texts", counts.lines)?;
        change
            .1
            .set_item("texts_with_the_same_pieces", counts.equal)?;
    }
    change.1.set_item(
        "no_longer_found",
        numbers(edited.no_longer_found().iter().copied()),
    )?;
    change
        .1
        .set_item("newly_found", numbers(edited.newly_found().iter().copied()))?;
    Ok(change)
}

/// Adds the pieces of another model, or the tokens of another vocabulary.
#[pyfunction]
pub fn _merge<'py>(
    py: Python<'py>,
    tokenizer: &Bound<'py, PyTokenizer>,
    second: &Bound<'py, PyTokenizer>,
    drop_unreachable: bool,
    allow_other_normalizer: bool,
) -> PyResult<Changed<'py>> {
    let (first, second) = (&tokenizer.get().loaded, &second.get().loaded);
    let mut options = MergeOptions::default();
    options.drop_unreachable = drop_unreachable;
    options.allow_other_normalizer = allow_other_normalizer;
    if let (Some(first), Some(second)) = (first.tokenizer.byte_bpe(), second.tokenizer.byte_bpe()) {
        let merged = py.detach(|| first.merge(second, &options));
        let merged = merged.map_err(|error| errors::of_merge(py, &error))?;
        let unreachable = numbers(merged.unreachable().iter().copied());
        let dropped = merged.dropped().map(|token| PyBytes::new(py, token));
        let dropped: Vec<_> = dropped.collect();
        let ids = merged.ids().clone();
        let change = changed_bytes(py, merged.into_bpe(), &ids)?;
        change.1.set_item("unreachable", unreachable)?;
        change.1.set_item("dropped", dropped)?;
        return Ok(change);
    }
    if first.tokenizer.byte_bpe().is_some() || second.tokenizer.byte_bpe().is_some() {
        let message = "one is a byte-level vocabulary and the other a model; merge two of one kind";
        return Err(errors::exception(py, "ModelError", (message,)));
    }
    let merged = py.detach({
        let (first, second) = (first.model(py)?, second.model(py)?);
        || first.merge(second, &options)
    });
    let merged = merged.map_err(|error| errors::of_merge(py, &error))?;
    let change = changed(py, merged.model(), merged.ids(), Some(merged.text_change()))?;
    change
        .1
        .set_item("unreachable", numbers(merged.unreachable().iter().copied()))?;
    change
        .1
        .set_item("dropped", merged.dropped().map(lossy).collect::<Vec<_>>())?;
    change
        .1
        .set_item("skipped", merged.skipped().map(lossy).collect::<Vec<_>>())?;
    change
        .1
        .set_item("keeps_boundaries", merged.keeps_boundaries())?;
    Ok(change)
}

/// Removes pieces that texts do not need, of a model or of a byte-level vocabulary.
#[pyfunction]
pub fn _prune<'py>(
    py: Python<'py>,
    tokenizer: &Bound<'py, PyTokenizer>,
    texts: Option<&Bound<'py, PyAny>>,
    size: Option<&Bound<'py, PyAny>>,
    keep_chars: bool,
    unused_tail: bool,
) -> PyResult<Changed<'py>> {
    let loaded = &tokenizer.get().loaded;
    let tokenizer = &loaded.tokenizer;
    let size = size.map(|size| to_int_in("size", size, (1, MAX_PIECES)));
    let goal = match (size.transpose()?, texts) {
        (Some(size), _) => PruneGoal::Size(size),
        (None, Some(_)) if unused_tail => PruneGoal::UsedWithTail,
        (None, Some(_)) => PruneGoal::Used,
        (None, None) => return Err(PyValueError::new_err("prune needs texts or a size")),
    };
    if let Some(bpe) = tokenizer.byte_bpe() {
        let refusal = match (keep_chars, unused_tail) {
            (true, false) => None,
            (false, _) => Some("keep_chars: a byte-level vocabulary keeps all bytes; leave it out"),
            (_, true) => Some("unused_tail is for BPE models; leave it out"),
        };
        if let Some(message) = refusal {
            return Err(errors::exception(py, "ModelError", (message,)));
        }
        let held = check_texts(py, texts)?;
        let usage = usage(py, tokenizer, &held)?;
        let pruned = py.detach(|| bpe.prune(&usage, goal));
        let pruned = pruned.map_err(|error| errors::of_prune(py, &error))?;
        let ids = pruned.ids().clone();
        return changed_bytes(py, pruned.into_bpe(), &ids);
    }
    let model = loaded.model(py)?;
    let held = check_texts(py, texts)?;
    let mut options = PruneOptions::new(goal);
    options.keep_chars = keep_chars;
    let usage = usage(py, tokenizer, &held)?;
    let pruned = py.detach(|| model.prune(&usage, &options));
    let pruned = pruned.map_err(|error| errors::of_prune(py, &error))?;
    let change = changed(py, pruned.model(), pruned.ids(), None)?;
    change.1.set_item("rows", pruned.rows())?;
    change.1.set_item("tail", pruned.tail())?;
    change.1.set_item("removed_chars", pruned.removed_chars())?;
    Ok(change)
}

/// Counts how often texts use the pieces of a model, or the tokens of a vocabulary.
fn usage(py: Python<'_>, tokenizer: &Tokenizer, held: &HeldTexts) -> PyResult<PieceUsage> {
    if held.texts().is_empty()
        && let Some(model) = tokenizer.model()
    {
        return Ok(PieceUsage::none(model));
    }
    let counted = py.detach(|| {
        let mut counter = UsageCounter::new(tokenizer)?;
        for text in held.texts() {
            counter.add(text);
        }
        Ok(counter.finish())
    });
    counted.map_err(|error: ModelError| errors::of_model(py, &error))
}

/// The number of pieces that `_extend` learns, from the name of a rule and its number.
fn extend_size(rule: &str, number: &Bound<'_, PyAny>) -> PyResult<ExtendSize> {
    let number: usize = to_int_in(rule, number, (1, MAX_PIECES))?;
    Ok(match (rule, NonZeroUsize::new(number)) {
        ("multiple_of", Some(number)) => ExtendSize::NextMultiple(number),
        ("vocab_size", _) => ExtendSize::Vocabulary(number),
        _ => ExtendSize::Learn(number),
    })
}

/// Options of an extension that may be left out.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ExtendRequest<'py> {
    multiple_of: Option<Bound<'py, PyAny>>,
    special_tokens: Vec<String>,
    reuse: Vec<Bound<'py, PyAny>>,
    min_frequency: Option<Bound<'py, PyAny>>,
    max_token_length: Option<Bound<'py, PyAny>>,
    threads: Option<Bound<'py, PyAny>>,
}

/// Learns pieces, or tokens of a byte-level vocabulary, from other text.
#[pyfunction]
pub fn _extend<'py>(
    py: Python<'py>,
    tokenizer: &Bound<'py, PyTokenizer>,
    sentences: &Bound<'py, PyAny>,
    size: (String, Bound<'py, PyAny>),
    request: ExtendRequest<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Changed<'py>> {
    let loaded = &tokenizer.get().loaded;
    let size = extend_size(&size.0, &size.1)?;
    let multiple_of = request.multiple_of.map(|multiple| {
        let multiple: usize = to_int_in("multiple_of", &multiple, (1, MAX_PIECES))?;
        Ok::<_, PyErr>(NonZeroUsize::new(multiple))
    });
    let multiple_of = multiple_of.transpose()?.flatten();
    let threads = match &request.threads {
        Some(threads) => NonZeroUsize::new(threads_or_all(Some(threads))?),
        None => None,
    };
    let reuse = request.reuse.iter().map(|id| {
        let id: u32 = to_int_in("reuse", id, (0, u32::MAX))?;
        Ok(PieceId::new(id))
    });
    let reuse = reuse.collect::<PyResult<Vec<_>>>()?;
    let failure = Failure::default();
    let observer = PyObserver::new(progress, failure.clone());
    if let Some(bpe) = loaded.tokenizer.byte_bpe() {
        let mut options = ByteExtendOptions::new(size);
        options.multiple_of = multiple_of;
        options.special_tokens = request.special_tokens;
        options.reuse = reuse;
        options.threads = threads;
        options.observer = observer.observer();
        if let Some(number) = request.min_frequency {
            options.min_frequency = to_int_in("min_frequency", &number, (0, u64::MAX))?;
        }
        if let Some(number) = request.max_token_length {
            let length: u16 = to_int_in("max_token_length", &number, (1, u16::MAX))?;
            options.max_token_length = NonZeroU16::new(length);
        }
        let sentences = PySentences::new(sentences, LineEnds::Kept, failure.clone())?;
        let corpus = Corpus::texts(sentences);
        let extended = py.detach(|| bpe.extend(corpus, &options));
        failure.check()?;
        let extended = extended.map_err(|error| errors::of_extend(py, &error))?;
        let (ids, tokens) = (extended.ids().clone(), extended.tokens().to_vec());
        let change = changed_bytes(py, extended.into_bpe(), &ids)?;
        set_learned(py, &change.1, &tokens, &observer.summary())?;
        return Ok(change);
    }
    for (name, is_given) in [
        ("min_frequency", request.min_frequency.is_some()),
        ("max_token_length", request.max_token_length.is_some()),
    ] {
        if is_given {
            let message = format!("{name} is for byte-level vocabularies; leave it out");
            return Err(errors::exception(py, "ModelError", (message,)));
        }
    }
    let model = loaded.model(py)?;
    let mut options = ExtendOptions::new(model, size);
    options.multiple_of = multiple_of;
    options.control = request.special_tokens;
    options.reuse = reuse;
    options.threads = threads;
    options.observer = observer.observer();
    let sentences = PySentences::new(sentences, LineEnds::Removed, failure.clone())?;
    let corpus = Corpus::texts(sentences);
    let extended = py.detach(|| model.extend(corpus, &options));
    failure.check()?;
    let extended = extended.map_err(|error| errors::of_extend(py, &error))?;
    let text_change = Some(extended.text_change());
    let change = changed(py, extended.model(), extended.ids(), text_change)?;
    set_learned(py, &change.1, extended.pieces(), &observer.summary())?;
    Ok(change)
}

/// Adds what was learned to a report, and figures about the run.
fn set_learned(
    py: Python<'_>,
    report: &Bound<'_, PyDict>,
    learned: &[ExtensionPiece],
    summary: &Summary,
) -> PyResult<()> {
    let learned = learned.iter().map(|piece| (piece.id.get(), piece.count));
    report.set_item("learned", learned.collect::<Vec<_>>())?;
    report.set_item("summary", summary_dict(py, summary)?)
}

/// A report on the contents of a model.
#[pyfunction]
pub fn _inspect<'py>(
    py: Python<'py>,
    tokenizer: &Bound<'py, PyTokenizer>,
) -> PyResult<Bound<'py, PyDict>> {
    let tokenizer = &tokenizer.get().loaded.tokenizer;
    let found = py.detach(|| Inspection::new(tokenizer));
    let found = found.map_err(|error| errors::refused(py, &error))?;
    let report = PyDict::new(py);
    report.set_item("pieces", found.piece_count)?;
    let kinds = PyDict::new(py);
    for count in &found.kinds {
        kinds.set_item(count.kind.to_string(), count.pieces)?;
    }
    report.set_item("kinds", kinds)?;
    report.set_item("longest", numbers(found.longest.iter().copied()))?;
    let unreachable = found.unreachable.iter().map(|piece| piece.id.get());
    report.set_item("unreachable", unreachable.collect::<Vec<_>>())?;
    match &found.details {
        InspectionDetails::Model(model) => {
            report.set_item("model_type", model.model_type.to_string())?;
            report.set_item("trainer_vocab_size", model.trainer_vocab_size)?;
            let never = numbers(model.never_normalized.iter().copied());
            report.set_item("never_normalized", never)?;
        }
        InspectionDetails::ByteLevel(bytes) => {
            report.set_item("model_type", "byte_bpe")?;
            report.set_item("only_whole", numbers(bytes.only_whole.iter().copied()))?;
            report.set_item("undecided", numbers(bytes.undecided.iter().copied()))?;
        }
        InspectionDetails::Pipeline(found) => {
            report.set_item("model_type", tokenizer.model_type_name())?;
            report.set_item("undecided", numbers(found.undecided.iter().copied()))?;
        }
    }
    Ok(report)
}

/// A report on the differences between two models on texts.
#[pyfunction]
pub fn _compare<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyTokenizer>,
    second: &Bound<'py, PyTokenizer>,
    texts: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let first = &first.get().loaded.tokenizer;
    let second = &second.get().loaded.tokenizer;
    let held = HeldTexts::of_items(iterable_items(texts, "texts")?)?;
    let sums = py.detach(|| {
        let mut counter = ComparisonCounter::new(first, second);
        for (number, text) in (1..).zip(held.texts()) {
            counter.add_line(number, text);
        }
        *counter.sums()
    });
    let report = PyDict::new(py);
    report.set_item("texts", sums.lines)?;
    report.set_item("equal_texts", sums.equal_lines)?;
    report.set_item("bytes", sums.bytes)?;
    report.set_item("tokens", (sums.tokens_a, sums.tokens_b))?;
    report.set_item("shared_boundaries", sums.shared_boundaries)?;
    let own = (sums.boundaries_only_a, sums.boundaries_only_b);
    report.set_item("own_boundaries", own)?;
    Ok(report)
}
