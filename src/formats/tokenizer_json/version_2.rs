//! Files of version 2.0, which tokenizers 1.0 reads and writes, as files of version 1.0 and back.
//!
//! | 1.0 | 2.0 |
//! |---|---|
//! | the pre-tokenizer `Metaspace` | the normalizer `MetaspaceNormalizer`, which comes last, and a `Split` at its replacement unless `split` is false |
//! | the same after `WhitespaceSplit` | the same with `drop_whitespace` |
//! | the pre-tokenizer `ByteLevel` | `byte_level` in the model, and with `use_regex` a `Split` by the expression of GPT-2 |
//! | a template, with the tokens that it names | a template with their ids; `BertProcessing` and `RobertaProcessing` are written as one |
//! | the post-processor `ByteLevel`, which is about spans | none |
//! | | `role_to_token` |
//!
//! The library cuts by the expressions of published vocabularies only, and has the tables of another
//! version of Unicode than 0.23. So what is written is judged: see [`reasons`].

use serde_json::{Map, Value, json};

use super::parse::{JsonModel, JsonPipeline};
use super::write_pipeline::{components, model_settings, pre_tokenizer, steps, write_file};
use crate::base::byte_chars::byte_of;
use crate::byte_bpe::SpecialToken;
use crate::formats::{FileFormat, FormatError, Reason, ReasonKind, TokenRoles};
use crate::pattern::{
    DEEPSEEK_EXPRESSIONS, GPT2_EXPRESSION, Pattern, PatternSyntax, SplitBehavior,
};
use crate::pipeline::{
    BpeModel, DecoderStep, Matcher, MatcherTarget, Metaspace, NormalizerStep, Pipeline,
    PipelineModel, PostProcessorStep, PreTokenizerStep, PrependScheme, Template, TemplatePart,
    UnicodeVersion,
};

const METASPACE: &str = "MetaspaceNormalizer";

impl JsonPipeline<'_> {
    /// Replaces what files of version 2.0 say in another way by what those of 1.0 say.
    pub(super) fn lower(&mut self) -> Result<(), FormatError> {
        let mut steps = Vec::new();
        if let Some(metaspace) = take_metaspace(&mut self.normalizer)? {
            if let Some(token) = self.added_tokens.iter().find(|token| token.normalized) {
                let problem = format!(
                    "{:?} is searched for after {METASPACE}, and {CUT_FIRST}",
                    &*token.content
                );
                return Err(FormatError::component("added_tokens", problem));
            }
            steps = metaspace_steps(&metaspace, &mut self.pre_tokenizer)?;
        }
        steps.extend(self.pre_tokenizer.take());
        if self.model.byte_level == Some(true) {
            let is_added = |text: &str| self.added_tokens.iter().any(|it| &*it.content == text);
            let vocab = self.model.vocab.as_ref();
            let texts = vocab
                .into_iter()
                .flat_map(|it| it.ids())
                .map(|(text, _)| text);
            let whole_first = self.model.ignore_merges == Some(true);
            if let Some(text) = token_of_text(texts, whole_first, is_added) {
                let problem = format!("{text:?} is no token of bytes, and {GIVEN_FOR_TEXT}");
                return Err(FormatError::component("model.vocab", problem));
            }
            steps.push(json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}));
        }
        self.pre_tokenizer = match steps.len() {
            0 => None,
            _ => Some(json!({"type": "Sequence", "pretokenizers": steps})),
        };
        let (added, model) = (&self.added_tokens, &self.model);
        let text = |id: u64| {
            let added = added.iter().find(|token| u64::from(token.id) == id);
            let added = added.map(|token| token.content.to_string());
            added.or_else(|| text_of_id(model, id))
        };
        if let Some(template) = &mut self.post_processor {
            name_template_tokens(template, text);
        }
        Ok(())
    }
}

/// What no pipeline does that has a pre-tokenizer for the marks.
const CUT_FIRST: &str =
    "here added tokens are found before spaces become marks; set \"normalized\" to false";

/// What no pipeline does with a token that is not of bytes.
const GIVEN_FOR_TEXT: &str =
    "tokenizers 1.0.0rc3 gives it for a pretoken that is this text; remove it";

/// A token that tokenizers 1.0.0rc3 gives for a pretoken with its text, although a character of it stands
/// for no byte: such a token is one character, or whole pretokens are looked up first. 0.23 never gives it.
fn token_of_text<'t>(
    mut texts: impl Iterator<Item = &'t str>,
    whole_first: bool,
    is_added: impl Fn(&str) -> bool,
) -> Option<&'t str> {
    texts.find(|text| {
        let is_whole = whole_first || text.chars().nth(1).is_none();
        is_whole && text.chars().any(|c| byte_of(c).is_none()) && !is_added(text)
    })
}

