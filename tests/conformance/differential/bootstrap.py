"""Prepares the two programs under comparison.

Job: create a virtual environment with the pinned reference, and build spiece.
Input: the folder for the environment, optionally the path of a built program.
Output: the path of the environment's interpreter, and the path of the spiece program.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

RELEASE = "0.2.3"
PACKAGE = f"sentencepiece=={RELEASE}"
REPOSITORY = Path(__file__).resolve().parents[3]
TESTDATA = REPOSITORY / "testdata"


class SetupError(Exception):
    """The reference cannot be installed, or spiece cannot be built."""


def _checked(command, what):
    done = subprocess.run(command, capture_output=True, cwd=REPOSITORY)
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace")[-2000:]
        raise SetupError(f"{what} failed: {' '.join(map(str, command))}\n{message}")
    return done.stdout.decode()


def interpreter(environment):
    return Path(environment) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder, packages):
    """A virtual environment in `folder` with these packages, instead of what is there; its interpreter."""
    if folder.is_symlink():
        raise SetupError(f"{folder} is a symbolic link, and what it names would be removed; remove the link")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Installing pip into the environment takes longer than most packages; uv, or the pip of this interpreter, serves as well.
    uv = shutil.which("uv")
    has_pip = importlib.util.find_spec("pip") is not None
    options = ["--clear", "--without-pip"] if uv or has_pip else ["--clear"]
    _checked([sys.executable, "-m", "venv", *options, str(folder)], "creating the virtual environment")
    python = interpreter(folder)
    if uv:
        install = [uv, "pip", "install", "--python", str(python)]
    else:
        pip = [sys.executable, "-m", "pip", "--python", str(python)] if has_pip else [str(python), "-m", "pip"]
        install = [*pip, "install", "--disable-pip-version-check", "--no-compile"]
    _checked([*install, "--quiet", *packages], f"installing {' '.join(packages)}")
    return python


def _installed_release(python):
    """The release of the reference in this environment, or None."""
    if not python.exists():
        return None
    query = "import sentencepiece; print(sentencepiece.__version__)"
    done = subprocess.run([str(python), "-c", query], capture_output=True)
    return done.stdout.decode().strip() if done.returncode == 0 else None


def reference_python(folder):
    """The interpreter of an environment in `folder` that has the pinned release; created if absent."""
    venv = Path(folder) / "venv"
    if _installed_release(interpreter(venv)) == RELEASE:
        return interpreter(venv)
    python = make_environment(venv, [PACKAGE])
    found = _installed_release(python)
    if found != RELEASE:
        raise SetupError(f"the environment {venv} has release {found}, not {RELEASE}; remove the folder")
    return python


def spiece_program(path):
    """The program to test: the given path, or a release build of this repository."""
    if path is not None:
        program = Path(path).resolve()
        if not os.access(program, os.X_OK):
            raise SetupError(f"--spiece: {program} is not an executable file")
        return program
    _checked(["cargo", "build", "--release", "--bin", "spiece", "--features", "parquet"], "building spiece")
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return REPOSITORY / target / "release" / ("spiece.exe" if os.name == "nt" else "spiece")
