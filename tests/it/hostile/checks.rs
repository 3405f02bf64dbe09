//! The promises: what has to hold for any model and any text.

use spiece::{
    EncodeError, EncodeOptions, Encoder, Model, ModelType, Normalized, PieceId, PieceKind, Rng,
    SampleOptions, SampleReplacement, ScoredSampleOptions, TextNormalizer, Tokenizer,
};

/// N-best lists and samples are drawn from this much of a text: they take time that grows faster.
const SEARCHED: usize = 80;

/// Texts are cut so that all rules together can make at most so many bytes of them. What
/// normalization writes is bounded by the text times the longest target of a rule, and damaged
/// rules have targets of 20,000 bytes; so has the reference's result.
const MAX_NORMALIZED_BYTES: usize = 1 << 20;

/// Loads a model file and, if it can be loaded, does everything with it that can be done.
/// Gives whether it was loaded.
pub fn exercise(file: &[u8], texts: &[&[u8]], seed: u64) -> bool {
    // This makes tables before it knows whether the file is refused.
    let tokenizer = Tokenizer::from_bytes(file);
    let model = match (Model::from_bytes(file), &tokenizer) {
        (Ok(model), Ok(_)) => model,
        (Err(error), Err(same)) => {
            assert_eq!(error.to_string(), same.to_string());
            return false;
        }
        (model, _) => panic!(
            "the model: {:?}, the tokenizer: {:?}",
            model.err(),
            tokenizer.err()
        ),
    };
    check_round_trip(&model, file);
    if seed.is_multiple_of(16) {
        // Slow for a table whose rules have no end, which it finds out by following them.
        let _ = model.normalization_rules();
    }
    let normalizer = TextNormalizer::of_model(&model);
    let tokenizer = Tokenizer::new(model);
    for text in texts {
        let text = start_of(text, tokenizer.model().unwrap());
        check_normalizer(&normalizer, text);
        check_text(&tokenizer, text, seed);
    }
    check_ids(&tokenizer, seed);
    true
}

/// What was read from a file is written as it was, and means the same when it is read again.
pub fn check_round_trip(model: &Model, file: &[u8]) {
    let saved = model.to_bytes();
    assert!(saved == file, "saving changed the file");
    let again = Model::from_bytes(&saved).expect("what was saved can be read");
    assert_same(model, &again);
}

/// The start of a text of which the rules of a model cannot make too much.
pub fn start_of<'t>(text: &'t [u8], model: &Model) -> &'t [u8] {
    let normalizer = longest_target(model.normalizer_spec().precompiled_charsmap());
    &text[..text
        .len()
        .min(MAX_NORMALIZED_BYTES / normalizer / denormalizer_growth(model))]
}

/// The most bytes that the denormalizer of a model makes of one.
fn denormalizer_growth(model: &Model) -> usize {
    let spec = model.denormalizer_spec();
    spec.map_or(1, |spec| longest_target(spec.precompiled_charsmap()))
}

/// The bytes of the longest target in a charsmap, or of a whitespace mark.
fn longest_target(charsmap: &[u8]) -> usize {
    let parts = charsmap.split_first_chunk::<4>();
    let pool = parts.and_then(|(size, rest)| {
        let trie = usize::try_from(u32::from_le_bytes(*size)).ok()?;
        rest.get(trie..)
    });
    let targets = pool.unwrap_or_default().split(|byte| *byte == 0);
    targets.map(<[u8]>::len).max().unwrap_or(0).max(3)
}

/// Whether two models are the same in every piece.
pub fn assert_same(a: &Model, b: &Model) {
    assert_eq!(a.model_type(), b.model_type());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.pieces().zip(b.pieces()) {
        assert_eq!(
            (a.text, a.score.to_bits(), a.kind),
            (b.text, b.score.to_bits(), b.kind)
        );
    }
    assert_eq!(a.to_vocab(true), b.to_vocab(true));
}

/// Any text: offsets lie in it and never go back.
pub fn check_normalizer(normalizer: &TextNormalizer, text: &[u8]) {
    let normalized = normalizer.normalize_with_offsets(text);
    let mut before = 0;
    for at in 0..=normalized.as_bytes().len() {
        let origin = normalized.to_original(at);
        assert!(
            before <= origin && origin <= text.len(),
            "offset {origin} after {before}"
        );
        before = origin;
    }
    for at in 0..=text.len() {
        assert!(normalized.from_original(at) <= normalized.as_bytes().len());
    }
    assert_eq!(normalizer.normalize(text), lossy(normalized.as_bytes()));
}

