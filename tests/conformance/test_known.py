"""Tests of the list of known differences: it explains its own examples and nothing else."""

import unittest

from differential import known, wire
from differential.case import Case, Difference
from differential.kinds.base import MODEL


def case_with(text, kind):
    parts = wire.ModelParts(b"")
    parts.pieces = [wire.Piece(b"<unk>", 0.0, wire.UNKNOWN), wire.Piece(text, -1.0, kind)]
    return Case("encode", "n", files={MODEL: parts.to_bytes()})


class Explanations(unittest.TestCase):
    def test_a_cut_piece_in_an_nbest_list(self):
        case = case_with(b"\xd8", wire.NORMAL)
        self.assertEqual(known.explain(case, Difference("n-best", "", b"x")), known.NBEST_PIECE)
        self.assertIsNone(known.explain(case, Difference("ids", "", b"\xd8\xac")))

    def test_well_formed_pieces_explain_nothing(self):
        for kind in (wire.NORMAL, wire.USER_DEFINED):
            case = case_with("\u00e9".encode(), kind)
            self.assertIsNone(known.explain(case, Difference("n-best", "", "\u00e9".encode())))

    def test_each_malformed_byte_is_replaced(self):
        self.assertEqual(known.with_replacements(b"a\xe3\x81\xff"), b"a" + "\ufffd".encode() * 3)


if __name__ == "__main__":
    unittest.main()
