"""Loading of damaged model files: both sides accept or both refuse; if both accept, they encode alike.

Input: a model file with damaged bytes or contradictory fields. Output: differences in acceptance and encoding.
"""

from .. import models
from ..case import Case, Outcome
from ..sides import agree
from .base import MODEL, Kind
from .encode import compare_encoding

LINES = 8
LONGEST_LINE = 200


class Load(Kind):
    name = "load"
    default_cases = 1000
    shrinks_pieces = False

    def generate(self, rng, pool, sides):
        model, source = pool.draw(rng, sides)
        lines = [line[:LONGEST_LINE] for line in models.lines_for(rng, model, LINES)]
        damaged = models.damage(rng, model)
        return Case(self.name, "", {"source": f"{source}, damaged"}, {MODEL: damaged}, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        reply = sides.reference.call("load", model=str(folder / MODEL))
        run = sides.spiece.run(["encode", f"--model={MODEL}"], folder)
        if agree(outcome, "loading", reply, run):
            compare_encoding(outcome, case, sides, folder)
        return outcome
