#!/usr/bin/env python3
"""Writes spiece/sentencepiece/__init__.pyi with the stub generator of the reference's source distribution.

Usage: write_stubs.py SOURCE     SOURCE is the unpacked source distribution of sentencepiece 0.2.3

The reference's tests compare the stubs of the installed package with what its generator gives; programs that check types
against the reference therefore find the same signatures here. The calls of older releases have permissive signatures.
"""

import pathlib
import subprocess
import sys

import spiece.sentencepiece

GENERATE = "import sys, runpy, spiece.as_sentencepiece; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def main():
    """Runs the generator in a process in which `import sentencepiece` is ours."""
    generator = pathlib.Path(sys.argv[1]) / "tools" / "gen_stubs.py"
    stubs = pathlib.Path(spiece.sentencepiece.__file__).with_suffix(".pyi")
    subprocess.run([sys.executable, "-c", GENERATE, str(generator), "--output", str(stubs)], check=True)
    print(stubs)


if __name__ == "__main__":
    main()
