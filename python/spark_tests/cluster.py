#!/usr/bin/env python3
"""Trains on a standalone Spark cluster of two workers on this machine, of which one is killed while tasks run.

Input: a text file of one sentence a line. Output: for each trial whether the model has the bytes of a model that was trained
without Spark; the exit status is 1 if one differs. Trials: partitions, with and without speculative execution, and a
killed worker. Needs pyspark, pyarrow and Java. The work folder gets the logs of the cluster.

    python3 python/spark_tests/cluster.py --text corpus.txt --partitions 16,200 --work /tmp/cluster
"""

import argparse
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pyspark
import spiece
import spiece.spark
from pyspark.sql import SparkSession

OPTIONS = {"vocab_size": 8000, "byte_fallback": True, "split_digits": True, "hard_vocab_limit": False}
CLASS = pathlib.Path(pyspark.__file__).parent / "bin" / "spark-class"
# A worker is killed when so many seconds of the job have passed.
KILL_AFTER = 6


class Cluster:
    """A master and two workers of one core each, as processes of this machine."""

    def __init__(self, work):
        self.work = work
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        arguments = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port())]
        self.processes = [self._start("master", "master.Master", arguments)]
        time.sleep(4)
        for number in (1, 2):
            folder = work / f"worker{number}"
            arguments = ["--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--work-dir", str(folder)]
            arguments += ["--webui-port", str(free_port()), self.url]
            self.processes.append(self._start(f"worker{number}", "worker.Worker", arguments))
        time.sleep(4)

    def _start(self, name, java_class, arguments):
        # A session of its own, so that a worker is killed together with its executors.
        with open(self.work / f"{name}.log", "wb") as log:
            command = [str(CLASS), f"org.apache.spark.deploy.{java_class}", *arguments]
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def kill_worker(self, number):
        """Kills a worker with everything that it has started."""
        kill_group(self.processes[number])

    def stop(self):
        for process in self.processes:
            kill_group(process)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def session(cluster, speculation):
    builder = SparkSession.builder.master(cluster.url).appName("spiece").config("spark.ui.enabled", "false")
    builder = builder.config("spark.speculation", str(speculation).lower()).config("spark.executor.memory", "1g")
    builder = builder.config("spark.speculation.multiplier", "1.01").config("spark.speculation.quantile", "0.1")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    return builder.config("spark.driver.host", "127.0.0.1").getOrCreate()


def train(text, partitions, speculation, kills, work):
    """The model of a cluster, and the seconds of the job."""
    cluster = Cluster(work)
    try:
        spark = session(cluster, speculation)
        killer = threading.Timer(KILL_AFTER, cluster.kill_worker, [1])
        start = time.monotonic()
        if kills:
            killer.start()
        rows = spark.read.option("lineSep", "\n").text(str(text)).repartition(partitions)
        model = spiece.spark.train(rows, "value", **OPTIONS)
        seconds = time.monotonic() - start
        was_killed = cluster.processes[1].poll() is not None
        killer.cancel()
        spark.stop()
    finally:
        cluster.stop()
    if kills and not was_killed:
        sys.exit(f"the job ended after {seconds:.0f} s, before the worker was killed: give more text")
    return model, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--partitions", default="16,200")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    # The cluster is stopped when this program is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # The workers run this Python, which has the package.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    expected = spiece.train(iter(arguments.text.open(encoding="utf-8", newline="\n")), **OPTIONS)
    trials = [(int(count), False, False) for count in arguments.partitions.split(",")]
    trials += [(16, True, False), (200, False, True)]
    failed = 0
    for number, (partitions, speculation, kills) in enumerate(trials):
        work = arguments.work / f"trial{number}"
        work.mkdir(parents=True, exist_ok=True)
        model, seconds = train(arguments.text.resolve(), partitions, speculation, kills, work)
        is_equal = model == expected
        failed += not is_equal
        what = f"{partitions} partitions{', speculation' * speculation}{', a worker killed' * kills}"
        print(f"{what}: {'equal' if is_equal else 'DIFFERENT'}, {seconds:.1f} s", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
