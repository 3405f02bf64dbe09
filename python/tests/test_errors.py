"""What errors say and what they are."""

import errno
import os
import pickle
import resource

import pytest

import spiece
import spiece.sentencepiece as spm

np = pytest.importorskip("numpy")


def calls_on_a_file(path):
    """Calls that read the file at a path."""
    return {
        "Tokenizer.open": lambda: spiece.Tokenizer.open(path),
        "Tokenizer": lambda: spiece.Tokenizer(path),
        "Model.open": lambda: spiece.Model.open(path),
        "Model": lambda: spiece.Model(path),
        "train": lambda: spiece.train(files=path, vocab_size=30),
        "train with others": lambda: spiece.train(files=[__file__, path], vocab_size=30),
        "rules": lambda: spiece.train(["a"], normalization_rule_tsv=path),
        "processor": lambda: spm.SentencePieceProcessor(model_file=str(path)),
        "load": lambda: spm.SentencePieceProcessor().load(str(path)),
        "normalizer": lambda: spm.SentencePieceNormalizer(model_file=str(path)),
        "normalizer of rules": lambda: spm.SentencePieceNormalizer(rule_tsv=str(path)),
        "trainer": lambda: spm.SentencePieceTrainer.train(input=str(path), model_prefix="m", vocab_size=30),
    }


def assert_is_os_error(caught, kind, number, path):
    error = caught.value
    assert isinstance(error, (kind, OSError)) and isinstance(error, RuntimeError) and isinstance(error, spiece.FileError)
    assert isinstance(error, kind), type(error).__mro__
    assert (error.errno, error.strerror, error.filename) == (number, os.strerror(number), str(path))
    assert str(error) == str(OSError(number, os.strerror(number), str(path)))
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) and (copied.errno, copied.filename) == (number, str(path))


@pytest.mark.parametrize("name", calls_on_a_file(""))
def test_a_missing_file_is_an_os_error_with_its_path(name, tmp_path):
    for path in (tmp_path / "nope.model", tmp_path / "nowhere" / "nope.model"):
        with pytest.raises(spiece.MissingFileError) as caught:
            calls_on_a_file(path)[name]()
        assert_is_os_error(caught, FileNotFoundError, errno.ENOENT, path)


