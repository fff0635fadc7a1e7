"""Machine learning of MLlib on DataFrames that are cached by Spark and in the pool.

K-means, logistic regression and ALS learn from data of 0.5, 1, 2 and 4 times the heap's storage share:
what Spark has for blocks when nothing runs, (heap - 300 MiB) x spark.memory.fraction. Each run is an
application of its own, in local mode; the systems take turns, in another order each round:

  memory     Spark's MEMORY_ONLY: what has no room is read and decoded again each time
  disk       Spark's MEMORY_AND_DISK: what has no room is read back from local disks
  pool       cached in the pool, in DRAM
  pool-file  cached in the pool, in a file on the disk, mapped: what of it is in memory the kernel says

With --storage hdd the kernel lets a run read 4 MB a second for each core from the disk of the data and of
Spark's local directories (a control group; wants root), and their pages leave the page cache within
about a second, as where memory is full. A pool's file is limited in the same way, but its pages
stay in memory as long as there is room.

Models of all runs must agree. The report is printed, and stands in .cache/ml-bench with all figures.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(ROOT / "dev" / "lib"))

import device
import report
import spark_job
from algorithms import ALGORITHMS
from arguments import names, number, pair

RUN = ROOT / ".cache" / "ml-bench"
HDD_PER_CORE = 4_000_000
RESERVED = 300 << 20  # of the heap, by Spark
FRACTION = 0.6  # spark.memory.fraction
SYSTEMS = ("memory", "disk", "pool", "pool-file")


def multiple(text):
    try:
        found = [float(one) for one in text.split(",")]
    except ValueError:
        found = [0]
    if not all(0 < one <= 100 for one in found):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers above 0, such as 0.5,1,2")
    return found


def one_of(known):
    """The kind of lists of names that are known."""
    def parse(text):
        for name in (found := names(r"[a-z-]+", "name")(text)):
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return found
    return parse


def parser():
    made = argparse.ArgumentParser(
        prog="dev/ml-bench", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--algorithms", type=one_of(ALGORITHMS), default="kmeans,logistic,als", metavar="LIST",
                      help="(%(default)s)")
    made.add_argument("--systems", type=one_of(SYSTEMS), default=",".join(SYSTEMS), metavar="LIST",
                      help="(%(default)s)")
    made.add_argument("--sizes", type=multiple, default="0.5,1,2,4", metavar="LIST",
                      help="of the heap's storage share (%(default)s)")
    made.add_argument("--rounds", type=number(1, 1000), default=2, help="(%(default)s)")
    made.add_argument("--iterations", type=number(1, 1000), default=5, help="of an algorithm (%(default)s)")
    made.add_argument("--solver", choices=("row", "block"), default="row", help="of K-means (%(default)s)")
    made.add_argument("--intermediate", choices=("MEMORY_ONLY", "MEMORY_AND_DISK", "DISK_ONLY"),
                      default="MEMORY_AND_DISK", help="level of the blocks that ALS persists (%(default)s)")
    made.add_argument("--storage", choices=("hdd", "local"), default="hdd",
                      help="hdd, or the disk as it is (%(default)s)")
    made.add_argument("--cores", type=number(1, 1000), default=2, help="(%(default)s)")
    made.add_argument("--heap", type=number(460, 1 << 20), default=1024, metavar="MIB", help="(%(default)s)")
    made.add_argument("--conf", action="append", type=pair, default=[], metavar="KEY=VALUE",
                      help="a further setting of Spark or OAP")
    for name in ("--spark-home", "--oap-jar"):
        made.add_argument(name, help=argparse.SUPPRESS)
    return made


def share(options):
    """Bytes that Spark has for blocks when nothing runs."""
    return ((options.heap << 20) - RESERVED) * FRACTION


class ForgottenPages(threading.Thread):
    """Has the page cache forget the files of some folders, again and again while it is used as a context."""

    def __init__(self, folders):
        super().__init__(daemon=True)
        self.folders, self.isOver = folders, threading.Event()

    def __enter__(self):
        self.forget()
        self.start()

    def __exit__(self, *_):
        self.isOver.set()
        self.join()

    def run(self):
        while not self.isOver.wait(0.5):
            self.forget()

    def forget(self):
        for folder in self.folders:
            for place, _, files in os.walk(folder):  # which passes over what is gone
                for file in files:
                    with contextlib.suppress(OSError), open(Path(place, file), "rb") as opened:
                        os.fdatasync(opened.fileno())  # a page that is not yet written stays
                        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Bench:
    """Makes data and runs applications, as the options say."""

    def __init__(self, options):
        self.options = options

    def submit(self, told, pairs, limit=None):
        """Runs the application; returns what it says."""
        asked = self.options
        local = RUN / "local"
        shutil.rmtree(local, ignore_errors=True)
        local.mkdir()
        command = [f"{asked.spark_home}/bin/spark-submit", "--master", f"local[{asked.cores}]",
                   "--driver-memory", f"{asked.heap}m", "--jars", asked.oap_jar]
        for one in [f"spark.local.dir={local}", f"spark.memory.fraction={FRACTION}", "spark.ui.port=0",
                    # One file a block: a block that has no room is not cached at all.
                    "spark.sql.files.maxPartitionBytes=12m", "spark.ui.showConsoleProgress=false", *pairs, *asked.conf]:
            command += ["--conf", one]
        environment = dict(os.environ, SPARK_HOME=asked.spark_home, SPARK_LOCAL_IP="127.0.0.1")
        try:
            return spark_job.answer(
                [*command, str(FOLDER / "job.py"), json.dumps(told)], "dev/ml-bench", RUN / "spark.log",
                env=environment, preexec_fn=limit.join if limit else None)
        finally:
            shutil.rmtree(local, ignore_errors=True)

    def data(self, name, size):
        """The folder of the data, which is made unless it is there."""
        wanted = int(size * share(self.options) / ALGORITHMS[name].ROW_BYTES)
        folder = RUN / "data" / f"{name}-{wanted}"
        if not (folder / "_SUCCESS").exists():
            print(f"making {wanted:,} rows for {name} ...", file=sys.stderr)
            # So that a task's part is some megabytes, and no part is left over at the end of a pass.
            tasks = self.options.cores * max(2, round(size * share(self.options) / self.options.cores / (8 << 20)))
            self.submit({"action": "generate", "algorithm": name, "rows": wanted, "tasks": tasks,
                         "folder": str(folder)}, [])
        return folder

    def learn(self, name, system, size, limit):
        """One run: what the application says of it."""
        options, folder = self.options, self.data(name, size)
        file = RUN / "pool"
        pairs = []
        if system.startswith("pool"):
            # DataFrames have four fifths of a pool at most.
            room = int(size * share(options) * 1.5 / (1 << 20)) + 64
            pairs = ["spark.sql.extensions=io.oap.spark.OapExtensions", f"spark.oap.pool.size={room}m"]
            if system == "pool-file":
                file.mkdir(exist_ok=True)
                pairs += ["spark.oap.pool.medium=file", f"spark.oap.pool.path={file}"]
        told = {"action": "learn", "algorithm": name, "folder": str(folder), "size": size, "iterations": options.iterations,
                "solver": options.solver, "intermediate": options.intermediate,
                "level": "MEMORY_ONLY" if system == "memory" else "MEMORY_AND_DISK"}
        forget = ForgottenPages([RUN / "data", RUN / "local"]) if limit else contextlib.nullcontext()
        try:
            with forget:
                return self.submit(told, pairs, limit)
        finally:
            shutil.rmtree(file, ignore_errors=True)

    def run(self, limit):
        """All runs, each with what it was."""
        options, done = self.options, []
        for name in options.algorithms:
            for size in options.sizes:
                for turn in range(options.rounds):
                    for system in options.systems if turn % 2 == 0 else reversed(options.systems):
                        self.data(name, size)
                        begun = time.monotonic()
                        found = self.learn(name, system, size, limit)
                        done.append({"algorithm": name, "size": size, "system": system, "round": turn, **found})
                        (RUN / "result.json").write_text(json.dumps(done))
                        print(f"{name} {size:g}x {system} round {turn + 1}: {time.monotonic() - begun:.0f} s",
                              file=sys.stderr)
        return done


def main():
    options = parser().parse_args()
    # So that a command that is told to end takes its application and its control group with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    RUN.mkdir(parents=True, exist_ok=True)
    try:
        with device.Limit(RUN, HDD_PER_CORE * options.cores) if options.storage == "hdd" \
                else contextlib.nullcontext() as limit:
            done = Bench(options).run(limit)
    except device.Impossible as e:
        sys.exit(f"dev/ml-bench: {e}; --storage local takes the disk as it is")
    text, agree = report.of(done)
    (RUN / "report.md").write_text(text)
    print(text)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
