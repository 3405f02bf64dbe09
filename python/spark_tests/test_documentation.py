"""The examples of docs/SCALE.md that count in Ray and Dask, executed."""

import pathlib
import re

import pytest

import spiece

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("package", ["ray", "dask.dataframe"])
def test_the_example_gives_the_model_of_the_text(package, tmp_path, monkeypatch):
    pytest.importorskip(package)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "SCALE.md").read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [example for example in examples if f"import {package}" in example]
    lines = (ROOT / "testdata" / "udhr_small.txt").read_text(encoding="utf-8").split("\n")[:-1]
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        pq.write_table(pa.table({"text": lines[number::3]}), tmp_path / "corpus" / f"{number}.parquet")
    monkeypatch.chdir(tmp_path)
    sizes = {"vocab_size": 900, "hard_vocab_limit": False}
    example = example.replace("vocab_size=32000", "vocab_size=900, hard_vocab_limit=False")
    assert "vocab_size=900" in example
    names = {}
    exec(compile(example, "SCALE.md", "exec"), names)
    assert names["model"] == spiece.train(lines, **sizes, **names["options"])