@pytest.mark.parametrize("name", calls_on_a_file(""))
def test_a_folder_in_place_of_a_file_is_an_os_error_with_its_path(name, tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        calls_on_a_file(tmp_path)[name]()
    assert_is_os_error(caught, IsADirectoryError, errno.EISDIR, tmp_path)
    path = tmp_path / "file" / "nope.model"
    path.parent.write_text("no folder")
    with pytest.raises(NotADirectoryError) as caught:
        calls_on_a_file(path)[name]()
    assert_is_os_error(caught, NotADirectoryError, errno.ENOTDIR, path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_an_os_error_with_its_path(tmp_path):
    path = tmp_path / "secret.model"
    path.touch(mode=0)
    with pytest.raises(PermissionError) as caught:
        spiece.Tokenizer.open(path)
    assert_is_os_error(caught, PermissionError, errno.EACCES, path)


@pytest.mark.parametrize("kind", [PermissionError, FileNotFoundError, IsADirectoryError, NotADirectoryError])
def test_each_class_of_os_error_has_one_of_spiece(kind):
    from spiece import _errors

    numbers = [number for number in errno.errorcode if type(OSError(number, "")) is kind]
    for number in numbers:
        error = _errors.file_error(number, "text", "path")
        assert isinstance(error, kind) and type(error).__name__ in spiece.__all__
    assert numbers
    full = _errors.file_error(errno.ENOSPC, "No space left on device", "m.model")
    assert type(full) is spiece.FileError and full.errno == errno.ENOSPC and full.filename == "m.model"


def test_a_disk_that_is_full_is_an_os_error_with_a_path(bpe_path, tmp_path):
    """A limit of the size of files stands for the disk."""
    import signal

    model = spiece.Model.open(bpe_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(spiece.FileError) as caught:
            model.save(tmp_path / "m")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert caught.value.errno == errno.EFBIG and caught.value.filename.startswith(str(tmp_path))


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "corpus.gz"
    path.write_bytes(b"\x1f\x8b\x08no gzip")
    with pytest.raises(OSError, match="corpus.gz") as caught:
        spiece.train(files=path, vocab_size=30)
    assert caught.value.errno is None


def test_unknown_options_get_a_hint(corpus):
    with pytest.raises(ValueError, match=r"no option vocabsize; did you mean vocab_size\? Trainer\.options\(\) lists"):
        spiece.train(corpus, vocabsize=3)
    assert "vocab_size" in spiece.Trainer.options() and "8000" in spiece.Trainer.options()["vocab_size"]


def test_messages_name_calls_of_python(bpe_path, unigram_path):
    model = spiece.Model.open(bpe_path)
    with pytest.raises(spiece.ModelError, match=r"no piece .*Model\.pieces\(\)"):
        model.edit(("remove", "no such piece"))
    with pytest.raises(spiece.ModelError, match=r"Model\.edit"):
        spiece.Model.open(unigram_path).extend(["a"], pieces=1)
    for step in ("add", 3, ()):
        with pytest.raises(TypeError, match="no tuple"):
            model.edit(step)


@pytest.mark.parametrize("make", [spiece.Tokenizer, spiece.Model])
def test_models_are_made_of_paths_bytes_and_models_only(make, bpe_path):
    import pathlib

    data = pathlib.Path(bpe_path).read_bytes()
    expected = make.open(bpe_path)
    for source in (bpe_path, pathlib.Path(bpe_path), data, bytearray(data), memoryview(data)):
        assert make(source) == expected
    assert make(spiece.Model(bpe_path)) == expected and make(spiece.Tokenizer(bpe_path)) == expected
    for source in (5, 5.0, True, None, [data], object()):
        with pytest.raises(TypeError, match="model: expected a path"):
            make(source)


@pytest.mark.parametrize("number", [-1, 2**31, 2**32, 2**63, 2**70, -(2**70), np.int64(2**40), np.int64(-1)])
def test_numbers_that_are_no_ids_are_index_errors(number, tokenizer):
    stream = tokenizer.decode_stream()
    for call, place in {
        tokenizer.id_to_piece: "",
        tokenizer.decode: "",
        stream.push: "",
        lambda id: tokenizer.decode([0, id]): r"ids\[1\]: ",
        lambda id: tokenizer.decode(iter([0, id])): r"ids\[1\]: ",
        lambda id: tokenizer.decode_batch([[0], [0, 0, id]]): r"batch\[1\]\[2\]: ",
    }.items():
        with pytest.raises(IndexError, match=rf"^{place}the model has no piece with id {number};"):
            call(number)


def test_ids_of_other_types_are_type_errors_that_say_which(tokenizer):
    for ids, message in {
        "abc": "ids: expected integers, not str",
        1.5: "ids: expected integers, not float",
        None: "ids: expected integers, not NoneType",
        (1, "a"): r"ids\[1\]: expected an integer, not str",
        (1, 1.5): r"ids\[1\]: expected an integer, not float",
    }.items():
        with pytest.raises(TypeError, match=message):
            tokenizer.decode(ids)
    with pytest.raises(TypeError, match=r"batch\[1\]: expected integers, not int"):
        tokenizer.decode_batch([[1], 2])
    with pytest.raises(TypeError, match=r"batch\[0\]\[1\]: expected an integer, not NoneType"):
        tokenizer.decode_batch([[1, None]])
    with pytest.raises(TypeError, match=r"ids: .*integer type"):
        tokenizer.decode(np.array([1.5]))
    with pytest.raises(TypeError, match="expected an integer, not str"):
        tokenizer.decode_stream().push("1")


def test_integers_of_every_type_are_ids(tokenizer):
    text = tokenizer.decode([3])
    for id in (3, np.int64(3), np.uint8(3), np.array(3), np.array([3]), [np.int32(3)], iter([3]), {3}, range(3, 4)):
        assert tokenizer.decode(id) == text
    assert tokenizer.id_to_piece(np.int64(3)) == tokenizer.id_to_piece(3)
    assert tokenizer.decode_batch(iter([iter([3]), {3}, np.array([3])])) == [text] * 3


def test_numbers_out_of_range_are_value_errors_that_name_the_argument(bpe_path, unigram_path):
    tokenizer = spiece.Tokenizer.open(unigram_path)
    model = spiece.Model.open(bpe_path)
    for call, name in (
        (lambda number: tokenizer.nbest("a", number), "size"),
        (lambda number: tokenizer.sample("a", seed=number), "seed"),
        (lambda number: tokenizer.sample("a", nbest_size=number), "nbest_size"),
        (lambda number: model.prune(size=number), "size"),
        (lambda number: model.extend(["a"], pieces=number), "pieces"),
        (lambda number: model.extend(["a"], multiple_of=number), "multiple_of"),
    ):
        for number in (-2, 2**70, -(2**70)):
            with pytest.raises(ValueError, match=f"^{name}: {number} is out of range"):
                call(number)
        with pytest.raises(TypeError, match=f"^{name}: expected an integer, not str"):
            call("1")
    for call in (
        lambda threads: tokenizer.encode_batch(["a"], threads=threads),
        lambda threads: spiece.train(["a"] * 9, threads=threads),
    ):
        for threads in (0, -1, -(2**70)):
            with pytest.raises(ValueError, match=f"threads: {threads} is no number of threads"):
                call(threads)
        with pytest.raises(TypeError, match="threads: expected an integer"):
            call("2")
    assert tokenizer.encode_batch(["a"], threads=2**70) == [tokenizer.encode("a")]
    for alpha in (float("inf"), float("nan"), 10**400):
        with pytest.raises(ValueError, match="alpha"):
            tokenizer.sample("a", alpha=alpha)
    with pytest.raises(TypeError, match="alpha: expected a number, not str"):
        tokenizer.sample("a", alpha="1")


def test_a_batch_says_which_text_is_wrong(tokenizer):
    for threads in (1, 2):
        for options in ({}, {"add_bos": False, "user_defined_symbols": False}):
            with pytest.raises(TypeError, match="element 1500 of the batch: .*not int"):
                tokenizer.encode_batch(["a"] * 1500 + [7, None], threads=threads, **options)
    with pytest.raises(TypeError, match="element 1 of the batch: .*UTF-8"):
        tokenizer.encode_batch(["a", "\ud800"])
    for texts in (5, None, {"a": 1}):
        with pytest.raises(TypeError, match="texts: expected a list or another iterable"):
            tokenizer.encode_batch(texts)
    with pytest.raises(ValueError, match="sentence 1001: .*not int"):
        spiece.train(["a"] * 1001 + [5], vocab_size=30)
    sp = spm.SentencePieceProcessor(model_proto=tokenizer.to_bytes())
    with pytest.raises(TypeError, match="element 1 of the batch"):
        sp.encode(["a", 5])


def test_any_iterable_is_a_batch(tokenizer):
    texts = ["one", "two", "three"]
    expected = tokenizer.encode_batch(texts)
    for batch in (iter(texts), (text for text in texts), dict.fromkeys(texts).keys(), np.array(texts), map(str, texts)):
        assert tokenizer.encode_batch(batch) == expected
    assert tokenizer.encode_ragged(text for text in texts) == tokenizer.encode_ragged(texts)
    assert tokenizer.count_batch(iter(texts)).tolist() == [len(ids) for ids in expected]
    assert spiece.Model(tokenizer).compare(tokenizer, iter(texts))["texts"] == 3


def test_special_pieces_are_allowed_in_any_form(bpe_path):
    tokenizer = spiece.Tokenizer.open(bpe_path)
    expected = tokenizer.encode("a</s>", allowed_special=["</s>"])
    assert tokenizer.eos_id in expected
    for allowed in ("all", {"</s>"}, frozenset(["</s>"]), ("</s>",), iter(["</s>"]), [b"</s>"], {"</s>": 1}.keys()):
        assert tokenizer.encode("a</s>", allowed_special=allowed) == expected
    assert tokenizer.encode_batch(["a</s>"], allowed_special="all") == [expected]
    assert tokenizer.encode_ragged(["a</s>"], allowed_special={"</s>"})[0] == expected
    assert tokenizer.encode("a</s>", allowed_special=set()) == tokenizer.encode("a</s>")
    with pytest.raises(TypeError, match=r"allowed_special: '</s>' is one text; pass \[text\]"):
        tokenizer.encode("a</s>", allowed_special="</s>")
    with pytest.raises(TypeError, match="allowed_special"):
        tokenizer.encode("a</s>", allowed_special=5)