/// The text of a token of the model.
fn text_of_id(model: &JsonModel<'_>, id: u64) -> Option<String> {
    let mut tokens = model.vocab.as_ref()?.ids();
    let found = tokens.find(|(_, token)| u64::from(*token) == id);
    found.map(|(text, _)| text.to_owned())
}

/// Takes the last normalizer, if it makes marks of spaces.
fn take_metaspace(normalizer: &mut Option<Value>) -> Result<Option<Value>, FormatError> {
    let is_metaspace = |step: &Value| step["type"] == METASPACE;
    if normalizer.as_ref().is_some_and(is_metaspace) {
        return Ok(normalizer.take());
    }
    let steps = normalizer.as_mut().and_then(|it| it.get_mut("normalizers"));
    let Some(steps) = steps.and_then(Value::as_array_mut) else {
        return Ok(None);
    };
    let last = steps.pop_if(|step| is_metaspace(step));
    match steps.iter().position(is_metaspace) {
        Some(at) => Err(FormatError::component(
            format!("normalizer.normalizers[{at}]"),
            format!("{METASPACE} stands before another normalizer; put it last"),
        )),
        None => Ok(last),
    }
}

/// The pre-tokenizers for a normalizer; a split at the marks is taken out of the pre-tokenizer.
fn metaspace_steps(
    metaspace: &Value,
    pre_tokenizer: &mut Option<Value>,
) -> Result<Vec<Value>, FormatError> {
    let replacement = &metaspace["replacement"];
    let is_split = |step: &Value| {
        step["type"] == "Split"
            && step["pattern"] == json!({ "String": replacement })
            && step["behavior"] == "MergedWithNext"
            && step["invert"] != true
    };
    let is_whole = pre_tokenizer.as_ref().is_some_and(is_split);
    let steps = pre_tokenizer
        .as_mut()
        .and_then(|it| it.get_mut("pretokenizers"));
    let steps = steps.and_then(Value::as_array_mut);
    let is_first = steps.is_some_and(|steps| {
        let is_first = steps.first().is_some_and(is_split);
        is_first.then(|| steps.remove(0)).is_some()
    });
    if is_whole {
        *pre_tokenizer = None;
    }
    let split = is_whole || is_first;
    let step = json!({
        "type": "Metaspace", "replacement": replacement, "prepend_scheme": metaspace["prepend"], "split": split
    });
    match (
        metaspace["drop_whitespace"].as_bool(),
        metaspace["prepend"].as_str(),
    ) {
        (Some(false), _) => Ok(vec![step]),
        (Some(true), Some("always")) if split => Ok(vec![json!({"type": "WhitespaceSplit"}), step]),
        (Some(true), _) => Err(FormatError::component(
            "normalizer.drop_whitespace",
            "it joins words unless \"prepend\" is \"always\" and a Split at the replacement follows, \
             and tokenizers writes no such file",
        )),
        (None, _) => Err(FormatError::component(
            "normalizer.drop_whitespace",
            "it is neither true nor false",
        )),
    }
}

/// Gives the parts of a template, which have ids, the texts of their tokens.
fn name_template_tokens(post_processor: &mut Value, text: impl Fn(u64) -> Option<String>) {
    let mut special = Map::new();
    for name in ["single", "pair"] {
        let parts = post_processor.get_mut(name).and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            let type_id = part.get("type_id").cloned().unwrap_or(json!(0));
            if let Some(sequence) = part.get("seq") {
                *part = json!({"Sequence": {"id": sequence, "type_id": type_id}});
            } else if let Some(ids) = part.get("ids") {
                let token = |id: &Value| {
                    let known = id.as_u64().and_then(&text);
                    known.unwrap_or_else(|| id.to_string())
                };
                let tokens: Vec<String> = ids.as_array().into_iter().flatten().map(token).collect();
                let key = ids.to_string();
                special.insert(
                    key.clone(),
                    json!({"id": key, "ids": ids, "tokens": tokens}),
                );
                *part = json!({"SpecialToken": {"id": key, "type_id": type_id}});
            }
        }
    }
    if let Some(fields) = post_processor.as_object_mut()
        && fields
            .get("type")
            .is_some_and(|it| it == "TemplateProcessing")
    {
        fields.entry("special_tokens").or_insert(special.into());
    }
}

