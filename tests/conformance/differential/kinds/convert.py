"""Conversion: tokenizer.json in transformers against the verdict of `spiece convert`.

Input: a model, lines of text. Output: texts whose ids differ in transformers although the verdict does not explain it; the same for
the .model that is made of the tokenizer.json. See `conversion.py`.
"""

import atexit
import threading

from .. import bootstrap, conversion, models, transformers_side
from ..case import Case, Outcome
from .base import MODEL, Kind

LINES = 60
VERSION = transformers_side.VERSIONS[-1]
SECONDS = 120.0


class Convert(Kind):
    name = "convert"
    default_cases = 60
    # The reasons of a verdict depend on all pieces.
    shrinks_pieces = False
    needs_transformers = True

    def __init__(self):
        self.local = threading.local()
        self.setup = threading.Lock()

    def generate(self, rng, pool, sides):
        model, source = pool.draw(rng, sides)
        lines = models.lines_for(rng, model, LINES)
        return Case(self.name, "", {"source": source}, {MODEL: model}, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        texts = conversion.texts_of(case.lines)
        conversion.compare_conversion(outcome, folder / MODEL, texts, sides, {VERSION: self._worker()}, folder)
        return outcome

    def _worker(self):
        """The worker of this thread."""
        if not hasattr(self.local, "worker"):
            with self.setup:
                folder = bootstrap.REPOSITORY / "target" / "conformance"
                self.local.worker = transformers_side.client(folder, VERSION, SECONDS)
            atexit.register(self.local.worker.stop)
        return self.local.worker
