"""Tests of the list of known differences: a condition explains its own example and nothing else."""

import unittest
from unittest import mock

from differential import known
from differential.case import Case, Difference

IDS = Difference("ids", "", b"a")
PIECES = Difference("pieces", "", b"a")


class Explanations(unittest.TestCase):
    def test_a_condition_explains_what_it_describes_and_nothing_else(self):
        conditions = {"wrong ids": lambda case, difference: difference.category == "ids"}
        with mock.patch.object(known, "CONDITIONS", conditions):
            self.assertEqual(known.explain(Case("encode", "n"), IDS), "wrong ids")
            self.assertIsNone(known.explain(Case("encode", "n"), PIECES))

    def test_an_empty_list_explains_nothing(self):
        with mock.patch.object(known, "CONDITIONS", {}):
            self.assertIsNone(known.explain(Case("encode", "n"), IDS))


if __name__ == "__main__":
    unittest.main()
