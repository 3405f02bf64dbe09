"""Memory and processor time of the processes that Spark starts, from /proc."""

import json
import os
import pathlib
import threading

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def children_of(root):
    """All processes that a process has started, and those that these have started."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = fields_of(int(entry.name))
            if fields:
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, next_ones = [], [root]
    while next_ones:
        next_ones = [child for parent in next_ones for child in parents.get(parent, [])]
        found += next_ones
    return found


def fields_of(process):
    """The fields of /proc/N/stat from the state on; empty if the process has ended."""
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()


def cpu_seconds(processes):
    """Processor time of some processes, and of their children that have ended."""
    fields = [fields_of(process) for process in processes]
    return sum(int(field) for some in fields for field in some[11:15]) / TICKS


def resident_bytes(process):
    try:
        return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def kind_of(process):
    """What a process is: the JVM, a Python worker, or something else."""
    try:
        command = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return None
    if b"java" in command.split(b"\0")[0]:
        return "JVM"
    return "Python worker" if b"pyspark.daemon" in command else None


class MemorySampler:
    """The memory of a process and of all that it starts, four times a second while the block runs."""

    def __init__(self, root, generators=frozenset):
        self.root = root
        self.generators = generators
        self.peaks = {}
        self.latest = {}
        self._report = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def print_every(self, step, folder):
        """Prints the memory whenever so many more bytes of text were generated, by the reports in `folder`."""
        self._report = {"step": step, "folder": folder, "next": step}

    def _run(self):
        while not self._ended.wait(0.25):
            self._sample()
            if self._report:
                self._print()

    def _sample(self):
        self.latest = {"this process": [resident_bytes(self.root)]}
        generators = self.generators()
        for process in children_of(self.root):
            kind = kind_of(process)
            if kind:
                kind = "generator" if process in generators else kind
                self.latest.setdefault(kind, []).append(resident_bytes(process))
        for kind, sizes in self.latest.items():
            self.peaks[kind] = max(self.peaks.get(kind, 0), *sizes)

    def _print(self):
        report = self._report
        done = sum(last_report(path)["bytes"] for path in report["folder"].glob("*.progress"))
        if done >= report["next"]:
            report["next"] += report["step"]
            sizes = {kind: [size >> 20 for size in sorted(sizes)] for kind, sizes in sorted(self.latest.items())}
            print(f"{done / 1e9:.2f} GB: resident MiB {sizes}", flush=True)

    def peak_text(self):
        """The largest process of each kind."""
        return "most resident: " + ", ".join(f"{kind} {size >> 20} MiB" for kind, size in sorted(self.peaks.items()))


def last_report(path):
    lines = path.read_text().splitlines()
    return json.loads(lines[-1]) if lines else {"bytes": 0, "lines": 0}
