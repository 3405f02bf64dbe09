"""Tests of the loop over vocabularies: what differs is counted, reduced and reported."""

import contextlib
import io
import unittest
from pathlib import Path

from differential import script


def differences(spiece, reference, lines):
    return [(line, f"{spiece} {reference}") for line in lines if "xy" in line]


class CompareVocabularies(unittest.TestCase):
    def compare(self, lists, only=None):
        vocabularies = [(Path("a.json"), "theirs", "ours", lists)]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = script.compare_vocabularies(only, vocabularies, differences)
        return status, printed.getvalue().splitlines()

    def test_equal_texts_pass(self):
        self.assertEqual(self.compare([["ab"], ["x", "y"]]), (0, ["a.json: 3 texts, 0 differ", "1 passed, 0 failed"]))

    def test_a_text_that_differs_is_reduced(self):
        expected = ["a.json: 2 texts, 1 differ", '  "xy": ours theirs', "0 passed, 1 failed"]
        self.assertEqual(self.compare([["ab", "abxyabxx"]]), (1, expected))

    def test_a_program_that_fails_is_a_difference(self):
        def lists():
            yield ["ab"]
            raise RuntimeError("spiece failed")

        expected = ["a.json: 1 texts, 1 differ", '  "": spiece failed', "0 passed, 1 failed"]
        self.assertEqual(self.compare(lists()), (1, expected))

    def test_other_names_are_left_out(self):
        self.assertEqual(self.compare([["xy"]], only="b"), (0, ["0 passed, 0 failed"]))

    def test_batches_have_all_texts_once(self):
        drawn = iter(range(100_000))
        lists = list(script.batches((str(n) for n in range(60_000)), lambda _: next(drawn), 1, 45_000, []))
        self.assertEqual([len(one) for one in lists], [50_000, 10_000, 20_000, 20_000, 5_000])
        self.assertEqual([text for one in lists[2:] for text in one], list(range(45_000)))


if __name__ == "__main__":
    unittest.main()
