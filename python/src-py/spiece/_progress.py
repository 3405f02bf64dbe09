"""Progress of training: callbacks of the user, and a bar of tqdm."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any, Callable, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What the argument ``progress`` may be: a function that gets a ``dict`` for each step, or ``True`` for a bar.
Progress = Callable[[dict[str, Any]], object] | Literal[True] | None


@contextlib.contextmanager
def callback(progress: Progress | bool) -> Iterator[Callable[[dict[str, Any]], object] | None]:
    """What is called with each event of a run in this context."""
    if progress is not True:
        if progress is not None and progress is not False and not callable(progress):
            raise TypeError(f"progress: expected a function or True, not {type(progress).__name__}")
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warnings.warn("progress=True: no bar is shown without tqdm: pip install tqdm", RuntimeWarning, stacklevel=4)
        yield None
        return
    bars = _Bars(tqdm)
    try:
        yield bars.show
    finally:
        bars.close()


class _Bars:
    """A bar for each stage of a run."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._stage = ""
        # The number of pieces of a unigram model before they become fewer.
        self._most_pieces = 0

    def show(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "started":
            if self._bar is not None and self._stage == "estimating":
                # The last iteration is reported before its pieces are dropped.
                self._bar.n = self._bar.total
            self.close()
            self._stage = event["stage"]
            return
        if kind == "read":
            done, total, options = event["bytes"], event["total"], {"unit": "B", "unit_scale": True}
        elif kind == "merged":
            done, total, options = event["done"], event["wanted"], {"unit": " merges"}
        elif kind == "estimated":
            # Each iteration leaves fewer pieces, down to the wanted number.
            self._most_pieces = max(self._most_pieces, event["pieces"])
            done, total = self._most_pieces - event["pieces"], self._most_pieces - event["wanted"]
            options = {"unit": " pieces dropped"}
        else:
            return
        if self._bar is None:
            self._bar = self._tqdm(desc=self._stage, total=total, **options)
        self._bar.total = total
        self._bar.n = done if total is None else min(done, total)
        self._bar.refresh()

    def close(self) -> None:
        """Ends the bar of a stage."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.close()
            self._bar = None
