"""The application of dev/frames-bench: caches the tables, runs the queries and drops the tables, by
Spark's own batches and by ours in turn. Prints one line of JSON."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

TABLES = ("store_sales", "date_dim", "item", "store", "customer", "customer_address",
          "household_demographics")
SIDES = ("spark", "ours")


def timed(body):
    """What the body gives, and seconds."""
    begun = time.monotonic()
    result = body()
    return result, time.monotonic() - begun


def held(spark):
    """Bytes of cached tables: on the heap, and in the pool."""
    heap = sum(info.memSize() for info in spark.sparkContext._jsc.sc().getRDDStorageInfo())
    pool = spark.sparkContext._jvm.io.oap.spark.CacheControl.localPool()
    return heap, pool.get().pinnedBytes() if pool.isDefined() else 0


def declare(spark, folder):
    """Makes the tables known with their SQL types: texts that are filled up with spaces equal those that are not."""
    known = spark.sparkContext._jvm.io.oap.tpcds.data.TpcdsTable.All()
    tables = {table.name(): table for table in (known.apply(i) for i in range(known.size()))}
    for name in TABLES:
        spark.sql(f"CREATE TABLE {name} ({tables[name].ddl()}) USING parquet LOCATION '{Path(folder, name)}'")


def run(spark, side, told):
    """One pass of a side: seconds of filling and of each query, bytes, and rows by query."""
    spark.conf.set("spark.oap.cache.dataframes", str(side == "ours").lower())
    queries = spark.sparkContext._jvm.io.oap.tpcds.Queries
    _, fill = timed(lambda: [spark.sql(f"CACHE TABLE {table}") for table in TABLES])
    heap, pool = held(spark)
    seconds, rows = {}, {}
    for query in told["queries"]:
        text = queries.text(query)
        for _ in range(told["repeats"]):
            # Rows stay in the JVM, so that Python takes no part of the time.
            found, took = timed(lambda: spark._jsparkSession.sql(text).collectAsList())
            seconds.setdefault(query, []).append(took)
            rows[query] = sorted(row.toString() for row in found)
    for table in TABLES:
        spark.sql(f"UNCACHE TABLE {table}")
    deadline = time.monotonic() + 60
    while any(held(spark)):  # the command does not wait for the blocks to go
        if time.monotonic() > deadline:
            raise RuntimeError(f"bytes of tables that are not cached any more are left: {held(spark)}")
        time.sleep(0.1)
    return {"fill": fill, "heap": heap, "pool": pool, "queries": seconds}, rows


def main():
    told = json.loads(sys.argv[1])
    spark = SparkSession.builder.appName("frames-bench").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    declare(spark, told["folder"])
    passes = {side: [] for side in SIDES}
    expected = None
    differ = set()
    for round_ in range(told["rounds"] + 1):
        for side in SIDES if round_ % 2 else reversed(SIDES):
            found, rows = run(spark, side, told)
            expected = expected or rows
            differ.update(query for query in rows if rows[query] != expected[query])
            if round_:  # the first one warms the JVM
                passes[side].append(found)
    counts = {query: len(found) for query, found in expected.items()}
    print(json.dumps({**passes, "rows": counts, "differ": sorted(differ)}))
    spark.stop()


if __name__ == "__main__":
    main()
