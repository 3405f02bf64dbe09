"""Calls of the whole interface of tiktoken, and what they give: one line of JSON for each.

Run by ``tiktoken_surface.py`` with each of the two packages: ``tiktoken_probe.py MODULE FOLDER SEED CASES``. Vocabularies,
texts and calls depend on SEED only. Published vocabularies are used, too, if they are in TIKTOKEN_CACHE_DIR.
"""

import base64
import collections
import copy
import hashlib
import os
import pathlib
import pickle
import random
import sys

if sys.argv[1] != "tiktoken":
    import spiece.as_tiktoken  # noqa: F401
import tiktoken
import tiktoken.load
import tiktoken.model
import tiktoken.registry
from tiktoken_ext import openai_public

import published
from recording import Recorder, np

PATTERNS = {
    "r50k": openai_public.r50k_pat_str,
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "nanochat": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "own": r"\w+|[^\w\s]+|\s+",
    "gaps": r"[a-z]+|\d",
}
SPECIAL = ["<|endoftext|>", "<|end|>", "<a>", "\u00e9!", "  ", "\U0001f44d"]
PIECES = [
    *"aeiost ,.'!\n\t0189", "  ", "\n\n", " \n", "\r\n", "the", " and", "'s", "'LL", "don't", "low", " lower", "\u00e9", "e\u0301",
    "\u017f", "\u212a", "\u4e16\u754c", "\uac00", "\u0e01", "\U0001f600", "\U0001f44d\U0001f3fd", "\u00a0", "\u3000", "\x00", "\ufffd",
    *SPECIAL, "<|", "|>", "<|end",
]
SURROGATES = ["\ud83d\udc4d", "\ud83d", "a\udc4d<a>", "<|end|>\ud83d"]


def vocabulary(rng, corpus):
    """Ranks of all bytes and of some merges of the corpus, and of few tokens that merging does not give."""
    order = list(range(256))
    if rng.random() < 0.5:
        rng.shuffle(order)
    start = rng.choice([0, 0, 3])
    ranks = {bytes([byte]): start + rank for rank, byte in enumerate(order)}
    words = [[bytes([byte]) for byte in word.encode()] for word in rng.sample(corpus, 300)]
    for _ in range(rng.choice([0, 20, 300])):
        pairs = collections.Counter(pair for word in words for pair in zip(word, word[1:]))
        if not pairs:
            break
        (left, right), _ = max(pairs.items(), key=lambda item: (item[1], item[0]))
        ranks.setdefault(left + right, start + len(ranks))
        for word in words:
            at = 0
            while at + 1 < len(word):
                if word[at] == left and word[at + 1] == right:
                    word[at : at + 2] = [left + right]
                at += 1
    for _ in range(rng.choice([0, 0, 15])):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 3))).encode()[rng.randint(0, 1) :]
        if text:
            ranks.setdefault(text, start + len(ranks))
    special = rng.sample(SPECIAL, rng.randint(0, len(SPECIAL)))
    first = max(ranks.values()) + 1
    return ranks, {text: first + 3 * n for n, text in enumerate(special)}


def text(rng):
    """A text of the pieces that matter."""
    return "".join(rng.choices(PIECES, k=rng.choice([0, 1, 2, 3, 5, 8, 30])))


