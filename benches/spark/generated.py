"""Text that Spark generates while it is counted: lines of words from a list of two million, and a new word in each line.

Every line depends on its number alone. A line consists of a word that occurs nowhere else, so that the number of distinct words
grows with the text as in real text, and of phrases. Each phrase has one of the words of the list and some more, of which that of
rank r has a probability of about 1/r (Zipf's law).
"""

import json
import os
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WORDS = 2_000_000
WORDS_IN_PHRASE = 5
PHRASES_IN_LINE = 20
# Each line has a word of its own besides.
WORDS_IN_LINE = WORDS_IN_PHRASE * PHRASES_IN_LINE + 1
# About the bytes of a line, to know how many lines are needed.
LINE_BYTES = 455
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)


def spelled(numbers, letters):
    """Numbers in letters, with so many letters each: an array of Arrow."""
    digits = (numbers[:, None] // 26 ** np.arange(letters)) % 26
    data = LETTERS[digits].tobytes()
    offsets = np.arange(0, len(data) + 1, letters, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def word_list():
    """Two million different words of 2 to 8 letters, shorter ones first; words of a list have no capital letters."""
    parts, left, letters = [], WORDS, 2
    while left:
        count = min(left, 26**letters // 2)
        parts.append(spelled(np.arange(count), letters))
        left -= count
        letters += 1
    return pa.concat_arrays(parts)


def mixed(numbers):
    """A hash of 64-bit numbers (the last step of splitmix64)."""
    numbers = (numbers + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def joined(words, count):
    """Texts of so many words each."""
    offsets = np.arange(0, len(words) + 1, count, dtype=np.int32)
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), words), " ")


def phrases():
    """A phrase for each word."""
    words = word_list()
    cells = np.arange(WORDS * WORDS_IN_PHRASE, dtype=np.uint64)
    uniform = (mixed(cells) >> np.uint64(11)) / float(1 << 53)
    ranks = np.minimum((WORDS**uniform).astype(np.int32) - 1, WORDS - 1)
    ranks[::WORDS_IN_PHRASE] = np.arange(WORDS)
    return joined(words.take(pa.array(ranks)), WORDS_IN_PHRASE)


def lines(ids, all_phrases):
    """The lines with these numbers."""
    ids = np.asarray(ids).astype(np.uint64)
    cells = ids[:, None] * np.uint64(PHRASES_IN_LINE) + np.arange(PHRASES_IN_LINE, dtype=np.uint64)
    chosen = mixed(cells.ravel()) % np.uint64(WORDS)
    bodies = joined(all_phrases.take(pa.array(chosen)), PHRASES_IN_LINE)
    # Capital letters occur in no other word.
    return pc.binary_join_element_wise(pc.utf8_upper(spelled(ids.astype(np.int64), 8)), bodies, " ")


def generated_text(spark, size, partitions, folder):
    """A DataFrame with the column `text` of about so many bytes. The workers report to files of `folder`."""

    def generate(batches):
        all_phrases = phrases()
        done = {"bytes": 0, "lines": 0}
        pathlib.Path(folder, f"{os.getpid()}.generator").touch()
        with open(pathlib.Path(folder, f"{os.getpid()}-{os.urandom(4).hex()}.progress"), "w", buffering=1) as report:
            for batch in batches:
                text = lines(batch.column(0), all_phrases)
                done["bytes"] += pc.sum(pc.binary_length(text)).as_py()
                done["lines"] += len(text)
                report.write(json.dumps(done) + "\n")
                yield pa.RecordBatch.from_arrays([text], ["text"])

    rows = spark.range(0, size // LINE_BYTES, 1, partitions)
    return rows.mapInArrow(generate, "text string")


def generator_pids(folder):
    return {int(path.stem) for path in pathlib.Path(folder).glob("*.generator")}