/// Any text, any model: all ways to encode agree, and what comes out can be decoded.
pub fn check_text(tokenizer: &Tokenizer, text: &[u8], seed: u64) {
    let mut warm = tokenizer.encoder();
    let ids = warm.encode(text).to_vec();
    assert_eq!(warm.encode(text), ids, "a warm encoder");
    // Two at a time: the second has buffers that nothing was remembered in.
    assert_eq!(tokenizer.encoder().encode(text), ids, "a fresh encoder");
    assert_eq!(warm.count(text), ids.len());
    let options = EncodeOptions::default();
    let long = tokenizer.encode_long(text, &options).unwrap();
    assert_eq!(long, ids, "a long text");
    let batch = tokenizer.encode_batch(&[text, text], &options).unwrap();
    assert_eq!(batch, [&ids[..], &ids[..]], "a batch");

    check_lines(&mut warm, text);

    let normalized = tokenizer.normalize_with_offsets(text);
    assert_eq!(warm.normalize(text), normalized.as_bytes());
    let tokens = warm.tokens(text);
    assert!(
        tokens
            .as_slice()
            .iter()
            .map(|token| token.id)
            .eq(ids.iter().copied()),
        "ids of tokens"
    );
    check_spans(tokens, text, &normalized);
    check_decoding(tokenizer, &ids);
    let searched = &text[..text.len().min(SEARCHED)];
    check_nbest(tokenizer, searched, seed);
    check_samples(tokenizer, searched, seed);
    check_probabilities(tokenizer, searched, seed);
}

/// Any text as the first of several lines: each line has the ids that it has alone.
pub fn check_lines(encoder: &mut Encoder<'_>, text: &[u8]) {
    let start = &text[..text.len().min(SEARCHED)];
    let texts = [text, b"", start].join(&b'\n');
    let lines = texts.split(|byte| *byte == b'\n');
    let mut expected: Vec<Vec<PieceId>> = lines.map(|line| encoder.encode(line).to_vec()).collect();
    // The last line feed ends a line and begins none.
    if texts.ends_with(b"\n") {
        expected.pop();
    }
    let lines = encoder.encode_lines(&texts);
    assert_eq!(lines.len(), expected.len());
    assert!(lines.iter().eq(expected), "the ids of lines");
}

/// Spans stand side by side, from the first place that was not removed to the last.
fn check_spans(tokens: spiece::Tokens<'_>, text: &[u8], normalized: &Normalized) {
    let mut end = normalized.to_original(0);
    for (index, token) in tokens.iter().enumerate() {
        let span = token.span();
        assert!(
            span.start <= span.end && span.end <= text.len(),
            "{token:?} of {} bytes",
            text.len()
        );
        assert_eq!(span.start, end, "{token:?} is not beside the one before");
        assert_eq!(token.token(), tokens.as_slice()[index]);
        assert_eq!(token.surface(), &text[span.clone()]);
        end = span.end;
    }
    assert_eq!(
        end,
        normalized.to_original(normalized.as_bytes().len()),
        "the end of the last token"
    );
}

/// Ids decode at once as they do one by one.
pub fn check_decoding(tokenizer: &Tokenizer, ids: &[PieceId]) {
    let whole = tokenizer.decode(ids).expect("ids of the model");
    let mut decoder = tokenizer.incremental_decoder();
    let mut parts = String::new();
    for id in ids {
        parts += decoder.push(*id).expect("an id of the model");
    }
    parts += decoder.finish();
    let bytes = tokenizer.decode_to_bytes(ids).expect("ids of the model");
    assert_eq!(lossy(&bytes), whole);
    // A character whose bytes are in two pieces is text at once, but not one by one.
    if std::str::from_utf8(&bytes).is_ok() && all_pieces_are_text(tokenizer, ids) {
        assert_eq!(parts, whole, "one by one");
    }
}

fn all_pieces_are_text(tokenizer: &Tokenizer, ids: &[PieceId]) -> bool {
    let is_text = |id: &PieceId| {
        tokenizer
            .model()
            .unwrap()
            .piece(*id)
            .is_some_and(|p| std::str::from_utf8(p.text).is_ok())
    };
    ids.iter().all(is_text)
}

