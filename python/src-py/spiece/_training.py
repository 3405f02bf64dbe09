"""Arguments of training, for :mod:`spiece` and its drop-in for ``sentencepiece``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native


def flag_text(value: object) -> str:
    """A value as the text of a flag: lists are separated by commas, with quotes where needed."""
    if not isinstance(value, list):
        return str(value)
    import csv
    import io

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([str(item) for item in value])
    return line.getvalue()


def is_byte_level(options: Mapping[str, object]) -> bool:
    """Whether options of training ask for byte-level BPE."""
    return str(options.get("model_type")).lower() == "byte_bpe"


def request(
    flags: Mapping[str, str],
    *,
    sentences: Iterator[str | bytes] | None = None,
    pretokenizer: Callable[[str], Iterable[str]] | None = None,
    allow_inconsistent_pretokenization: bool = False,
    normalizer: bytes | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
    threads: int | None = None,
    like: _native.Tokenizer | None = None,
    for_schema: bool = False,
) -> dict[str, Any]:
    """The argument of ``_native._train`` and ``_native._train_pipeline``. The defaults are those of the model or pipeline of
    ``like``, or with ``for_schema`` those of the reference."""
    return {
        "flags": list(flags.items()),
        "sentences": sentences,
        "pretokenizer": pretokenizer,
        "allow_inconsistent_pretokenization": allow_inconsistent_pretokenization,
        "normalizer": normalizer,
        "progress": progress,
        "threads": threads,
        "like": like,
        "for_schema": for_schema,
    }
