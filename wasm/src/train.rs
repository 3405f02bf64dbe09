//! Training of small models, on the calling thread.

use std::cell::RefCell;
use std::ops::ControlFlow;

use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer, Event, Observer, Stage};
use spiece::{Corpus, Tokenizer, TokenizerConfig, TrainError, TrainFlags};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// What a caller gives to be told of the progress.
    #[wasm_bindgen(typescript_type = "Function")]
    pub type Function;
    #[wasm_bindgen(method, catch)]
    fn call(
        this: &Function,
        object: &JsValue,
        stage: &str,
        done: f64,
        all: f64,
    ) -> Result<JsValue, JsValue>;
}

/// Calls JavaScript with what happens: a stage, how much of it is done, and how much there is (0 if
/// that is not known). The run ends if it returns `false`.
struct Report {
    function: Function,
    stage: &'static str,
    /// An exception of the function, which ends the run.
    thrown: Option<JsValue>,
}

thread_local! {
    /// What the run on this thread reports to. Values of JavaScript belong to a thread, and an observer
    /// belongs to none.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

impl Report {
    fn on_event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        let (done, all) = match event {
            Event::Started(stage) => {
                self.stage = stage_name(stage);
                (0.0, 0.0)
            }
            Event::Read { bytes, total } => (bytes as f64, total.map_or(0.0, |all| all as f64)),
            Event::Merged { done, wanted, .. } => (done as f64, wanted as f64),
            // Each iteration leaves fewer pieces, until those that are wanted remain.
            Event::Estimated { pieces, wanted, .. } => (wanted as f64, pieces as f64),
            _ => return ControlFlow::Continue(()),
        };
        match self.function.call(&JsValue::NULL, self.stage, done, all) {
            Ok(answer) if answer == JsValue::FALSE => ControlFlow::Break(()),
            Ok(_) => ControlFlow::Continue(()),
            Err(exception) => {
                self.thrown = Some(exception);
                ControlFlow::Break(())
            }
        }
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Sampling => "sampling",
        Stage::Reading => "reading",
        Stage::Characters => "characters",
        Stage::Merging => "merging",
        Stage::Seeding => "seeding",
        Stage::Estimating => "estimating",
        _ => "assembling",
    }
}

/// Trains with an observer that calls `function`, whose exception is thrown again.
fn observed<T>(
    function: Function,
    train: impl FnOnce(Observer) -> Result<T, TrainError>,
) -> Result<T, JsValue> {
    let report = Report {
        function,
        stage: "reading",
        thrown: None,
    };
    REPORT.set(Some(report));
    let result = train(Observer::new(|event| {
        // Taken, so that the function can train in turn.
        let Some(mut report) = REPORT.take() else {
            return ControlFlow::Continue(());
        };
        let flow = report.on_event(event);
        REPORT.set(Some(report));
        flow
    }));
    match REPORT.take().and_then(|report| report.thrown) {
        Some(exception) => Err(exception),
        None => Ok(result.map_err(JsError::from)?),
    }
}

/// Trains a SentencePiece model on a text, with flags of `spm_train` by name. Returns the bytes of
/// the `.model` file.
#[wasm_bindgen(js_name = trainModel)]
pub fn train_model(
    text: &[u8],
    names: Vec<String>,
    values: Vec<String>,
    report: Function,
) -> Result<Vec<u8>, JsValue> {
    let mut flags = TrainFlags::default();
    for (name, value) in names.iter().zip(&values) {
        flags.set(name, value).map_err(JsError::from)?;
    }
    let trainer = flags.trainer().map_err(JsError::from)?;
    let corpus = Corpus::reader(text);
    let model = observed(report, |observer| {
        trainer.with_observer(observer).train(corpus)
    })?;
    Ok(model.to_bytes())
}

/// Trains a byte-level vocabulary on a text, with the order of ties and ids of `tie_order` and a
/// pattern by name or as an expression. Returns the bytes of its `tokenizer.json`.
#[wasm_bindgen(js_name = trainBytes)]
pub fn train_bytes(
    text: &[u8],
    vocab_size: u32,
    pattern: &str,
    tie_order: &str,
    special_tokens: Vec<String>,
    report: Function,
) -> Result<Vec<u8>, JsValue> {
    let order: ByteTieOrder = tie_order.parse().map_err(|_| {
        JsError::new(&format!(
            "tieOrder: {tie_order:?} is not hf, rustbpe or minbpe"
        ))
    })?;
    let pretokenizer = order.pretokenizer(pattern).map_err(JsError::from)?;
    let mut options = ByteTrainOptions::new(vocab_size, pretokenizer);
    options.tie_order = order;
    options.special_tokens = special_tokens;
    let trainer = ByteTrainer::new(options).map_err(JsError::from)?;
    let corpus = Corpus::reader(text);
    let trained = observed(report, |observer| {
        trainer.with_observer(observer).train(corpus)
    })?;
    let tokenizer = Tokenizer::from_pipeline(trained, TokenizerConfig::default());
    Ok(tokenizer.to_bytes().map_err(JsError::from)?)
}
