"""Cached DataFrames in the pool beside Spark's own.

Seven tables of TPC-DS are cached by CACHE TABLE, nine queries run on them, and the tables are dropped:
by Spark's own batches and by ours in turn, in one session of one application, after a pass of each
that does not count. Files are read by Spark alone on both sides. The data is that of
dev/tpcds generate; rows of the sides are compared.
"""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(ROOT / "dev" / "lib"))

import spark_job
from arguments import NINE_QUERIES, number, pair, queries, scale, size

RUN = ROOT / ".cache" / "frames-bench"


def folder(options):
    """Where the data of the scale lies, as dev/tpcds calls it."""
    return Path(options.data, f"sf{options.scale:g}").resolve()


def submit(options):
    """Runs the application; returns what it says."""
    pairs = [
        "spark.ui.enabled=false",
        f"spark.sql.shuffle.partitions={options.cores}",
        "spark.sql.extensions=io.oap.spark.OapExtensions",
        "spark.oap.cache.formats=",
        f"spark.oap.pool.size={options.pool_size}",
        *options.conf,
    ]
    command = [f"{options.spark_home}/bin/spark-submit", "--master", f"local[{options.cores}]"]
    command += ["--driver-memory", options.driver_memory]
    command += ["--jars", f"{options.oap_jar},{options.tpcds_jar}"]
    for pair in pairs:
        command += ["--conf", pair]
    told = {"folder": str(folder(options)),
            "queries": options.queries, "rounds": options.rounds, "repeats": options.repeats}
    environment = dict(os.environ, SPARK_HOME=options.spark_home, SPARK_LOCAL_IP="127.0.0.1")
    return spark_job.answer(
        [*command, str(FOLDER / "job.py"), json.dumps(told)],
        "dev/frames-bench", RUN / "spark.log", env=environment)


def ratio(result, of):
    """How many times as fast ours is: the ratio of medians, and of the pairs the least and the greatest."""
    spark, ours = [of(one) for one in result["spark"]], [of(one) for one in result["ours"]]
    pairs = [left / right for left, right in zip(spark, ours)]
    return statistics.median(spark) / statistics.median(ours), min(pairs), max(pairs)


def show(result):
    """Prints the table."""
    def bytes_of(side):
        return {part: statistics.median(one[part] for one in result[side]) for part in ("heap", "pool")}
    spark, ours = bytes_of("spark"), bytes_of("ours")
    share = sum(ours.values()) / sum(spark.values())
    print(f"memory   {share:5.2f} of Spark's: {sum(spark.values()):,.0f} bytes; ours "
          f"{sum(ours.values()):,.0f}, of it {ours['heap']:,.0f} on the heap")
    print("fill     {:5.2f} x ({:.2f} to {:.2f})".format(*ratio(result, lambda one: one["fill"])))
    ratios = []
    for query in result["spark"][0]["queries"]:
        found = ratio(result, lambda one: statistics.median(one["queries"][query]))
        ratios.append(found[0])
        print("{:8s} {:5.2f} x ({:.2f} to {:.2f}), {:,} rows".format(query, *found, result["rows"][query]))
    print(f"queries  {statistics.geometric_mean(ratios):5.2f} x, geometric mean")
    for query in result["differ"]:
        print(f"{query} DIFFERS")


def main():
    made = argparse.ArgumentParser(
        prog="dev/frames-bench", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data", default=str(ROOT / ".cache" / "tpcds"),
                      help="folder of the data (.cache/tpcds)")
    made.add_argument("--scale", type=scale, default="1", help="(%(default)s)")
    made.add_argument("--queries", type=queries, default=NINE_QUERIES, metavar="LIST",
                      help="such as q52,q42 (the nine I/O-heavy ones)")
    made.add_argument("--rounds", type=number(1, 1000), default=3, help="pairs of passes (%(default)s)")
    made.add_argument("--repeats", type=number(1, 1000), default=2,
                      help="of each query in a pass (%(default)s)")
    made.add_argument("--cores", type=number(1, 1000), default=2, help="(%(default)s)")
    made.add_argument("--driver-memory", type=size, default="3g", help="(%(default)s)")
    made.add_argument("--pool-size", type=size, default="1g", help="(%(default)s)")
    made.add_argument("--conf", action="append", type=pair, default=[], metavar="KEY=VALUE",
                      help="a further setting of Spark or OAP")
    for name in ("--spark-home", "--oap-jar", "--tpcds-jar"):
        made.add_argument(name, help=argparse.SUPPRESS)
    options = made.parse_args()
    if not folder(options).is_dir():
        made.error(f"no data in {folder(options)}: dev/tpcds generate --scale {options.scale:g} makes it")
    RUN.mkdir(parents=True, exist_ok=True)
    result = submit(options)
    (RUN / "result.json").write_text(json.dumps(result))
    show(result)
    return 1 if result["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
