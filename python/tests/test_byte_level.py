"""Byte-level vocabularies in the modern interface, in each form in which they come."""

import base64
import copy
import json
import pickle
import threading

import pytest

import spiece

np = pytest.importorskip("numpy")

MERGES = [("l", "o"), ("lo", "w"), (" ", "low"), ("e", "r"), ("é".encode().decode("latin-1")[0], "©")]
TEXTS = ["", "low lower", "<a>low<|end|>", "é 😀\n\n  世界", "don't 1234!", "\x00"]
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SPECIAL = {"<|end|>": 261, "<a>": 262}


def tokens():
    """The bytes, by value, and the results of the merges."""
    merged = [(left + right).encode("latin-1") for left, right in MERGES]
    return [bytes([byte]) for byte in range(256)] + merged


RANKS = {token: rank for rank, token in enumerate(tokens())}


def printable(token):
    """A token in the characters of GPT-2."""
    kept = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    others = [byte for byte in range(256) if byte not in kept]
    return "".join(chr(byte) if byte in kept else chr(256 + others.index(byte)) for byte in token)


def tiktoken_file(folder):
    path = folder / "small.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in RANKS.items()))
    return path, {"pattern": PATTERN, "special_tokens": SPECIAL}


def vocab_and_merges():
    vocabulary = {printable(token): rank for token, rank in RANKS.items()}
    merges = [f"{printable(left.encode('latin-1'))} {printable(right.encode('latin-1'))}" for left, right in MERGES]
    return vocabulary, merges


def folder(folder):
    vocabulary, merges = vocab_and_merges()
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    return folder, {"pattern": "gpt2", "special_tokens": SPECIAL}


def tokenizer_json(folder):
    vocabulary, merges = vocab_and_merges()
    added = [
        {"id": id, "content": text, "special": True, "normalized": False, "single_word": False, "lstrip": False, "rstrip": False}
        for text, id in SPECIAL.items()
    ]
    path = folder / "tokenizer.json"
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    path.write_text(
        json.dumps(
            {
                "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                "pre_tokenizer": level, "post_processor": None, "decoder": level,
                "model": {
                    "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                    "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                    "vocab": vocabulary, "merges": merges,
                },
            }
        )
    )
    return path, {}


def minbpe(folder):
    path = folder / "minbpe.model"
    pairs = [(RANKS[left.encode("latin-1")], RANKS[right.encode("latin-1")]) for left, right in MERGES]
    special = "".join(f"{text} {id}\n" for text, id in SPECIAL.items())
    path.write_text(f"minbpe v1\n{PATTERN}\n{len(SPECIAL)}\n{special}" + "".join(f"{left} {right}\n" for left, right in pairs))
    return path, {}


@pytest.fixture(params=[tiktoken_file, folder, tokenizer_json, minbpe])
def given(request, tmp_path):
    """A file or folder and the options with which it is opened, in one form after another."""
    return request.param(tmp_path)


@pytest.fixture
def byte_level(given):
    """A tokenizer from one of the files."""
    path, options = given
    return spiece.Tokenizer.open(path, **options)


@pytest.fixture
def made():
    """A tokenizer from objects of Python."""
    return spiece.Tokenizer.from_ranks(RANKS, pattern=PATTERN, special_tokens=SPECIAL)


def test_every_form_of_a_vocabulary_gives_the_same_ids(byte_level, made, given):
    assert byte_level.special_tokens == made.special_tokens == SPECIAL
    assert byte_level.vocab_size == made.vocab_size == len(made) == 263
    for text in TEXTS:
        assert byte_level.encode(text) == made.encode(text)
        allowed = made.encode(text, allowed_special="all")
        assert byte_level.encode(text, allowed_special="all") == allowed
        assert byte_level.decode(allowed) == text and byte_level.decode_bytes(allowed) == text.encode()
    path, options = given
    if path.is_file():
        assert spiece.Tokenizer.from_bytes(path.read_bytes(), **options).encode("lower low") == made.encode("lower low")


def test_tekken_files_are_opened(tmp_path):
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None} for token, rank in RANKS.items()
    ]
    config = {
        "pattern": PATTERN, "num_vocab_tokens": 261, "default_vocab_size": 286, "default_num_special_tokens": 25, "version": "v3",
    }
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps({"config": config, "vocab": vocabulary}))
    for opened in (spiece.Tokenizer.open(path), spiece.Tokenizer.open(tmp_path)):
        ids = opened.encode("low lower", allowed_special="all")
        assert ids == [id + 25 for id in spiece.Tokenizer.from_ranks(RANKS, pattern=PATTERN).encode("low lower")]
        assert opened.decode(ids) == "low lower" and len(opened.special_tokens) == 25


