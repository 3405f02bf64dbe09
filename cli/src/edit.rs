//! `spiece edit`: adds, renames and removes pieces of a model, and changes kinds and flags.
//!
//! The steps are applied in the order of the command line. The report says which ids move, which
//! pieces are newly found or no longer found in text, and which texts can have other pieces.
//!
//! ```text
//! $ spiece edit testdata/golden/llama2.model --model_prefix=new --add_control='<sep>'
//! pieces: 4,000 before, 4,001 after
//! old ids: 4,000 unchanged, 0 moved, 0 removed
//! added: 4000 "<sep>" (control)
//! texts: every text has the same ids as before
//! written: new.model, new.vocab
//! ```

use std::collections::HashMap;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::args;
use super::headings;
use super::io::{CliError, CliResult};
use super::list_files;
use super::model_files::{self, OutputSet, count, listed, listed_pieces};
use super::normalize::{spec_of_name, spec_of_tsv};
use super::progress::Messages;
use spiece::adapt::{EditError, EditStep, EditedModel, IdMap, NormalizerFlag, SpecialRole};
use spiece::{Model, ModelError, NormalizerSpec, PieceId, PieceKind};

/// The normalizer flags that can be set: name, help and flag.
const FLAGS: [(&str, &str, NormalizerFlag); 3] = [
    (
        "add_dummy_prefix",
        "Set whether a space is added before text",
        NormalizerFlag::AddDummyPrefix,
    ),
    (
        "remove_extra_whitespaces",
        "Set whether spaces at both ends and repeated spaces are removed",
        NormalizerFlag::RemoveExtraWhitespaces,
    ),
    (
        "escape_whitespaces",
        "Set whether spaces become U+2581",
        NormalizerFlag::EscapeWhitespaces,
    ),
];

/// The special pieces that can be set: name, help and role.
const ROLES: [(&str, &str, SpecialRole); 3] = [
    (
        "bos_piece",
        "Make this piece the one for the beginning of a text",
        SpecialRole::Bos,
    ),
    (
        "eos_piece",
        "Make this piece the one for the end of a text",
        SpecialRole::Eos,
    ),
    (
        "pad_piece",
        "Make this piece the one for padding",
        SpecialRole::Pad,
    ),
];

/// The flags that name the source of rules: for normalization, for denormalization, and help.
const RULES: [(&str, &str, &str); 3] = [
    (
        "normalization_rule_name",
        "denormalization_rule_name",
        "built-in ones: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, or identity (none)",
    ),
    (
        "normalization_rule_tsv",
        "denormalization_rule_tsv",
        "those of a file in TSV form",
    ),
    (
        "normalization_rules_of",
        "denormalization_rules_of",
        "those of another .model file",
    ),
];

/// The flags that are steps and can be repeated: name, value name and help.
const STEPS: [(&str, &str, &str); 8] = [
    (
        "add_control",
        "TEXT",
        "Add a control piece after all others; can be repeated",
    ),
    (
        "add_user_defined",
        "TEXT",
        "Add a user-defined symbol after all others; can be repeated",
    ),
    (
        "add_control_file",
        "FILE",
        "Add the lines of a file as control pieces; can be repeated",
    ),
    (
        "add_user_defined_file",
        "FILE",
        "Add the lines of a file as user-defined symbols; can be repeated",
    ),
    (
        "insert",
        "ID:KIND:TEXT",
        "Insert a piece at an id; higher ids move by 1; can be repeated",
    ),
    (
        "rename",
        "OLD=NEW",
        "Change the text of a piece; can be repeated",
    ),
    (
        "remove",
        "PIECE",
        "Remove a piece; higher ids move by 1; can be repeated",
    ),
    (
        "set_kind",
        "PIECE=KIND",
        "Change the kind of a piece: normal, control, user_defined, unused or unknown; can be repeated",
    ),
];

