"""spiece.sentencepiece: what the reference's own suite does not test, above all the calls of older releases."""

import copy
import itertools
import os
import pickle
import subprocess
import sys
import threading

import pytest

import spiece.sentencepiece as spm
from conftest import TEXTS


def test_out_type_may_be_the_second_argument_as_until_0_2_1(sp):
    assert sp.encode("Hello", str) == sp.encode("Hello", out_type=str)
    assert sp.encode("Hello", int, False, False, True) == sp.encode("Hello", reverse=True)
    assert sp.encode(["a", "b"], str, num_threads=1) == sp.encode(["a", "b"], return_type=str)
    assert sp.decode(sp.encode("Hello"), str) == sp.decode(sp.encode("Hello"))


def test_messages_are_the_same_in_all_their_forms(sp):
    pytest.importorskip("google.protobuf")
    for text in TEXTS:
        serialized = sp.encode(text, return_type="serialized_proto")
        immutable = sp.EncodeAsImmutableProto(text)
        assert sp.EncodeAsSerializedProto(text) == serialized == immutable.SerializeAsString()
        message = sp.encode_as_proto(text)
        assert message.SerializeToString() == serialized
        assert [piece.id for piece in immutable.pieces] == [piece.id for piece in message.pieces] == sp.encode(text)
        assert "".join(text[p.begin : p.end] for p in immutable.pieces) in (text, text.strip(), "")
    with pytest.raises(ValueError):
        sp.encode("a", return_type="immutable_proto")
    assert sp.decode(sp.encode("Hello"), out_type="immutable_proto").text == sp.decode(sp.encode("Hello"))


def test_extra_options_stay_until_they_are_replaced(bpe_path):
    sp = spm.SentencePieceProcessor(model_file=bpe_path)
    plain = sp.encode("Hello")
    sp.SetEncodeExtraOptions("bos:eos:reverse")
    assert sp.encode("Hello") == [2, *plain[::-1], 1]
    assert sp.encode(["Hello"]) == [[2, *plain[::-1], 1]]
    assert sp.encode("Hello", str)[0] == "</s>"
    assert len(sp.encode("Hello", out_type="immutable_proto").pieces) == len(plain) + 2
    sp.set_encode_extra_options("")
    assert sp.encode("Hello") == plain
    sp.SetDecodeExtraOptions("reverse")
    assert sp.decode(plain[::-1]) == "Hello"
    assert sp.decode([plain[::-1]] * 2) == ["Hello"] * 2
    with pytest.raises(RuntimeError):
        sp.SetEncodeExtraOptions("nonsense")


def test_a_vocabulary_restricts_pieces_until_it_is_reset(unigram_path, tmp_path):
    sp = spm.SentencePieceProcessor(model_file=unigram_path)
    text = "droits de la personne"
    before = sp.encode(text, str)
    assert before == ["▁droits", "▁de", "▁", "la", "▁personne"]
    sp.SetVocabulary(["▁droits"])
    assert sp.encode(text, str)[0] == "▁droits"
    assert not {"▁de", "▁personne"}.intersection(sp.id_to_piece(sp.encode(text)))
    sp.ResetVocabulary()
    assert sp.encode(text, str) == before
    path = tmp_path / "vocabulary.tsv"
    path.write_text("▁droits\t5\n▁personne\t1\n", encoding="utf-8")
    sp.LoadVocabulary(str(path), 2)
    assert "▁droits" in sp.encode(text, str) and "▁personne" not in sp.encode(text, str)
    sp.LoadVocabulary(str(path), 1)
    assert "▁personne" in sp.encode(text, str) and "▁de" not in sp.encode(text, str)


def test_init_sets_a_processor_up_again(bpe_path):
    sp = spm.SentencePieceProcessor()
    sp.Init(model_file=bpe_path, out_type=str)
    assert sp.encode("a") == ["▁a"]
    sp.init(model_file=bpe_path)
    assert sp.encode("a") == [sp.piece_to_id("▁a")]
    sp.OverrideNormalizerSpec(add_dummy_prefix=False)
    assert sp.encode("a", str) == ["a"]


def test_pickles_keep_options_and_attributes(model_path):
    class Mine(spm.SentencePieceProcessor):
        pass

    globals()["Mine"] = Mine
    Mine.__qualname__ = "Mine"
    sp = Mine(model_file=model_path, out_type=str, reverse=True)
    sp.note = "kept"
    for other in (pickle.loads(pickle.dumps(sp)), copy.copy(sp), copy.deepcopy(sp)):
        assert type(other) is Mine and other.note == "kept"
        assert other._return_type is str and other._reverse is True
        assert other.encode("Hello world") == sp.encode("Hello world")
    old = spm.SentencePieceProcessor.__new__(spm.SentencePieceProcessor)
    old.__setstate__(sp.serialized_model_proto())
    assert old.encode("Hello") == spm.SentencePieceProcessor(model_file=model_path).encode("Hello")


