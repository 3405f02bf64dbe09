//! What edits, merges, extensions and pruning promise, checked on a model and on texts by encoding.
//! The integration tests, the fuzz targets and the unit tests of `adapt` use it.

use std::collections::HashSet;

use spiece::adapt::{
    EditStep, EditedModel, ExtendedModel, IdMap, MergedModel, PrunedModel, TextChange,
};
use spiece::{Model, ModelType, Piece, PieceId, PieceKind, Tokenizer};

/// All texts together are at most so long after normalization: a rule of a hostile charsmap can
/// replace a character of all pieces by thousands of bytes.
const MAX_NORMALIZED_BYTES: usize = 1 << 22;

/// In a normalized text of at most this many bytes, the sums of scores of a unigram model stay
/// below 100,000 in magnitude. In longer ones the encoder may subtract a constant from all sums, as
/// the reference does, at a place that depends on all pieces that the text contains; pruning
/// promises nothing of them.
fn longest_promised(model: &Model) -> f32 {
    if model.model_type() != ModelType::Unigram {
        return f32::INFINITY;
    }
    let normal = model
        .pieces()
        .filter(|piece| piece.kind == PieceKind::Normal);
    let greatest = normal.map(|piece| piece.score.abs()).max_by(f32::total_cmp);
    // An unknown character has 10 less than the lowest score, and at least a byte. A score that is
    // NaN is the greatest in this order, and `max` gives 0 then.
    (100_000.0 / (greatest.unwrap_or(0.0) + 10.0)).max(0.0)
}

/// Checks an edited model: pieces that no step names are unchanged, and so are the pieces of the
/// texts that do not meet the conditions.
pub fn assert_edited(
    original: &Model,
    edited: &EditedModel,
    steps: &[EditStep],
    lines: &[impl AsRef<[u8]>],
) {
    let named: HashSet<&[u8]> = steps
        .iter()
        .filter_map(|step| match step {
            EditStep::Rename { old, .. } => Some(old),
            EditStep::Remove { text } | EditStep::SetKind { text, .. } => Some(text),
            _ => None,
        })
        .map(Vec::as_slice)
        .collect();
    for piece in original.pieces() {
        if !named.contains(piece.text) {
            assert_unchanged(piece, edited.ids(), edited.model());
        }
    }
    let comparison = Comparison::new(original, edited.model(), edited.ids(), edited.text_change());
    comparison.check_texts(lines, false, &[]);
}

/// Checks a merged model: the first model's pieces are unchanged, all added scores are below
/// theirs, texts without added pieces keep their ids, and no text has a new boundary.
pub fn assert_merged(first: &Model, merged: &MergedModel, lines: &[impl AsRef<[u8]>]) {
    let model = merged.model();
    for piece in first.pieces() {
        assert_unchanged(piece, merged.ids(), model);
        assert_eq!(merged.ids().new_id(piece.id), Some(piece.id));
    }
    let lowest = lowest_score(first.pieces());
    let added = || model.pieces().skip(first.len());
    assert!(
        added().all(|piece| piece.score < lowest),
        "scores of added pieces are below all others"
    );
    let symbols = added().filter(|piece| piece.kind == PieceKind::UserDefined);
    let symbols: Vec<&[u8]> = symbols.map(|piece| piece.text).collect();
    let comparison = Comparison::new(first, model, merged.ids(), merged.text_change());
    comparison.check_texts(lines, merged.keeps_boundaries(), &symbols);
}