/// A pipeline as a file of version 2.0, and why tokenizers 1.0 gives other ids for some texts.
///
/// `roles` are those that the file says.
///
/// # Errors
/// Version 2.0 has no form for a component, or tokenizers 1.0 no engine for an expression.
pub(in crate::formats) fn write_version_2(
    pipeline: &Pipeline,
    roles: &TokenRoles,
) -> Result<(Vec<u8>, Vec<Reason>), FormatError> {
    let is_byte_level = matches!(
        pipeline.pre_tokenizer().last(),
        Some(PreTokenizerStep::ByteLevel { .. })
    );
    let mut settings = model_settings(pipeline.model());
    settings.retain(|(name, _)| *name != "dropout");
    if let PipelineModel::Bpe(bpe) = pipeline.model() {
        if bpe.options().dropout.is_some_and(|dropout| dropout > 0.0) {
            return Err(refused("model.dropout", "which it does not have"));
        }
        refuse_missing_bytes(bpe, is_byte_level)?;
        settings.push(("byte_level", is_byte_level.into()));
    } else if is_byte_level {
        return Err(refused("pre_tokenizer", "ByteLevel without BPE"));
    }
    let mut components = components(pipeline);
    let [normalizer, pre_tokenizer, post_processor, decoder] = &mut components;
    let cuts = CutSteps::of(pipeline)?;
    if let Some(metaspace) = cuts.metaspace {
        normalizer.1 = match normalizer.1.take() {
            Value::Null => metaspace,
            mut several if several["type"] == "Sequence" => {
                let steps = several["normalizers"].as_array_mut();
                steps
                    .into_iter()
                    .for_each(|steps| steps.push(metaspace.clone()));
                several
            }
            one => json!({"type": "Sequence", "normalizers": [one, metaspace]}),
        };
    }
    pre_tokenizer.1 = steps("pretokenizers", cuts.steps);
    post_processor.1 = template(pipeline.post_processor())?;
    check_expressions(
        "normalizer",
        pipeline.normalizer().iter().filter_map(replaced),
    )?;
    let decoders = pipeline.decoder().unwrap_or_default().iter();
    check_expressions("decoder", decoders.filter_map(replaced_by_decoder))?;
    remove_split(&mut decoder.1);
    let roles = match roles.is_empty() {
        true => Value::Null,
        false => json!(roles),
    };
    let mut fields = vec![("role_to_token", roles)];
    fields.extend(components);
    let file = write_file("2.0", pipeline, fields, settings);
    Ok((file, reasons(pipeline)))
}

/// Tokenizers 1.0 loads no vocabulary of bytes that lacks one.
fn refuse_missing_bytes(bpe: &BpeModel, is_byte_level: bool) -> Result<(), FormatError> {
    if is_byte_level && let Some(byte) = bpe.vocabulary().missing_byte() {
        let found = format!("without a token for the byte 0x{byte:02X}");
        return Err(refused("model.vocab", found));
    }
    match bpe.options().byte_fallback && !bpe.has_all_bytes() {
        true => Err(refused(
            "model.byte_fallback",
            "on, without a token for each byte",
        )),
        false => Ok(()),
    }
}

/// What cuts a text in version 2.0.
struct CutSteps {
    /// The normalizer that makes marks of spaces.
    metaspace: Option<Value>,
    steps: Vec<Value>,
}

impl CutSteps {
    fn of(pipeline: &Pipeline) -> Result<Self, FormatError> {
        let mut rest = pipeline.pre_tokenizer();
        let mut cuts = Self {
            metaspace: None,
            steps: Vec::new(),
        };
        let always = PrependScheme::Always;
        match rest {
            [
                PreTokenizerStep::WhitespaceSplit,
                PreTokenizerStep::Metaspace(it),
                after @ ..,
            ] if it.split && it.prepend_scheme == always => {
                cuts.add_metaspace(*it, true);
                rest = after;
            }
            [PreTokenizerStep::Metaspace(it), after @ ..] => {
                cuts.add_metaspace(*it, false);
                rest = after;
            }
            _ => {}
        }
        let is_normalized = |token: &&SpecialToken| token.normalized;
        let added = pipeline.added_tokens();
        if cuts.metaspace.is_some()
            && let Some(token) = added.iter().find(is_normalized)
        {
            let found = format!(
                "{:?} with \"normalized\", which it finds after Metaspace",
                token.text
            );
            return Err(refused("added_tokens", found));
        }
        // The splits of DeepSeek V3 are known together only.
        if let Some((first, after)) = rest.split_at_checked(DEEPSEEK_EXPRESSIONS.len())
            && are_deepseek(first)
        {
            cuts.steps.extend(first.iter().map(pre_tokenizer));
            rest = after;
        }
        for (at, step) in rest.iter().enumerate() {
            let is_last = at + 1 == rest.len();
            match step {
                PreTokenizerStep::Metaspace(_) => {
                    return Err(refused("pre_tokenizer", "Metaspace after another step"));
                }
                PreTokenizerStep::ByteLevel { .. } if !is_last => {
                    return Err(refused("pre_tokenizer", "ByteLevel before another step"));
                }
                PreTokenizerStep::ByteLevel {
                    add_prefix_space: true,
                    ..
                } => {
                    return Err(refused("pre_tokenizer", "ByteLevel with add_prefix_space"));
                }
                PreTokenizerStep::ByteLevel { use_regex, .. } => {
                    cuts.steps
                        .extend(use_regex.then(|| isolated(GPT2_EXPRESSION)));
                }
                _ => cuts.steps.push(known_step(step)?),
            }
        }
        Ok(cuts)
    }

