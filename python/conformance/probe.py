"""Calls of the whole interface, and what they give: one line of JSON for each.

Run by ``differential.py`` with each of the two modules: ``probe.py MODULE FOLDER MODEL...``. FOLDER is written to.
"""

import array
import importlib
import io
import os
import pickle
import sys

if sys.argv[1] != "sentencepiece":
    import spiece.as_sentencepiece  # noqa: F401
import sentencepiece as spm

from recording import Recorder, np

TEXTS = [
    "",
    " ",
    "Hello world",
    "  two  spaces  ",
    "I saw a girl with a telescope.",
    "吾輩は猫である。名前はまだ無い。",
    "héllo wörld \U0001f600 \u2581x",
    "\uff21\uff22\uff23 \ufb01 \u337f \u00bd",
    "<s>a</s><unk><pad>",
    "a\nb\tc\r\n",
    "\u0000x\u0000",
    "x" * 400,
    "12345 67,890.12",
    "e\u0301 \u200b\u00a0\u3000",
    "مرحبا بالعالم",
]
HARD_TEXTS = ["\ud800", "a\udfffb", b"bytes text", b"\xff\xfe broken", "吾輩".encode()]
NOT_TEXTS = [None, 1, 1.5, ("a", "b"), {"a"}, {"a": 1}, bytearray(b"a"), memoryview(b"a"), object]
BATCHES = [[], ["a"], ["Hello", "", "world"], [b"a", b""], ["a", b"b"], [b"a", "b"], ["a", 1], ["a", None], ["\ud800"], [["a"]]]

