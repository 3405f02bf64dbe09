"""The types that type checkers see: `mypy --strict` accepts the package and the code of users, and the stubs are true."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

HERE = pathlib.Path(__file__).parent


def checked(*arguments):
    """Runs a checker, which has to find nothing."""
    ended = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], cwd=HERE, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_package_is_typed_strictly(tmp_path):
    checked("mypy", "--config-file", HERE.parent / "pyproject.toml", "--cache-dir", tmp_path, "-p", "spiece")


def test_the_code_of_users_is_accepted(tmp_path):
    checked("mypy", "--config-file=", "--strict", "--cache-dir", tmp_path, "typed_user.py")


def test_the_stubs_describe_what_is_there():
    checked(
        "mypy.stubtest",
        "spiece",
        "--mypy-config-file",
        HERE.parent / "pyproject.toml",
        "--allowlist",
        "stubtest.allowlist",
        "--ignore-unused-allowlist",
        "--ignore-disjoint-bases",
        "--concise",
    )
