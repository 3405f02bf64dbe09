"""The interface of tiktoken. ``conformance/tiktoken_surface.py`` compares it with tiktoken itself."""

import concurrent.futures
import contextlib
import copy
import hashlib
import http.server
import json
import os
import pickle
import subprocess
import sys
import threading

import pytest

import spiece.tiktoken as tiktoken
from spiece.tiktoken import load, openai_public, registry

np = pytest.importorskip("numpy")

WORDS = [b"lo", b" l", b"ow", b" low", b"low", b"er", b" lower", b"\n\n", b"  ", "é".encode(), b"\xf0\x9f", "😀".encode()]
RANKS = {bytes([byte]): byte for byte in range(256)} | {word: 256 + n for n, word in enumerate(WORDS)}
SPECIAL = {"<|endoftext|>": 300, "<|end|>": 302, "<a>": 303}
TEXTS = ["", "low lower  slower\n\n\n", "<a>low<|end|>er<|endoftext|>", "é 😀😀 \t世界", "it's 1234567 !?", "x" * 5000]


@pytest.fixture
def encoding():
    """A small vocabulary with the pattern of GPT-2."""
    return tiktoken.Encoding("small", pat_str=openai_public.r50k_pat_str, mergeable_ranks=RANKS, special_tokens=SPECIAL)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for files that are fetched."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


def tiktoken_file(ranks):
    """The bytes of a file with these ranks."""
    import base64

    lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    return b"".join(lines)