RETURN_TYPES = [int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping"]


def probe_encode(call, sp):
    """Texts, batches and results of every type."""
    for text in TEXTS + HARD_TEXTS + NOT_TEXTS:
        call(f"encode({text!r})", lambda: sp.encode(text))
        call(f"encode({text!r}, str)", lambda: sp.encode(text, return_type=str))
        call(f"normalize({text!r})", lambda: sp.normalize(text))
        call(f"normalize({text!r}, True)", lambda: sp.Normalize(text, with_offsets=True))
    for text in TEXTS[:9] + HARD_TEXTS[2:]:
        for kind in RETURN_TYPES:
            call(f"encode({text!r}, return_type={kind})", lambda: sp.encode(text, return_type=kind))
    for batch in BATCHES:
        for kind in RETURN_TYPES:
            call(f"encode({batch!r}, out_type={kind})", lambda: sp.encode(batch, out_type=kind))
    for options in ENCODE_OPTIONS:
        for value in ("Hello world 日", ["Hello", ""]):
            call(f"encode({value!r}, {options})", lambda: sp.encode(value, **options))
            call(f"encode({value!r}, str, {options})", lambda: sp.EncodeAsPieces(value, **options))
    for name in ("Ids", "Pieces", "Numpy", "Proto", "OffsetMapping"):
        call(f"EncodeAs{name}", lambda: getattr(sp, f"EncodeAs{name}")("Hello world"))
        call(f"EncodeAs{name}(None)", lambda: getattr(sp, f"EncodeAs{name}")(None))
        call(f"EncodeAs{name} return_type", lambda: getattr(sp, f"EncodeAs{name}")("a", return_type=int))
        call(f"EncodeAs{name} wrong", lambda: getattr(sp, f"EncodeAs{name}")("a", wrong=1))
    for return_bytes in (True, False):
        for value in ("héllo", b"h\xc3\xa9llo", ["é", "日"], []):
            call(
                f"mapping {value!r} {return_bytes}",
                lambda: sp.encode(value, return_type="offset_mapping", return_bytes=return_bytes),
            )


ENCODE_OPTIONS = [
    {"add_bos": True},
    {"add_eos": True},
    {"add_bos": True, "add_eos": True, "reverse": True},
    {"reverse": True},
    {"emit_unk_piece": True},
    {"add_bos": 1},
    {"add_bos": "yes"},
    {"add_bos": []},
    {"add_bos": 0.0},
    {"num_threads": 2},
    {"num_threads": 0},
    {"num_threads": True},
    {"num_threads": "2"},
    {"num_threads": 2.0},
    {"num_threads": 2**40},
    {"num_threads": -5},
    {"return_type": "immutable_proto"},
    {"return_type": "ids"},
    {"return_type": float},
    {"return_type": int, "out_type": int},
    {"return_bytes": True},
    {"enable_sampling": True},
    {"enable_sampling": True, "nbest_size": 0, "alpha": 0.1},
    {"enable_sampling": True, "nbest_size": 1, "alpha": 0.1},
    {"enable_sampling": True, "nbest_size": 513, "alpha": 0.1},
    {"enable_sampling": True, "nbest_size": -1, "alpha": -1.0},
    {"enable_sampling": True, "nbest_size": -1, "alpha": float("nan")},
    {"enable_sampling": True, "nbest_size": "2", "alpha": 0.1},
    {"enable_sampling": True, "nbest_size": 2.0, "alpha": 0.1},
    {"enable_sampling": True, "nbest_size": -1, "alpha": "0.1"},
    {"enable_sampling": False, "nbest_size": "x"},
    {"enable_sampling": False, "alpha": "x"},
    {"thread_pool": 3},
    {"wrong": 1},
]


def probe_decode(call, sp):
    """Ids and pieces in every container, and results of every type."""
    ids = sp.encode("Hello world 日本")
    pieces = sp.encode("Hello world 日本", return_type=str)
    size = len(sp)
    inputs = [
        None,
        "",
        b"",
        [],
        (),
        ids,
        tuple(ids),
        pieces,
        tuple(pieces),
        [piece.encode() for piece in pieces],
        ids[0],
        pieces[0],
        pieces[0].encode(),
        True,
        [True, False],
        1.5,
        [1.5],
        ["a", 1],
        [1, "a"],
        [None],
        ["\ud800"],
        [-1],
        [size],
        [2**31],
        [2**31 - 1],
        [-(2**31)],
        [-(2**40)],
        [2**70],
        -1,
        size,
        2**70,
        object(),
        {1, 2},
        {0: 1},
        range(5),
        bytearray([1, 2]),
        memoryview(bytes([1, 2])),
        array.array("i", [1, 2]),
        array.array("q", [1, 2]),
        array.array("H", [1, 2]),
        array.array("d", [1, 2]),
        [ids, ids],
        (ids, ids),
        [tuple(ids), ids],
        [[], ids],
        [ids, []],
        [[], []],
        [pieces, pieces],
        [[], pieces],
        [[piece.encode() for piece in pieces], []],
        [ids, pieces],
        [ids, None],
        [ids, 1],
        [[ids]],
        [range(3), range(4)],
        [np.array(ids), np.array(ids)],
        ["abc", "xyz", "<unk>", "\u2581a"],
        ["\u2581", "\u2581\u2581a", "b\u2581c"],
    ]
    for kind in "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 bool".split():
        values = np.array([3, 4, 5, 6, 7, 8])
        inputs += [values.astype(kind), values.astype(kind)[::2], values.astype(kind)[::-1]]
        inputs.append(values.reshape(2, 3).astype(kind))
        inputs.append(np.asfortranarray(values.reshape(3, 2)).astype(kind))
    inputs += [
        np.array([], dtype=np.int32),
        np.zeros((0, 3), dtype=np.int64),
        np.zeros((2, 0), dtype=np.int32),
        np.array(5),
        np.int64(5),
        np.array([2**40, 1]),
        np.array([-(2**40), 1]),
        np.array([2**63], dtype=np.uint64),
        np.zeros((2, 2, 2), dtype=np.int32),
        np.array(["a", "b"]),
        np.array([1, None], dtype=object),
    ]
    for number, value in enumerate(inputs):
        label = f"{number} {type(value).__name__} {value!r}"[:120]
        call(f"decode({label})", lambda: sp.decode(value))
        for kind in (bytes, "serialized_proto", "offset_mapping"):
            call(f"decode({label}, {kind})", lambda: sp.decode(value, return_type=kind))
    for value in (ids, pieces, [ids], []):
        for options in (
            {"return_type": "proto"},
            {"return_type": int},
            {"return_type": "numpy"},
            {"return_type": "immutable_proto"},
            {"out_type": str},
            {"out_type": str, "return_type": str},
            {"return_bytes": True},
            {"return_type": "offset_mapping", "return_bytes": True},
            {"num_threads": "1"},
            {"num_threads": 3},
            {"wrong": 1},
        ):
            call(f"decode({str(value)[:40]}, {options})", lambda: sp.decode(value, **options))
        for name in ("DecodeIds", "DecodePieces", "DecodeIdsAsProto", "DecodePiecesAsProto", "Detokenize"):
            call(f"{name}({str(value)[:40]})", lambda: getattr(sp, name)(value))


def probe_vocabulary(call, sp):
    """Pieces and ids, one and many."""
    size = len(sp)
    values = [0, 1, 2, size - 1, size, -1, 2**31, 2**70, True, None, 1.0, "1", b"1", [0, 1], (0, 1), [], range(3)]
    values += [np.array([0, 1]), np.array([0, 1], dtype=np.uint8), np.int32(1), [size], [-1], [1.0], ["1"], np.array([1.0])]
    values += [np.array([[0, 1]]), array.array("i", [0]), np.array([2**40])]
    for name in ("IdToPiece", "GetScore", "IsUnknown", "IsControl", "IsUnused", "IsByte", "id_to_piece", "is_byte"):
        for value in values:
            call(f"{name}({value!r})", lambda: getattr(sp, name)(value))
    pieces = ["<unk>", "<s>", "</s>", "\u2581a", "no such piece", "", "\ud800", b"<s>", b"\xff", 1, None, ["<s>", "x"]]
    pieces += [("<s>",), [b"<s>"], [1], [], ["\ud800"], np.array(["<s>"]), {"<s>"}]
    for value in pieces:
        call(f"PieceToId({value!r})", lambda: sp.PieceToId(value))
        call(f"sp[{value!r}]", lambda: sp[value])
    for name in ("unk_id", "bos_id", "eos_id", "pad_id", "GetPieceSize", "vocab_size", "piece_size", "__len__"):
        call(name, lambda: getattr(sp, name)())
    call("serialized_model_proto", sp.serialized_model_proto)
    for pieces in ({"a"}, {"a": 1}, {0: "a"}, {}, set(), bytearray(b"a"), [bytearray(b"a")], iter(["a"]), range(2), array.array("i", [1])):
        call(f"piece_to_id of {type(pieces).__name__} {len(list(pieces))}", lambda: sp.piece_to_id(pieces))
    for make in (set, frozenset, dict.fromkeys, iter, lambda ids: dict.fromkeys(ids).keys(), lambda ids: map(int, ids), list):
        for name in ("id_to_piece", "get_score", "is_unknown"):
            call(f"{name} of {type(make([1, 2])).__name__}", lambda: getattr(sp, name)(make([1, 2])))
        call(f"decode a list with {type(make([1, 2])).__name__}", lambda: sp.decode([[3], make([1, 2])]))
    call("id_to_piece of a generator", lambda: sp.id_to_piece(id for id in (1, 2)))


def probe_nbest(call, sp):
    """N-best lists, sampling without chance, parallel encoding."""
    for size in (-1, 0, 1, 3, 512, 513, "3", 2.0, None):
        for kind in (int, str, "serialized_proto", "numpy", "proto", "offset_mapping", bytes):
            call(f"nbest({size}, {kind})", lambda: sp.nbest_encode("Hello world", nbest_size=size, return_type=kind))
    for value in ("", "日本", b"Hello", None, ["a", "b"], [], 1):
        call(f"nbest {value!r}", lambda: sp.NBestEncodeAsPieces(value, 2))
        call(f"nbest bos {value!r}", lambda: sp.NBestEncodeAsIds(value, 2, add_bos=True, reverse=True))
    for name in ("NBestEncodeAsNumpy", "NBestEncodeAsProto"):
        call(name, lambda: getattr(sp, name)("Hello", nbest_size=2))
    for length in (None, 0, -1, 5, 1000, "5", 2.0):
        call(f"parallel {length}", lambda: sp.parallel_encode("Hello world " * 30, chunk_len=length, num_threads=2))
    for kind in RETURN_TYPES:
        call(
            f"parallel {kind}",
            lambda: sp.ParallelEncode("Hello world " * 30, chunk_len=100, num_threads=2, return_type=kind),
        )
    for name in ("Ids", "Pieces", "Numpy", "Proto"):
        call(f"ParallelEncodeAs{name}", lambda: getattr(sp, f"ParallelEncodeAs{name}")("Hello", chunk_len=10))
        call(f"ParallelEncodeAs{name}()", lambda: getattr(sp, f"ParallelEncodeAs{name}")("Hello"))
        call(f"SampleEncodeAs{name} without", lambda: getattr(sp, f"SampleEncodeAs{name}")("", 4, 0.5))
        call(f"SampleEncodeAs{name} 0", lambda: getattr(sp, f"SampleEncodeAs{name}")("Hello", 0, 0.5))


def probe_objects(call, path):
    """Construction, loading, pickles."""
    data = open(path, "rb").read()
    P = spm.SentencePieceProcessor
    for label, make in {
        "file": lambda: P(model_file=path),
        "positional": lambda: P(path),
        "proto": lambda: P(model_proto=data),
        "both": lambda: P(model_file=path, model_proto=data),
        "missing": lambda: P(model_file="no such file"),
        "folder": lambda: P(model_file="/"),
        "number": lambda: P(model_file=3),
        "bytes path": lambda: P(model_file=path.encode()),
        "broken": lambda: P(model_proto=b"broken"),
        "text proto": lambda: P(model_proto="text"),
        "cut": lambda: P(model_proto=data[: len(data) // 2]),
        "out_type": lambda: P(model_file=path, out_type=str).encode("Hello"),
        "wrong type": lambda: P(out_type="x"),
        "immutable": lambda: P(return_type="immutable_proto"),
        "both types": lambda: P(out_type=int, return_type=int),
        "unknown": lambda: P(wrong=1),
        "empty": lambda: P(),
        "from_file": lambda: P.from_file(path, add_bos=True).encode("Hello"),
        "from_file twice": lambda: P.from_file(path, model_file=path),
        "from_file missing": lambda: P.from_file("no such file"),
        "from_proto": lambda: P.from_proto(data, out_type=str).encode("Hello"),
        "from_proto broken": lambda: P.from_proto(b"broken"),
        "load": lambda: P().load(path),
        "Load": lambda: P().Load(model_file=path),
        "Load proto": lambda: P().Load(model_proto=data),
        "Load nothing": lambda: P().Load(),
        "Load both": lambda: P().Load(path, data),
        "LoadFromFile": lambda: P().LoadFromFile(path),
        "LoadFromSerializedProto": lambda: P().load_from_serialized_proto(data),
        "LoadFromSerializedProto text": lambda: P().load_from_serialized_proto("x"),
        "unloaded encode": lambda: P().encode("a"),
        "unloaded batch": lambda: P().encode(["a"]),
        "unloaded decode": lambda: P().decode([1]),
        "unloaded decode nothing": lambda: P().decode([]),
        "unloaded pieces": lambda: P().decode(["a"]),
        "unloaded size": lambda: P().get_piece_size(),
        "unloaded bos": lambda: P().bos_id(),
        "unloaded piece": lambda: P().id_to_piece(1),
        "unloaded id": lambda: P().piece_to_id("a"),
        "unloaded normalize": lambda: P().normalize("a"),
        "unloaded nbest": lambda: P().nbest_encode("a"),
        "unloaded model": lambda: P().serialized_model_proto(),
        **{
            f"pickle {protocol}": lambda protocol=protocol: pickle.loads(
                pickle.dumps(P(model_file=path, reverse=True), protocol)
            ).encode("Hello")
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        },
        "state": lambda: sorted(P(model_file=path).__getstate__()),
        "pool": lambda: spm.ThreadPool(3).num_threads(),
        "pool 0": lambda: spm.ThreadPool(0).num_threads(),
        "pool many": lambda: spm.ThreadPool(5000).num_threads(),
        "pool text": lambda: spm.ThreadPool("3"),
        "pool nothing": lambda: spm.ThreadPool(),
        "pool used": lambda: P(path).encode(["a", "b"], thread_pool=spm.ThreadPool(2)),
        "seed": lambda: spm.set_random_generator_seed(3),
        "seed text": lambda: spm.SetRandomGeneratorSeed("3"),
        "seed negative": lambda: spm.SetRandomGeneratorSeed(-1),
        "seed large": lambda: spm.SetRandomGeneratorSeed(2**40),
        "log level": lambda: spm.set_min_log_level(2),
        "log level text": lambda: spm.SetMinLogLevel("2"),
        "timeout": lambda: spm.set_nbest_timeout(30000),
        "timeout text": lambda: spm.SetNBestTimeout("1"),
        "version": lambda: spm.__version__,
        "flatbuffer nothing": lambda: spm.ConvertToFlatbuffer(),
        "flatbuffer both": lambda: spm.convert_to_flatbuffer(model_file=path, model_proto=data),
    }.items():
        call(f"object {label}", make)


def probe_normalizer(call, path, folder):
    """Normalizers from every source."""
    data = open(path, "rb").read()
    N = spm.SentencePieceNormalizer
    rules = os.path.join(folder, "rules.tsv")
    with open(rules, "w", encoding="utf-8") as file:
        file.write("41\t61\n42 43\t62\n")
    makers = {
        "file": lambda **flags: N(model_file=path, **flags),
        "proto": lambda **flags: N(model_proto=data, **flags),
        "tsv": lambda **flags: N(rule_tsv=rules, **flags),
        "map": lambda **flags: N(norm_map=[("A", "a"), ("BC", "b")], **flags),
        "nfkc_cf": lambda **flags: N(rule_name="nfkc_cf", **flags),
        "identity": lambda **flags: N(rule_name="identity", **flags),
    }
    for label, make in makers.items():
        for flags in ({}, {"add_dummy_prefix": False}, {"escape_whitespaces": False}, {"remove_extra_whitespaces": False}):
            for text in TEXTS[:10] + HARD_TEXTS:
                call(f"normalizer {label} {flags} {text!r}", lambda: make(**flags).normalize(text, with_offsets=True))
        call(f"normalizer {label} spec", lambda: make().serialized_normalizer_spec()[-40:])
        call(f"normalizer {label} spec flag", lambda: make(add_dummy_prefix=False).serialized_normalizer_spec()[-40:])
        call(f"normalizer {label} model", lambda: len(make().serialized_model_proto()))
        call(f"normalizer {label} decompile", lambda: make().decompile()[:20])
        call(f"normalizer {label} pickle", lambda: pickle.loads(pickle.dumps(make())).normalize("A BC"))
        call(f"normalizer {label} list", lambda: make().Normalize(["A", b"A"]))
    for label, make in {
        "nothing": lambda: N(),
        "missing": lambda: N(model_file="no such file"),
        "missing tsv": lambda: N(rule_tsv="no such file"),
        "unknown name": lambda: N(rule_name="unknown"),
        "broken": lambda: N(model_proto=b"broken"),
        "empty map": lambda: N(norm_map=[]),
        "double map": lambda: N(norm_map=[("a", "b"), ("a", "c")]),
        "identity map": lambda: N(norm_map=[("a", "a")]),
        "map of numbers": lambda: N(norm_map=[(1, 2)]),
        "spec": lambda: N(normalizer_spec=N(rule_name="nfkc").serialized_normalizer_spec()).normalize("Ａ"),
        "broken spec": lambda: N(normalizer_spec=b"\xff"),
    }.items():
        call(f"normalizer {label}", make)


def probe_training(call, folder):
    """Trained models, byte for byte, and refused options."""
    corpus = os.path.join(folder, "corpus.txt")
    lines = [f"line {n} of a small corpus with {n % 7} words, l'homme, 日本語 {n * n}" for n in range(300)]
    with open(corpus, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    T = spm.SentencePieceTrainer
    prefix = os.path.join(folder, "m")

    def trained(**options):
        writer = io.BytesIO()
        options.setdefault("sentence_iterator", iter(lines))
        result = T.train(model_writer=writer, **options)
        return (result, writer.getvalue())

    def written(*args, **options):
        result = T.Train(*args, **options)
        return (result, open(prefix + ".model", "rb").read(), open(prefix + ".vocab", "rb").read())

    sizes = {"vocab_size": 120, "hard_vocab_limit": False}
    for kind in ("unigram", "bpe", "word", "char"):
        call(f"train {kind}", lambda: trained(model_type=kind, **sizes))
        call(f"train {kind} file", lambda: written(input=corpus, model_prefix=prefix, model_type=kind, **sizes))
        call(
            f"train {kind} string",
            lambda: written(
                f"--input={corpus} --model_prefix={prefix} --vocab_size=120 --model_type={kind} --hard_vocab_limit=false"
            ),
        )
    for label, options in {
        "default type": {},
        "symbols": {"user_defined_symbols": ["a,b", "<x>"], "control_symbols": "<c>,<d>"},
        "tuple": {"user_defined_symbols": ("a", "b")},
        "bytes": {"byte_fallback": True, "vocab_size": 400},
        "flags": {"split_digits": True, "add_dummy_prefix": False, "remove_extra_whitespaces": False},
        "ids": {"unk_id": 3, "bos_id": -1, "eos_id": 1, "pad_id": 0},
        "rules": {"normalization_rule_name": "identity"},
        "nfkc_cf": {"normalization_rule_name": "nfkc_cf"},
        "normalizer": {"normalizer": spm.SentencePieceNormalizer(norm_map=[("l", "L")])},
        "normalizer and flag": {
            "normalizer": spm.SentencePieceNormalizer(norm_map=[("l", "L")]),
            "add_dummy_prefix": False,
        },
        "normalizer without escapes": {
            "normalizer": spm.SentencePieceNormalizer(norm_map=[("l", "L")], escape_whitespaces=False)
        },
        "coverage": {"character_coverage": 0.98},
        "unknown option": {"no_such_option": 1},
        "bad number": {"vocab_size": "many"},
        "bad type": {"model_type": "nonsense"},
        "bad bool": {"byte_fallback": "perhaps"},
        "small vocabulary": {"vocab_size": 2, "hard_vocab_limit": True},
        "large vocabulary": {"vocab_size": 100000, "hard_vocab_limit": True},
        "list": {"sentence_iterator": lines},
        "numbers": {"sentence_iterator": iter([1, 2])},
        "raises": {"sentence_iterator": (1 // 0 for _ in range(3))},
        "empty": {"sentence_iterator": iter([])},
        "bytes lines": {"sentence_iterator": iter([line.encode() for line in lines])},
        "reader": {"sentence_iterator": None, "sentence_reader": iter(lines)},
        "pretokenizer": {"pretokenizer": lambda text: text.split("l") if False else [text]},
        "minloglevel": {"minloglevel": 2},
    }.items():
        for kind in ("bpe", "unigram"):
            arguments = {**sizes, "model_type": kind, **options}
            if label == "default type":
                arguments.pop("model_type")
            call(f"train {label} {kind}", lambda: trained(**arguments))
    for label, make in {
        "no output": lambda: T.train(sentence_iterator=iter(lines), **sizes),
        "both outputs": lambda: T.train(
            sentence_iterator=iter(lines), model_prefix=prefix, model_writer=io.BytesIO(), **sizes
        ),
        "no input": lambda: T.train(model_prefix=prefix, **sizes),
        "missing input": lambda: T.train(input="no such file", model_prefix=prefix, **sizes),
        "nothing": lambda: T.train(),
        "empty string": lambda: T.train(""),
        "unknown flag": lambda: T.train("--unknown=1"),
        "number": lambda: T.train(3),
        "no folder": lambda: T.train(input=corpus, model_prefix=os.path.join(folder, "none", "m"), **sizes),
    }.items():
        call(f"train {label}", make)


def main():
    """Probes everything with each model."""
    folder, *models = sys.argv[2:]
    recorder = Recorder()
    for path in models:
        name = os.path.basename(path)

        def call(label, function, name=name):
            recorder.call(f"{name}: {label}", function)

        sp = spm.SentencePieceProcessor(model_file=path)
        probe_encode(call, sp)
        probe_decode(call, sp)
        probe_vocabulary(call, sp)
        probe_nbest(call, sp)
        probe_objects(call, path)
    probe_normalizer(recorder.call, models[0], folder)
    probe_training(recorder.call, folder)


if __name__ == "__main__":
    main()
