//! Edits by the texts of pieces, merges, pruning and extension of models that are nearly right: a
//! result is refused, or its check passes and its bytes load.

use std::num::{NonZeroU8, NonZeroUsize};

use arbitrary::{Result, Unstructured};
use spiece::adapt::{
    EditStep, ExtendError, ExtendOptions, ExtendSize, ExtendedModel, MergeOptions, NewCharacters,
    NormalizerFlag, PieceUsage, PruneGoal, PruneOptions, SpecialRole, UsageCounter,
};
use spiece::{Corpus, Model, PieceId, PieceKind, Tokenizer};

use super::{guarantees, mutation};

/// Models of more pieces than this are real ones, whose check takes long; they are drawn seldom.
const MAX_PIECES: usize = 5000;

/// A model and texts; `None` if the file is refused.
fn model_and_texts(input: &mut Unstructured<'_>) -> Result<Option<(Model, Vec<Vec<u8>>)>> {
    let (file, texts, _) = mutation::case(input)?;
    let model = Model::from_bytes(&file).ok();
    let model = model.filter(|model| model.len() <= MAX_PIECES);
    Ok(model.map(|model| (model, texts)))
}

/// The text of a piece, or a short text.
fn any_text(input: &mut Unstructured<'_>, model: &Model) -> Result<Vec<u8>> {
    if input.ratio(2, 3)? {
        let last = u32::try_from(model.len().saturating_sub(1)).expect("ids are u32");
        let id = PieceId::new(input.int_in_range(0..=last)?);
        return Ok(model
            .piece(id)
            .map_or(Vec::new(), |piece| piece.text.to_vec()));
    }
    let length = input.int_in_range(0..=5)?;
    Ok(input.bytes(length.min(input.len()))?.to_vec())
}

fn any_step(input: &mut Unstructured<'_>, model: &Model) -> Result<EditStep> {
    let text = any_text(input, model)?;
    let kind = *input.choose(&PieceKind::ALL)?;
    Ok(match input.int_in_range(0..=6)? {
        0 => EditStep::Add { text, kind },
        1 => EditStep::Remove { text },
        2 => EditStep::Rename {
            old: text,
            new: any_text(input, model)?,
        },
        3 => EditStep::SetKind { text, kind },
        4 => EditStep::Insert {
            id: PieceId::new(input.int_in_range(0..=9)?),
            text,
            kind,
        },
        5 => EditStep::SetSpecial {
            role: SpecialRole::Pad,
            text,
        },
        _ => EditStep::SetFlag {
            flag: NormalizerFlag::AddDummyPrefix,
            value: input.arbitrary()?,
        },
    })
}

/// The bytes of a model load again.
fn check_loads(model: &Model) {
    let again = Model::from_bytes(&model.to_bytes()).expect("a changed model loads");
    super::checks::assert_same(model, &again);
}

