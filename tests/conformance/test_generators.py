"""Tests of the generators: deterministic, well formed where that is promised, and diverse."""

import random
import tempfile
import unittest
from pathlib import Path

from differential import flags, models, texts, train_options, wire
from differential.bootstrap import TESTDATA
from differential.case import Case

MODEL = TESTDATA / "golden" / "llama2.model"


class Texts(unittest.TestCase):
    def test_lines_have_no_newline(self):
        for line in texts.lines(random.Random(1), 500):
            self.assertNotIn(b"\n", line)

    def test_one_seed_gives_one_corpus(self):
        self.assertEqual(texts.corpus(random.Random("a")), texts.corpus(random.Random("a")))
        self.assertNotEqual(texts.corpus(random.Random("a")), texts.corpus(random.Random("b")))

    def test_hostile_bytes_occur(self):
        data = b"\n".join(texts.lines(random.Random(2), 2000))
        for wanted in [b"\0", b"\r", b"\xff", "\u2581".encode(), "\u2585".encode(), b"<s>"]:
            self.assertIn(wanted, data)

    def test_alphabets_are_ranges_of_encodable_characters(self):
        for ranges in texts.ALPHABETS.values():
            for first, last in ranges:
                self.assertLessEqual(first, last)
                (chr(first) + chr(last)).encode()


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.drawn = [train_options.generate(random.Random(number)) for number in range(3000)]

    def test_every_named_file_is_supplied(self):
        for options, files in self.drawn:
            for name in ["normalization_rule_tsv", "required_chars_file", "control_symbols_file"]:
                if name in options:
                    self.assertIn(options[name], files)

    def test_every_flag_of_the_program_is_drawn(self):
        seen = set().union(*(options for options, _ in self.drawn))
        expected = set(flags.DEFAULTS) | set(flags.WHEN_GIVEN) - {"model_prefix"}
        self.assertEqual(expected - seen, set())

    def test_no_invalid_values_without_a_share(self):
        for number in range(300):
            options, _ = train_options.generate(random.Random(number), invalid_share=0)
            self.assertNotIn(options.get("vocab_size"), train_options.INVALID["vocab_size"])


class Flags(unittest.TestCase):
    def test_every_default_is_passed(self):
        arguments = flags.library_arguments({"input": "a", "model_prefix": "m"}, ".")
        self.assertEqual(set(arguments), set(flags.DEFAULTS) | {"input", "model_prefix"})

    def test_lines_of_a_file_follow_the_list(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "symbols.txt").write_text('x,y\nq"q\n')
            options = {"control_symbols": "a,b", "control_symbols_file": "symbols.txt"}
            self.assertEqual(flags.library_arguments(options, folder)["control_symbols"], 'a,b,"x,y","q""q"')

    def test_required_characters_of_a_file_replace_the_flag(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "required.txt").write_text("ab\nc\n")
            options = {"required_chars": "z", "required_chars_file": "required.txt"}
            self.assertEqual(flags.library_arguments(options, folder)["required_chars"], "abc")

    def test_what_is_not_recorded_is_not_passed(self):
        self.assertNotIn("random_seed", flags.library_arguments({"random_seed": "1"}, "."))


class Wire(unittest.TestCase):
    def test_every_golden_model_keeps_its_bytes(self):
        for path in sorted(MODEL.parent.glob("*.model")):
            data = path.read_bytes()
            self.assertEqual(wire.serialize(wire.parse(data)), data, path.name)

    def test_a_truncated_message_is_an_error(self):
        for data in [b"\x0a\x05ab", b"\x80", b"\x0d\0", b"\xff" * 11]:
            with self.assertRaises(wire.WireError):
                wire.parse(data)

    def test_negative_numbers_have_ten_bytes(self):
        field = wire.Field(4, wire.VARINT, -1)
        self.assertEqual(wire.serialize([field]), b"\x20" + b"\xff" * 9 + b"\x01")


class Models(unittest.TestCase):
    def test_edited_models_are_messages(self):
        data = MODEL.read_bytes()
        for change in models.EDITS:
            parts = wire.ModelParts(data)
            change(random.Random(3), parts)
            self.assertTrue(wire.ModelParts(parts.to_bytes()).pieces, change.__name__)

    def test_damage_is_repeatable_and_changes_something(self):
        data = MODEL.read_bytes()
        damaged = [models.damage(random.Random(number), data) for number in range(60)]
        self.assertEqual(damaged, [models.damage(random.Random(number), data) for number in range(60)])
        self.assertGreater(len(set(damaged) - {data}), 50)

    def test_texts_for_a_model_contain_its_pieces(self):
        lines = models.lines_for(random.Random(4), MODEL.read_bytes(), 40)
        self.assertEqual(len(lines), 40)


class Cases(unittest.TestCase):
    def test_a_saved_case_is_restored(self):
        case = Case("encode", "n", {"a": "\u00e9"}, {"m": b"\0\n\xff"}, [b"", b"\xff\r", b"\0", b""])
        with tempfile.TemporaryDirectory() as folder:
            case.save(folder)
            self.assertEqual(Case.load(folder), case)


if __name__ == "__main__":
    unittest.main()
