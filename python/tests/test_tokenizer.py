"""The modern interface."""

import copy
import pickle

import pytest

import spiece
from conftest import TEXTS

np = pytest.importorskip("numpy")


def test_all_forms_of_encoding_have_the_same_ids(tokenizer):
    lists = [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer.encode_batch(TEXTS) == lists
    assert tokenizer.encode_batch(tuple(TEXTS), threads=1) == lists
    assert [tokenizer.encode(text.encode()) for text in TEXTS] == lists
    for threads in (1, 3, None):
        batch = tokenizer.encode_ragged(TEXTS, threads=threads)
        assert batch.to_lists() == lists
        assert [batch[n] for n in range(-len(batch), 0)] == lists
        assert batch.ids.dtype == np.int32 and batch.offsets.dtype == np.int64
        assert batch.ids.tolist() == sum(lists, [])
        assert not batch.ids.flags.writeable
    assert tokenizer.count_batch(TEXTS).tolist() == [len(ids) for ids in lists]
    assert [tokenizer.count(text) for text in TEXTS] == [len(ids) for ids in lists]


def test_all_forms_of_decoding_have_the_same_texts(tokenizer):
    batch = tokenizer.encode_ragged(TEXTS)
    texts = [tokenizer.decode(ids) for ids in batch]
    assert tokenizer.decode_ragged(batch) == texts
    assert tokenizer.decode_ragged(batch.ids, batch.offsets, threads=2) == texts
    assert tokenizer.decode_batch(list(batch), threads=2) == texts
    for ids, text in zip(batch, texts):
        stream = tokenizer.decode_stream()
        assert "".join([stream.push(id) for id in ids] + [stream.finish()]) == text


def test_spans_cover_what_tokens_stand_for(tokenizer):
    text = "héllo 日本 😀"
    ids, begins, ends = tokenizer.encode_spans(text)
    assert ids.tolist() == tokenizer.encode(text)
    assert "".join(text[b:e] for b, e in zip(begins, ends)) == text
    _, begins, ends = tokenizer.encode_spans(text, unit="bytes")
    data = text.encode()
    assert b"".join(data[b:e] for b, e in zip(begins, ends)) == data
    with pytest.raises(ValueError, match="unit: 'words'"):
        tokenizer.encode_spans(text, unit="words")


def test_arrays_without_copies_outlive_their_batch(tokenizer):
    ids = tokenizer.encode_ragged(["some text"] * 100).ids
    copied = ids.tolist()
    for _ in range(50):
        tokenizer.encode_ragged(["other text"] * 100)
    assert ids.tolist() == copied
    with pytest.raises(ValueError):
        ids[0] = 1


def test_arrow_arrays_go_in_and_out(tokenizer):
    pa = pytest.importorskip("pyarrow")
    lists = tokenizer.encode_batch(TEXTS)
    for kind in (pa.string(), pa.large_string(), pa.binary()):
        array = pa.array([text.encode() if kind == pa.binary() else text for text in TEXTS], kind)
        assert tokenizer.encode_ragged(array).to_lists() == lists
        assert tokenizer.encode_ragged(array[2:5]).to_lists() == lists[2:5]
        assert tokenizer.encode_ragged(pa.chunked_array([array, array])).to_lists() == lists * 2
    assert tokenizer.encode_ragged(TEXTS).to_arrow().to_pylist() == lists
    with_options = tokenizer.encode_ragged(pa.array(TEXTS), user_defined_symbols=False)
    assert with_options.to_lists() == tokenizer.encode_ragged(TEXTS, user_defined_symbols=False).to_lists()
    with pytest.raises(TypeError, match="nulls"):
        tokenizer.encode_ragged(pa.array(["a", None]))


def test_special_pieces_are_found_only_if_allowed(bpe_path):
    tokenizer = spiece.Tokenizer.open(bpe_path)
    plain = tokenizer.encode("a</s>")
    assert tokenizer.eos_id not in plain
    allowed = tokenizer.encode("a</s>", allowed_special=["</s>"])
    assert allowed == tokenizer.encode("a") + [tokenizer.eos_id]
    with_both = tokenizer.encode_batch(["a", "b"], add_bos=True, add_eos=True)
    assert with_both == [[tokenizer.bos_id, *tokenizer.encode(t), tokenizer.eos_id] for t in "ab"]
    with pytest.raises(ValueError, match="not a control piece"):
        tokenizer.encode("a", allowed_special=["nothing"])


def test_ids_that_the_model_does_not_have_are_refused(tokenizer):
    for id in (-1, len(tokenizer), 2**31 - 1):
        with pytest.raises(IndexError, match="no piece with id"):
            tokenizer.decode([id])
        with pytest.raises(IndexError):
            tokenizer.id_to_piece(id)
    with pytest.raises(TypeError):
        tokenizer.decode(["a"])
    with pytest.raises(TypeError, match="one text is no batch"):
        tokenizer.encode_batch("a")


def test_copies_and_pickles_are_equal(tokenizer):
    for other in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        assert type(other) is spiece.Tokenizer
        assert other.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
        assert other.to_bytes() == tokenizer.to_bytes()


def test_a_missing_file_is_an_error_of_either_generation(tmp_path):
    for kind in (OSError, RuntimeError, FileNotFoundError, spiece.ModelError):
        with pytest.raises(kind, match="nothing.model"):
            spiece.Tokenizer.open(tmp_path / "nothing.model")
    with pytest.raises(RuntimeError, match="not a SentencePiece model"):
        spiece.Tokenizer.from_bytes(b"nonsense")


def test_nbest_lists_are_sorted(unigram_path):
    tokenizer = spiece.Tokenizer.open(unigram_path)
    best = tokenizer.nbest("les droits", 5)
    assert best[0][0] == tokenizer.encode("les droits")
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)


def test_samples_decode_to_the_text_and_depend_on_their_seed(bpe_path, unigram_path):
    for path in (bpe_path, unigram_path):
        tokenizer = spiece.Tokenizer.open(path)
        samples = [tokenizer.sample("les droits", alpha=0.3, seed=seed) for seed in range(40)]
        assert len({tuple(ids) for ids in samples}) > 1
        assert samples == [tokenizer.sample("les droits", alpha=0.3, seed=seed) for seed in range(40)]
        assert all(tokenizer.decode(ids) == "les droits" for ids in samples)
        with pytest.raises(RuntimeError, match="alpha"):
            tokenizer.sample("a", alpha=-1.0)
        with pytest.raises(RuntimeError, match="512"):
            tokenizer.sample("a", nbest_size=513)
    best = [ids for ids, _ in tokenizer.nbest("les droits", 2)]
    drawn = [tokenizer.sample("les droits", nbest_size=2, seed=seed) for seed in range(40)]
    assert {tuple(ids) for ids in drawn} == {tuple(ids) for ids in best}
    assert tokenizer.sample("les droits", nbest_size=1) == tokenizer.encode("les droits")
