"""Arguments of training, for :mod:`spiece` and its drop-in for ``sentencepiece``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

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


def train(
    flags: Mapping[str, str],
    *,
    sentences: Iterator[str | bytes] | None = None,
    pretokenizer: Callable[[str], Iterable[str]] | None = None,
    allow_inconsistent_pretokenization: bool = False,
    normalizer: bytes | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
    threads: int | None = None,
    for_schema: bool = False,
) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a model, and figures about the run. ``for_schema``: the flags have the defaults of the reference."""
    return _native._train(
        {
            "flags": list(flags.items()),
            "sentences": sentences,
            "pretokenizer": pretokenizer,
            "allow_inconsistent_pretokenization": allow_inconsistent_pretokenization,
            "normalizer": normalizer,
            "progress": progress,
            "threads": threads,
            "for_schema": for_schema,
        }
    )