/// Any ids decode, and those that there are not are refused.
fn check_ids(tokenizer: &Tokenizer, seed: u64) {
    let pieces = u32::try_from(tokenizer.model().unwrap().len()).expect("pieces are numbered");
    let mut state = seed | 1;
    let ids: Vec<PieceId> = (0..40)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            PieceId::new(u32::try_from(state >> 33).unwrap_or(0) % pieces)
        })
        .collect();
    let mut rest = MAX_NORMALIZED_BYTES / denormalizer_growth(tokenizer.model().unwrap());
    let is_bounded = |id: &PieceId| {
        let bytes = tokenizer.id_to_piece(*id).map_or(0, <[u8]>::len);
        let fits = bytes <= rest;
        rest = rest.saturating_sub(bytes);
        fits
    };
    let ids: Vec<PieceId> = ids.into_iter().filter(is_bounded).collect();
    check_decoding(tokenizer, &ids);
    for id in [pieces, u32::MAX] {
        assert!(tokenizer.decode([PieceId::new(id)]).is_err());
        assert!(
            tokenizer
                .incremental_decoder()
                .push(PieceId::new(id))
                .is_err()
        );
    }
    let _ = tokenizer.decode_pieces(&["", "\u{2581}a", "<0xE3>", "<unk>", "\0"]);
    for id in [
        tokenizer.unk_id(),
        tokenizer.bos_id(),
        tokenizer.eos_id(),
        tokenizer.pad_id(),
    ]
    .into_iter()
    .flatten()
    {
        assert!(tokenizer.model().unwrap().piece(id).is_some());
    }
}

fn check_nbest(tokenizer: &Tokenizer, text: &[u8], seed: u64) {
    let mut encoder = tokenizer.encoder();
    let size = [1, 2, 10, 0, 33, 513, usize::MAX][usize::try_from(seed % 7).unwrap_or(0)];
    let is_unigram = tokenizer.model().unwrap().model_type() == ModelType::Unigram;
    match encoder.nbest(text, size) {
        Ok(list) => {
            assert!(is_unigram && size <= 512 && list.len() <= size.max(1));
            for (ids, _) in &list {
                assert!(tokenizer.decode(ids).is_ok());
            }
        }
        Err(EncodeError::NoNbest) => assert!(!is_unigram),
        Err(EncodeError::TooMany { .. }) => assert!(size > 512),
        Err(EncodeError::TooManyCandidates { .. }) => {
            assert!(may_have_too_many_candidates(tokenizer, text))
        }
        Err(error) => panic!("{error}"),
    }
    if size <= 512 && is_unigram {
        let normalized = tokenizer.normalize_with_offsets(text);
        let visited = encoder.for_each_nbest(text, size, |_, tokens| {
            check_spans(tokens, text, &normalized)
        });
        assert!(visited.is_ok() || may_have_too_many_candidates(tokenizer, text));
    }
}

/// Whether the pieces at all places of a text, or the pairs of those that touch, can be more than
/// are searched: a strange model can make a long text of a short one.
fn may_have_too_many_candidates(tokenizer: &Tokenizer, text: &[u8]) -> bool {
    let (places, pieces) = (
        tokenizer.normalize(text).len(),
        tokenizer.model().unwrap().len() + 1,
    );
    places.saturating_mul(pieces) > 1 << 23
        || places.saturating_mul(pieces).saturating_mul(pieces) > 1 << 28
}

fn check_samples(tokenizer: &Tokenizer, text: &[u8], seed: u64) {
    let mut encoder = tokenizer.encoder();
    let alpha: f32 = [
        0.1,
        0.0,
        1.0,
        0.5,
        1e30,
        f32::MIN_POSITIVE,
        f32::NAN,
        f32::INFINITY,
        -1.0,
    ][usize::try_from(seed / 7 % 9).unwrap_or(0)];
    let nbest_size =
        [-1, 0, 1, 4, 513, i32::MIN, i32::MAX][usize::try_from(seed / 63 % 7).unwrap_or(0)];
    let model_type = tokenizer.model().unwrap().model_type();
    let is_sampled = matches!(model_type, ModelType::Unigram | ModelType::Bpe);
    let mut rng = Rng::with_seed(seed);
    let sample = SampleOptions::from_reference(model_type, nbest_size, alpha)
        .and_then(|options| encoder.sample(text, &options, &mut rng));
    let ids = match sample {
        Ok(tokens) => {
            assert!(is_sampled);
            check_spans(tokens, text, &tokenizer.normalize_with_offsets(text));
            tokens.as_slice().iter().map(|token| token.id).collect()
        }
        Err(EncodeError::Alpha { .. }) => {
            assert!(!alpha.is_finite() || alpha < 0.0);
            Vec::new()
        }
        Err(EncodeError::TooMany { .. }) => {
            assert!(nbest_size > 512);
            Vec::new()
        }
        Err(EncodeError::TooManyCandidates { .. }) => {
            assert!(may_have_too_many_candidates(tokenizer, text));
            Vec::new()
        }
        Err(EncodeError::NoSampling) => {
            assert!(!is_sampled);
            Vec::new()
        }
        Err(error) => panic!("{error}"),
    };
    assert!(tokenizer.decode(&ids).is_ok());
}

