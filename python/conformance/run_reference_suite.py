#!/usr/bin/env python3
"""Runs the test suite of a package's source distribution on the drop-in for it.

Usage: run_reference_suite.py [--package sentencepiece|tiktoken|tokenizers] [--release RELEASE] [--source FOLDER] [PYTEST_ARGUMENT...]

The Python that runs this script needs spiece, pytest and numpy, for sentencepiece also protobuf and for tiktoken hypothesis,
and must not have the package; for tokenizers it needs pytest-asyncio and datasets, and has the package, whose components are used as
objects. The source distribution is fetched from PyPI with pip; only its tests are used. For tiktoken,
SPIECE_VOCABULARIES names a folder with the published vocabularies.
"""

import argparse
import dataclasses
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import published

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass
class Package:
    """Where a source distribution has its tests."""

    release: str
    tests: str
    #: Folders that the tests read.
    data: tuple[str, ...] = ()
    #: Arguments of pytest.
    options: tuple[str, ...] = ()
    #: Whether the environment has the package, too.
    is_installed: bool = False


PACKAGES = {
    "sentencepiece": Package("0.2.3", "test", ("tools", "data")),
    "tiktoken": Package("0.14.0", "tests"),
    # The others fetch files of the Hub.
    "tokenizers": Package("0.23.3", "bindings/python/tests", options=("-m", "not network"), is_installed=True),
}


def fetch(name, release, folder):
    """The unpacked source distribution of a release, which pip fetches."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name]
    subprocess.run([*command, "--dest", str(folder), f"{name}=={release}"], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / f"{name}-{release}"


def environment_of(name, release, folder):
    """The environment of the tests; ``folder`` is where they run."""
    environment = {**os.environ, "SPIECE_REFERENCE_PACKAGE": name, "SPIECE_REFERENCE_RELEASE": release}
    if name == "tiktoken":
        vocabularies = os.environ.get("SPIECE_VOCABULARIES")
        if not vocabularies:
            sys.exit("SPIECE_VOCABULARIES has to name a folder with the vocabularies of tiktoken")
        published.fill_cache(vocabularies, folder / "vocabularies")
        environment["TIKTOKEN_CACHE_DIR"] = str(folder / "vocabularies")
    return environment


def main():
    """Prepares a folder with the suite and runs pytest there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", choices=PACKAGES, default="sentencepiece")
    parser.add_argument("--release")
    parser.add_argument("--source", type=pathlib.Path, help="an unpacked source distribution, instead of fetching one")
    arguments, rest = parser.parse_known_args()
    name, package = arguments.package, PACKAGES[arguments.package]
    release = arguments.release or package.release
    if importlib.util.find_spec(name) is not None and not package.is_installed:
        sys.exit(f"{name} is installed in this environment; use one without it")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = environment_of(name, release, folder)
        source = arguments.source or fetch(name, release, folder)
        run = folder / "run"
        for part in (package.tests, *package.data):
            if (source / part).is_dir():
                shutil.copytree(source / part, run / pathlib.Path(part).name)
        shutil.copy(HERE / "conftest.py", run / "conftest.py")
        # Python imports this module when it starts, also in processes that the tests start.
        (run / "sitecustomize.py").write_text(f"import spiece.as_{name}\n")
        environment["PYTHONPATH"] = str(run)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", pathlib.Path(package.tests).name, *package.options, *rest]
        sys.exit(subprocess.run(command, cwd=run, env=environment).returncode)


if __name__ == "__main__":
    main()
