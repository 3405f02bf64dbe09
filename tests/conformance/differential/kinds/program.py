"""Training by the program `spm_train`: flags that the library does not have.

Input: random options and corpora of `train_options`, and the program's flags. Output: differences in acceptance,
.model and .vocab. The flags concern unigram models, but the program takes them for all.
"""

from .. import flags, train_options
from ..case import Case
from .train import Train


class ProgramFlags(Train):
    name = "program"
    needs_spm_train = True

    def generate(self, rng, pool, sides):
        model_type = "unigram" if rng.random() < 0.9 else rng.choice(self.model_types)
        options, files = train_options.generate(rng, model_type)
        train_options.add_program_flags(rng, options, files)
        return Case(self.name, "", options, files)

    def train_reference(self, options, folder, sides):
        return sides.spm_train.run(flags.command_line(options), folder)