def test_all_forms_of_encoding_have_the_same_ids(made):
    lists = [made.encode(text) for text in TEXTS]
    assert made.encode_batch(TEXTS) == made.encode_batch([text.encode() for text in TEXTS], threads=1) == lists
    for threads in (1, 3, None):
        batch = made.encode_ragged(TEXTS, threads=threads)
        assert batch.to_lists() == lists and made.decode_ragged(batch) == TEXTS
    assert made.count_batch(TEXTS).tolist() == [len(ids) for ids in lists] == [made.count(text) for text in TEXTS]
    long = "low lower é 世界 " * 20_000
    ids = made.encode(long)
    assert made.encode_ragged([long], threads=2)[0] == ids
    assert made.decode_batch([ids, lists[1]], threads=2) == [long, TEXTS[1]]


def test_tokens_have_spans_in_characters_and_in_bytes(made):
    text = "low é<a> 世界😀"
    for allowed in (None, "all", ["<a>"]):
        ids, begins, ends = made.encode_spans(text, unit="bytes", allowed_special=allowed)
        assert ids.tolist() == made.encode(text, allowed_special=allowed)
        data = text.encode()
        assert [data[b:e] for b, e in zip(begins, ends)] == [made.id_to_bytes(id) for id in ids]
        in_chars, begins, ends = made.encode_spans(text, allowed_special=allowed)
        assert in_chars.tolist() == ids.tolist()
        assert begins.tolist() == sorted(begins.tolist()) and begins[0] == 0 and ends[-1] == len(text)
    assert "<a>" in [text[b:e] for b, e in zip(begins, ends)]
    with pytest.raises(spiece.EncodeError, match="<a>"):
        made.encode_spans(text, refuse_special=True)


def test_special_tokens_are_text_unless_the_call_allows_or_refuses_them(made):
    text = "low<a><|end|>"
    assert not set(made.encode(text)) & set(SPECIAL.values())
    assert made.encode(text, allowed_special="all")[-2:] == [262, 261]
    assert made.encode(text, allowed_special={"<a>"}) == [257, 262, *made.encode("<|end|>")]
    for encode in (
        made.encode,
        lambda text, **options: made.encode_batch([text], **options)[0],
        lambda text, **options: made.encode_ragged([text], **options)[0],
    ):
        assert encode(text, allowed_special=["<a>", "<|end|>"], refuse_special=True) == [257, 262, 261]
        with pytest.raises(spiece.EncodeError, match=r"<\|end\|>"):
            encode(text, allowed_special=["<a>"], refuse_special=True)
        with pytest.raises(spiece.EncodeError, match="<nothing>"):
            encode(text, allowed_special=["<nothing>"])


def test_ids_inside_a_character_are_decoded_as_asked(made):
    ids = made.encode("a😀")
    assert len(ids) == 5 and made.decode(ids[:3]) == "a\ufffd" and made.decode(ids[:3], errors="ignore") == "a"
    assert made.decode_bytes(ids[:3]) == b"a\xf0\x9f" and made.decode(ids, errors="strict") == "a😀"
    with pytest.raises(UnicodeDecodeError):
        made.decode(ids[:3], errors="strict")
    with pytest.raises(LookupError):
        made.decode(ids[:3], errors="nothing")
    stream = made.decode_stream()
    assert [stream.push(id) for id in ids] == ["a", "", "", "", "😀"] and stream.finish() == ""
    assert stream.push(ids[1]) == "" and stream.finish() == "\ufffd"


def test_pieces_are_bytes_and_lossy_text(made):
    assert made.id_to_bytes(255) == b"\xff" and made.id_to_piece(255) == "\ufffd" and made.id_to_piece(257) == "low"
    assert made.piece_to_id("low") == 257 == made.piece_to_id(b"low") and made.piece_to_id("<a>") == 262
    assert made.piece_to_id("nothing") is None
    assert made.tokenize(" low世") == [" low", *["\ufffd"] * 3]
    assert made.model_type == "byte_bpe" and made.unk_id is None
    kinds = {text: kind for text, _, kind in made.pieces()}
    assert kinds["low"] == "normal" and kinds["<a>"] == "control"
    gap = spiece.Tokenizer.from_ranks(RANKS, pattern=PATTERN, special_tokens={"<a>": 270})
    assert gap.vocab_size == 271 and gap.encode("<a>", allowed_special="all") == [270]
    for id in (265, 271):
        for call in (gap.id_to_bytes, gap.id_to_piece, lambda id: gap.decode([97, id])):
            with pytest.raises(IndexError, match=str(id)):
                call(id)