@contextlib.contextmanager
def served(content):
    """An address with this content, and a list that gets an item for each request."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/some.tiktoken", requests
    server.shutdown()
    thread.join()
    server.server_close()


def test_text_is_decoded_to_itself_by_all_methods(encoding):
    for text in TEXTS:
        ids = encoding.encode(text, allowed_special="all")
        assert encoding.decode(ids) == text
        assert encoding.decode_bytes(ids) == b"".join(encoding.decode_tokens_bytes(ids)) == text.encode()
        assert encoding.encode_to_numpy(text, allowed_special="all").tolist() == ids
        ordinary = encoding.encode_ordinary(text)
        assert encoding.decode(ordinary) == text and not set(ordinary) & set(SPECIAL.values())
        assert encoding.encode(text, disallowed_special=()) == ordinary
        assert encoding._encode_bytes(text.encode()) == ordinary
        parts, offsets = encoding.decode_with_offsets(ids)
        assert parts == text and len(offsets) == len(ids) and offsets == sorted(offsets)


def test_special_tokens_are_refused_unless_they_are_allowed_or_not_disallowed(encoding):
    text = "low<|end|>"
    with pytest.raises(ValueError, match=r"(?s)disallowed special token '<\|end\|>'.*allowed_special={'<\|end\|>', ...}"):
        encoding.encode(text)
    for method in (encoding.encode_to_numpy, encoding.encode_with_unstable, lambda text: encoding.encode_batch([text])):
        with pytest.raises(ValueError, match="disallowed special token"):
            method(text)
    assert encoding.encode(text, allowed_special={"<|end|>"}) == [260, 302]
    assert encoding.encode(text, allowed_special={"<a>", "not special"}, disallowed_special=()) == encoding.encode_ordinary(text)
    assert encoding.encode(text, disallowed_special={"<a>"}) == encoding.encode_ordinary(text)
    with pytest.raises(ValueError, match="token 'ow'"):
        encoding.encode(text, disallowed_special=["ow"])
    with pytest.raises(ValueError, match="token '<a>'"):
        encoding.encode("<|end|><a>", allowed_special={"<|end|>"})


def test_batches_equal_single_calls(encoding):
    for threads in (1, 3, 100):
        ordinary = encoding.encode_ordinary_batch(TEXTS, num_threads=threads)
        assert ordinary == [encoding.encode_ordinary(text) for text in TEXTS]
        found = encoding.encode_batch(iter(TEXTS), allowed_special="all", num_threads=threads)
        assert found == [encoding.encode(text, allowed_special="all") for text in TEXTS]
        assert encoding.decode_batch(found, num_threads=threads) == TEXTS
        assert encoding.decode_bytes_batch(found) == [text.encode() for text in TEXTS]
    some = {"allowed_special": {"<a>"}, "disallowed_special": {"<|end|>"}}
    assert encoding.encode_batch(["<a>", "<|endoftext|>"], **some) == [[303], encoding.encode_ordinary("<|endoftext|>")]
    for method in (encoding.encode_batch, encoding.decode_batch):
        with pytest.raises(ValueError, match="max_workers"):
            method([], num_threads=0)
    with pytest.raises(TypeError):
        encoding.encode_batch(["a", b"b"])


def test_surrogates_become_characters_or_the_replacement_character(encoding):
    assert encoding.encode("\ud83d\ude00") == [267] == encoding.encode_ordinary("\ud83d\ude00")
    assert encoding.decode(encoding.encode("low\ud83d")) == "low\ufffd"
    assert encoding.encode_batch(["a", "\ud83d\ude00"]) == [[97], [267]]
    with pytest.raises(ValueError, match="<a>"):
        encoding.encode("\ud83d<a>")
    with pytest.raises(UnicodeEncodeError):
        encoding.encode_to_numpy("\ud83d")


def test_ids_are_looked_up_with_the_errors_of_dictionaries(encoding):
    assert encoding.encode_single_token("low") == 260 and encoding.encode_single_token(b"\xf0\x9f") == 266
    assert encoding.encode_single_token("<a>") == 303 and encoding.decode_single_token_bytes(303) == b"<a>"
    for call in (
        lambda: encoding.encode_single_token("lowlow"),
        lambda: encoding.decode_single_token_bytes(301),
        lambda: encoding.decode([97, 301]),
        lambda: encoding.decode_bytes([1 << 31]),
    ):
        with pytest.raises(KeyError):
            call()
    for ids in ([-1], [1 << 32]):
        with pytest.raises(OverflowError):
            encoding.decode(ids)
    assert encoding.n_vocab == 304 and encoding.max_token_value == 303 and encoding.eot_token == 300
    assert encoding.special_tokens_set == set(SPECIAL)
    assert encoding.is_special_token(303) and not encoding.is_special_token(97)
    assert encoding.token_byte_values() == sorted(RANKS)
    assert repr(encoding) == "<Encoding 'small'>"


def test_bytes_that_are_no_text_are_decoded_as_asked(encoding):
    half = encoding.encode("😀")[:1] if len(encoding.encode("😀")) > 1 else [266]
    assert encoding.decode(half) == "\ufffd" and encoding.decode(half, errors="ignore") == ""
    with pytest.raises(UnicodeDecodeError):
        encoding.decode(half, errors="strict")
    with pytest.raises(UnicodeDecodeError):
        encoding.decode_with_offsets(half)
    # The bytes from the last pretoken on are one pretoken.
    assert encoding._encode_bytes(b"a low\xf0\x9f") == [97, 259, 266]
    assert encoding._encode_bytes(b"\xff") == [255]


def test_completions_are_those_that_tiktoken_finds(encoding):
    """Found by calling 0.14.0."""
    assert encoding.encode_with_unstable("a lo") == ([97], [[32, 256], [259], [262]])
    assert encoding.encode_with_unstable("a \n") == ([97], [[32, 10], [32, 263]])
    assert encoding.encode_with_unstable("low<a>", allowed_special="all") == ([260, 303], [])
    assert encoding.encode_with_unstable("") == ([], [])


def test_longer_texts_go_on_with_a_completion(encoding):
    text = "lower low\n\nslower"
    for end in range(len(text)):
        certain, completions = encoding.encode_with_unstable(text[:end])
        whole = encoding.encode(text)
        assert whole[: len(certain)] == certain
        assert all(encoding.decode_bytes(certain + ids).startswith(text[:end].encode()) for ids in completions)
        assert not end or any(whole[: len(certain + ids)] == certain + ids for ids in completions)


def test_what_the_library_refuses_is_an_error_that_says_why():
    def made(**changes):
        return tiktoken.Encoding(**({"name": "x", "pat_str": r"\w+|\W+", "mergeable_ranks": RANKS, "special_tokens": {}} | changes))

    with pytest.raises(ValueError, match="two tokens have the id 5"):
        made(mergeable_ranks=RANKS | {b"abc": 5})
    with pytest.raises(ValueError, match="look"):
        made(pat_str=r"(?<=a)b")
    with pytest.raises(ValueError, match="malformed"):
        made(pat_str="(")
    with pytest.raises(AssertionError):
        made(explicit_n_vocab=5)
    # A vocabulary without all bytes works for texts that need no others.
    few = made(mergeable_ranks={b"a": 0, b"b": 1, b"ab": 2}, special_tokens={"c": 4})
    assert few.encode("abba") == [2, 1, 0] and few.encode("abc", allowed_special="all") == [2, 4]
    assert few.encode_single_token("c") == 4 and few.n_vocab == 5 and few.token_byte_values() == [b"a", b"ab", b"b"]
    with pytest.raises(ValueError, match='no token is the byte "x"'):
        few.encode("ax")
    with pytest.raises(ValueError, match="no token is the byte"):
        few.encode_ordinary_batch(["a", "x"])
    for id in (3, 5, 200):
        with pytest.raises(KeyError):
            few.decode([id])
    with pytest.raises(KeyError):
        few.encode_single_token("x")


def test_special_tokens_may_share_an_id():
    special = {"<b>": 300, "<a>": 300, "<lo>": 256}
    encoding = tiktoken.Encoding("x", pat_str=r"\w+|\W+", mergeable_ranks=RANKS, special_tokens=special)
    assert encoding.encode("<a><b><lo>", allowed_special="all") == [300, 300, 256]
    assert encoding.decode([300, 256]) == "<b>lo"
    assert encoding.encode_with_unstable("<lo>", allowed_special="all") == ([256], [])


def test_encodings_are_pickled_by_name_or_with_their_vocabulary(encoding, monkeypatch):
    for again in (pickle.loads(pickle.dumps(encoding)), copy.copy(encoding), copy.deepcopy(encoding)):
        assert again is not encoding and again.encode("low lower") == encoding.encode("low lower")
        assert again.name == "small" and again._mergeable_ranks == RANKS and again._special_tokens == SPECIAL
    monkeypatch.setitem(registry.ENCODINGS, "small", encoding)
    pickled = pickle.dumps(encoding)
    assert len(pickled) < 200
    assert pickle.loads(pickled)._core_bpe is encoding._core_bpe


def test_threads_share_an_encoding(encoding):
    expected = [encoding.encode(text, allowed_special="all") for text in TEXTS]

    def work(number):
        if number % 2:
            return [encoding.encode(text, allowed_special="all") for text in TEXTS]
        return encoding.encode_batch(TEXTS, allowed_special="all")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(work, range(40)))


def test_files_are_fetched_once_and_checked(cache):
    content = tiktoken_file(RANKS)
    right = hashlib.sha256(content).hexdigest()
    with served(content) as (address, requests):
        with pytest.raises(ValueError, match="Hash mismatch"):
            load.load_tiktoken_bpe(address, "0" * 64)
        assert not cache.exists() and len(requests) == 1
        assert load.load_tiktoken_bpe(address, right) == RANKS
        assert load.load_tiktoken_bpe(address, right) == RANKS
        assert load.load_tiktoken_bpe(address) == RANKS and len(requests) == 2
        (file,) = cache.iterdir()
        assert file.name == hashlib.sha1(address.encode()).hexdigest()
        file.write_bytes(b"damaged")
        assert load.load_tiktoken_bpe(address, right) == RANKS and len(requests) == 3
    assert load.load_tiktoken_bpe(address, right) == RANKS
    file.unlink()
    with pytest.raises(OSError) as caught:
        load.load_tiktoken_bpe(address, right)
    assert str(file) in caught.value.__notes__[0] and "Without a network" in caught.value.__notes__[0]


def test_an_empty_name_of_the_folder_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    content = tiktoken_file(RANKS)
    for value, count in (("", 2), (str(tmp_path / "kept"), 1)):
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", value)
        with served(content) as (address, requests):
            assert load.load_tiktoken_bpe(address) == load.load_tiktoken_bpe(address) == RANKS
        assert len(requests) == count


def test_ranks_are_written_and_read(tmp_path, cache):
    path = str(tmp_path / "some.tiktoken")
    load.dump_tiktoken_bpe(dict(reversed(RANKS.items())), path)
    assert open(path, "rb").read() == tiktoken_file(RANKS)
    assert load.load_tiktoken_bpe(path) == RANKS
    for line in (b"YQ==", b"YQ== x", b"YQ== 1 2"):
        other = tmp_path / line.hex()
        other.write_bytes(b"YQ== 1\n\n" + line)
        with pytest.raises(ValueError, match=f"Error parsing line {line!r}"):
            load.load_tiktoken_bpe(str(other))
    with pytest.raises(ImportError, match="blobfile"):
        load.load_tiktoken_bpe("gs://bucket/some.tiktoken")


def test_the_two_files_of_gpt2_have_to_agree(tmp_path, cache):
    printable = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    order = printable + [byte for byte in range(256) if byte not in printable]
    char = {byte: chr(byte) if byte in printable else chr(256 + order.index(byte) - len(printable)) for byte in order}
    merges, vocabulary = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    merges.write_text(f"#version: 0.2\nl o\n{char[32]} lo\n", encoding="utf-8")
    ids = {char[byte]: id for id, byte in enumerate(order)} | {"lo": 256, char[32] + "lo": 257}
    vocabulary.write_text(json.dumps(ids | {"<|endoftext|>": 258}))
    ranks = load.data_gym_to_mergeable_bpe_ranks(str(merges), str(vocabulary))
    assert ranks == {bytes([byte]): id for id, byte in enumerate(order)} | {b"lo": 256, b" lo": 257}
    ids[char[65]], ids[char[66]] = ids[char[66]], ids[char[65]]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(ids))
    with pytest.raises(AssertionError):
        load.data_gym_to_mergeable_bpe_ranks(str(merges), str(other))
    swapped = load.data_gym_to_mergeable_bpe_ranks(str(merges), str(other), clobber_one_byte_tokens=True)
    assert swapped[b"A"] == ranks[b"B"] and swapped[b" lo"] == 257


def test_names_and_models_are_those_of_tiktoken():
    names = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"]
    assert tiktoken.list_encoding_names()[:7] == names
    for model, name in (("gpt-4o", "o200k_base"), ("gpt-4-0314", "cl100k_base"), ("gpt-oss-120b", "o200k_harmony")):
        assert tiktoken.encoding_name_for_model(model) == name
    with pytest.raises(KeyError, match="Could not automatically map nothing"):
        tiktoken.encoding_for_model("nothing")
    with pytest.raises(ValueError, match="Unknown encoding nothing"):
        tiktoken.get_encoding("nothing")
    with pytest.raises(ValueError, match="Expected a string"):
        tiktoken.get_encoding(5)


def run(code, *, path, **environment):
    """Runs code in another process, which finds modules in ``path`` first."""
    found = os.pathsep.join([str(path), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": found, **environment}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


PLUGIN = """
from tiktoken.load import load_tiktoken_bpe

