"""Random SQL over random tables: Spark alone, then with the cache cold, while chunks are promoted, warm
and in a pool that is far too small, two queries at a time. Rows are compared as bytes; whole tables
of Parquet also with what pyarrow reads of their files. Tables of Iceberg and Delta are changed between the queries: DELETE,
UPDATE, MERGE, INSERT, compaction, columns that come, go and are renamed. Queries of former versions have
to give what they gave then, and commits with the cache leave the rows that they leave without it.

A star is two fact tables and three dimensions; star N is made by the seed N, and so are its queries.
A campaign can be cut into pieces: each says at its end how many queries and runs it had, and with which
--seed the next piece begins. The stars before that are not made again.
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

import forms
import spark_job
from arguments import number, pair

POOL_BYTES = 256 << 20
FORMS = ("parquet", "orc", "iceberg", "delta")
OURS = "io.oap.spark.OapExtensions"

# Tables are tiny, so that what Spark does around them is most of the work. None of this is about what is read.
LEAN = (
    # Each query is planned five times and compiled for each way to run it.
    "spark.sql.codegen.cache.maxEntries=5000",
    "spark.sql.codegen.useIdInClassName=false",
    # Else tasks load classes through a loader that asks the driver for each, and does so in vain.
    "spark.sql.artifact.isolation.enabled=false",
    # One file for each task that shuffles, not one for each of its partitions.
    "spark.shuffle.sort.bypassMergeThreshold=0",
    "spark.shuffle.compress=false",
    "spark.shuffle.spill.compress=false",
    "spark.shuffle.checksum.enabled=false",
    "spark.broadcast.compress=false",
    "spark.broadcast.checksum=false",
    # By default a sort or hash map begins with tens of MiB, which are made zero.
    "spark.buffer.pageSize=1m",
    "spark.locality.wait=0",
    # What nobody looks at.
    "spark.sql.ui.explainMode=simple",
    "spark.ui.liveUpdate.period=-1",
    "spark.ui.retainedJobs=10",
    "spark.ui.retainedStages=10",
    "spark.ui.retainedTasks=100",
    "spark.sql.ui.retainedExecutions=10",
)

# What the optimizing compiler costs, it does not win back within a thousand runs. Later it does, if it is kept
# from the classes that Spark makes for one query: only what all queries call gets so far.
LONG_RUN = [
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=5000",
    "-XX:Tier4CompileThreshold=40000",
    "-XX:Tier4BackEdgeThreshold=200000",
]


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
    add("--form", choices=FORMS, default="parquet",
        help="what tables are kept as (default parquet); those of Iceberg and Delta change between queries")
    add("--queries-per-star", type=number(1, 10000), default=150, metavar="N",
        help="queries over the same tables (default 150)")
    add("--conf", action="append", default=[], type=pair, metavar="KEY=VALUE",
        help="more of Spark's or OAP's configuration; can be repeated")
    return made


def minutes(asked):
    return asked.minutes or (0 if asked.queries else 30)


def job(asked, work):
    return {
        "minutes": minutes(asked),
        "queries": asked.queries or 0,
        "seed": random.randrange(1000000) if asked.seed is None else asked.seed,
        "perStar": asked.queries_per_star,
        "form": asked.form,
        "work": str(work),
        "failures": str(ROOT / ".cache" / "random-queries"),
        "judge": [os.environ["OAP_JUDGE_PYTHON"], "-B", str(ROOT / "dev/random-queries.d/judge.py")],
        "pool": POOL_BYTES,
    }


def is_long(asked):
    return asked.queries >= 500 if asked.queries else minutes(asked) >= 10


def java(asked):
    # Code of ten thousands of queries fills what there is by default, and then nothing is compiled;
    # classes of it make G1 collect all the time.
    words = ["-XX:ReservedCodeCacheSize=512m", "-XX:+UseParallelGC", "-XX:MetaspaceSize=512m"]
    words += LONG_RUN if is_long(asked) else ["-XX:TieredStopAtLevel=1"]
    # Nor does it pay to verify the classes that Spark makes for each query.
    return [*words, "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]


def memory_folder(work):
    """Where files of shuffles lie: in memory, where there is a file system of it that all may use."""
    shared = Path("/dev/shm")
    return shared / work.name if os.access(shared, os.W_OK) else work / "local"


def of_form(form, work):
    """What the libraries of a form are told."""
    if form == "iceberg":
        theirs = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        return [
            f"spark.sql.extensions={theirs},{OURS}",
            "spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type=hadoop",
            f"spark.sql.catalog.lake.warehouse={work}",
        ]
    if form == "delta":
        return [
            f"spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension,{OURS}",
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # Fifty by default, for logs of a few commits.
            "spark.databricks.delta.snapshotPartitions=1",
        ]
    ours = [f"spark.sql.extensions={OURS}"]
    # Tables are tiny; so that their files have several stripes.
    return [*ours, "spark.hadoop.orc.stripe.row.count=1000"] if form == "orc" else ours


def configuration(asked, work):
    return [
        "spark.master=local[2]",
        "spark.ui.enabled=false",
        *of_form(asked.form, work),
        f"spark.oap.pool.size={POOL_BYTES}",
        f"spark.sql.warehouse.dir={work / 'warehouse'}",
        f"spark.local.dir={memory_folder(work)}",
        "spark.sql.catalogImplementation=in-memory",
        *LEAN,
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
    jars = (os.environ["OAP_JAR"], *forms.jars(asked.form), os.environ["OAP_TPCDS_JAR"])
    told = job(asked, work)
    line = spark_job.words(
        Path(os.environ["SPARK_HOME"]), ROOT, jars, "random.RandomQueries", told,
        driver_memory="3g", conf=configuration(asked, work), log="random-queries-log4j2",
        java=java(asked))
    try:
        sys.exit(spark_job.run(line))
    finally:
        for folder in (work, memory_folder(work)):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