/// The command line: the model, the steps, the output.
pub(crate) fn command() -> Command {
    let command = Command::new("edit")
        .about("Adds, renames and removes pieces of a model; changes kinds and normalization")
        .long_about(
            "Adds, renames and removes pieces of a model, and changes kinds, normalization and denormalization. Everything else in the \
             file is kept. Says which ids move, which pieces begin or cease to be found in text, and which texts can \
             have other pieces.\n\nExample:\n  spiece edit tokenizer.model \
             --model_prefix=chat --add_control='<|user|>' --add_control='<|assistant|>'\n  spiece edit tokenizer.model \
             --model_prefix=new --rename='<unused0>=<sep>' --set_kind='<sep>=control' --pad_piece='<sep>'",
        )
        .arg(model_files::model_argument("MODEL", "The .model file"))
        .arg(model_files::prefix_flag())
        .args(STEPS.map(|(name, value_name, help)| step_flag(name, value_name, help)))
        .next_help_heading(headings::SPECIAL_PIECES)
        .args(ROLES.map(|(name, help, _)| args::value(name, help).value_name("PIECE")))
        .next_help_heading(headings::NORMALIZATION)
        .args(RULES.map(|(name, _, help)| {
            let help = format!("Replace the normalization rules by {help}");
            args::value(name, "").help(help).value_name(source_of_rules(name))
        }))
        .args(RULES.map(|(_, name, help)| {
            let help = format!("Replace the rules for decoded text by {help}");
            args::value(name, "").help(help).value_name(source_of_rules(name))
        }))
        .args(FLAGS.map(|(name, help, _)| args::switch(name, help)))
        .next_help_heading(None::<&str>)
        .arg(model_files::text_flag());
    args::with_common_flags(command)
}

fn source_of_rules(flag: &str) -> &'static str {
    if flag.ends_with("_name") {
        "NAME"
    } else {
        "FILE"
    }
}

/// A flag that can be repeated.
fn step_flag(name: &'static str, value_name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .help(help)
        .value_name(value_name)
        .num_args(1)
        .allow_hyphen_values(true)
        .action(ArgAction::Append)
}

/// Edits the model, reports, checks and writes.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let model = model_files::open_model(matches, "MODEL")?;
    let steps = Steps::new(matches, &model)?;
    let text = model_files::text(matches, &messages)?;
    let mut output = OutputSet::new(matches, &[".model", ".vocab"])?;
    let edited = messages.during("editing", || model.apply_edits(&steps.steps));
    let edited = edited.map_err(|error| steps.error(error))?;
    let models = [&model, edited.model()];
    let counts = model_files::compare_lines(text, edited.ids(), models, &messages);
    output.add_model(edited.model(), &messages);
    let written = output.write()?;
    report(&messages, &model, &edited);
    model_files::report_lines(&messages, counts);
    model_files::warn_of_older_releases(&messages, edited.model());
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// The steps of the command line, and for the texts of files where they are listed.
#[derive(Default)]
struct Steps {
    steps: Vec<EditStep>,
    /// The file and the line of each text.
    listed: HashMap<Vec<u8>, (String, usize)>,
}

impl Steps {
    /// The steps of the command line: first the steps that change pieces, in their order, then
    /// special pieces, normalization and flags.
    fn new(matches: &ArgMatches, model: &Model) -> CliResult<Self> {
        let mut placed = Vec::new();
        for (name, _, _) in STEPS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            placed.extend(
                places
                    .zip(values)
                    .map(|(place, value)| (place, name, value)),
            );
        }
        placed.sort_unstable_by_key(|(place, _, _)| *place);
        let mut steps = Self::default();
        for (_, name, value) in placed {
            steps.add(name, value, model)?;
        }
        add_settings(matches, &mut steps.steps)?;
        Ok(steps)
    }

    /// Adds the steps of one flag.
    fn add(&mut self, name: &str, value: &str, model: &Model) -> CliResult {
        let text = value.as_bytes().to_vec();
        let step = match name {
            "add_control" => add(text, PieceKind::Control),
            "add_user_defined" => add(text, PieceKind::UserDefined),
            "add_control_file" => return self.add_file(value, PieceKind::Control),
            "add_user_defined_file" => return self.add_file(value, PieceKind::UserDefined),
            "insert" => insert_step(value)?,
            "rename" => rename_step(value, &self.steps, model)?,
            "set_kind" => set_kind_step(value)?,
            _ => EditStep::Remove { text },
        };
        self.steps.push(step);
        Ok(())
    }

    fn add_file(&mut self, path: &str, kind: PieceKind) -> CliResult {
        for (line, text) in (1..).zip(list_files::visible_symbols(path)?) {
            let text = text.into_bytes();
            self.listed.insert(text.clone(), (path.to_owned(), line));
            self.steps.push(add(text, kind));
        }
        Ok(())
    }

    /// The error of applying the steps, with the file and the line if a text of a file is the
    /// cause.
    fn error(&self, error: EditError) -> CliError {
        let text = match &error {
            EditError::PieceExists { piece, .. } => piece,
            EditError::Model(ModelError::Piece { text, .. }) => text,
            _ => return error.into(),
        };
        match self.listed.get(text.as_bytes()) {
            Some((path, line)) => CliError::Usage(format!("{path}: line {line}: {error}")),
            None => error.into(),
        }
    }
}

