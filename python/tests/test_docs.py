"""The examples of docstrings, of the READMEs and of the guides."""

import doctest
import inspect
import json
import pathlib
import re
import sys

import pytest

import spiece
import spiece._model
import spiece._tokenizer
import spiece.counts
import spiece.rustbpe
import spiece.tiktoken

README = pathlib.Path(__file__).parents[1] / "README.md"
ROOT = pathlib.Path(__file__).parents[2]

WORDS = b"""{"pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[PAD]": 2}, "unk_token": "b"}}"""


def test_examples_of_docstrings_give_what_they_say(bpe_path):
    names = {
        "spiece": spiece,
        "model_path": bpe_path,
        "tokenizer": spiece.Tokenizer.open(bpe_path),
        "Tokenizer": spiece.Tokenizer,
        "words": spiece.Tokenizer.from_bytes(WORDS),
    }
    for module in (spiece, spiece._model, spiece._tokenizer, spiece.counts, spiece.rustbpe, spiece.tiktoken):
        result = doctest.testmod(module, extraglobs=names)
        assert result.attempted > 0 and result.failed == 0, module


def test_examples_of_the_readme_run(bpe_path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.model").write_bytes(pathlib.Path(bpe_path).read_bytes())
    (tmp_path / "tokenizer.json").write_bytes(WORDS)
    (tmp_path / "corpus.txt").write_text("a pen\na pineapple\nan apple\n" * 50)
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


PAGE = "the newest and the lowest tower,\nthe lower and the newer tower,\nlow tide, lower tide, lowest tide.\n"


def guide_examples():
    """The Python blocks of the guides. A comment before a block names the packages that it needs, or why it is not run."""
    block = re.compile(r"(?:<!-- (needs|not run): (.*?) -->\n)?```python\n(.*?)```", re.DOTALL)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, (mark, words, code) in enumerate(block.findall(path.read_text(encoding="utf-8"))):
            if mark != "not run":
                yield pytest.param(path.name, words.split(), code, id=f"{path.stem}-{number}")


@pytest.fixture(scope="module")
def guide_folder(tmp_path_factory, bpe_path):
    """What the commands of the guides have written before their Python blocks run."""
    folder = tmp_path_factory.mktemp("guides")
    (folder / "page.txt").write_text(PAGE)
    (folder / "tokenizer.model").write_bytes(pathlib.Path(bpe_path).read_bytes())
    model = spiece.train(files=str(folder / "page.txt"), model_type="byte_bpe", vocab_size=270)
    for name in ["hf", "folder"]:
        (folder / name).mkdir()
        model.save(str(folder / name / "tokenizer"))
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "!"}
        (folder / name / "tokenizer_config.json").write_text(json.dumps(config))
    options = {"files": str(folder / "page.txt"), "model_type": "byte_bpe", "vocab_size": 270, "tie_order": "rustbpe"}
    spiece.train(**options).save(str(folder / "page"), format="tiktoken")
    (folder / "llama2-zh.extension.tsv").write_text("id\tpiece\treplaced\tcount\n32000\t個\t232 131 142\t13001\n")
    (folder / "small.ids.tsv").write_text("0\t0\n1\t2\n")
    (folder / "train.bin").write_bytes(bytes(20))
    (folder / "train.bin.offsets").write_bytes(b"".join(number.to_bytes(8, "little") for number in range(10)))
    return folder


@pytest.fixture(scope="module")
def guide_names():
    """The names of each guide, whose blocks run in their order."""
    yield {}
    if "spiece.transformers" in sys.modules:
        sys.modules["spiece.transformers"].disable()


@pytest.mark.parametrize("page, packages, code", list(guide_examples()))
def test_examples_of_the_guides_run(page, packages, code, guide_folder, guide_names, monkeypatch):
    modules = {package: pytest.importorskip(package) for package in packages}
    monkeypatch.chdir(guide_folder)
    names = guide_names.setdefault(page, {"parts": [PAGE.splitlines()[:2] * 9, PAGE.splitlines()[2:] * 9]})
    if "datasets" in modules:
        names["dataset"] = modules["datasets"].Dataset.from_dict({"text": PAGE.splitlines()})
    if "embeddings.npy" in code:
        modules["numpy"].save("embeddings.npy", modules["numpy"].ones((32000, 2), "float32"))
    if "safetensors" in modules:
        weights = {"lm_head.weight": modules["numpy"].ones((3, 2), "float32")}
        pytest.importorskip("safetensors.numpy").save_file(weights, "model.safetensors")
    # The corpora of the tests are small.
    code = code.replace("vocab_size=32000, byte_fallback=True", "vocab_size=290, byte_fallback=True, hard_vocab_limit=False")
    exec(compile(code, page, "exec"), names)


def test_every_public_name_has_a_docstring_and_a_signature():
    for owner in [spiece, *(getattr(spiece, name) for name in spiece.__all__)]:
        assert owner.__doc__, owner
        for name, value in inspect.getmembers(owner):
            if name.startswith("_") or isinstance(owner, type) and issubclass(owner, BaseException):
                continue
            if inspect.ismodule(value) or inspect.ismemberdescriptor(value) or inspect.isclass(value):
                continue
            assert value.__doc__, (owner, name)
            if callable(value):
                parameters = inspect.signature(value).parameters.values()
                assert not any(parameter.default is ... for parameter in parameters), (owner, name)
    sample = inspect.signature(spiece.Tokenizer.sample).parameters
    assert sample["nbest_size"].default == -1 and sample["alpha"].default == 0.1
