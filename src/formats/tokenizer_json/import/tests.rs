use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::formats::{Converted, JsonOptions, ReasonKind};
use crate::{Model, Tokenizer};

/// The `tokenizer.json` of the golden model of Llama's options, changed by `change`, as a model.
fn read_changed(change: impl FnOnce(&mut Value)) -> Converted<Model> {
    let model = Model::from_bytes(include_bytes!("../../../../testdata/golden/llama2.model"));
    let written = model.unwrap().to_tokenizer_json(&JsonOptions::default());
    let mut json: Value = serde_json::from_slice(&written.unwrap().json).unwrap();
    change(&mut json);
    let bytes = serde_json::to_vec(&json).unwrap();
    Model::from_tokenizer_json(&bytes).unwrap()
}

fn kinds(converted: &Converted<Model>) -> Vec<ReasonKind> {
    let reasons = converted.verdict.reasons().iter();
    reasons.map(|reason| reason.kind).collect()
}

fn replace_space() -> Value {
    json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"})
}

#[test]
fn the_shape_of_llama_is_exact() {
    let converted = read_changed(|json| {
        let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
        let normalizers = json!([prepend, replace_space()]);
        json["normalizer"] = json!({"type": "Sequence", "normalizers": normalizers});
    });
    assert_eq!(kinds(&converted), []);
    let golden = Model::from_bytes(include_bytes!("../../../../testdata/golden/llama2.model"));
    let golden = Tokenizer::new(golden.unwrap());
    let tokenizer = Tokenizer::new(converted.value);
    for text in ["", " ", "to be", " to  be", "日本語 \u{2581}x"] {
        assert_eq!(tokenizer.encode(text), golden.encode(text), "{text:?}");
    }
}

#[test]
fn the_shape_of_gemma_is_exact_and_has_no_dummy_prefix() {
    let converted = read_changed(|json| {
        json["normalizer"] = replace_space();
        let split = json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false});
        json["pre_tokenizer"] = split;
    });
    assert_eq!(kinds(&converted), []);
    assert!(!converted.value.normalizer_spec().add_dummy_prefix());
}

#[test]
fn metaspace_puts_no_prefix_before_a_space_and_the_verdict_says_so() {
    for (scheme, reasons) in [("always", 1), ("first", 2), ("never", 0)] {
        let converted = read_changed(|json| {
            json["normalizer"] = Value::Null;
            json["pre_tokenizer"] = json!({
                "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": false
            });
        });
        assert_eq!(
            kinds(&converted),
            vec![ReasonKind::Whitespace; reasons],
            "{scheme}"
        );
        if let Some(reason) = converted.verdict.reasons().first() {
            assert_eq!(reason.example.as_deref(), Some(" a"));
        }
    }
}

/// What transformers writes from 5.24 on: a mark at the start is doubled before `Metaspace`.
#[test]
fn metaspace_after_a_doubled_mark_is_the_dummy_prefix_of_a_model() {
    let with = |pattern: &'static str, scheme: &'static str| {
        move |json: &mut Value| {
            let doubled = json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": "\u{2581}\u{2581}"});
            let normalizers = json!([replace_space(), doubled]);
            json["normalizer"] = json!({"type": "Sequence", "normalizers": normalizers});
            json["pre_tokenizer"] = json!({
                "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": false
            });
        }
    };
    let converted = read_changed(with("\\A\u{2581}", "always"));
    assert_eq!(kinds(&converted), []);
    let golden = Model::from_bytes(include_bytes!("../../../../testdata/golden/llama2.model"));
    let golden = Tokenizer::new(golden.unwrap());
    let tokenizer = Tokenizer::new(converted.value);
    for text in ["", " ", "\u{2581}", "to be", " to  be", "\u{2581}\u{2581}x"] {
        assert_eq!(tokenizer.encode(text), golden.encode(text), "{text:?}");
    }
    let first = read_changed(with("\\A\u{2581}", "first"));
    assert_eq!(kinds(&first), [ReasonKind::Whitespace]);
}