def test_settings_can_be_changed(sp):
    plain = sp.encode("Hello world")
    sp._reverse = True
    assert sp.encode("Hello world") == plain[::-1]
    sp._reverse = False
    sp._return_type = str
    assert sp.encode("Hello world") == sp.encode_as_pieces("Hello world")


def test_calls_without_a_model_are_errors():
    sp = spm.SentencePieceProcessor()
    for call in (lambda: sp.encode("a"), lambda: sp.decode([1]), lambda: sp.encode(["a"])):
        with pytest.raises(RuntimeError, match="Model is not initialized"):
            call()
    assert len(sp) == 0 and sp.bos_id() == -1


def test_samples_repeat_with_the_seed(unigram_path):
    sp = spm.SentencePieceProcessor(model_file=unigram_path)

    def draw():
        spm.set_random_generator_seed(7)
        options = {"enable_sampling": True, "nbest_size": -1, "alpha": 0.1}
        return [sp.encode("les droits de", **options) for _ in range(20)], sp.encode(["les droits"] * 20, **options)

    first = draw()
    assert first == draw()
    assert len({tuple(ids) for ids in first[0]}) > 1
    assert len({tuple(ids) for ids in first[1]}) > 1


def run(code):
    """Runs a program in another process, which has its own modules."""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_as_sentencepiece_is_what_other_packages_find():
    run(
        "import spiece.as_sentencepiece, importlib.util, sentencepiece, sys\n"
        "import spiece.sentencepiece as ours\n"
        "assert sentencepiece is ours\n"
        "assert importlib.util.find_spec('sentencepiece') is not None\n"
        "import importlib.metadata; assert importlib.metadata.version('sentencepiece') == '0.2.3'\n"
        "from sentencepiece import SentencePieceProcessor\n"
        "assert SentencePieceProcessor.__module__ == 'sentencepiece'\n"
        "import pickle; pickle.dumps(SentencePieceProcessor)\n"
    )
    pytest.importorskip("google.protobuf")
    run(
        "import spiece.as_sentencepiece\n"
        "from sentencepiece import sentencepiece_model_pb2 as model\n"
        "import sentencepiece.sentencepiece_pb2\n"
        "assert model.ModelProto().trainer_spec.model_type == model.TrainerSpec.UNIGRAM\n"
    )


def test_importing_loads_neither_numpy_nor_protobuf():
    run(
        "import sys, spiece, spiece.sentencepiece\n"
        "loaded = [name for name in ('numpy', 'google.protobuf', 'csv', 're') if name in sys.modules]\n"
        "assert 'numpy' not in loaded and 'google.protobuf' not in loaded, loaded\n"
    )


def test_model_messages_read_models(bpe_path):
    pytest.importorskip("google.protobuf")
    from spiece.sentencepiece import sentencepiece_model_pb2

    message = sentencepiece_model_pb2.ModelProto.FromString(open(bpe_path, "rb").read())
    sp = spm.SentencePieceProcessor(model_proto=message)
    assert [piece.piece for piece in message.pieces] == sp.id_to_piece(list(range(len(sp))))
    assert message.SerializeToString() == sp.serialized_model_proto()


def test_entropies_are_those_of_release_0_2_1(unigram_path):
    sp = spm.SentencePieceProcessor(model_file=unigram_path)
    # From sentencepiece 0.2.1.
    assert sp.CalculateEntropy("les droits", 0.5) == pytest.approx(1.7436729669570923, rel=1e-6)
    assert sp.calculate_entropy(["les droits", b"les droits", ""], alpha=0.5, num_threads=2) == [
        sp.calculate_entropy("les droits", 0.5),
        sp.calculate_entropy("les droits", 0.5),
        0.0,
    ]
    assert sp.CalculateEntropy([], 0.5) == []
    with pytest.raises(RuntimeError, match="num_threads"):
        sp.CalculateEntropy(["a"], 0.5, num_threads="2")
    with pytest.raises(RuntimeError, match="alpha"):
        sp.CalculateEntropy("a", -1.0)
    with pytest.raises(TypeError):
        sp.CalculateEntropy("a", "x")