/// Checks an extended model against its base: the model with the pieces to reuse and the added
/// special pieces, before learning.
pub fn assert_extended(
    old: &Model,
    base: &Model,
    extended: &ExtendedModel,
    lines: &[impl AsRef<[u8]>],
) {
    let model = extended.model();
    for (old_id, new_id) in extended.ids().kept() {
        assert_eq!(old_id, new_id);
        assert_unchanged(old.piece(old_id).unwrap(), extended.ids(), model);
    }
    let mut lowest = lowest_score(base.pieces());
    for learned in extended.pieces() {
        let piece = model.piece(learned.id).unwrap();
        assert!(
            piece.score < lowest,
            "{piece:?} has a score below all pieces before"
        );
        lowest = piece.score;
    }
    let learned: HashSet<PieceId> = extended.pieces().iter().map(|piece| piece.id).collect();
    let base_found = found(base);
    for (piece, is_found) in model.pieces().zip(found(model)) {
        let was_found = base_found.get(piece.id.get() as usize) == Some(&true);
        assert!(
            is_found || !learned.contains(&piece.id),
            "{piece:?} is reachable"
        );
        assert!(is_found || !was_found, "{piece:?} is still reachable");
    }
    // Ids of the base stay.
    let ids = base
        .extend(spiece::Corpus::texts([""; 0]), &nothing(base))
        .unwrap();
    let comparison = Comparison::new(base, model, ids.ids(), extended.text_change());
    comparison.check_texts(lines, extended.keeps_boundaries(), &[]);
}

/// Options that learn nothing.
fn nothing(model: &Model) -> spiece::adapt::ExtendOptions {
    spiece::adapt::ExtendOptions::new(model, spiece::adapt::ExtendSize::Learn(0))
}

/// Checks a pruned model: its pieces are those of the original in their order, none became
/// unreachable, and no text gives an id of the tail. With `keeps_lines`, all lines have the same
/// pieces.
pub fn assert_pruned(
    original: &Model,
    pruned: &PrunedModel,
    keeps_lines: bool,
    lines: &[impl AsRef<[u8]>],
) {
    let (model, ids) = (pruned.model(), pruned.ids());
    let is_removable =
        |piece: &Piece<'_>| matches!(piece.kind, PieceKind::Normal | PieceKind::Unused);
    let is_tail = |id: PieceId| id.get() as usize >= pruned.rows();
    for new in model.pieces() {
        let old = original.piece(ids.old_id(new.id).unwrap()).unwrap();
        let has_kind = match is_tail(new.id) {
            true => new.kind == PieceKind::Unused && is_removable(&old),
            false => new.kind == old.kind,
        };
        let is_same = old.text == new.text && old.score.to_bits() == new.score.to_bits();
        assert!(has_kind && is_same, "{old:?} became {new:?}");
    }
    for old in original.pieces() {
        let is_kept = ids.new_id(old.id).is_some();
        assert!(
            is_kept || is_removable(&old),
            "{old:?} stays, because of its kind"
        );
    }
    let front: Vec<_> = model
        .pieces()
        .take(pruned.rows())
        .map(|piece| ids.old_id(piece.id))
        .collect();
    assert!(
        front.is_sorted(),
        "the pieces before the tail are in the old order"
    );
    // The pruned model has the lowest score, too.
    let longest = longest_promised(original);
    let old_found = found(original);
    for (piece, is_found) in model.pieces().zip(found(model)).take(pruned.rows()) {
        let was_found = old_found[ids.old_id(piece.id).unwrap().get() as usize];
        assert!(
            is_found || !was_found || piece.text.len() as f32 > longest,
            "{piece:?} is still reachable"
        );
    }
    let [old, new] = [original, model].map(|model| Tokenizer::new(model.clone()));
    for line in lines {
        let given = new.encode(line.as_ref());
        assert!(
            !given.iter().any(|id| is_tail(*id)),
            "text gives an id of the tail"
        );
        let is_promised = keeps_lines && old.encoder().normalize(line).len() as f32 <= longest;
        assert!(
            !is_promised || is_mapped(ids, &old.encode(line.as_ref()), &given),
            "the line {:?} has other pieces",
            String::from_utf8_lossy(line.as_ref())
        );
    }
}

fn assert_unchanged(old: Piece<'_>, ids: &IdMap, new: &Model) {
    let piece = ids.new_id(old.id).and_then(|id| new.piece(id));
    let is_same = piece.is_some_and(|piece| {
        piece.text == old.text
            && piece.kind == old.kind
            && piece.score.to_bits() == old.score.to_bits()
    });
    assert!(is_same, "{old:?} became {piece:?}");
}

fn lowest_score<'m>(pieces: impl Iterator<Item = Piece<'m>>) -> f32 {
    pieces
        .map(|piece| piece.score)
        .fold(f32::INFINITY, f32::min)
}