fn add(text: Vec<u8>, kind: PieceKind) -> EditStep {
    EditStep::Add { text, kind }
}

/// ID:KIND:TEXT. The text can contain colons.
fn insert_step(value: &str) -> CliResult<EditStep> {
    let error = || args::invalid("insert", value, "ID:KIND:TEXT, for example 3:control:<pad>");
    let (id, rest) = value.split_once(':').ok_or_else(error)?;
    let (kind, text) = rest.split_once(':').ok_or_else(error)?;
    let id: u32 = id.parse().map_err(|_| error())?;
    Ok(EditStep::Insert {
        id: PieceId::new(id),
        text: text.as_bytes().to_vec(),
        kind: kind.parse().map_err(|_| error())?,
    })
}

/// OLD=NEW. Both texts can contain equals signs; the split is then the one whose OLD is a piece.
fn rename_step(value: &str, before: &[EditStep], model: &Model) -> CliResult<EditStep> {
    let splits: Vec<(&str, &str)> = splits_at_equals_signs(value).collect();
    let is_piece =
        |text: &str| model.piece_to_id(text).is_some() || is_made_by(before, text.as_bytes());
    let known: Vec<(&str, &str)> = splits
        .iter()
        .copied()
        .filter(|(old, _)| is_piece(old))
        .collect();
    match (&known[..], &splits[..]) {
        ([one], _) | ([], [one, ..]) => Ok(rename(*one)),
        ([], []) => Err(args::invalid("rename", value, "OLD=NEW")),
        _ => Err(args::invalid(
            "rename",
            value,
            "clear: more than one part before an equals sign is a piece",
        )),
    }
}

/// The splits at each equals sign for which both parts are not empty.
fn splits_at_equals_signs(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let signs = value.match_indices('=');
    let splits = signs.map(|(at, _)| (&value[..at], &value[at + 1..]));
    splits.filter(|(old, new)| !old.is_empty() && !new.is_empty())
}

fn rename((old, new): (&str, &str)) -> EditStep {
    EditStep::Rename {
        old: old.as_bytes().to_vec(),
        new: new.as_bytes().to_vec(),
    }
}

/// Whether a step makes a piece with this text.
fn is_made_by(steps: &[EditStep], wanted: &[u8]) -> bool {
    steps.iter().any(|step| match step {
        EditStep::Add { text, .. } | EditStep::Insert { text, .. } => text == wanted,
        EditStep::Rename { new, .. } => new == wanted,
        _ => false,
    })
}

/// PIECE=KIND. The piece can contain equals signs.
fn set_kind_step(value: &str) -> CliResult<EditStep> {
    let error = || args::invalid("set_kind", value, "PIECE=KIND, for example <sep>=control");
    let (text, kind) = value.rsplit_once('=').ok_or_else(error)?;
    Ok(EditStep::SetKind {
        text: text.as_bytes().to_vec(),
        kind: kind.parse().map_err(|_| error())?,
    })
}

/// The rules of the one of three flags that is given: a name, a file of rules, another model.
fn rules(
    matches: &ArgMatches,
    [name_flag, tsv_flag, model_flag]: [&str; 3],
    of_model: impl Fn(&Model) -> NormalizerSpec,
) -> CliResult<Option<NormalizerSpec>> {
    let [name, tsv, model] =
        [name_flag, tsv_flag, model_flag].map(|flag| args::non_empty(matches, flag));
    match (name, tsv, model) {
        (None, None, None) => Ok(None),
        (Some(name), None, None) => spec_of_name(name_flag, name).map(Some),
        (None, Some(path), None) => spec_of_tsv(path).map(Some),
        (None, None, Some(path)) => Ok(Some(of_model(&Model::open(path)?))),
        _ => Err(CliError::Usage(format!(
            "--{name_flag}, --{tsv_flag} and --{model_flag} exclude each other; give one of them"
        ))),
    }
}

