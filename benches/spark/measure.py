#!/usr/bin/env python3
"""Measures training on Spark with the two cores of this machine: equality, throughput, shuffled bytes, and memory.

Input: a text file of one sentence a line, or no text for `stream`, which generates it. Output: a line for each measurement; the
exit status is 1 if a model differs. Needs pyspark, pyarrow and Java, and Linux for the memory of processes.

    python3 benches/spark/measure.py partitions --text corpus.txt --partitions 1,7,16,200 --work /tmp/measure
    python3 benches/spark/measure.py throughput --text corpus.txt --work /tmp/measure     after building the example count_words
    python3 benches/spark/measure.py stream --gigabytes 20 --work /tmp/measure
    python3 benches/spark/measure.py today --text corpus.txt --work /tmp/measure      also needs tokenizers
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import pyspark
import spiece
import spiece.spark
from generated import WORDS_IN_LINE, generated_text, generator_pids
from processes import MemorySampler, children_of, cpu_seconds
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

OPTIONS = {"vocab_size": 32000, "byte_fallback": True, "split_digits": True, "normalization_rule_name": "identity"}


def session(work, cores=2, **settings):
    """A session on this machine, whose events are written to files of `work`."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    events = work / "events"
    events.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(f"local[{cores}]").appName("spiece").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", events.resolve().as_uri())
    builder = builder.config("spark.eventLog.rolling.enabled", "false").config("spark.eventLog.compress", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.local.dir", str(work / "local"))
    # A result of more than 1 GB may come to the driver.
    builder = builder.config("spark.driver.maxResultSize", "3g").config("spark.log.level", "ERROR")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def text_of(spark, path):
    """The lines of a file. Without `lineSep`, a carriage return would end a row as well."""
    return spark.read.option("lineSep", "\n").text(str(path.resolve()))


def ended_tasks(work, application):
    """The events of the tasks of an application that has stopped."""
    (path,) = (work / "events").glob(f"*{application}*")
    with path.open(encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    return [event for event in events if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics")]


def shuffled_bytes(work, application):
    """The bytes that each stage of an application wrote for a shuffle, in the order of the stages."""
    written = {}
    for task in ended_tasks(work, application):
        metrics = task["Task Metrics"]["Shuffle Write Metrics"]
        stage = task["Stage ID"]
        written[stage] = written.get(stage, 0) + metrics["Shuffle Bytes Written"]
    return [written[stage] for stage in sorted(written) if written[stage]]


def partitions(arguments):
    """Trains with several numbers of partitions, and compares the models with that of the text."""
    size = arguments.text.stat().st_size
    start = time.monotonic()
    with arguments.text.open("rb") as lines:
        expected = spiece.train((line.rstrip(b"\n") for line in lines), **OPTIONS)
    print(f"without Spark: {time.monotonic() - start:.1f} s", flush=True)
    failed = 0
    for count in [int(count) for count in arguments.partitions.split(",")]:
        spark = session(arguments.work)
        application = spark.sparkContext.applicationId
        rows = text_of(spark, arguments.text)
        start = time.monotonic()
        with MemorySampler(os.getpid()) as memory:
            # 0 stands for the division that Spark makes of the file, without a shuffle of the text.
            model = spiece.spark.train(rows.repartition(count) if count else rows, "value", **OPTIONS)
        seconds = time.monotonic() - start
        spark.stop()
        is_equal = model == expected
        failed += not is_equal
        shuffled = shuffled_bytes(arguments.work, application)
        print(
            f"{count or 'no'} partitions: {'equal' if is_equal else 'DIFFERENT'}, {seconds:.1f} s; "
            f"{memory.peak_text()}; shuffled by stage: {' '.join(f'{bytes / size:.4f}' for bytes in shuffled)} "
            "bytes for each byte of text",
            flush=True,
        )
    return min(failed, 1)


def measured_count(path, options):
    """The function that counts a partition in `spiece.spark`, which also writes the processor time of its worker to a file."""
    count = spiece.spark._partition_counter(spiece.spark.MAX_WORDS, options)

    def measured(batches):
        started = time.process_time()
        yield from count(batches)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{time.process_time() - started}\n")

    return measured


def library_seconds(arguments):
    """The median of the times in which the library counts the text on one thread."""
    options = [f"{name}={str(value).lower()}" for name, value in OPTIONS.items()]
    run = subprocess.run([arguments.counter, arguments.text, *options], check=True, stdout=subprocess.PIPE, text=True)
    return statistics.median(json.loads(run.stdout)["seconds"])


def throughput(arguments):
    """The time of tasks of Spark that count, beside that of the library on one thread. The first task starts the worker."""
    megabytes = arguments.text.stat().st_size / 1e6
    before = library_seconds(arguments)
    settings = {"spark.sql.files.maxPartitionBytes": "4g", "spark.sql.execution.arrow.maxRecordsPerBatch": arguments.batch}
    spark = session(arguments.work, cores=1, **settings)
    application = spark.sparkContext.applicationId
    rows = text_of(spark, arguments.text)
    times = arguments.work / "times"
    times.unlink(missing_ok=True)
    jvm = []
    for _ in range(arguments.tasks + 1):
        start = cpu_seconds(children_of(os.getpid()))
        counted = rows.mapInArrow(measured_count(str(times), OPTIONS), "word binary, count bigint")
        counted.write.format("noop").mode("overwrite").save()
        jvm.append(cpu_seconds(children_of(os.getpid())) - start)
    spark.stop()
    passed = [task["Task Metrics"]["Executor Run Time"] / 1e3 for task in ended_tasks(arguments.work, application)]
    workers = [float(line) for line in times.read_text().splitlines()]
    after = library_seconds(arguments)
    library = statistics.median([before, after])
    print(f"library, 1 thread, before and after: {before:.2f} and {after:.2f} s, {megabytes / library:.0f} MB/s")
    for what, seconds in {
        "wall-clock time of the task": passed,
        "processor time of its Python worker": workers,
        "processor time with the JVM": jvm,
    }.items():
        first, warm = seconds[0], sorted(seconds[1:])
        median = statistics.median(warm)
        print(
            f"{what}: {median:.2f} s ({warm[0]:.2f} to {warm[-1]:.2f}; the first {first:.2f}), {megabytes / median:.0f} MB/s, "
            f"{library / median:.0%} of the library"
        )
    return 0


def stream(arguments):
    """Counts generated text, and prints the memory of the processes as the text goes by."""
    spark = session(arguments.work)
    application = spark.sparkContext.applicationId
    folder = arguments.work / "stream"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    rows = generated_text(spark, int(arguments.gigabytes * 1e9), 2, str(folder))
    start = time.monotonic()
    with MemorySampler(os.getpid(), lambda: generator_pids(folder)) as memory:
        memory.print_every(1e9, folder)
        counted = spiece.spark.count(rows, "text", **OPTIONS)
        is_word = F.substring("word", 1, 1) != F.lit(b"\xff")
        sums = counted.where(is_word).agg(F.count("*").alias("words"), F.sum("count").alias("sum")).collect()[0]
    seconds = time.monotonic() - start
    spark.stop()
    lines = sum(json.loads(path.read_text().splitlines()[-1])["lines"] for path in folder.glob("*.progress"))
    expected = lines * WORDS_IN_LINE
    shuffled = shuffled_bytes(arguments.work, application)
    print(f"{seconds:.0f} s; {memory.peak_text()}; shuffled {shuffled} bytes")
    print(f"{lines} lines, {sums['words']} distinct words; {sums['sum']} words counted, {expected} generated")
    return int(sums["sum"] != expected)


def today(arguments):
    """What is done without this package: a Counter in PySpark, and `tokenizers` on a sample."""
    tasks = {
        "spiece.spark.train": lambda: spiece_train(arguments),
        "Counter in PySpark": lambda: counter_in_pyspark(arguments),
        "tokenizers, a tenth of the lines": lambda: tokenizers_train(arguments, 10),
        "tokenizers, all lines": lambda: tokenizers_train(arguments, 1),
    }
    wanted = [name for name in tasks if not arguments.only or arguments.only in name]
    for name in wanted:
        # A process for each, so that none has the memory of another.
        if len(wanted) > 1:
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--only", name], check=True)
            continue
        before, start = cpu_seconds([os.getpid(), *children_of(os.getpid())]), time.monotonic()
        with MemorySampler(os.getpid()) as memory:
            result = tasks[name]()
            spent = cpu_seconds([os.getpid(), *children_of(os.getpid())]) - before
        print(f"{name}: {time.monotonic() - start:.1f} s, {spent:.1f} s of processor time; {memory.peak_text()}; {result}")
    return 0


def spiece_train(arguments):
    spark = session(arguments.work)
    start = time.monotonic()
    model = spiece.spark.train(text_of(spark, arguments.text), "value", **OPTIONS)
    return f"{len(model)} pieces, {time.monotonic() - start:.1f} s without the start of Spark"


def counter_in_pyspark(arguments):
    """Words between spaces, as in a notebook: no model, only the table."""
    spark = session(arguments.work)

    def count(batches):
        from collections import Counter

        import pyarrow as pa

        counter = Counter()
        for batch in batches:
            for line in batch.column(0).to_pylist():
                counter.update(line.split(" "))
        words = pa.array(counter.keys(), pa.string())
        table = pa.table({"word": words, "count": pa.array(counter.values(), pa.int64())})
        yield from table.to_batches(max_chunksize=1 << 16)

    start = time.monotonic()
    rows = text_of(spark, arguments.text).mapInArrow(count, "word string, count bigint")
    table = rows.groupBy("word").agg(F.sum("count").alias("count")).toArrow()
    return f"{table.num_rows} words and no model, {time.monotonic() - start:.1f} s without the start of Spark"


def tokenizers_train(arguments, step):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=32000, special_tokens=["<unk>"], show_progress=False)
    with arguments.text.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        sample = (line.rstrip("\n") for number, line in enumerate(lines) if number % step == 0)
        tokenizer.train_from_iterator(sample, trainer)
    return f"{tokenizer.get_vocab_size()} pieces"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["partitions", "throughput", "stream", "today"])
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--partitions", default="1,7,16,200")
    parser.add_argument("--counter", default="target/release/examples/count_words")
    parser.add_argument("--batch", default="10000", help="rows of an Arrow batch")
    parser.add_argument("--tasks", type=int, default=9, help="tasks after the first one")
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--only", help="one line of `today`")
    arguments = parser.parse_args()
    if arguments.text is None and arguments.what != "stream":
        parser.error(f"{arguments.what} needs --text")
    arguments.work.mkdir(parents=True, exist_ok=True)
    return globals()[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
