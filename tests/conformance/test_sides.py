"""Tests of the two sides: crashes and time-outs are results, not ends of the run."""

import os
import signal
import stat
import sys
import tempfile
import unittest
from pathlib import Path

from differential import sides
from differential.case import Outcome


class Program(unittest.TestCase):
    def run_script(self, body, timeout=5.0):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "program"
            script.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{body}\n")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
            return sides.Program(script, timeout).run(["verb"], folder, b"text\n")

    def test_output_of_a_run_that_succeeds(self):
        run = self.run_script("sys.stdout.write(sys.stdin.read() * 2)")
        self.assertEqual((run.status, run.lines()), (sides.OK, [b"text", b"text"]))

    def test_exit_status_one_is_a_refusal(self):
        self.assertEqual(self.run_script("sys.exit(1)").status, sides.REFUSED)

    def test_a_panic_is_a_crash(self):
        self.assertEqual(self.run_script("sys.exit(101)").status, sides.CRASHED)

    def test_a_signal_is_a_crash(self):
        run = self.run_script("os.kill(os.getpid(), signal.SIGSEGV)")
        self.assertEqual(run.status, sides.CRASHED)
        self.assertIn("SIGSEGV", run.message)

    def test_an_endless_run_is_ended(self):
        self.assertEqual(self.run_script("time.sleep(60)", timeout=0.5).status, sides.HUNG)


class Reference(unittest.TestCase):
    """A worker without the reference's library: it ends at once."""

    def test_a_worker_that_ends_is_a_crash_and_is_started_again(self):
        client = sides.ReferenceClient("/bin/false" if os.path.exists("/bin/false") else sys.executable, 10.0)
        for _ in range(2):
            self.assertEqual(client.call("load", model="none").status, sides.CRASHED)
        client.stop()


class Agreement(unittest.TestCase):
    def outcome(self, theirs, ours):
        outcome = Outcome()
        accepted = sides.agree(outcome, "loading", sides.Reply(theirs), sides.Run(ours))
        return accepted, bool(outcome.differences), bool(outcome.note)

    def test_table(self):
        ok, refused, crashed, hung = sides.OK, sides.REFUSED, sides.CRASHED, sides.HUNG
        for theirs, ours, expected in [
            (ok, ok, (True, False, False)), (refused, refused, (False, False, False)),
            (ok, refused, (False, True, False)), (refused, ok, (False, True, False)),
            (crashed, refused, (False, False, True)), (hung, ok, (False, False, True)),
            (refused, crashed, (False, True, False)), (crashed, crashed, (False, True, False)),
            (ok, hung, (False, True, False)),
        ]:
            self.assertEqual(self.outcome(theirs, ours), expected, (theirs, ours))


class ExitDescriptions(unittest.TestCase):
    def test_signals_have_names(self):
        self.assertEqual(sides._describe_exit(-signal.SIGABRT), "signal SIGABRT")
        self.assertEqual(sides._describe_exit(3), "exit status 3")


if __name__ == "__main__":
    unittest.main()