fn is_mapped(ids: &IdMap, old: &[PieceId], new: &[PieceId]) -> bool {
    old.iter()
        .map(|id| ids.new_id(*id))
        .eq(new.iter().copied().map(Some))
}

/// By id, whether a piece is given for its own text, taken as normalized text.
fn found(model: &Model) -> Vec<bool> {
    let mut editor = model.edit();
    editor.set_normalization_rules("identity", b"");
    editor.set_add_dummy_prefix(false);
    editor.set_remove_extra_whitespaces(false);
    editor.set_escape_whitespaces(false);
    let tokenizer = Tokenizer::new(editor.finish().unwrap());
    let mut encoder = tokenizer.encoder();
    model
        .pieces()
        .map(|piece| is_for_text(piece.kind) && encoder.encode(piece.text) == [piece.id])
        .collect()
}

fn is_for_text(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Normal | PieceKind::UserDefined)
}

/// Encodes texts with a model and with a changed one.
struct Comparison<'c> {
    old: Tokenizer,
    new: Tokenizer,
    ids: &'c IdMap,
    change: &'c TextChange,
}

impl<'c> Comparison<'c> {
    fn new(old: &Model, new: &Model, ids: &'c IdMap, change: &'c TextChange) -> Self {
        let [old, new] = [old, new].map(|model| Tokenizer::new(model.clone()));
        Self {
            old,
            new,
            ids,
            change,
        }
    }

    /// Checks lines, and the text of each piece of both models. Texts that contain one of `symbols`
    /// may have new boundaries.
    fn check_texts(&self, lines: &[impl AsRef<[u8]>], keeps_boundaries: bool, symbols: &[&[u8]]) {
        let pieces = self
            .old
            .model()
            .unwrap()
            .pieces()
            .chain(self.new.model().unwrap().pieces());
        let raw = |piece: Piece<'_>| match str::from_utf8(piece.text) {
            Ok(text) => text.replace('\u{2581}', " ").into_bytes(),
            Err(_) => piece.text.to_vec(),
        };
        let lines = lines.iter().map(|line| line.as_ref().to_vec());
        let mut bytes = 0;
        for text in lines.chain(pieces.map(raw)) {
            let normalized = self.old.encoder().normalize(&text).to_vec();
            bytes += normalized.len();
            if bytes > MAX_NORMALIZED_BYTES {
                return;
            }
            let shown = String::from_utf8_lossy(&text);
            let has = |part: &[u8]| contains(&text, part) || contains(&normalized, part);
            let old = self.old.encode_to_tokens(&text);
            let new = self.new.encode_to_tokens(&text);
            let ids = |tokens: &[spiece::Token]| -> Vec<PieceId> {
                tokens.iter().map(|token| token.id).collect()
            };
            if !is_mapped(self.ids, &ids(&old), &ids(&new)) {
                let has_unknown = old.iter().any(|token| self.is_unknown(token.id));
                let can_change = self.change.changes_normalization()
                    || (self.change.changes_unknown() && has_unknown)
                    || self.change.texts().any(has);
                assert!(can_change, "{shown:?} has other pieces");
            }
            if !keeps_boundaries {
                continue;
            }
            // A run of unknown characters, or of bytes, counts as its characters.
            let boundaries: HashSet<usize> = old
                .iter()
                .flat_map(|token| match self.is_unknown(token.id) {
                    true => token.begin..=token.end,
                    false => token.begin..=token.begin,
                })
                .collect();
            let is_new = |token: &spiece::Token| !boundaries.contains(&token.begin);
            if new.iter().any(is_new) {
                let has_symbol = symbols.iter().any(|symbol| has(symbol));
                assert!(has_symbol, "{shown:?} has a new boundary");
            }
        }
    }

    /// Whether an id stands for an unknown character, or a byte of one.
    fn is_unknown(&self, id: PieceId) -> bool {
        let piece = self.old.model().unwrap().piece(id);
        piece.is_none_or(|piece| matches!(piece.kind, PieceKind::Unknown | PieceKind::Byte))
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}