pub fn check_edit(input: &mut Unstructured<'_>) -> Result<()> {
    let Some((model, texts)) = model_and_texts(input)? else {
        return Ok(());
    };
    let mut steps = Vec::new();
    for _ in 0..input.int_in_range(0..=4)? {
        steps.push(any_step(input, &model)?);
    }
    match model.apply_edits(&steps) {
        Ok(edited) => {
            guarantees::assert_edited(&model, &edited, &steps, &texts);
            check_loads(edited.model());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

pub fn check_merge(input: &mut Unstructured<'_>) -> Result<()> {
    let Some((first, texts)) = model_and_texts(input)? else {
        return Ok(());
    };
    let Some((second, _)) = model_and_texts(input)? else {
        return Ok(());
    };
    let mut options = MergeOptions::default();
    options.allow_other_normalizer = !input.ratio(1, 4)?;
    options.drop_unreachable = input.arbitrary()?;
    match first.merge(&second, &options) {
        Ok(merged) => {
            guarantees::assert_merged(&first, &merged, &texts);
            check_loads(merged.model());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

pub fn check_prune(input: &mut Unstructured<'_>) -> Result<()> {
    let Some((model, texts)) = model_and_texts(input)? else {
        return Ok(());
    };
    let target = match input.int_in_range(0..=2)? {
        0 => PruneGoal::Used,
        1 => PruneGoal::UsedWithTail,
        _ => PruneGoal::Size(input.int_in_range(0..=model.len())?),
    };
    let mut options = PruneOptions::new(target);
    options.keep_chars = input.arbitrary()?;
    let tokenizer = Tokenizer::new(model.clone());
    let mut usage = PieceUsage::none(&model);
    let mut counter = UsageCounter::new(&tokenizer).expect("the model loads");
    texts.iter().for_each(|text| counter.add(text));
    usage.add(&counter.finish());
    match model.prune(&usage, &options) {
        Ok(pruned) => {
            let keeps_lines = !matches!(target, PruneGoal::Size(_));
            guarantees::assert_pruned(&model, &pruned, keeps_lines, &texts);
            check_loads(pruned.model());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

/// Options of an extension. Most fit the model.
fn extend_options(input: &mut Unstructured<'_>, model: &Model) -> Result<ExtendOptions> {
    let size = match input.int_in_range(0..=7)? {
        0 => ExtendSize::Vocabulary(input.int_in_range(0..=2 * model.len())?),
        1 => ExtendSize::NextMultiple(NonZeroUsize::new(input.int_in_range(1..=999)?).unwrap()),
        _ => ExtendSize::Learn(input.int_in_range(0..=60)?),
    };
    let mut options = ExtendOptions::new(model, size);
    let rules = &mut options.training;
    rules.max_sentencepiece_length = input.int_in_range(0..=40)?;
    rules.split_by_whitespace = input.arbitrary()?;
    rules.split_by_unicode_script = input.arbitrary()?;
    rules.split_digits = input.arbitrary()?;
    rules.allow_whitespace_only_pieces = input.arbitrary()?;
    rules.max_words = NonZeroU8::new(input.int_in_range(0..=4)?);
    let characters = [
        NewCharacters::ByGain,
        NewCharacters::Coverage,
        NewCharacters::Never,
    ];
    options.characters = *input.choose(&characters)?;
    options.multiple_of = NonZeroUsize::new(input.int_in_range(0..=99)?);
    options.threads = NonZeroUsize::new(input.int_in_range(1..=3)?);
    if !input.ratio(2, 3)? {
        options.reuse = reusable_pieces(input, model)?;
    }
    if !input.ratio(2, 3)? {
        let text = any_text(input, model)?;
        options.user_defined = vec![String::from_utf8_lossy(&text).into_owned()];
        options.control = vec!["<new>".to_owned()];
    }
    Ok(options)
}

/// Some pieces that can be reused, and seldom one that cannot.
fn reusable_pieces(input: &mut Unstructured<'_>, model: &Model) -> Result<Vec<PieceId>> {
    use PieceKind::{Control, Unused, UserDefined};
    let reserved = model.pieces().filter(|piece| {
        matches!(piece.kind, Control | Unused | UserDefined)
            && !b"<s></s><pad>".ends_with(piece.text)
    });
    let mut ids: Vec<PieceId> = reserved.map(|piece| piece.id).take(300).collect();
    if !input.ratio(7, 8)? {
        ids.push(PieceId::new(input.arbitrary()?));
    }
    Ok(ids)
}

/// The written model goes on to learn what it would have learned in one step.
fn check_two_steps(first: &ExtendedModel, lines: &[Vec<u8>], options: &ExtendOptions) {
    let mut options = options.clone();
    options.size = ExtendSize::Learn(0);
    options.reuse.clear();
    options.control.clear();
    options.user_defined.clear();
    options.multiple_of = None;
    let model = first.model();
    let same = model
        .extend(Corpus::texts(lines), &options)
        .expect("learning nothing succeeds");
    assert!(same.model().to_bytes() == model.to_bytes());
    options.size = ExtendSize::Learn(2);
    if let Ok(then) = model.extend(Corpus::texts(lines), &options) {
        guarantees::assert_extended(model, &base(model, &options), &then, lines);
    }
}

/// The model before learning, with pieces to reuse and added special pieces.
fn base(model: &Model, options: &ExtendOptions) -> Model {
    let mut options = options.clone();
    options.size = ExtendSize::Learn(0);
    options.multiple_of = None;
    let extended = model.extend(Corpus::texts([""; 0]), &options);
    extended.expect("learning nothing succeeds").model().clone()
}

pub fn check_extend(input: &mut Unstructured<'_>) -> Result<()> {
    let Some((model, mut texts)) = model_and_texts(input)? else {
        return Ok(());
    };
    texts.extend_from_within(..);
    let mut options = extend_options(input, &model)?;
    let mut result = model.extend(Corpus::texts(&texts), &options);
    if let Err(ExtendError::TooFewPieces { available, .. }) = result {
        options.size = ExtendSize::Learn(available);
        result = model.extend(Corpus::texts(&texts), &options);
        assert!(!matches!(result, Err(ExtendError::TooFewPieces { .. })));
    }
    match result {
        Ok(extended) => {
            guarantees::assert_extended(&model, &base(&model, &options), &extended, &texts);
            check_loads(extended.model());
            check_two_steps(&extended, &texts, &options);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}
