"""What joins with very many keys cost an executor in memory, and a query in time.

A fact table is joined with a broadcast of so many keys. For each number of keys there are two
applications: Spark alone, and one with OAP, which runs each query with the cache switched off and on
in turn. Memory is that of the only executor, a process of its own: what it has ever had resident
besides its heap and what the pool holds, and the heap left in use by its fullest collection.
What OAP takes beyond Spark alone with the fewest keys is not counted as that of the keys.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RUN = FOLDER.parent.parent / ".cache" / "join-keys-bench"
HEAP_MB = 3072
MOST_MEMORY_MB = 64
LEAST_RATIO = 0.95


def submit(options, keys, with_oap, rounds):
    """Runs an application; returns what job.py says, and the heap in use after collections.

    Without rounds it makes the tables only, as what that takes is not to be measured.
    """
    log = RUN / f"gc-{keys}-{with_oap}.log"
    log.unlink(missing_ok=True)
    pairs = [
        f"spark.executor.extraJavaOptions=-Xms{HEAP_MB}m -XX:+AlwaysPreTouch -Xlog:gc:file={log}",
        f"spark.executor.memory={HEAP_MB}m",
        "spark.ui.enabled=false",
        "spark.sql.shuffle.partitions=4",
        # Above what the keys take, so that Spark broadcasts them without a hint, too.
        "spark.sql.autoBroadcastJoinThreshold=1g",
    ]
    if with_oap:
        pairs += ["spark.sql.extensions=io.oap.spark.OapExtensions",
                  "spark.oap.pool.size=256m"]
    command = [f"{options.spark_home}/bin/spark-submit", "--driver-memory", options.driver_memory]
    command += ["--master", f"local-cluster[1,{options.cores},{HEAP_MB}]"]
    command += ["--jars", options.oap_jar]
    for pair in pairs:
        command += ["--conf", pair]
    told = {"folder": str(RUN), "keys": keys, "rows": options.rows, "rounds": rounds,
            "oap": with_oap}
    environment = dict(os.environ, SPARK_HOME=options.spark_home, SPARK_LOCAL_IP="127.0.0.1")
    with open(RUN / "spark.log", "ab") as errors:
        done = subprocess.run(
            [*command, str(FOLDER / "job.py"), json.dumps(told)],
            env=environment, stdout=subprocess.PIPE, stderr=errors, check=True)
    result = json.loads(done.stdout.decode().strip().splitlines()[-1])
    if not rounds:
        return result
    after = re.findall(r"->(\d+)M\(", log.read_text())
    result["heap"] = max(map(int, after), default=0)
    result["native"] = result["resident"] - HEAP_MB - result["pool"]
    return result


def measure(options, keys):
    """A dictionary with the lines of one number of keys."""
    submit(options, keys, False, 0)
    alone = submit(options, keys, False, options.rounds)
    oap = submit(options, keys, True, options.rounds)
    ratios = [off / on for off, on in zip(oap["off"], oap["on"])]
    return {
        "keys": keys, "alone": alone, "oap": oap, "ratio": statistics.median(ratios),
        "seconds": (statistics.median(oap["off"]), statistics.median(oap["on"]))}


def show(found, few):
    """Prints one number of keys; memory beside what OAP takes with the fewest keys, too."""
    alone, oap = found["alone"], found["oap"]

    def over(one):
        return {part: one["oap"][part] - one["alone"][part] for part in ("native", "heap")}
    more = sum(over(found).values()) - sum(over(few).values())
    given = "given to the scan" if oap["given"] else "not given to the scan"
    print(f"{found['keys']:>9} keys, {given}: native {alone['native']} MB alone, {oap['native']} MB with OAP; "
          f"heap after collections {alone['heap']} MB, {oap['heap']} MB; "
          f"driver {alone['driver']} MB, {oap['driver']} MB")
    print(f"           of the keys: {more} MB (at most {MOST_MEMORY_MB}) "
          f"{'holds' if more <= MOST_MEMORY_MB else 'MISSED'}; "
          f"time {found['seconds'][0]:.2f} s off, {found['seconds'][1]:.2f} s on, "
          f"{found['ratio']:.2f}x as fast (at least {LEAST_RATIO}) "
          f"{'holds' if found['ratio'] >= LEAST_RATIO else 'MISSED'}", flush=True)
    return more <= MOST_MEMORY_MB and found["ratio"] >= LEAST_RATIO


def main():
    made = argparse.ArgumentParser(
        prog="dev/join-keys-bench", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--keys", type=int, nargs="+", default=[1000, 1000000, 10000000],
                      help="how many keys, the fewest first (%(default)s)")
    made.add_argument("--rows", type=int, default=10000000, help="of the fact table (%(default)s)")
    made.add_argument("--rounds", type=int, default=5, help="of each query (%(default)s)")
    made.add_argument("--cores", type=int, default=4, help="of the executor (%(default)s)")
    made.add_argument("--driver-memory", default="6g", help="(%(default)s)")
    for name in ("--spark-home", "--oap-jar"):
        made.add_argument(name, help=argparse.SUPPRESS)
    options = made.parse_args()
    RUN.mkdir(parents=True, exist_ok=True)
    few = None
    holds = True
    for keys in options.keys:
        found = measure(options, keys)
        few = few or found
        holds = show(found, few) and holds
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