    fn add_metaspace(&mut self, metaspace: Metaspace, drops_whitespace: bool) {
        let scheme = pre_tokenizer(&PreTokenizerStep::Metaspace(metaspace));
        self.metaspace = Some(json!({
            "type": METASPACE, "replacement": metaspace.replacement, "prepend": scheme["prepend_scheme"],
            "drop_whitespace": drops_whitespace
        }));
        if metaspace.split {
            self.steps.push(json!({
                "type": "Split", "pattern": {"String": metaspace.replacement}, "behavior": "MergedWithNext",
                "invert": false
            }));
        }
    }
}

/// A step that has its form of version 1.0. The expression of a split has to be known.
fn known_step(step: &PreTokenizerStep) -> Result<Value, FormatError> {
    let PreTokenizerStep::Split {
        pattern,
        behavior,
        invert,
    } = step
    else {
        return Ok(pre_tokenizer(step));
    };
    let MatcherTarget::Expression(expression) = pattern.target() else {
        return Ok(pre_tokenizer(step));
    };
    let keeps_matches = match behavior {
        SplitBehavior::Isolated => true,
        SplitBehavior::Removed => *invert,
        _ => false,
    };
    let known = expression.published().filter(|_| keeps_matches);
    let unknown = || {
        let expression = expression.expression();
        let found = format!(
            "a Split by {expression:?}, and it cuts by the expressions of published vocabularies alone"
        );
        refused("pre_tokenizer", found)
    };
    known.map(isolated).ok_or_else(unknown)
}

fn isolated(expression: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": false})
}

/// Whether steps are the splits of DeepSeek V3.
fn are_deepseek(steps: &[PreTokenizerStep]) -> bool {
    let is_known = |(step, known): (&PreTokenizerStep, &str)| match step {
        PreTokenizerStep::Split {
            pattern,
            behavior: SplitBehavior::Isolated,
            invert: false,
        } => matches!(pattern.target(), MatcherTarget::Expression(it) if it.expression() == known),
        _ => false,
    };
    steps.iter().zip(DEEPSEEK_EXPRESSIONS).all(is_known)
}

fn replaced(step: &NormalizerStep) -> Option<&Matcher> {
    match step {
        NormalizerStep::Replace { pattern, .. } => Some(pattern),
        _ => None,
    }
}

fn replaced_by_decoder(step: &DecoderStep) -> Option<&Matcher> {
    match step {
        DecoderStep::Replace { pattern, .. } => Some(pattern),
        _ => None,
    }
}

/// Refuses expressions that mean something else to the crate `fancy-regex`, which the packages of
/// tokenizers 1.0 have for replacements.
fn check_expressions<'m>(
    component: &str,
    mut matchers: impl Iterator<Item = &'m Matcher>,
) -> Result<(), FormatError> {
    let is_other = |expression: &&Pattern| {
        let same = expression.for_syntax(PatternSyntax::Rust);
        same.is_none_or(|same| same.expression() != expression.expression())
    };
    let other = matchers.find_map(|matcher| match matcher.target() {
        MatcherTarget::Expression(expression) => Some(expression).filter(is_other),
        MatcherTarget::Text(_) => None,
    });
    match other {
        Some(expression) => Err(refused(
            component,
            format!(
                "the expression {:?}, which may mean something else there",
                expression.expression()
            ),
        )),
        None => Ok(()),
    }
}

fn refused(component: &str, found: impl Into<String>) -> FormatError {
    FormatError::CannotHold {
        format: FileFormat::TokenizerJson2,
        component: component.to_owned(),
        found: found.into(),
        remedy: "write a tokenizer.json of version 1.0",
    }
}