/// Entropies and scored samples are numbers, or there is a reason why not; without replacement
/// nothing is drawn twice.
fn check_probabilities(tokenizer: &Tokenizer, text: &[u8], seed: u64) {
    let place = usize::try_from(seed % 6).unwrap_or(0);
    let alpha = [0.0, 0.1, 1.0, 1e30, f32::NAN, -1.0][place];
    let replacement = match seed / 6 % 3 {
        0 => SampleReplacement::With,
        step => SampleReplacement::Without {
            include_best: step == 1,
        },
    };
    let options = ScoredSampleOptions::default()
        .with_samples(9)
        .with_alpha(alpha)
        .with_replacement(replacement);
    let mut encoder = tokenizer.encoder();
    let drawn = encoder.sample_with_scores(text, &options, &mut Rng::with_seed(seed));
    let entropy = encoder.entropy(text, alpha);
    // With scores so large, rounding in 32 bits alone makes probabilities of a line far above 1, or
    // infinite.
    let is_extreme = |score: f32| score.is_nan() || score.abs() > 1e6;
    let pieces = || tokenizer.model().unwrap().pieces();
    // The score of an unknown character is 10 below the lowest one of a normal piece, or the
    // highest float without any.
    let has_normal_piece = pieces().any(|piece| piece.kind == PieceKind::Normal);
    let has_extreme_scores = !has_normal_piece || pieces().any(|piece| is_extreme(piece.score));
    let is_explained = |error: &EncodeError| match error {
        EncodeError::NoProbabilities { .. } => {
            tokenizer.model().unwrap().model_type() != ModelType::Unigram
        }
        EncodeError::Alpha { .. } => place > 2 || has_extreme_scores,
        EncodeError::TooManyCandidates { .. } => may_have_too_many_candidates(tokenizer, text),
        _ => false,
    };
    match entropy {
        Ok(entropy) => assert!(entropy.is_finite()),
        Err(error) => assert!(is_explained(&error), "{error}"),
    }
    match drawn {
        Ok(drawn) if replacement == SampleReplacement::With => {
            assert!(drawn.is_empty() || drawn.len() == 9);
        }
        Ok(drawn) => {
            let is_score = |score: f32| score <= 0.0 || has_extreme_scores;
            assert!(drawn.iter().all(|(_, score)| is_score(*score)));
            assert!(drawn.len() <= 9);
            // Unknown characters in a row have one id, so segmentations with them can have equal
            // ids.
            let unknown = pieces().find(|piece| piece.kind == PieceKind::Unknown);
            let unknown = unknown.map(|piece| piece.id);
            let has_unknown = |ids: &[PieceId]| ids.iter().any(|id| Some(*id) == unknown);
            let mut known = drawn.iter().filter(|(ids, _)| !has_unknown(ids));
            let mut distinct = std::collections::HashSet::new();
            assert!(known.all(|(ids, _)| distinct.insert(ids)), "{text:?}");
        }
        Err(error) => assert!(is_explained(&error), "{error}"),
    }
}

/// What a good model promises beyond what any model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Nothing.
    Nothing,
    /// Decoding gives the normalized text back, but for spaces at its start.
    Normalized,
    /// Decoding gives the text back, but for what is no text.
    Text,
}

/// Any text, a good model: decoding undoes encoding.
pub fn check_good_text(tokenizer: &Tokenizer, text: &[u8], promise: Promise) {
    let ids = tokenizer.encode(text);
    let is_reserved = |id: &PieceId| match tokenizer.model().unwrap().piece(*id) {
        Some(piece) => matches!(piece.kind, PieceKind::Control | PieceKind::Unknown),
        None => true,
    };
    if promise != Promise::Nothing {
        assert!(
            !ids.iter().any(is_reserved),
            "text yields text only: {ids:?}"
        );
    }
    let decoded = tokenizer.decode(&ids).expect("ids of the model");
    match promise {
        Promise::Nothing => {}
        Promise::Normalized => {
            let expected = tokenizer.normalize(text).replace('\u{2581}', " ");
            assert_eq!(
                decoded.trim_start_matches(' '),
                expected.trim_start_matches(' ')
            );
        }
        Promise::Text => assert_eq!(decoded, lossy(text).replace('\u{2581}', " ")),
    }
}

/// A text that several threads share: they make of it what one does.
pub fn check_long_text(tokenizer: &Tokenizer, text: &[u8]) {
    let ids = tokenizer.encode(text);
    let long = tokenizer.encode_long(text, &EncodeOptions::default());
    assert_eq!(long.unwrap(), ids);
    check_decoding(tokenizer, &ids);
}

/// The text that bytes are, with U+FFFD for each byte that belongs to no character.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let (good, bad) = rest.split_at(error.valid_up_to());
        text += std::str::from_utf8(good).expect("the standard library says so");
        text.push('\u{FFFD}');
        rest = &bad[1..];
    }
    text + std::str::from_utf8(rest).expect("no error is left")
}
