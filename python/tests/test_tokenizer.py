"""The modern interface."""

import copy
import pickle

import pytest

import spiece
import spiece.sentencepiece as spm
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
    with pytest.raises(RuntimeError, match="not a tokenizer"):
        spiece.Tokenizer.from_bytes(b"nonsense")
    pointer = b"version https://git-lfs.github.com/spec/v1\n"
    (tmp_path / "pointer.model").write_bytes(pointer)
    for read in (
        lambda: spiece.Tokenizer.from_bytes(pointer),
        lambda: spiece.Tokenizer.open(tmp_path / "pointer.model"),
        lambda: spm.SentencePieceProcessor(model_file=str(tmp_path / "pointer.model")),
    ):
        with pytest.raises(spiece.ModelError, match="git lfs pull"):
            read()
    with pytest.raises(spiece.ModelError, match="Is a directory"):
        spiece.Tokenizer.open(tmp_path)


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


def test_ragged_batches_are_values(tokenizer):
    batch = tokenizer.encode_ragged(TEXTS)
    lists = batch.to_lists()
    assert batch == tokenizer.encode_ragged(TEXTS) and hash(batch) == hash(tokenizer.encode_ragged(TEXTS))
    assert batch != tokenizer.encode_ragged(TEXTS[:-1]) and batch != lists and batch != tokenizer.encode_ragged(["other"])
    assert spiece.Ragged(batch.ids, batch.offsets) == batch
    copies = [pickle.loads(pickle.dumps(batch, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in [*copies, copy.copy(batch), copy.deepcopy(batch)]:
        assert type(other) is spiece.Ragged and other == batch and other.to_lists() == lists
        assert not other.ids.flags.writeable and other.ids_buffer.readonly
        assert tokenizer.decode_ragged(other) == tokenizer.decode_ragged(batch)
    assert pickle.loads(pickle.dumps(tokenizer.encode_ragged([]))).to_lists() == []


def test_slices_of_ragged_batches_are_ragged_batches(tokenizer):
    batch = tokenizer.encode_ragged(TEXTS)
    lists = batch.to_lists()
    bounds = [None, 0, 1, 3, 100, -1, -3, -100]
    for start in bounds:
        for stop in bounds:
            for step in (None, 1, 2, -1, -3):
                part = batch[start:stop:step]
                assert type(part) is spiece.Ragged and part.to_lists() == lists[start:stop:step]
                assert part == tokenizer.encode_ragged(TEXTS[start:stop:step])
                assert part.offsets[0] == 0 and part.offsets[-1] == len(part.ids)
                assert tokenizer.decode_ragged(part) == tokenizer.decode_ragged(batch)[start:stop:step]
                assert pickle.loads(pickle.dumps(part)) == part
    assert batch[1:][1:].to_lists() == lists[2:]
    assert batch[np.int64(1)] == lists[1] and lists[2] in batch and list(reversed(batch)) == lists[::-1]
    for index in (len(lists), -len(lists) - 1, 2**70):
        with pytest.raises(IndexError, match=f"{len(lists)} texts"):
            batch[index]
    with pytest.raises(TypeError):
        batch["a"]


def test_ragged_batches_are_made_of_arrays_that_belong_together():
    ids = np.arange(5, dtype=np.int32)
    batch = spiece.Ragged(ids, np.array([0, 2, 5]))
    assert batch.to_lists() == [[0, 1], [2, 3, 4]] and len(batch) == 2
    for offsets in ([], [1, 5], [0, 4], [0, 6, 5], [0, 3, 2, 5], [0, -1, 5]):
        with pytest.raises(ValueError, match="offsets"):
            spiece.Ragged(ids, np.array(offsets, dtype=np.int64))
    for wrong in (ids.astype(np.float32), ids.astype(np.int64), ids[::2], ids.reshape(5, 1)):
        with pytest.raises(TypeError, match="ids: expected an array of int32"):
            spiece.Ragged(wrong, np.array([0, len(wrong)]))


def test_segments_are_parts_of_one_text(bpe_path):
    tokenizer = spiece.Tokenizer.open(bpe_path)
    ids = tokenizer.encode_segments([("<s>the ri", "all"), ("ght</s>", None), (b"</s>", ["</s>"], False)])
    expected = [tokenizer.bos_id, *tokenizer.encode("the right</s>"), tokenizer.eos_id]
    assert ids == expected
    assert tokenizer.encode_segments([("the ri", None), ("ght", None)], add_bos=True) == [
        tokenizer.bos_id,
        *tokenizer.encode("the right"),
    ]
    assert tokenizer.encode_segments([]) == []
    for wrong in ["text", ["text"], [("text",)]]:
        with pytest.raises(TypeError):
            tokenizer.encode_segments(wrong)
    with pytest.raises(spiece.SpieceError):
        tokenizer.encode_segments([("a</s>", None)], refuse_special=True)


def test_a_stream_has_the_ids_of_the_whole_text(tokenizer):
    for text in TEXTS:
        stream = tokenizer.encode_stream()
        before = []
        for n in range(0, len(text), 3):
            kept, new = stream.push(text[n : n + 3])
            before = before[:kept] + new
            assert before == stream.ids == tokenizer.encode(text[: n + 3]) and len(stream) == len(before)
        stream.clear()
        assert stream.ids == [] and stream.push("") == (0, [])


def test_special_tokens_are_left_out_of_texts_on_request(bpe_path):
    special = "<|end|>"
    ranks = {bytes([byte]): byte for byte in range(256)}
    made = spiece.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={special: 256})
    ids = made.encode(f"low{special}er", allowed_special="all")
    assert made.decode(ids) == f"low{special}er" and made.decode(ids, skip_special_tokens=True) == "lower"
    tokenizer = spiece.Tokenizer.open(bpe_path)
    ids = tokenizer.encode("the right", add_eos=True)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the right"
    with pytest.raises(ValueError):
        made.decode(ids, errors="strict", skip_special_tokens=True)
    for one in (made, tokenizer):
        ids = one.encode("the right", allowed_special="all")
        ids += [256] if one is made else [one.piece_to_id("</s>")]
        expected = one.decode(ids, skip_special_tokens=True)
        assert expected == "the right"
        assert one.decode_batch([ids, ids[:2]], skip_special_tokens=True)[0] == expected
        assert one.decode_ragged(ids, [0, len(ids)], skip_special_tokens=True) == [expected]
        stream = one.decode_stream(skip_special_tokens=True)
        assert "".join(map(stream.push, ids)) + stream.finish() == expected


def test_tokens_of_a_pre_tokenizer_have_the_numbers_of_its_parts(testdata, bpe_path):
    made = spiece.Tokenizer.open(str(testdata / "bytes/llama3.json"))
    text = "lower low, 12"
    words = made.word_ids(text)
    assert len(words) == len(made.encode(text)) and words == sorted(words) and words[0] == 0 and len(set(words)) > 2
    assert set(spiece.Tokenizer.open(bpe_path).word_ids("the right")) == {None}


def test_tokenizers_and_models_of_equal_files_are_equal(tokenizer, bpe_path):
    same = spiece.Tokenizer.from_bytes(tokenizer.to_bytes())
    assert same == tokenizer and hash(same) == hash(tokenizer) and len({same, tokenizer}) == 1
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer and copy.copy(tokenizer) == tokenizer
    assert spiece.Model(tokenizer) == spiece.Model(same) and hash(spiece.Model(tokenizer)) == hash(spiece.Model(same))
    changed, _ = spiece.Model.open(bpe_path).edit(("add", "<sep>", "control"))
    assert changed.tokenizer() != spiece.Tokenizer.open(bpe_path)
    assert tokenizer != "tokenizer" and tokenizer != spiece.Model(tokenizer)


def test_a_pickled_model_keeps_its_summary(corpus):
    model = spiece.train(corpus, vocab_size=300, hard_vocab_limit=False)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(model, protocol))
        assert other == model and other.summary == model.summary != None  # noqa: E711


def test_objects_say_what_they_are(bpe_path):
    tokenizer = spiece.Tokenizer.open(bpe_path)
    for value, expected in {
        tokenizer: f"<spiece.Tokenizer: bpe model with {len(tokenizer)} pieces>",
        spiece.Model(tokenizer): f"<spiece.Model: bpe model with {len(tokenizer)} pieces>",
        tokenizer.encode_ragged(["a"]): "<spiece.Ragged: 1 texts, 1 ids>",
        tokenizer.decode_stream(): f"<spiece.DecodeStream: for a model with {len(tokenizer)} pieces>",
        spiece.Trainer(): "<spiece.Trainer: defaults>",
        spiece.Trainer(vocab_size=30, threads=2, model_type="char"): "<spiece.Trainer: vocab_size=30, "
        "model_type='char', threads=2>",
    }.items():
        assert repr(value) == expected