def test_only_unigram_models_have_probabilities(bpe_path):
    sp = spm.SentencePieceProcessor(model_file=bpe_path)
    with pytest.raises(RuntimeError, match="unigram"):
        sp.CalculateEntropy("a", 1.0)
    with pytest.raises(RuntimeError, match="unigram"):
        sp.SampleEncodeAndScore("a")


def test_scored_samples_have_every_result_type(unigram_path):
    sp = spm.SentencePieceProcessor(model_file=unigram_path, out_type=str)
    text = "les droits"
    for method in (sp.SampleEncodeAndScoreAsIds, sp.sample_encode_and_score_as_pieces, sp.sample_encode_and_score):
        pairs = method(text, num_samples=4, alpha=0.5)
        assert len(pairs) == 4
        assert all(sp.decode(found) == text and score < 0 for found, score in pairs)
    spm.SetRandomGeneratorSeed(5)
    serialized = sp.SampleEncodeAndScoreAsSerializedProto(text, 4, 0.5, wor=True)
    spm.SetRandomGeneratorSeed(5)
    immutable = sp.SampleEncodeAndScoreAsImmutableProto(text, 4, 0.5, wor=True)
    assert immutable.SerializeAsString() == serialized
    spm.SetRandomGeneratorSeed(5)
    pairs = sp.SampleEncodeAndScore(text, int, num_samples=4, alpha=0.5, wor=True)
    assert [([piece.id for piece in found.pieces], found.score) for found in immutable.nbests] == pairs
    assert [len(pairs) for pairs in sp.SampleEncodeAndScore([text, "", "le"], num_samples=2)] == [2, 0, 2]
    (ids, _), *_ = sp.SampleEncodeAndScoreAsIds(text, add_bos=True, add_eos=True, reverse=True)
    assert (ids[0], ids[-1]) == (sp.bos_id(), sp.eos_id())
    (pieces, _), *_ = sp.SampleEncodeAndScoreAsPieces("les\u4e01", emit_unk_piece=True)
    assert pieces[-1] == "<unk>"


def test_scored_samples_without_replacement_are_distinct_and_can_have_the_best(unigram_path):
    sp = spm.SentencePieceProcessor(model_file=unigram_path)
    text = "les droits"
    for include_best in (False, True):
        pairs = sp.SampleEncodeAndScore(text, num_samples=8, alpha=0.5, wor=True, include_best=include_best)
        assert len({tuple(ids) for ids, _ in pairs}) == len(pairs) == 8
    assert pairs[0] == (sp.encode(text), 0.0)
    everything = sp.SampleEncodeAndScore("les", num_samples=100, wor=True)
    assert len(everything) == 7 and all(score == 0.0 for _, score in everything)


def test_wrong_scored_samples_are_refused(unigram_path):
    sp = spm.SentencePieceProcessor(model_file=unigram_path)
    for options in ({"num_samples": 0}, {"num_samples": -3}, {"include_best": True}, {"alpha": -1.0}, {"alpha": float("nan")}):
        with pytest.raises(RuntimeError):
            sp.SampleEncodeAndScore("a", **options)
    for options in ({"num_samples": "x"}, {"num_samples": 2.0}, {"alpha": "x"}, {"num_threads": 2}):
        with pytest.raises(TypeError):
            sp.SampleEncodeAndScore("a", **options)
    with pytest.raises(RuntimeError):
        sp.SampleEncodeAndScore("a", "serialized_proto", add_bos=True)
    with pytest.raises(RuntimeError, match="2147483647 samples"):
        sp.SampleEncodeAndScore("a", num_samples=2**31 - 1)


def test_offset_mappings_are_right_at_every_position(sp):
    # Short spans near the beginning of a text are shared objects, others are not.
    for text in ["word " * 800, "日本語 " * 700, "x" * 40, "", "a"]:
        for is_bytes in (False, True):
            given = text.encode() if is_bytes else text
            mapping = sp.encode(given, return_type="offset_mapping")
            message = sp.encode(given, return_type="proto")
            spans = [(piece.begin, piece.end) for piece in message.pieces]
            if not is_bytes:
                chars = {offset: len(text.encode()[:offset].decode()) for offset in {*itertools.chain(*spans)}}
                spans = [(chars[begin], chars[end]) for begin, end in spans]
            assert mapping["offsets"] == spans
            assert all(type(span) is tuple and list(map(type, span)) == [int, int] for span in mapping["offsets"])
            assert sp.encode(given, return_type="offset_mapping") == mapping


