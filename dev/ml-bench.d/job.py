"""The application of dev/ml-bench: makes the data of an algorithm, or caches it and learns from it once. Prints one
line of JSON."""

import datetime
import json
import re
import sys
import time
import urllib.request
from pathlib import Path

from pyspark.sql import SparkSession

from algorithms import ALGORITHMS


def generate(spark, told):
    frame = ALGORITHMS[told["algorithm"]].rows(spark, told["rows"], told["tasks"])
    frame.write.mode("overwrite").parquet(told["folder"])
    return {}


class Figures:
    """What Spark, the JVM and the kernel say of the application so far."""

    def __init__(self, spark):
        context = spark.sparkContext
        self.jvm = context._jvm
        self.rest = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        self.process = Path("/proc", str(self.jvm.java.lang.ProcessHandle.current().pid()), "io")

    def ask(self, what):
        with urllib.request.urlopen(f"{self.rest}/{what}", timeout=60) as answer:
            return json.load(answer)

    def gc_seconds(self):
        beans = self.jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
        return sum(bean.getCollectionTime() for bean in beans) / 1000

    def disk_bytes(self):
        """Bytes that the JVM has had the disks read, which the page cache did not have."""
        return int(re.search(r"^read_bytes: (\d+)", self.process.read_text(), re.M)[1])

    def pool_bytes(self):
        try:
            pool = self.jvm.io.oap.spark.CacheControl.localPool()
        except TypeError:  # no such class: Spark alone
            return 0
        return pool.get().pinnedBytes() if pool.isDefined() else 0

    def stages(self):
        return {one["stageId"]: one for one in self.ask("stages")}

    def iterations(self, named):
        """Seconds of each job of this name."""
        return [seconds(one) for one in sorted(self.ask("jobs"), key=lambda one: one["jobId"])
                if named and one["name"].startswith(named) and one["status"] == "SUCCEEDED"]


def seconds(job):
    begun, ended = (datetime.datetime.strptime(job[key].replace("GMT", "+0000"), "%Y-%m-%dT%H:%M:%S.%f%z")
                    for key in ("submissionTime", "completionTime"))
    return (ended - begun).total_seconds()


def storage(figures, local):
    """Bytes that Spark holds of persisted RDDs, and what it has for them."""
    executor = figures.ask("executors")[0]
    # What Spark says it has on disk counts a block again each time it is dropped from memory.
    disk = sum(file.stat().st_size for file in Path(local).rglob("rdd_*"))
    return {"heap": executor["memoryUsed"], "disk": disk, "most": executor["maxMemory"],
            "pool": figures.pool_bytes()}


def learn(spark, told):
    jvm = spark.sparkContext._jvm
    algorithm = ALGORITHMS[told["algorithm"]]
    figures, local = Figures(spark), spark.conf.get("spark.local.dir")
    frame = spark.read.parquet(told["folder"])._jdf
    # Python's levels of these names are for bytes; those of the JVM are for objects.
    frame.persist(getattr(jvm.org.apache.spark.storage.StorageLevel, told["level"])())
    begun = time.monotonic()
    rows = frame.count()
    filled = time.monotonic() - begun
    cached = storage(figures, local)
    before, gc, read = figures.stages(), figures.gc_seconds(), figures.disk_bytes()
    begun = time.monotonic()
    model = algorithm.fit(jvm, frame, told)
    took = time.monotonic() - begun
    gc, read = figures.gc_seconds() - gc, figures.disk_bytes() - read
    stages = [one for key, one in figures.stages().items() if key not in before]
    iterations = figures.iterations(algorithm.ITERATION) or [took / told["iterations"]]
    result = {
        "rows": rows, "fill": filled, "fit": took, "iterations": iterations, "gc": gc,
        "read_disk": read, "read_blocks": sum(one["inputBytes"] for one in stages),
        "cpu": sum(one["executorCpuTime"] for one in stages) / 1e9,
        "spilled": sum(one["diskBytesSpilled"] for one in stages), "cached": cached, "after": storage(figures, local)}
    return {**result, **algorithm.told(jvm, model, frame)}


def main():
    told = json.loads(sys.argv[1])
    spark = SparkSession.builder.appName("ml-bench").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    print(json.dumps({"generate": generate, "learn": learn}[told["action"]](spark, told)))
    spark.stop()


if __name__ == "__main__":
    main()