def probe_encoding(call, rng, name, encoding, cases):
    """All methods of an encoding."""
    special = sorted(encoding.special_tokens_set)

    def chosen():
        return set(rng.sample(special, rng.randint(0, len(special))))

    call(f"{name} attributes", lambda: [
        repr(encoding), encoding.name, encoding.n_vocab, encoding.max_token_value, special, encoding._pat_str,
        encoding._special_tokens, type(encoding.special_tokens_set).__name__,
    ])
    call(f"{name} eot", lambda: encoding.eot_token)
    call(f"{name} ranks", lambda: digest(encoding._mergeable_ranks))
    call(f"{name} byte values", lambda: digest(encoding.token_byte_values()))
    for id in rng.sample(range(encoding.n_vocab + 5), 40):
        call(f"{name} id {id}", lambda: encoding.decode_single_token_bytes(id))
        call(f"{name} special {id}", lambda: encoding.is_special_token(id))
    for n in range(cases):
        value = text(rng) if rng.random() < 0.97 else rng.choice(SURROGATES)
        allowed, disallowed = chosen(), rng.choice(["all", "all", (), frozenset(chosen()), ["a"], {""}])
        options = {"allowed_special": rng.choice(["all", allowed, allowed]), "disallowed_special": disallowed}
        shown = {key: sorted(given) if isinstance(given, (set, frozenset)) else given for key, given in options.items()}
        label = f"{name} {n} {value!r}"
        call(f"{label} ordinary", lambda: encoding.encode_ordinary(value))
        call(f"{label} encode", lambda: encoding.encode(value))
        call(f"{label} encode {shown}", lambda: encoding.encode(value, **options))
        call(f"{label} numpy {shown}", lambda: encoding.encode_to_numpy(value, **options))
        call(f"{label} single token", lambda: encoding.encode_single_token(value))
        if value:
            call(f"{label} single piece", lambda: encoding._encode_single_piece(value))
        call(f"{label} batch {shown}", lambda: encoding.encode_batch([value, "a", value], num_threads=2, **options))
        call(f"{label} ordinary batch", lambda: encoding.encode_ordinary_batch((value, "a b"), num_threads=1))
        raw = value.encode("utf-8", "surrogatepass")
        cut = raw[: rng.randint(0, len(raw))] + rng.choice([b"", b"\xff", b"\xe4\xb8"])
        call(f"{label} bytes {cut!r}", lambda: encoding._encode_bytes(cut))
        if len(value) < 12:
            end = value[: rng.randint(0, len(value))]
            call(f"{label} unstable {end!r} {shown}", lambda: completed(encoding, end, options))
        ids = encoding.encode(value, allowed_special="all")
        rng.shuffle(ids) if rng.random() < 0.3 else None
        call(f"{label} decode", lambda: encoding.decode(ids))
        errors = rng.choice(["strict", "ignore", "backslashreplace", "nothing"])
        call(f"{label} decode {errors} {ids}", lambda: encoding.decode(ids[1:], errors=errors))
        call(f"{label} decode bytes", lambda: encoding.decode_bytes(tuple(ids)))
        call(f"{label} tokens", lambda: encoding.decode_tokens_bytes(ids))
        call(f"{label} offsets {ids}", lambda: encoding.decode_with_offsets(ids))
        call(f"{label} decode batch", lambda: encoding.decode_batch([ids, ids[:1]], num_threads=2))
        call(f"{label} decode bytes batch", lambda: encoding.decode_bytes_batch([ids, []]))
    for label, again in (
        ("pickle", lambda: pickle.loads(pickle.dumps(encoding))),
        ("copy", lambda: copy.copy(encoding)),
        ("deepcopy", lambda: copy.deepcopy(encoding)),
    ):
        value = text(rng)
        call(f"{name} {label} {value!r}", lambda: [again() == encoding, again().encode_ordinary(value), again().__dict__.keys()])


def digest(value):
    """A short form of a large value."""
    items = sorted(value.items()) if isinstance(value, dict) else value
    return [len(value), type(value).__name__, hashlib.sha256(repr(items).encode()).hexdigest()]


def completed(encoding, end, options):
    """The certain ids, and the completions, which are in no certain order."""
    ids, completions = encoding.encode_with_unstable(end, **options)
    return ids, sorted(completions), type(completions).__name__


def probe_errors(call):
    """Wrong values and types."""
    ranks = {bytes([byte]): byte for byte in range(256)}

    def made(**changes):
        given = {"pat_str": r"\S+|\s+", "mergeable_ranks": ranks, "special_tokens": {"<a>": 300}} | changes
        return tiktoken.Encoding(given.pop("name", "small"), **given)

    for changes in (
        {"mergeable_ranks": {}},
        {"mergeable_ranks": {b"a": 0}},
        {"mergeable_ranks": {"a": 0}},
        {"mergeable_ranks": {**ranks, b"ab": -5}},
        {"mergeable_ranks": {**ranks, b"ab": 1 << 40}},
        {"mergeable_ranks": {**ranks, b"ab": "x"}},
        {"mergeable_ranks": [(b"a", 0)]},
        {"special_tokens": {b"a": 300}},
        {"special_tokens": {}},
        {"special_tokens": {"<a>": 65}},
        {"special_tokens": {"<a>": 300, "<b>": 299}, "explicit_n_vocab": 258},
        {"explicit_n_vocab": 256},
        {"explicit_n_vocab": 301},
        {"special_tokens": {"<a>": 256}, "explicit_n_vocab": 257},
        {"pat_str": "("},
        {"pat_str": 5},
        {"name": 5},
    ):
        call(f"made {changes if len(str(changes)) < 200 else str(changes)[-80:]}", lambda: repr(made(**changes)))
        call(f"made {str(changes)[-80:]} used", lambda: made(**changes).encode("aa<a>", allowed_special="all"))
        call(f"made {str(changes)[-80:]} decoded", lambda: made(**changes).decode_bytes([65, 300]))
    encoding = made()
    for value in (None, 1, b"a", bytearray(b"a"), ["a"], "a"):
        for method in (
            "encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable", "encode_single_token", "_encode_bytes",
            "_encode_single_piece", "encode_batch", "encode_ordinary_batch", "is_special_token", "decode",
            "decode_single_token_bytes", "decode_tokens_bytes", "decode_with_offsets", "decode_bytes", "decode_batch",
            "decode_bytes_batch",
        ):
            call(f"{method}({value!r})", lambda: getattr(encoding, method)(value))
    for value in (["x"], {5}, "x", ("<a>",), frozenset(["<a>"]), {"<a>": 1}.keys(), None, {"<a>"}, {"unknown"}):
        for key in ("allowed_special", "disallowed_special"):
            call(f"encode({key}={value!r})", lambda: encoding.encode("<a>x", **{key: value}))
            call(f"encode_batch({key}={value!r})", lambda: encoding.encode_batch(["<a>x"], **{key: value}))
        call(f"encode(allowed_special={value!r}, ())", lambda: encoding.encode("<a>x", allowed_special=value, disallowed_special=()))
    for ids in (
        [1, -1], [1 << 31], [1 << 32], [1 << 70], (1, 2), {1, 2}, range(3), iter([1]), np.array([1, 2]), np.array([1, 2], np.uint8),
        np.array([1.5]), np.array([[1]]), [True], [1.0], [None], 5, b"ab", [257], [300, 301], [np.int64(3)], [],
    ):
        for method in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
            label = f"{method}({ids!r})" if "iterator" not in repr(ids) else f"{method}(iterator)"
            call(label, lambda: getattr(encoding, method)(ids))
    for threads in (0, -1, 1, 100):
        call(f"batch with {threads} threads", lambda: encoding.encode_batch(["a", "b"], num_threads=threads))
        call(f"decode batch with {threads} threads", lambda: encoding.decode_batch([[1]], num_threads=threads))
    call("batch of a generator", lambda: encoding.encode_batch(text for text in ("a", "b")))
    call("batch of a text", lambda: encoding.encode_ordinary_batch("ab"))
    for texts in (["a", 5], ["<a>", 5], [5, "<a>"], ["\ud83d", "<a>"], []):
        call(f"batch {texts!r}", lambda: encoding.encode_batch(texts))