def small():
    return {"name": "small", "pat_str": r"\\w+|\\W+", "mergeable_ranks": load_tiktoken_bpe(PATH), "special_tokens": {"<a>": 300}}

ENCODING_CONSTRUCTORS = {NAME: small}
"""


def test_plugins_are_found_and_import_ours(tmp_path):
    (tmp_path / "tiktoken_ext").mkdir()
    ranks = tmp_path / "small.tiktoken"
    ranks.write_bytes(tiktoken_file(RANKS))
    plugin = tmp_path / "tiktoken_ext" / "small_plugin.py"
    plugin.write_text(PLUGIN.replace("PATH", repr(str(ranks))).replace("NAME", "'small'"))
    code = """
import spiece.as_tiktoken, importlib.metadata, importlib.util, pickle, sys
import tiktoken, tiktoken.core, tiktoken_ext.openai_public
assert tiktoken is sys.modules["spiece.tiktoken"] and importlib.metadata.version("tiktoken") == "0.14.0"
assert importlib.util.find_spec("tiktoken.load") and importlib.util.find_spec("tiktoken.nothing") is None
assert set(tiktoken.list_encoding_names()) >= {"small", "gpt2"}
encoding = tiktoken.get_encoding("small")
assert encoding.encode("low<a>", allowed_special="all") == [260, 300]
assert b"ctiktoken.core" in pickle.dumps(encoding, 0) and pickle.loads(pickle.dumps(encoding)).encode("low") == [260]
"""
    run(code, path=tmp_path, TIKTOKEN_CACHE_DIR=str(tmp_path / "cache"))
    plugin.write_text("")
    code = """
import spiece.tiktoken
for _ in range(2):
    try:
        spiece.tiktoken.list_encoding_names()
    except ValueError as error:
        print(error)
"""
    assert run(code, path=tmp_path) == "tiktoken plugin tiktoken_ext.small_plugin does not define ENCODING_CONSTRUCTORS\n" * 2
    plugin.write_text("ENCODING_CONSTRUCTORS = {'gpt2': dict}")
    assert "Duplicate encoding name gpt2" in run(code, path=tmp_path)


def test_the_package_of_plugins_need_not_be_there(tmp_path):
    run("import spiece.as_tiktoken, tiktoken, tiktoken_ext; assert tiktoken.list_encoding_names()", path=tmp_path)
