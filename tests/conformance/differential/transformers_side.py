"""Environments with transformers, and their workers.

Job: install a version of transformers into an environment of its own, and call its worker.
Input: the folder for environments and a version. Output: the interpreter; a client with the method `call`.
"""

import subprocess
from pathlib import Path

from .bootstrap import SetupError, interpreter, make_environment
from .sides import ReferenceClient

# tokenizers 0.22 and 0.23 come with them.
VERSIONS = ("4.57.6", "5.23.0")
WORKER = Path(__file__).with_name("transformers_worker.py")
# What transformers reads .model files with.
READERS = ("protobuf", "sentencepiece")


def _installed(python):
    """The version of transformers in an environment that has all packages."""
    if not python.exists():
        return None
    query = f"import importlib.metadata as m; print([m.version(name) for name in ('transformers', *{READERS})][0])"
    done = subprocess.run([str(python), "-c", query], capture_output=True)
    return done.stdout.decode().strip() if done.returncode == 0 else None


def transformers_python(folder, version):
    """The interpreter of an environment in `folder` that has this version; created if absent."""
    venv = Path(folder) / f"transformers-{version}"
    if _installed(interpreter(venv)) == version:
        return interpreter(venv)
    python = make_environment(venv, [f"transformers=={version}", "regex", *READERS])
    if _installed(python) != version:
        raise SetupError(f"the environment {venv} does not have transformers {version}; remove the folder")
    return python


def client(folder, version, timeout):
    """A worker of this version, started when it is called."""
    return ReferenceClient(transformers_python(folder, version), timeout, WORKER)
