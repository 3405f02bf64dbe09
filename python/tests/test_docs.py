"""The examples of docstrings and of the README."""

import doctest
import inspect
import pathlib
import re

import spiece
import spiece._model
import spiece._tokenizer
import spiece.counts
import spiece.rustbpe
import spiece.tiktoken

README = pathlib.Path(__file__).parents[1] / "README.md"


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