def test_dropout_is_seeded_and_decodes_to_the_text(made):
    text = "low lower low" * 20
    assert made.sample(text, alpha=0.0, seed=1) == made.encode(text)
    assert made.decode_bytes(made.sample(text, alpha=1.0, seed=1)) == text.encode()
    assert len(made.sample(text, alpha=1.0, seed=1)) == len(text)
    some = [made.sample(text, alpha=0.3, seed=seed) for seed in range(20)]
    assert some == [made.sample(text, alpha=0.3, seed=seed) for seed in range(20)] and len(set(map(tuple, some))) > 10
    assert all(made.decode(ids) == text for ids in some)
    with pytest.raises(spiece.EncodeError):
        made.nbest(text, 3)


def test_equal_vocabularies_are_equal(made):
    same = spiece.Tokenizer.from_ranks(dict(reversed(RANKS.items())), pattern=PATTERN, special_tokens=SPECIAL)
    assert made == same and hash(made) == hash(same) and made == spiece.Tokenizer(made)
    for ranks, pattern, special in (
        (RANKS, "cl100k", SPECIAL),
        (RANKS, PATTERN, {}),
        (RANKS | {b"\xff": 259, b"er": 255}, PATTERN, SPECIAL),
    ):
        assert made != spiece.Tokenizer.from_ranks(ranks, pattern=pattern, special_tokens=special)
    assert repr(made) == "<spiece.Tokenizer: byte_bpe model with 263 pieces>"


def test_tokenizers_are_copied_and_pickled(byte_level):
    shared = spiece.Tokenizer.from_ranks(RANKS, pattern=r"\w+|\W", special_tokens={"<a>": 1000, "<b>": 300, "<c>": 300})
    for tokenizer in (byte_level, shared):
        for again in (pickle.loads(pickle.dumps(tokenizer)), copy.copy(tokenizer), copy.deepcopy(tokenizer)):
            assert again == tokenizer and hash(again) == hash(tokenizer)
            assert type(again) is spiece.Tokenizer and again.special_tokens == tokenizer.special_tokens
            for text in TEXTS:
                assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")


def test_the_bytes_of_a_file_give_an_equal_tokenizer(byte_level):
    again = spiece.Tokenizer.from_bytes(byte_level.to_bytes())
    assert again == byte_level and again.to_bytes() == byte_level.to_bytes()
    json.loads(byte_level.to_bytes())
    for text in TEXTS:
        assert again.encode(text, allowed_special="all") == byte_level.encode(text, allowed_special="all")
    shared = spiece.Tokenizer.from_ranks(RANKS, pattern=PATTERN, special_tokens={"<a>": 300, "<b>": 300})
    with pytest.raises(spiece.ModelError, match="<b>"):
        shared.to_bytes()


def test_caches_are_shared_by_threads_without_a_trace(made):
    expected = [made.encode(text) for text in TEXTS]
    found = []

    def work():
        for _ in range(200):
            found.append([made.encode(text) for text in TEXTS] == expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800 and all(found)


def test_what_is_wrong_with_a_vocabulary_is_said(tmp_path, bpe_path):
    path, options = tiktoken_file(tmp_path)
    cases = [
        (lambda: spiece.Tokenizer.open(path), "pattern"),
        (lambda: spiece.Tokenizer.open(bpe_path, pattern="gpt2"), "pattern"),
        (lambda: spiece.Tokenizer.from_ranks({b"a": 0}, pattern="gpt2"), "0x00"),
        (lambda: spiece.Tokenizer.from_ranks(RANKS | {b"xy": 7}, pattern="gpt2"), "id 7"),
        (lambda: spiece.Tokenizer.from_ranks(RANKS | {b"": 900}, pattern="gpt2"), "no bytes"),
    ]
    for call, said in cases:
        with pytest.raises(spiece.ModelError, match=said) as caught:
            call()
        assert "sentencepiece" not in str(caught.value)
    for pattern in ("(", r"(?<!a)b", "gtp2"):
        with pytest.raises(ValueError, match="pattern: "):
            spiece.Tokenizer.open(path, pattern=pattern)
    for ranks, error in (({"a": 0}, TypeError), ({b"a": "x"}, TypeError), ({b"a": -1}, OverflowError)):
        with pytest.raises(error):
            spiece.Tokenizer.from_ranks(ranks, pattern="gpt2")