/// Adds the special pieces, the rules and the flags.
fn add_settings(matches: &ArgMatches, steps: &mut Vec<EditStep>) -> CliResult {
    for (name, _, role) in ROLES {
        if let Some(text) = args::non_empty(matches, name) {
            let text = text.as_bytes().to_vec();
            steps.push(EditStep::SetSpecial { role, text });
        }
    }
    let of_normalizer = |model: &Model| model.normalizer_spec().clone();
    if let Some(rules) = rules(matches, RULES.map(|flags| flags.0), of_normalizer)? {
        steps.push(EditStep::SetNormalization { rules });
    }
    // A model without denormalizer changes decoded text as little as one without rules.
    let of_denormalizer = |model: &Model| model.denormalizer_spec().cloned().unwrap_or_default();
    if let Some(rules) = rules(matches, RULES.map(|flags| flags.1), of_denormalizer)? {
        steps.push(EditStep::SetDenormalization { rules });
    }
    for (name, _, flag) in FLAGS {
        if args::is_given(matches, name) {
            let value = args::is_on(matches, name)?;
            steps.push(EditStep::SetFlag { flag, value });
        }
    }
    Ok(())
}

/// Reports the effect of the edit on ids and texts.
fn report(messages: &Messages, original: &Model, edited: &EditedModel) {
    let ids = edited.ids();
    messages.say(&model_files::pieces_line(ids));
    let moved = ids.moved().count();
    messages.say(&format!(
        "old ids: {} unchanged, {} moved, {} removed",
        count(ids.kept().count() - moved),
        count(moved),
        count(ids.removed().count())
    ));
    let old_piece = |id| original.piece(id);
    let new_piece = |id| edited.model().piece(id);
    let lost = edited.no_longer_found().iter().copied();
    let found = edited.newly_found().iter().copied();
    let lists = [
        ("added", listed_pieces(ids.added().filter_map(new_piece))),
        (
            "removed",
            listed_pieces(ids.removed().filter_map(old_piece)),
        ),
        ("moved", moved_line(ids)),
        (
            "no longer found in text",
            listed_pieces(lost.filter_map(old_piece)),
        ),
        (
            "newly found in text",
            listed_pieces(found.filter_map(new_piece)),
        ),
    ];
    for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        messages.say(&format!("{name}: {list}"));
    }
    for line in text_lines(edited) {
        messages.say(&format!("texts: {line}"));
    }
    let rules_of = |model: &Model| {
        let spec = model.denormalizer_spec();
        spec.map_or(Vec::new(), |spec| spec.precompiled_charsmap().to_vec())
    };
    if rules_of(original) != rules_of(edited.model()) {
        messages.say(
            "decoding: the rules for decoded text differ, so every text can be decoded differently",
        );
    }
}

/// The first and the last id that moved; empty if none did.
fn moved_line(ids: &IdMap) -> String {
    let moved: Vec<(PieceId, PieceId)> = ids.moved().collect();
    match (moved.first(), moved.last()) {
        (Some((first, to)), Some((last, last_to))) => {
            format!("{first} is {to} now, ..., {last} is {last_to} now")
        }
        _ => String::new(),
    }
}

/// Which texts can have other pieces.
fn text_lines(edited: &EditedModel) -> Vec<String> {
    let change = edited.text_change();
    let same = match edited.ids().moved().next() {
        Some(_) => "the same pieces as before, with the new ids",
        None => "the same ids as before",
    };
    if change.is_none() {
        return vec![format!("every text has {same}")];
    }
    if change.changes_normalization() {
        return vec!["the normalization differs, so every text can have other pieces".to_owned()];
    }
    let mut lines = Vec::new();
    if change.texts().next().is_some() {
        let list = listed(change.texts());
        lines.push(format!(
            "texts that contain one of these can have other pieces: {list}"
        ));
    }
    if change.changes_unknown() {
        lines.push("texts with characters that are no pieces can have other pieces".to_owned());
    }
    lines.push(format!("all others have {same}"));
    lines
}

/// An edit that cannot be made is a usage error.
impl From<EditError> for CliError {
    fn from(error: EditError) -> Self {
        Self::Usage(match &error {
            EditError::NoSuchPiece { .. } => {
                format!("{error} (`spiece export-vocab` lists the pieces)")
            }
            EditError::PieceExists { .. } => format!("{error} (--set_kind, --rename, --remove)"),
            _ => error.to_string(),
        })
    }
}
