#!/usr/bin/env python3
"""Trains in Spark while the disk for spilled and shuffled data is full, and then with enough room.

Input: a text file that is several times larger than the disk. Output: what the failed attempts leave and say; the exit status is 1
if one of them gives a model or leaves a file, or if the model that is trained afterwards differs from that of the text. Mounts a
file system in memory at `WORK/disk`, for which Linux demands root.

    python3 python/spark_tests/full_disk.py --text corpus.txt --megabytes 8 --work /tmp/full_disk
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import spiece
import spiece.spark
from pyspark.sql import SparkSession

OPTIONS = {"vocab_size": 8000, "byte_fallback": True, "split_digits": True, "hard_vocab_limit": False}


def session(local):
    # A task may fail once.
    builder = SparkSession.builder.master("local[2,2]").config("spark.ui.enabled", "false").config("spark.local.dir", str(local))
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "OFF")
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def rows_of(spark, text, partitions):
    rows = spark.read.option("lineSep", "\n").text(str(text.resolve()))
    return rows.repartition(partitions) if partitions else rows


def fails(text, local, partitions, counts_path):
    """Whether training fails and leaves no file with counts."""
    spark = session(local)
    try:
        spiece.spark.train(rows_of(spark, text, partitions), "value", counts_path=counts_path, **OPTIONS)
        print("trained, although the disk is too small")
        return False
    except Exception as error:
        cause = next((line for line in str(error).splitlines() if "space" in line), str(error).splitlines()[0])
        print(f"{type(error).__name__}: {cause.strip()}")
    finally:
        spark.stop()
    left = [path for path in pathlib.Path(counts_path).rglob("*") if path.is_file()] if counts_path else []
    print(f"files of counts: {[str(path) for path in left]}", flush=True)
    return not left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--megabytes", type=int, default=8)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    disk, counts = arguments.work / "disk", arguments.work / "counts"
    disk.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(counts, ignore_errors=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={arguments.megabytes}m", "tmpfs", disk], check=True)
    try:
        # The text is shuffled; the counts are shuffled; the counts are written to the full disk.
        results = [fails(arguments.text, disk, 7, None), fails(arguments.text, disk, 0, str(counts))]
        results.append(fails(arguments.text, arguments.work / "local", 0, str(disk / "counts")))
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
    spark = session(arguments.work / "local")
    with arguments.text.open("rb") as lines:
        expected = spiece.train((line.rstrip(b"\n") for line in lines), **OPTIONS)
    is_equal = spiece.spark.train(rows_of(spark, arguments.text, 7), "value", counts_path=str(counts), **OPTIONS) == expected
    spark.stop()
    print(f"with enough room: {'equal' if is_equal else 'DIFFERENT'}")
    return int(not (all(results) and is_equal))


if __name__ == "__main__":
    sys.exit(main())
