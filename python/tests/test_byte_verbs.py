"""Byte-level vocabularies are extended, pruned, merged, inspected and compared."""

import pytest

import spiece

TEXTS = ["low lower lowest\n", "new newer newest", "wider wide é世界 1234\n\n"] * 5
OTHER = ["tower flower 世界 low", "towers\n\n", "the flowers"] * 4


def train(texts=TEXTS, **options):
    return spiece.train(texts, model_type="byte_bpe", **{"vocab_size": 275, **options})


def tokens(model):
    tokenizer = model.tokenizer()
    return {id: tokenizer.id_to_bytes(id) for id in range(len(model))}


def boundaries(model, text):
    tokenizer = model.tokenizer()
    ends = [0]
    for id in tokenizer.encode(text):
        ends.append(ends[-1] + len(tokenizer.id_to_bytes(id)))
    return set(ends)


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "none"])
@pytest.mark.parametrize("order", ["hf", "rustbpe"])
def test_old_ids_and_boundaries_stay_when_a_vocabulary_is_extended(pattern, order):
    base = train(pattern=pattern, tie_order=order)
    extended, report = base.extend(OTHER, pieces=9)
    assert extended.model_type == "byte_bpe" and len(extended) == len(base) + 9
    old, new = tokens(base), tokens(extended)
    assert {id: new[id] for id in old} == old
    assert report["moved"] == report["removed"] == []
    assert report["added"] == [id for id, _ in report["learned"]] == list(range(len(base), len(extended)))
    assert report["summary"]["merges"] == 9 and report["summary"]["sentences"] == len(OTHER)
    for text in [*TEXTS, *OTHER]:
        assert boundaries(extended, text) <= boundaries(base, text)
        assert extended.tokenizer().decode(extended.tokenizer().encode(text)) == text
    assert base.extend(OTHER, pieces=9, threads=2)[0] == extended
    assert spiece.Model(extended.to_bytes()) == extended


def test_extensions_have_the_options_of_the_program():
    base = train(special_tokens=["<a>", "<b>"])
    extended, report = base.extend(
        OTHER, pieces=3, multiple_of=8, special_tokens=["<new>"], reuse=[1], min_frequency=3, max_token_length=5
    )
    special = extended.tokenizer().special_tokens
    assert special["<a>"] == 0 and "<b>" not in special and special["<new>"] == len(base)
    assert len(extended) % 8 == 0 and special["<reserved_0>"] == len(base) + 3
    learned = dict(report["learned"])
    assert list(learned) == [1, len(base) + 1, len(base) + 2]
    assert all(count >= 3 for count in learned.values())
    assert all(2 <= len(tokens(extended)[id]) < 5 for id in learned)
    assert len(base.extend(OTHER, multiple_of=16)[0]) == 288 and len(base.extend(OTHER, vocab_size=280)[0]) == 280


def test_line_feeds_of_sentences_are_text_and_special_tokens_are_left_out():
    base = train(pattern="none", special_tokens=["<|end|>"])
    learned = lambda texts: tokens(base.extend(texts, pieces=1)[0])[len(base)]
    assert learned(["z\n"] * 3) == b"z\n"
    assert learned(["<|end|>" * 5 + "zq"] * 3) == b"zq"


def test_models_are_extended_with_the_same_options(bpe_path, corpus):
    base = spiece.Model.open(bpe_path)
    extended, _ = base.extend(corpus, pieces=3, multiple_of=8, special_tokens=["<new>"], threads=2)
    tokenizer = extended.tokenizer()
    assert len(extended) % 8 == 0 and tokenizer.special_tokens["<new>"] == len(base)
    again, report = extended.extend(corpus, pieces=2, reuse=[len(base)])
    assert report["learned"][0][0] == len(base) and "<new>" not in again.tokenizer().special_tokens


def test_pruned_vocabularies_keep_what_texts_need():
    base = train(vocab_size=290, special_tokens=["<|end|>"])
    pruned, report = base.prune(TEXTS[:1])
    moved = dict(report["moved"])
    assert len(pruned) == len(base) - len(report["removed"]) < len(base) and report["added"] == []
    old, new = tokens(base), tokens(pruned)
    assert all(new[moved.get(id, id)] == old[id] for id in old if id not in report["removed"])
    assert [moved.get(id, id) for id in base.tokenizer().encode(TEXTS[0])] == pruned.tokenizer().encode(TEXTS[0])
    assert pruned.tokenizer().special_tokens == {"<|end|>": 0}
    assert {bytes([byte]) for byte in range(256)} <= set(new.values())
    for sized in (base.prune(TEXTS, size=270)[0], base.prune(size=270)[0]):
        assert len(sized) == 270


