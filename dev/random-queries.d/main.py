"""Random SQL over random tables: Spark alone, then with the cache cold, while chunks are promoted, warm
and in a pool that is far too small, two queries at a time. Rows are compared as bytes; whole tables also
with what pyarrow reads of their files.

A star is two fact tables and three dimensions; star N is made by the seed N, and so are its queries.
Exit status 1 for a wrong row, a lost query or a pin that is left; then .cache/random-queries has scripts.
"""

import argparse
import os
import random
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev" / "lib"))

import spark_job
from arguments import number, pair

POOL_BYTES = 256 << 20
SHORT_MINUTES = 10


def parser():
    made = argparse.ArgumentParser(
        prog="dev/random-queries",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("--minutes", type=number(1, 100000), metavar="N",
        help="how long (default 30, or until --queries have run)")
    add("--queries", type=number(1, 10000000), metavar="N",
        help="end after so many queries, each of which runs five times")
    add("--seed", type=number(0, 999999999), metavar="N", help="of the first star (default: any)")
    add("--queries-per-star", type=number(1, 10000), default=150, metavar="N",
        help="queries over the same tables (default 150)")
    add("--conf", action="append", default=[], type=pair, metavar="KEY=VALUE",
        help="more of Spark's or OAP's configuration; can be repeated")
    return made


def job(asked, work):
    minutes = asked.minutes or (0 if asked.queries else 30)
    return {
        "minutes": minutes,
        "queries": asked.queries or 0,
        "seed": random.randrange(1000000) if asked.seed is None else asked.seed,
        "perStar": asked.queries_per_star,
        "work": str(work),
        "failures": str(ROOT / ".cache" / "random-queries"),
        "judge": [os.environ["OAP_JUDGE_PYTHON"], "-B", str(ROOT / "dev/random-queries.d/judge.py")],
        "pool": POOL_BYTES,
    }


def java(told):
    # Code of ten thousands of queries fills what there is by default, and then nothing is compiled;
    # classes of it make G1 collect all the time.
    words = ["-XX:ReservedCodeCacheSize=512m", "-XX:+UseParallelGC", "-XX:MetaspaceSize=512m"]
    # What the optimizing compiler costs, it wins back only in a long run.
    return words + ["-XX:TieredStopAtLevel=1"] * (0 < told["minutes"] <= SHORT_MINUTES)


def configuration(asked, work):
    return [
        "spark.master=local[2]",
        "spark.ui.enabled=false",
        "spark.sql.extensions=io.oap.spark.OapExtensions",
        f"spark.oap.pool.size={POOL_BYTES}",
        f"spark.sql.warehouse.dir={work / 'warehouse'}",
        f"spark.local.dir={work / 'local'}",
        "spark.sql.catalogImplementation=in-memory",
        # Each query is planned five times and compiled for each way to run it.
        "spark.sql.codegen.cache.maxEntries=2000",
        *asked.conf,
    ]


def main():
    words = sys.argv[1:]
    if words[:1] == ["--needs"]:
        if "--help" in words or "-h" in words:
            print("help")
        else:
            parser().parse_args(words[1:])
            print("build")
        return
    asked = parser().parse_args(words)
    work = ROOT / ".cache" / f"random-queries-{os.getpid()}"
    work.mkdir(parents=True)
    jars = (os.environ["OAP_JAR"], os.environ["OAP_TPCDS_JAR"])
    told = job(asked, work)
    line = spark_job.words(
        Path(os.environ["SPARK_HOME"]), ROOT, jars, "random.RandomQueries", told,
        driver_memory="3g", conf=configuration(asked, work), log="random-queries-log4j2",
        java=java(told))
    try:
        sys.exit(spark_job.run(line))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
