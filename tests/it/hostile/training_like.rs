//! Training like a pipeline or like a model, of which both may be changed in any way.

use std::num::{NonZeroU16, NonZeroUsize};

use arbitrary::{Result, Unstructured};
use spiece::train::{PipelineTrainOptions, PipelineTrainer};
use spiece::{Corpus, Tokenizer, TokenizerConfig};

use super::mutation;
use super::pipelines::recorded_file;

/// The bytes are changes of a recorded pipeline, options and a corpus. What is trained does not depend on
/// the number of threads, has the added tokens of the pipeline, and is read as it is written.
pub fn train_like(data: &[u8]) {
    let mut input = Unstructured::new(data);
    if let Ok(case) = case(&mut input) {
        check(&case);
    }
    let mut input = Unstructured::new(data);
    if let Ok((model, texts, _seed)) = mutation::case(&mut input) {
        train_like_model(&model, &texts.concat());
    }
}

struct Case {
    file: String,
    options: PipelineTrainOptions,
    corpus: Vec<u8>,
}

fn case(input: &mut Unstructured<'_>) -> Result<Case> {
    let file = recorded_file(input)?;
    let mut options = PipelineTrainOptions::new(input.int_in_range(0..=400)?);
    options.min_frequency = input.int_in_range(0..=3)?;
    options.limit_alphabet = NonZeroUsize::new(input.int_in_range(0..=9)?);
    options.max_token_length = NonZeroU16::new(input.int_in_range(0..=9)?);
    let mut affix = || -> Result<Option<String>> {
        let affix = input.choose(&[None, Some("##"), Some("a"), Some("</w>"), Some("")])?;
        Ok(affix.map(str::to_owned))
    };
    options.continuing_subword_prefix = affix()?;
    options.end_of_word_suffix = affix()?;
    options.split_special_tokens = input.arbitrary()?;
    options.special_ids_first = input.arbitrary()?;
    for _ in 0..input.int_in_range(0..=2)? {
        let text = input.choose(&["<s>", "a", "ab", "\u{120}", "##a", "", "x y"])?;
        options.special_tokens.push((*text).to_owned());
    }
    Ok(Case {
        file,
        options,
        corpus: input.bytes(input.len())?.to_vec(),
    })
}

fn check(case: &Case) {
    let Ok(tokenizer) = Tokenizer::from_bytes(case.file.as_bytes()) else {
        return;
    };
    let Some(pipeline) = tokenizer.pipeline() else {
        return;
    };
    let train = |threads| {
        let trainer = PipelineTrainer::new(pipeline, case.options.clone())?;
        let trainer = trainer.with_threads(NonZeroUsize::new(threads).expect("threads"));
        trainer.train(Corpus::reader(&*case.corpus))
    };
    let trained = match train(1) {
        Ok(trained) => trained,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let again = train(3).expect("one thread has trained");
    let tokenizer = |pipeline| Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
    let (trained, again) = (tokenizer(trained), tokenizer(again));
    let written = trained.to_bytes().expect("every pipeline has a file");
    assert_eq!(again.to_bytes().expect("as before"), written);
    let copy = Tokenizer::from_bytes(&written).expect("what was written is read");
    let mut encoder = trained.encoder();
    let ids = encoder.encode(&*case.corpus).to_vec();
    // Some texts have no ids: the model has no unknown token.
    if encoder.take_failure().is_none() {
        assert_eq!(copy.encode(&*case.corpus), ids);
    }
}

/// The options of a model that may be changed are those of a trainer, or are refused.
fn train_like_model(model: &[u8], corpus: &[u8]) {
    let Ok(model) = spiece::Model::from_bytes(model) else {
        return;
    };
    let mut record = model.training_like();
    let given = [("hard_vocab_limit", "false"), ("num_threads", "1")];
    record.set_flags(given).expect("both are valid");
    for gap in &record.gaps {
        assert!(!gap.to_string().is_empty());
    }
    let Ok(trainer) = record.flags.trainer() else {
        return;
    };
    if let Ok(trained) = trainer.train(Corpus::reader(corpus)) {
        let copy = spiece::Model::from_bytes(&trained.to_bytes());
        assert_eq!(copy.expect("it was written").to_bytes(), trained.to_bytes());
    }
}