#[test]
fn settings_that_change_texts_are_reasons() {
    for (path, value) in [
        (
            "/truncation",
            json!({"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}),
        ),
        (
            "/padding",
            json!({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}),
        ),
        ("/model/dropout", json!(0.5)),
    ] {
        let converted = read_changed(|json| *json.pointer_mut(path).unwrap() = value);
        assert_eq!(kinds(&converted), [ReasonKind::Setting], "{path}");
    }
}

/// The BPE model of `tokenizers`: of all neighbours whose pair is in the list the pair with the
/// lowest rank merges, of equal ones the leftmost.
struct NaiveBpe {
    /// The texts of the pieces by id; characters without one are `None`.
    vocab: Vec<String>,
    merges: Vec<(usize, usize)>,
}

const UNKNOWN: usize = 0;

impl NaiveBpe {
    fn id(&self, text: &str) -> Option<usize> {
        self.vocab.iter().position(|piece| piece == text)
    }

    /// Adds the pair of two texts.
    fn merge(&mut self, left: &str, right: &str) {
        let pair = (self.id(left).unwrap(), self.id(right).unwrap());
        self.merges.push(pair);
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let mut symbols: Vec<usize> = Vec::new();
        for character in text.chars() {
            let id = self.id(&character.to_string()).unwrap_or(UNKNOWN);
            if id != UNKNOWN || symbols.last() != Some(&UNKNOWN) {
                symbols.push(id);
            }
        }
        loop {
            let rank = |at: usize| {
                let pair = (symbols[at], symbols[at + 1]);
                let rank = self.merges.iter().position(|merge| *merge == pair)?;
                Some((rank, at))
            };
            let best = (0..symbols.len().saturating_sub(1)).filter_map(rank).min();
            let Some((_, at)) = best else {
                return symbols
                    .iter()
                    .map(|id| u32::try_from(*id).unwrap())
                    .collect();
            };
            let joined = [symbols[at], symbols[at + 1]].map(|id| self.vocab[id].as_str());
            symbols[at] = self.id(&joined.concat()).unwrap();
            symbols.remove(at + 1);
        }
    }

    /// The file, in which these pieces are special.
    fn read(&self, special: &[usize]) -> Converted<Model> {
        let vocab: serde_json::Map<String, Value> = self
            .vocab
            .iter()
            .cloned()
            .zip((0..).map(Value::from))
            .collect();
        let text = |id: usize| self.vocab[id].as_str();
        let merges: Vec<[&str; 2]> = self
            .merges
            .iter()
            .map(|(left, right)| [text(*left), text(*right)])
            .collect();
        let added: Vec<Value> = special
            .iter()
            .map(|id| json!({"id": id, "content": text(*id), "special": true}))
            .collect();
        let model = json!({"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "?u", "fuse_unk": true});
        let file = json!({"added_tokens": added, "normalizer": null, "model": model});
        Model::from_tokenizer_json(&serde_json::to_vec(&file).unwrap()).unwrap()
    }
}

/// All texts of `a`, `b` and `x`, which is no piece, up to this length.
fn all_texts(longest: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut start = 0;
    for _ in 0..longest {
        let end = texts.len();
        for at in start..end {
            let longer = ["a", "b", "x"].map(|character| format!("{}{character}", texts[at]));
            texts.extend(longer);
        }
        start = end;
    }
    texts
}

/// A random vocabulary with a list, and the ids of its special pieces. `below` gives a random
/// number below its argument; the number of the case says which order the list has.
fn random_list(case: usize, mut below: impl FnMut(usize) -> usize) -> (NaiveBpe, Vec<usize>) {
    let mut list = NaiveBpe {
        vocab: ["?u", "a", "b"].map(str::to_owned).to_vec(),
        merges: Vec::new(),
    };
    for _ in 0..3 + below(9) {
        let text: String = (0..2 + below(4)).map(|_| ["a", "b"][below(2)]).collect();
        if list.id(&text).is_none() {
            list.vocab.push(text);
        }
    }
    if case.is_multiple_of(2) {
        list.vocab[3..].sort_by_key(String::len);
    }
    let mut pairs = Vec::new();
    for (rank, text) in list.vocab.iter().enumerate().skip(1) {
        for split in 1..text.len() {
            let (left, right) = text.split_at(split);
            if let (Some(left), Some(right)) = (list.id(left), list.id(right)) {
                // Together by piece, together but for some, or shuffled.
                let key = match case % 3 {
                    0 => rank,
                    1 if below(8) > 0 => rank,
                    _ => 3 + below(list.vocab.len()),
                };
                pairs.push((key, below(100), (left, right)));
            }
        }
    }
    if case.is_multiple_of(5) && !pairs.is_empty() {
        pairs.remove(below(pairs.len()));
    }
    pairs.sort_unstable();
    list.merges = pairs.into_iter().map(|(_, _, pair)| pair).collect();
    let special: Vec<usize> = match case % 4 {
        0 if list.vocab.len() > 3 => vec![3 + below(list.vocab.len() - 3)],
        _ => Vec::new(),
    };
    (list, special)
}

/// Vocabularies with lists in all kinds of orders: pieces shuffled or by length, the pairs of a
/// piece together or not, all or some.
#[test]
fn lists_of_any_order_give_the_ids_of_their_merges_where_the_verdict_says_so() {
    let texts = all_texts(6);
    let mut rng = crate::Rng::with_seed(11);
    let mut below = |limit: usize| usize::try_from(rng.0.below(limit as u64)).unwrap();
    let (mut exact, mut needlessly_refused, mut refused) = (0, 0, 0);
    for case in 0..1500 {
        let (list, special) = random_list(case, &mut below);
        let converted = list.read(&special);
        let tokenizer = Tokenizer::new(converted.value);
        let differs = |text: &&String| {
            let ids: Vec<u32> = tokenizer.encode(text).iter().map(|id| id.get()).collect();
            ids != list.encode(text)
        };
        let different = texts.iter().find(differs);
        if converted.verdict.is_exact() {
            exact += 1;
            assert_eq!(
                different, None,
                "{:?} {:?} {special:?}",
                list.vocab, list.merges
            );
        } else {
            refused += 1;
            needlessly_refused += usize::from(different.is_none());
        }
    }
    println!("{exact} exact, {refused} refused, {needlessly_refused} of them without a text");
    assert!(
        exact > 500 && refused > 200,
        "{exact} exact, {refused} refused"
    );
    assert!(
        needlessly_refused * 4 < refused,
        "{needlessly_refused} of {refused}"
    );
}

fn pair_list(vocab: &[&str], merges: &[[&str; 2]]) -> NaiveBpe {
    let mut list = NaiveBpe {
        vocab: vocab.iter().copied().map(str::to_owned).collect(),
        merges: Vec::new(),
    };
    merges
        .iter()
        .for_each(|[left, right]| list.merge(left, right));
    list
}

#[test]
fn the_pairs_of_a_piece_can_be_listed_in_any_order() {
    let vocab = ["?u", "a", "b", "c", "ab", "bc", "abc"];
    let merges = [["a", "bc"], ["b", "c"], ["a", "b"], ["ab", "c"]];
    let listed = |order: [usize; 4]| pair_list(&vocab, &order.map(|at| merges[at])).read(&[]);
    // `abc` comes from `ab c`, whichever of its pairs is the first.
    assert_eq!(kinds(&listed([2, 1, 0, 3])), []);
    assert_eq!(kinds(&listed([2, 1, 3, 0])), []);
    assert_eq!(kinds(&listed([2, 3, 1, 0])), []);
    // The first pair of `abc` is before, the one that is executed after that of `ab`.
    assert_eq!(kinds(&listed([0, 2, 1, 3])), [ReasonKind::MergeOrder]);
    let missing = pair_list(&vocab, &[merges[2], merges[1], merges[0]]).read(&[]);
    assert_eq!(kinds(&missing), [ReasonKind::MergeOrder]);
    assert_eq!(missing.verdict.reasons()[0].example.as_deref(), Some("abc"));
}

#[test]
fn merges_that_give_a_special_piece_are_a_reason_if_text_has_its_pair() {
    let vocab = ["?u", "a", "b", "c", "ab", "bc", "abc"];
    let merges = [["a", "b"], ["b", "c"], ["a", "bc"]];
    let abc = 6;
    // Text is merged to `ab` before `bc`, so `a` and `bc` never are neighbours.
    assert_eq!(kinds(&pair_list(&vocab, &merges).read(&[abc])), []);
    let merges = [["b", "c"], ["a", "b"], ["a", "bc"]];
    let converted = pair_list(&vocab, &merges).read(&[abc]);
    assert_eq!(kinds(&converted), [ReasonKind::MetaPiece]);
    let example = converted.verdict.reasons()[0].example.as_deref();
    assert_eq!(example, Some("abc"));
    assert_eq!(pair_list(&vocab, &merges).encode("abc"), [6]);
}

#[test]
fn merges_of_the_unknown_piece_are_a_reason() {
    let list = pair_list(&["?u", "a", "?", "u", "?ua"], &[["?u", "a"]]);
    assert_eq!(list.encode("xa"), [4]);
    assert_eq!(kinds(&list.read(&[])), [ReasonKind::UnknownCharacter]);
}

#[test]
fn byte_fallback_without_byte_pieces_is_no_reason_and_with_some_of_them_it_is() {
    for (text, expected) in [
        ("<0x4>", vec![]),
        ("<0x41>", vec![ReasonKind::UnknownCharacter]),
    ] {
        let vocab = json!({"?u": 0, "a": 1, text: 2});
        let model = json!({
            "type": "BPE", "vocab": vocab, "merges": [], "unk_token": "?u", "fuse_unk": true, "byte_fallback": true
        });
        let file = json!({"added_tokens": [], "normalizer": null, "model": model});
        let converted = Model::from_tokenizer_json(&serde_json::to_vec(&file).unwrap()).unwrap();
        assert_eq!(kinds(&converted), expected, "{text}");
        let ids = Tokenizer::new(converted.value).encode("xyax");
        assert_eq!(ids.iter().map(|id| id.get()).collect::<Vec<_>>(), [0, 1, 0]);
    }
}

/// The normalizers of every release of transformers, with the charsmap of a golden model.
#[test]
fn the_normalizers_of_every_release_of_transformers_become_flags() {
    let model = Model::from_bytes(include_bytes!("../../../../testdata/golden/unigram.model"));
    let model = model.unwrap();
    let rules = Model::from_bytes(include_bytes!("../../../../testdata/golden/nfkc.model"));
    let rules = rules.unwrap();
    let charsmap = BASE64_STANDARD.encode(rules.normalizer_spec().precompiled_charsmap());
    let written = model.to_tokenizer_json(&JsonOptions::default()).unwrap();
    let precompiled = json!({"type": "Precompiled", "precompiled_charsmap": charsmap});
    let runs = |content: &str| json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content});
    let strip = |left: bool| json!({"type": "Strip", "strip_left": left, "strip_right": true});
    let metaspace =
        json!({"type": "Metaspace", "replacement": "\u{2581}", "add_prefix_space": true});
    let words =
        json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]});
    for (releases, normalizers, pre_tokenizer, removes) in [
        ("to 4.4", vec![precompiled.clone()], &metaspace, false),
        ("to 4.4, Pegasus", vec![precompiled.clone()], &words, true),
        (
            "4.5",
            vec![precompiled.clone(), runs(" ")],
            &metaspace,
            true,
        ),
        (
            "4.5, Pegasus",
            vec![precompiled.clone(), runs(" ")],
            &words,
            true,
        ),
        ("4.10, no charsmap", vec![runs(" ")], &metaspace, true),
        (
            "4.38",
            vec![precompiled.clone(), strip(false), runs("\u{2581}")],
            &metaspace,
            true,
        ),
        (
            "4.38, no charsmap",
            vec![strip(false), runs("\u{2581}")],
            &metaspace,
            true,
        ),
        (
            "DeBERTa",
            vec![strip(true), precompiled.clone(), runs(" ")],
            &metaspace,
            true,
        ),
    ] {
        let mut json: Value = serde_json::from_slice(&written.json).unwrap();
        json["normalizer"] = json!({"type": "Sequence", "normalizers": normalizers});
        json["pre_tokenizer"] = pre_tokenizer.clone();
        let read = Model::from_tokenizer_json(&serde_json::to_vec(&json).unwrap());
        let read = read.unwrap_or_else(|error| panic!("{releases}: {error}"));
        let spec = read.value.normalizer_spec();
        assert_eq!(spec.remove_extra_whitespaces(), removes, "{releases}");
        assert!(spec.add_dummy_prefix(), "{releases}");
        assert!(
            read.verdict.has(ReasonKind::Whitespace),
            "{releases}: {}",
            read.verdict
        );
        let [ours, theirs] = [&read.value, &model].map(|model| Tokenizer::new(model.clone()));
        let text = "All human beings are born free";
        assert_eq!(ours.encode(text), theirs.encode(text), "{releases}");
    }
}

#[test]
fn a_component_without_a_flag_is_named() {
    for (component, name) in [
        (json!({"type": "NFKD"}), "NFKD"),
        (
            json!({"type": "Replace", "pattern": {"String": "``"}, "content": "\""}),
            "``",
        ),
    ] {
        let model = Model::from_bytes(include_bytes!("../../../../testdata/golden/llama2.model"));
        let written = model.unwrap().to_tokenizer_json(&JsonOptions::default());
        let mut json: Value = serde_json::from_slice(&written.unwrap().json).unwrap();
        json["normalizer"] = component;
        let error = Model::from_tokenizer_json(&serde_json::to_vec(&json).unwrap()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains(name) && message.contains("the .model file"),
            "{message}"
        );
    }
}