/// The template, with ids in place of tokens.
fn template(steps: &[PostProcessorStep]) -> Result<Value, FormatError> {
    let mut templates = steps.iter().filter_map(|step| match step {
        PostProcessorStep::Template(template) => Some(template),
        PostProcessorStep::TrimOffsets { .. } | PostProcessorStep::NumberSequences => None,
    });
    let Some(template) = templates.next() else {
        return Ok(Value::Null);
    };
    if templates.next().is_some() {
        return Err(refused("post_processor", "two templates"));
    }
    let part = |part: &TemplatePart| {
        let (mut fields, type_id) = match part {
            TemplatePart::Sequence { is_second, type_id } => {
                (json!({"seq": if *is_second { "B" } else { "A" }}), type_id)
            }
            TemplatePart::Special { tokens, type_id } => (json!({ "ids": tokens.ids }), type_id),
        };
        if *type_id != 0 {
            fields["type_id"] = json!(type_id);
        }
        fields
    };
    let parts = |parts: &[TemplatePart]| parts.iter().map(part).collect::<Vec<_>>();
    let Template { single, pair, .. } = template;
    Ok(json!({"type": "TemplateProcessing", "single": parts(single), "pair": parts(pair)}))
}

/// A decoder does not say whether text was cut.
fn remove_split(decoder: &mut Value) {
    if let Some(fields) = decoder.as_object_mut() {
        fields.remove("split");
    }
    let steps = decoder.get_mut("decoders").and_then(Value::as_array_mut);
    steps.into_iter().flatten().for_each(remove_split);
}

/// Why tokenizers 1.0.0rc3 gives other ids than this pipeline for some texts.
fn reasons(pipeline: &Pipeline) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let has_old_forms = pipeline.normalizer().iter().any(|step| match step {
        NormalizerStep::Unicode(_, version) => *version == UnicodeVersion::V9,
        NormalizerStep::Bert(bert, version) => {
            *version == UnicodeVersion::V9 && bert.strip_accents.unwrap_or(bert.lowercase)
        }
        _ => false,
    });
    if has_old_forms {
        reasons.push(Reason::new(
            ReasonKind::NormalizationRules,
            "tokenizers 1.0 has the normalization forms of Unicode 17, and 0.23 those of Unicode 9, \
             without U+105C9 and others",
        ));
    }
    if let PipelineModel::Bpe(bpe) = pipeline.model() {
        let options = bpe.options();
        let added = pipeline.added_tokens();
        let is_added = |text: &str| added.iter().any(|it| it.text == text);
        let texts = bpe.vocabulary().tokens().map(|(text, _)| text);
        let texts = texts.filter(|_| pipeline.is_byte_level());
        if let Some(text) = token_of_text(texts, options.whole_parts_first, is_added) {
            let explanation = format!(
                "tokenizers 1.0.0rc3 gives the token {text:?} for a pretoken that is this text; 0.23 gives its bytes"
            );
            reasons.push(Reason::new(ReasonKind::PieceText, explanation).with_example(text));
        }
        let affixes = [
            &options.continuing_subword_prefix,
            &options.end_of_word_suffix,
        ];
        if affixes
            .iter()
            .any(|affix| affix.as_deref().is_some_and(|it| !it.is_empty()))
        {
            reasons.push(Reason::new(
                ReasonKind::UnknownCharacter,
                "tokenizers 1.0.0rc3 puts no end_of_word_suffix after a word of one character, and joins no unknown \
                 characters beside a prefix or suffix",
            ));
        }
    }
    let classes = pipeline.pre_tokenizer().iter().find_map(|step| match step {
        PreTokenizerStep::Bert | PreTokenizerStep::Punctuation(_) => Some(
            "the punctuation of Unicode 17, and 0.23 that of Unicode 8, without U+2E42 and others",
        ),
        PreTokenizerStep::Whitespace
        | PreTokenizerStep::ByteLevel {
            use_regex: true, ..
        } => Some(NEW_LETTERS),
        PreTokenizerStep::Split { pattern, .. } => match pattern.target() {
            MatcherTarget::Expression(_) => Some(NEW_LETTERS),
            MatcherTarget::Text(_) => None,
        },
        _ => None,
    });
    if let Some(classes) = classes {
        let explanation = format!("tokenizers 1.0 has {classes}");
        reasons.push(Reason::new(ReasonKind::Pattern, explanation));
    }
    reasons
}

const NEW_LETTERS: &str = "the letters, marks and numbers of Unicode 17, and 0.23 those of Unicode 16, without U+10940 and others";

#[cfg(test)]
mod tests;