def test_a_list_may_change_while_it_is_encoded(sp):
    texts = ["text number %d" % number for number in range(3000)]
    expected = sp.encode(texts, num_threads=1)
    changing = list(texts)
    stopped = threading.Event()

    def change():
        while not stopped.is_set():
            changing.clear()
            changing.extend("".join(text) for text in texts)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            found = sp.encode(changing, num_threads=2)
            assert found == expected[: len(found)]
    finally:
        stopped.set()
        thread.join()


def test_every_protocol_of_pickle_keeps_a_processor_and_a_normalizer(sp):
    sp._add_bos = sp.bos_id() >= 0
    normalizer = spm.SentencePieceNormalizer(rule_name="nfkc", add_dummy_prefix=True)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(sp, protocol))
        assert type(other) is spm.SentencePieceProcessor and other._add_bos == sp._add_bos
        assert other.encode(TEXTS) == sp.encode(TEXTS)
        assert pickle.loads(pickle.dumps(normalizer, protocol)).normalize("ﬁ") == normalizer.normalize("ﬁ")


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_messages_and_their_parts_can_be_pickled_and_copied(implementation):
    pytest.importorskip("google.protobuf")
    code = """
import copy, pickle
from spiece.sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

text = sentencepiece_pb2.SentencePieceText(text="a")
text.pieces.add(piece="b", id=3)
piece = sentencepiece_model_pb2.ModelProto.SentencePiece(piece="x", score=-1.5)
for message in (text, text.pieces[0], piece, sentencepiece_model_pb2.ModelProto(pieces=[piece])):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(message, protocol))
        assert type(other) is type(message) and other == message
    assert copy.deepcopy(message) == message and copy.copy(message) == message
"""
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_pieces_and_ids_come_from_the_containers_of_the_reference(sp):
    """Found by calling 0.2.3."""
    a, b = sp.piece_to_id("a"), sp.piece_to_id("b")
    for pieces in (["a", "b"], ("a", b"b"), [bytearray(b"a"), "b"]):
        assert sp.piece_to_id(pieces) == [a, b]
    assert sp.piece_to_id(bytearray(b"a")) == a
    for pieces in ({"a": 1}, {0: "a"}, {}, {"a"}, set(), frozenset(["a"]), iter(["a"]), None, 5, range(3), ["a", 1]):
        with pytest.raises(TypeError):
            sp.piece_to_id(pieces)
    for ids in ({1, 2}, frozenset([1, 2]), (1, 2), range(1, 3), {1: 0, 2: 0}.keys(), map(int, (1, 2)), (n for n in (1, 2))):
        assert sp.id_to_piece(ids) == [sp.id_to_piece(1), sp.id_to_piece(2)]
    assert sp.is_unknown({0}) == [sp.is_unknown(0)] and sp.get_score({1}) == [sp.get_score(1)]
    for ids in ({1: 2}, {}, iter([1]), None, "a", b"a", ["a"], {"a"}):
        with pytest.raises(TypeError):
            sp.id_to_piece(ids)
    assert sp.decode([[3], {1, 2}]) == [sp.decode([3]), sp.decode([1, 2])]
    with pytest.raises(TypeError):
        sp.decode({1, 2})


def test_serialized_models_have_the_form_that_the_reference_writes(testdata):
    """Its bytes for these files are in the tests of the library; here the two changes that programs see."""
    model_pb2 = pytest.importorskip("spiece.sentencepiece.sentencepiece_model_pb2")
    model = (testdata / "golden" / "llama2.model").read_bytes()
    nul = model_pb2.ModelProto(pieces=[model_pb2.ModelProto.SentencePiece(piece="\0", score=-1.0)]).SerializeToString()
    sp = spm.SentencePieceProcessor(model_proto=model + nul)
    assert sp.is_unused(len(sp) - 1)
    read = model_pb2.ModelProto.FromString(sp.serialized_model_proto())
    assert read.pieces[-1].type == model_pb2.ModelProto.SentencePiece.UNUSED
    expected = model_pb2.ModelProto.FromString(model + nul)
    expected.pieces[-1].type = model_pb2.ModelProto.SentencePiece.UNUSED
    assert sp.serialized_model_proto() == expected.SerializeToString()
    assert spm.SentencePieceProcessor(model_proto=model).serialized_model_proto() == model


def test_the_buffer_of_an_array_has_its_address(sp):
    """The reference's test suite asks for it."""
    np = pytest.importorskip("numpy")
    ids = np.asarray(sp.encode("Hello world", return_type="numpy"))
    assert ids.base.obj.data_address() == ids.__array_interface__["data"][0]
