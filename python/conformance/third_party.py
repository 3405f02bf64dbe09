#!/usr/bin/env python3
"""Compares what other packages give on top of spiece.as_sentencepiece and of sentencepiece 0.2.3.

Usage: third_party.py --ours PYTHON --reference PYTHON [MODEL...]

Both interpreters need transformers 4.57.6, numpy and protobuf; one has spiece, the other sentencepiece 0.2.3.
"""

import pathlib
import sys
import tempfile

import differential


def main():
    """Runs both probes and compares."""
    arguments = differential.arguments(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        probe = differential.HERE / "transformers_probe.py"
        reference = differential.run(probe, arguments.reference, "sentencepiece", folder / "a", arguments.models)
        ours = differential.run(probe, arguments.ours, "spiece.sentencepiece", folder / "b", arguments.models)
    sys.exit(differential.report(ours, reference, {}))


if __name__ == "__main__":
    main()
