"""Tests of the minimizer on predicates whose smallest case is known."""

import unittest

from differential.case import Case
from differential.kinds.base import Kind
from differential.minimize import characters, from_characters, minimize, shrink_list


class TextKind(Kind):
    name = "text"
    fixed_options = frozenset(["kept"])
    text_files = ("corpus.txt",)
    shrinks_pieces = False


class ShrinkList(unittest.TestCase):
    def test_two_distant_items_remain(self):
        items = shrink_list(range(100), lambda some: {3, 60} <= set(some))
        self.assertEqual(items, [3, 60])

    def test_nothing_remains_when_the_empty_list_fails(self):
        self.assertEqual(shrink_list([1, 2, 3], lambda some: True), [])

    def test_a_list_that_cannot_shrink_is_kept(self):
        self.assertEqual(shrink_list([1, 2], lambda some: some == [1, 2]), [1, 2])

    def test_the_number_of_calls_is_small_for_one_item(self):
        calls = []

        def fails(some):
            calls.append(some)
            return 700 in some

        self.assertEqual(shrink_list(range(1000), fails), [700])
        self.assertLess(len(calls), 40)


class Minimize(unittest.TestCase):
    def test_options_files_lines_and_characters_are_removed(self):
        case = Case("text", "t", {"a": "1", "b": "2", "kept": "3"}, {"corpus.txt": b"one\ntwo x\nthree", "other": b""})
        smallest = minimize(case, TextKind(), lambda c: "b" in c.options and b"x" in c.files.get("corpus.txt", b""))
        self.assertEqual(smallest.options, {"b": "2", "kept": "3"})
        self.assertEqual(smallest.files, {"corpus.txt": b"x"})

    def test_lines_are_shortened(self):
        case = Case("text", "t", lines=[b"aa", b"b\xffc\xc3\xa9", b"d"])
        smallest = minimize(case, TextKind(), lambda c: any(b"\xff" in line for line in c.lines))
        self.assertEqual(smallest.lines, [b"\xff"])

    def test_the_budget_ends_the_search_with_a_failing_case(self):
        case = Case("text", "t", lines=[b"%d" % number for number in range(200)])
        fails = lambda c: b"150" in c.lines
        smallest = minimize(case, TextKind(), fails, candidates=5)
        self.assertTrue(fails(smallest))

    def test_characters_keep_malformed_bytes(self):
        data = "a\u0301\u4e00".encode() + b"\xff\xe3\x81\0"
        self.assertEqual(from_characters(characters(data)), data)


if __name__ == "__main__":
    unittest.main()
