//! The class `TokenizersBackend`, which follows the settings of the model: its normalizer, scores and
//! user-defined symbols.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::stages::{
    FolderStages, FolderTemplate, bpe, metaspace, owned, replace_matches, replace_text, splits,
    step, unigram,
};
use super::{FolderSettings, FolderToken};
use crate::formats::FormatError;
use crate::formats::tokenizer_json::{JsonMerges, JsonModel};
use crate::model::ModelType;
use crate::piece::PieceKind;

pub(super) fn backend<'m>(settings: &FolderSettings<'m>) -> Result<FolderStages<'m>, FormatError> {
    let is_unigram = settings.pieces.model.model_type() == ModelType::Unigram;
    Ok(of_model(settings, is_unigram))
}

/// A subclass of a class for unigram models that has no stages of its own.
pub(super) fn unigram_backend<'m>(
    settings: &FolderSettings<'m>,
) -> Result<FolderStages<'m>, FormatError> {
    Ok(of_model(settings, true))
}

fn of_model<'m>(settings: &FolderSettings<'m>, is_unigram: bool) -> FolderStages<'m> {
    let pieces = settings.pieces;
    let spec = pieces.model.normalizer_spec();
    let byte_fallback = pieces.model.trainer_spec().byte_fallback();
    let names = match is_unigram {
        true => pieces
            .pieces
            .iter()
            .map(|piece| piece.text.to_owned())
            .collect(),
        false => names_of_pieces(settings),
    };
    let mut model = match is_unigram {
        true => unigram(pieces.scores(), settings.unknown_id(), byte_fallback),
        false => bpe_by_score(settings, &names),
    };
    let named = pieces.pieces.iter().zip(&names);
    let symbols = named.filter(|(piece, _)| piece.kind == PieceKind::UserDefined);
    let mut symbols: Vec<&str> = symbols.map(|(_, name)| &**name).collect();
    symbols.sort_by_key(|symbol| Reverse(symbol.chars().count()));
    // Symbols are parts of their own, which are looked up whole.
    model.ignore_merges = Some(!is_unigram && !symbols.is_empty());

    let is_legacy = settings.bool("legacy", true);
    let adds_prefix = spec.add_dummy_prefix();
    let mut normalizer: Vec<Value> = pieces.rules().into_iter().collect();
    if spec.remove_extra_whitespaces() {
        normalizer.push(replace_matches("\\A +| +\\z", ""));
        normalizer.push(replace_matches(" {2,}", " "));
    }
    if spec.escape_whitespaces() {
        normalizer.push(replace_text(" ", "▁"));
    }
    let mut pre_tokenizer = Vec::new();
    if adds_prefix {
        if is_legacy {
            // The pre-tokenizer puts no mark before one.
            normalizer.push(replace_matches("\\A▁", "▁▁"));
        }
        pre_tokenizer.push(metaspace(if is_legacy { "always" } else { "first" }, false));
    }
    if !symbols.is_empty() {
        let expressions: Vec<String> = symbols.iter().map(|symbol| escaped(symbol)).collect();
        pre_tokenizer.push(json!({
            "type": "Split", "pattern": {"Regex": expressions.join("|")}, "behavior": "Isolated", "invert": false
        }));
    }
    let mut decoder = vec![replace_text("▁", " ")];
    decoder.extend(byte_fallback.then(|| step("ByteFallback")));
    if adds_prefix {
        decoder.push(step("Fuse"));
        decoder.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    } else if byte_fallback {
        decoder.push(step("Fuse"));
    }
    let own = pieces.pieces.iter();
    let own = own.filter(|piece| piece.kind == PieceKind::UserDefined);
    let own: HashSet<&str> = own.map(|piece| piece.text).collect();
    let mut extra = settings.symbols();
    extra.retain(|token| !own.contains(&*token.text));
    // With a prefix, listed tokens are found in the text as it is.
    let listed = adds_prefix.then(|| {
        let listed = settings.listed.iter().cloned();
        let as_is = listed.map(|(id, token)| {
            let normalized = Some(false);
            (
                id,
                FolderToken {
                    normalized,
                    ..token
                },
            )
        });
        as_is.collect()
    });
    FolderStages {
        normalizer,
        pre_tokenizer,
        decoder,
        model,
        extra,
        template: FolderTemplate::BySettings,
        listed,
    }
}

/// The names of the pieces by id: a listed token gives its name to the piece of its id, unless
/// another piece has that name and keeps it.
fn names_of_pieces(settings: &FolderSettings<'_>) -> Vec<String> {
    let pieces = settings.pieces;
    let mut names: Vec<String> = pieces
        .pieces
        .iter()
        .map(|piece| piece.text.to_owned())
        .collect();
    let listed: HashMap<u64, &str> = { settings.listed.iter() }
        .map(|(id, token)| (*id, &*token.text))
        .collect();
    let own = pieces.ids();
    let kept = own
        .iter()
        .filter(|(_, id)| !listed.contains_key(&u64::from(*id)));
    let kept: HashSet<&str> = kept.map(|(text, _)| &**text).collect();
    for (id, name) in &listed {
        let place = usize::try_from(*id).ok().and_then(|id| names.get_mut(id));
        if let Some(place) = place.filter(|_| !kept.contains(name)) {
            *place = (*name).to_owned();
        }
    }
    names
}

/// A BPE model in which pairs of normal pieces merge: first those of the piece with the larger score,
/// then with the smaller id, then with the smaller left part.
fn bpe_by_score<'m>(settings: &FolderSettings<'m>, names: &[String]) -> JsonModel<'m> {
    let pieces = settings.pieces;
    let own = pieces.ids();
    let named = own
        .iter()
        .filter_map(|(_, id)| Some((&**names.get(*id as usize)?, *id)));
    let named: Vec<(&str, u32)> = named.collect();
    // Of equal names, the last one counts.
    let last: HashMap<&str, u32> = named.iter().copied().collect();
    let vocab = named.iter().filter(|(name, id)| last.get(name) == Some(id));
    let vocab: Vec<(&str, u32)> = vocab.copied().collect();
    let mut normal: HashMap<&str, (f32, u32)> = HashMap::new();
    for (name, id) in &vocab {
        let piece = pieces.pieces.get(*id as usize);
        if let Some(piece) = piece.filter(|piece| piece.kind == PieceKind::Normal) {
            normal.insert(name, (piece.score, *id));
        }
    }
    let mut merges: Vec<(f32, u32, [&str; 2])> = Vec::new();
    for (name, (score, id)) in &normal {
        let pairs = splits(name, |part| normal.contains_key(part));
        merges.extend(pairs.map(|pair| (*score, *id, pair)));
    }
    merges.sort_unstable_by(|left, right| {
        let by_score = right.0.total_cmp(&left.0);
        by_score
            .then(left.1.cmp(&right.1))
            .then(left.2.cmp(&right.2))
    });
    let merges = merges.into_iter().map(|(_, _, pair)| pair.map(owned));
    let trainer = pieces.model.trainer_spec();
    let unknown = String::from_utf8_lossy(trainer.unk_piece()).into_owned();
    let vocab = vocab.into_iter().map(|(name, id)| (owned(name), id));
    bpe(
        vocab.collect(),
        JsonMerges::new(merges),
        Some(unknown),
        trainer.byte_fallback(),
    )
}

/// A text as an expression that matches it, as Python's `re.escape` writes it.
fn escaped(text: &str) -> String {
    let mut expression = String::with_capacity(text.len());
    for c in text.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c) {
            expression.push('\\');
        }
        expression.push(c);
    }
    expression
}
