"""One application of dev/join-keys-bench: makes the tables unless they are there, and runs the
query. Prints one line of JSON: megabytes ever resident of executor and driver, megabytes in the
pool, whether the scan was given keys, and seconds."""

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

# Rounds that do not count: the first loads chunks, the second makes vector chunks of them.
WARM_UP = 2


def make(spark, told):
    """The fact table, and keys that neither a range nor a bitmap holds."""
    fact, keys = f"{told['folder']}/fact-{told['rows']}", f"{told['folder']}/keys-{told['keys']}"
    spread = "id * 1000003"
    if not Path(fact, "_SUCCESS").exists():
        spark.range(0, told["rows"], 1, 8).selectExpr(
            "pmod(xxhash64(id), 20000000) * 1000003 AS k", "id % 1000 AS v").write.mode(
            "overwrite").parquet(fact)
    if not Path(keys, "_SUCCESS").exists():
        spark.range(0, told["keys"], 1, 4).selectExpr(f"{spread} AS key", "1 AS used").write.mode(
            "overwrite").parquet(keys)
    return fact, keys


def process(application):
    """The id of the only executor's process."""
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and application in words:
            return folder.name
    raise RuntimeError("no executor")


def resident(pid):
    """Megabytes that a process has had resident at most."""
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) >> 10
    raise RuntimeError("no VmHWM")


def main():
    told = json.loads(sys.argv[1])
    spark = SparkSession.builder.appName("join-keys-bench").getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    fact, keys = make(spark, told)
    if not told["rounds"]:
        print(json.dumps({}))
        return
    text = (f"SELECT /*+ BROADCAST(d) */ count(*), sum(f.v) FROM parquet.`{fact}` f "
            f"JOIN parquet.`{keys}` d ON f.k = d.key WHERE d.used = 1")
    seconds = {"off": [], "on": []}
    answers = set()
    for round_ in range(told["rounds"] + WARM_UP):
        # Both in Spark alone, too, where they are the same: what queries leave behind adds up.
        for state in ("off", "on"):
            spark.conf.set("spark.oap.cache.enabled", "true" if state == "on" else "false")
            begun = time.monotonic()
            answers.add(str(spark.sql(text).collect()))
            if round_ >= WARM_UP:
                seconds[state].append(time.monotonic() - begun)
    if len(answers) != 1:
        raise RuntimeError(f"the answers differ: {answers}")
    pool = 0
    if told["oap"]:
        used = spark.sql("SELECT sum(used_bytes) FROM oap.system.executors").head()[0]
        pool = used >> 20
    plan = spark.sql("EXPLAIN " + text).head()[0]
    driver = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    executor = process(spark.sparkContext.applicationId)
    print(json.dumps({
        "resident": resident(executor), "driver": resident(driver), "pool": pool,
        "given": "dynamicpruning" in plan, **seconds}))
    spark.stop()


if __name__ == "__main__":
    main()
