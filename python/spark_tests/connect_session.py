"""Counts, trains and encodes over Spark Connect, in a server on this machine, and compares with training without Spark.

Input: a text file. The exit status is 0 if all is equal, and 77 if the packages of Spark Connect are missing. A program of its own,
because a process has either sessions of Spark Connect or others.

    python3 python/spark_tests/connect_session.py testdata/udhr_small.txt
"""

import os
import pathlib
import sys

OPTIONS = {"vocab_size": 900, "hard_vocab_limit": False, "byte_fallback": True, "split_digits": True}
BYTE_OPTIONS = {"model_type": "byte_bpe", "pattern": "cl100k", "vocab_size": 500}


def main():
    try:
        import google.rpc  # noqa: F401
        import grpc_status  # noqa: F401
        import pandas  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        print(f"Spark Connect needs pyspark[connect]: {error}")
        return 77
    import spiece
    import spiece.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")[:-1]
    expected = spiece.train(lines, **OPTIONS)
    spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        df = spark.createDataFrame([(number, line) for number, line in enumerate(lines)], "id int, text string")
        assert type(df).__module__.startswith("pyspark.sql.connect"), type(df)
        model = spiece.spark.train(df.repartition(3), "text", **OPTIONS)
        assert model == expected
        rows = spiece.spark.encode(df, "text", model, add_bos=True).orderBy("id").collect()
        tokenizer = model.tokenizer()
        assert [row.ids for row in rows] == [tokenizer.encode_ragged([line], add_bos=True)[0] for line in lines]
        expected = spiece.train(lines, **BYTE_OPTIONS)
        assert spiece.spark.train(df.repartition(3), "text", **BYTE_OPTIONS) == expected
        rows = spiece.spark.encode(df, "text", expected).orderBy("id").collect()
        assert [row.ids for row in rows] == expected.tokenizer().encode_batch(lines)
    finally:
        spark.stop()
    print(f"equal: {model.summary['sentences']} sentences, pyspark over Spark Connect")
    return 0


if __name__ == "__main__":
    sys.exit(main())
