"""Tests of the environments: what is not the harness's own is not removed."""

import tempfile
import unittest
from pathlib import Path

from differential import bootstrap


class Environment(unittest.TestCase):
    def test_what_a_symbolic_link_names_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "kept"
            kept.mkdir()
            (kept / "file").touch()
            link = Path(folder) / "venv"
            link.symlink_to(kept)
            with self.assertRaises(bootstrap.SetupError):
                bootstrap.make_environment(link, [])
            self.assertTrue((kept / "file").exists())


if __name__ == "__main__":
    unittest.main()
