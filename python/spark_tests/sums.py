#!/usr/bin/env python3
"""Counts random parts of a text with the program, adds the tables in several ways, and compares the models with that of the text.

Input: a text file of one sentence a line. Each line goes to one of some parts at random. The tables of the parts are added in a
random tree by `spiece count --merge`, and by DuckDB, Polars and PyArrow. Output: a line for each set of options; the exit status
is 1 if a model differs. The names of the inputs are left out of the comparison, because parts have other names. Needs sentencepiece
(for the message of a model), duckdb, polars and pyarrow.

    python3 python/spark_tests/sums.py --text corpus.txt --sets all --parts 16 --program target/release/spiece --work /tmp/sums
"""

import argparse
import pathlib
import random
import subprocess
import sys
import time

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from sentencepiece import sentencepiece_model_pb2

LLAMA2 = "--byte_fallback --split_digits --normalization_rule_name=identity --allow_whitespace_only_pieces --remove_extra_whitespaces=false"
SETS = {
    "default": "",
    "llama2": LLAMA2 + " --character_coverage=0.99995",
    "whole lines": "--split_by_whitespace=false",
    "suffix": "--treat_whitespace_as_suffix",
    "no prefix": "--add_dummy_prefix=false",
    "keep spaces": "--remove_extra_whitespaces=false",
    "symbols": "--user_defined_symbols=the,of --control_symbols=<c> --byte_fallback",
    "auto coverage": "--auto_character_coverage --byte_fallback",
    "delimiter": "--pretokenization_delimiter=-",
    "coverage .98": "--character_coverage=0.98",
    "nmt_nfkc_cf": "--normalization_rule_name=nmt_nfkc_cf",
    "no scripts": "--split_by_unicode_script=false --split_by_number=false",
    "short lines": "--max_sentence_length=80",
    "long pieces": "--max_sentencepiece_length=40",
}


def divide(text, count, folder, seed):
    """Writes each line to a part at random."""
    choose = random.Random(seed).choices
    parts = [open(folder / f"part{number}.txt", "wb") for number in range(count)]
    with text.open("rb") as lines:
        while some := lines.readlines(1 << 24):
            for line, part in zip(some, choose(parts, k=len(some))):
                part.write(line)
    for part in parts:
        part.close()
    return [pathlib.Path(part.name) for part in parts]


def merge_in_a_tree(program, tables, folder, seed):
    """Adds two to four tables at a time, until one is left."""
    generator, left, number = random.Random(seed), list(tables), 0
    while len(left) > 1:
        generator.shuffle(left)
        size = min(len(left), generator.randint(2, 4))
        output = folder / f"merged{number}.parquet"
        run(program, "count", "--merge", *left[:size], f"--output={output}")
        left, number = [*left[size:], output], number + 1
    return left[0]


def add_with_duckdb(pattern, output):
    query = f"SELECT word, CAST(sum(count) AS BIGINT) AS count FROM '{pattern}' GROUP BY word"
    duckdb.sql(f"COPY ({query}) TO '{output}'")


def add_with_polars(pattern, output):
    rows = polars.scan_parquet(pattern).group_by("word").agg(polars.col("count").sum())
    rows.sink_parquet(output, compression="snappy")


def add_with_pyarrow(pattern, output):
    paths = pathlib.Path(pattern).parent.glob(pathlib.Path(pattern).name)
    table = pa.concat_tables([pq.read_table(path) for path in paths])
    pq.write_table(table.group_by("word").aggregate([("count", "sum")]).rename_columns(["word", "count"]), output)


def run(program, *arguments):
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def trained(program, prefix, source, flags):
    """The model without the names of its inputs, and its vocabulary."""
    run(program, "train", "--model_type=bpe", "--hard_vocab_limit=false", *source, f"--model_prefix={prefix}", *flags)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(pathlib.Path(f"{prefix}.model").read_bytes())
    for field in ("input", "input_format", "model_prefix"):
        model.trainer_spec.ClearField(field)
    return model.SerializeToString(deterministic=True), pathlib.Path(f"{prefix}.vocab").read_bytes()


def differing_sums(arguments, parts, name, folder):
    """The sums whose models differ from that of the text."""
    counting = SETS[name].split(" ") if SETS[name] else []
    flags = [*counting, f"--vocab_size={arguments.vocab_size}"]
    expected = trained(arguments.program, folder / "text", [f"--input={arguments.text}"], flags)
    tables = []
    for part in parts:
        tables.append(folder / f"{part.stem}.counts.parquet")
        run(arguments.program, "count", f"--input={part}", f"--output={tables[-1]}", "--model_type=bpe", *counting)
    pattern = str(folder / "part*.counts.parquet")
    sums = {"--merge": merge_in_a_tree(arguments.program, tables, folder, arguments.seed)}
    for engine, add in [("DuckDB", add_with_duckdb), ("Polars", add_with_polars), ("PyArrow", add_with_pyarrow)]:
        sums[engine] = folder / f"{engine}.parquet"
        add(pattern, str(sums[engine]))
    # Tables that nobody added.
    sums["train"] = ",".join(str(table) for table in tables)
    differing = []
    for engine, table in sums.items():
        source = [f"--input={table}", "--input_format=counts"]
        if trained(arguments.program, folder / engine.strip("-"), source, flags) != expected:
            differing.append(engine)
    for file in folder.iterdir():
        if file not in parts:
            file.unlink()
    return differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--program", default="target/release/spiece")
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--sets", default="all", help="names of option sets with commas between them, or all")
    parser.add_argument("--vocab_size", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    parts = divide(arguments.text, arguments.parts, arguments.work, arguments.seed)
    failed = 0
    for name in SETS if arguments.sets == "all" else arguments.sets.split(","):
        start = time.monotonic()
        differing = differing_sums(arguments, parts, name, arguments.work)
        failed += bool(differing)
        what = f"DIFFERENT: {', '.join(differing)}" if differing else "5 sums equal"
        print(f"{arguments.text.name}, {name}, {len(parts)} parts: {what}, {time.monotonic() - start:.1f} s", flush=True)
    for part in parts:
        part.unlink()
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