def test_merged_vocabularies_have_the_tokens_of_both():
    first, second = train(), train(OTHER, special_tokens=["<|end|>"])
    merged, report = first.merge(second)
    assert {id: tokens(merged)[id] for id in tokens(first)} == tokens(first)
    assert set(tokens(merged).values()) >= set(tokens(first).values()) | set(tokens(second).values())
    assert report["added"] == list(range(len(first), len(merged))) and report["removed"] == report["dropped"] == []
    for text in [*TEXTS, *OTHER]:
        assert boundaries(merged, text) <= boundaries(first, text)
    fewer, report_of_fewer = first.merge(second.tokenizer(), drop_unreachable=True)
    assert report_of_fewer["unreachable"] == []
    assert report_of_fewer["dropped"] == [tokens(merged)[id] for id in report["unreachable"]]
    assert len(fewer) == len(merged) - len(report["unreachable"])
    assert first.merge(first)[0] == first


def test_reports_on_byte_level_vocabularies():
    model = train(pattern="cl100k", special_tokens=["<|end|>"])
    report = model.inspect()
    assert report["model_type"] == "byte_bpe" and report["pieces"] == len(model)
    assert report["kinds"]["control"] == 1 and report["undecided"] == report["only_whole"] == []
    # 13 bytes are in no UTF-8 text.
    assert len(report["unreachable"]) == 13
    assert len(tokens(model)[report["longest"][0]]) == max(len(token) for id, token in tokens(model).items() if id > 0)
    smaller, _ = model.prune(size=262)
    compared = model.compare(smaller, TEXTS)
    assert compared["texts"] == len(TEXTS) and compared["equal_texts"] < len(TEXTS)
    counts = [sum(map(len, of.tokenizer().encode_batch(TEXTS))) for of in (model, smaller)]
    assert compared["tokens"] == tuple(counts) and compared["own_boundaries"][0] == 0
    assert model.compare(model.tokenizer(), TEXTS)["equal_texts"] == len(TEXTS)


def test_refusals_use_the_words_of_python(bpe_path):
    base, model = train(special_tokens=["<|end|>"]), spiece.Model.open(bpe_path)
    for call, message in [
        (lambda: base.merge(model), "merge two of one kind"),
        (lambda: model.merge(base), "merge two of one kind"),
        (lambda: base.merge(train(pattern="cl100k")), "allow_other_normalizer=True"),
        (lambda: base.prune(TEXTS, keep_chars=False), "keep_chars: .* keeps all bytes"),
        (lambda: base.prune(TEXTS, unused_tail=True), "unused_tail is for BPE models"),
        (lambda: base.prune(size=100), "size 100 is too small; 257 pieces cannot be removed. Raise it$"),
        (lambda: base.extend(OTHER, pieces=100_000), "the text gives .* new pieces"),
        (lambda: base.extend(OTHER, pieces=1, reuse=[5]), "reuse: no special token has the id 5; Tokenizer.special_tokens"),
        (lambda: base.extend(OTHER, pieces=1, special_tokens=["<|end|>"]), "special_tokens: .*control"),
        (lambda: base.edit(("add", "<x>", "control")), "byte-level"),
        (lambda: model.extend(OTHER, pieces=1, min_frequency=2), "min_frequency is for byte-level"),
        (lambda: model.extend(OTHER, pieces=1, max_token_length=2), "max_token_length is for byte-level"),
        (lambda: model.extend(OTHER, pieces=1, reuse=[0]), "reuse: the id 0"),
    ]:
        with pytest.raises(spiece.ModelError, match=message):
            call()
    assert len(base.merge(train(pattern="cl100k"), allow_other_normalizer=True)[0]) >= len(base)
    for call, message in [
        (lambda: base.extend(OTHER), "pass one of pieces"),
        (lambda: base.extend(OTHER, pieces=1, vocab_size=300), "pass one of pieces"),
        (lambda: base.extend(OTHER, pieces=1, special_tokens="<x>"), "special_tokens: a text"),
        (lambda: base.extend("text", pieces=1), "sentences: a text"),
        (lambda: base.extend([5], pieces=1), "str or bytes"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()
    for name, number in [("reuse", [-1]), ("min_frequency", -1), ("max_token_length", 0), ("multiple_of", 0)]:
        with pytest.raises(spiece.OptionValueError, match=name):
            base.extend(OTHER, pieces=1, **{name: number})


def test_progress_of_an_extension_can_stop_it():
    events = []
    train().extend(OTHER, pieces=5, progress=events.append)
    assert [event["stage"] for event in events if event["event"] == "started"][:2] == ["reading", "merging"]

    def stop(event):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        train().extend(OTHER, pieces=5, progress=stop)