def probe_registry(call, folder):
    """Names, models, files."""
    call("names", tiktoken.list_encoding_names)
    call("version", lambda: tiktoken.__version__)
    for name in ("nothing", 5, None):
        call(f"get_encoding({name!r})", lambda: tiktoken.get_encoding(name))
        call(f"encoding_name_for_model({name!r})", lambda: tiktoken.encoding_name_for_model(name))
        call(f"encoding_for_model({name!r})", lambda: tiktoken.encoding_for_model(name))
    for model in [*tiktoken.model.MODEL_TO_ENCODING, *(name + "x" for name in tiktoken.model.MODEL_PREFIX_TO_ENCODING)]:
        call(f"model {model}", lambda: tiktoken.encoding_name_for_model(model))
    file = os.path.join(folder, "some.tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 257, b"\n ": 256}
    lines = b"".join(base64_line(token, rank) for token, rank in sorted(ranks.items(), key=lambda item: item[1]))
    pathlib.Path(file).write_bytes(lines)
    call("load", lambda: tiktoken.load.load_tiktoken_bpe(file) == ranks)
    right = hashlib.sha256(lines).hexdigest()
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        kept = os.environ.pop("TIKTOKEN_CACHE_DIR")
        for value in ("", os.path.join(folder, variable)):
            os.environ[variable] = value
            call(f"load {variable} {bool(value)}", lambda: tiktoken.load.load_tiktoken_bpe(file, right) == ranks)
            call(f"hash {variable} {bool(value)}", lambda: tiktoken.load.load_tiktoken_bpe(file, "0" * 64))
            call(f"folder {variable} {bool(value)}", lambda: sorted(os.listdir(value)) == [hashlib.sha1(file.encode()).hexdigest()])
        del os.environ[variable]
        os.environ["TIKTOKEN_CACHE_DIR"] = kept
    call("missing", lambda: tiktoken.load.load_tiktoken_bpe(os.path.join(folder, "missing")))
    for number, content in enumerate([b"YQ== 1\n\nYg== 2", b"YQ==\n", b"YQ== x", b"\xff 1", b"YQ== 1 2", b"", b"YQ== 1\nYQ== 2"]):
        path = os.path.join(folder, f"bad{number}")
        pathlib.Path(path).write_bytes(content)
        call(f"load {content!r}", lambda: tiktoken.load.read_file(path) and tiktoken.load.load_tiktoken_bpe(path))


def base64_line(token, rank):
    """A line of a ``.tiktoken`` file."""
    return base64.b64encode(token) + b" " + str(rank).encode() + b"\n"


def main():
    """Calls everything."""
    folder, seed, cases = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    call = Recorder().call
    testdata = pathlib.Path(__file__).parents[2] / "testdata"
    corpus = (testdata / "udhr.txt").read_text(encoding="utf-8").split()
    probe_errors(call)
    probe_registry(call, folder)
    for number in range(6):
        rng = random.Random(f"{seed} {number}")
        ranks, special = vocabulary(rng, corpus)
        pattern = rng.choice(sorted(PATTERNS))
        encoding = tiktoken.Encoding(
            f"small-{number}", pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens=special
        )
        probe_encoding(call, rng, f"{number} {pattern}", encoding, cases)
    for name in published.encodings_in(os.environ["TIKTOKEN_CACHE_DIR"]):
        rng = random.Random(f"{seed} {name}")
        probe_encoding(call, rng, name, tiktoken.get_encoding(name), cases)


if __name__ == "__main__":
    main()
