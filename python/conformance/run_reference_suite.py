#!/usr/bin/env python3
"""Runs the test suite of the reference's source distribution on spiece.sentencepiece.

Usage: run_reference_suite.py [--release 0.2.3] [--folder FOLDER] [PYTEST_ARGUMENT...]

The Python that runs this script needs spiece, pytest, numpy and protobuf, and must not have sentencepiece. The source
distribution is fetched from PyPI with pip; only its tests are used.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).parent


def fetch(release, folder):
    """The unpacked source distribution of a release, which pip fetches."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "sentencepiece"]
    subprocess.run([*command, "--dest", str(folder), f"sentencepiece=={release}"], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / f"sentencepiece-{release}"


def main():
    """Prepares a folder with the suite and runs pytest there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="0.2.3")
    parser.add_argument("--source", type=pathlib.Path, help="an unpacked source distribution, instead of fetching one")
    arguments, rest = parser.parse_known_args()
    if importlib.util.find_spec("sentencepiece") is not None:
        sys.exit("sentencepiece is installed in this environment; use one without it")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        source = arguments.source or fetch(arguments.release, folder)
        run = folder / "run"
        shutil.copytree(source / "test", run / "test")
        for name in ("tools", "data"):
            if (source / name).is_dir():
                shutil.copytree(source / name, run / name)
        shutil.copy(HERE / "conftest.py", run / "conftest.py")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test", *rest]
        environment = {**os.environ, "SPIECE_REFERENCE_RELEASE": arguments.release}
        sys.exit(subprocess.run(command, cwd=run, env=environment).returncode)


if __name__ == "__main__":
    main()
