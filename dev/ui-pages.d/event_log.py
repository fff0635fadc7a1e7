"""An event log of an application that never was, with more of everything than a page can show."""

import json

APPLICATION = "app-20260101000000-0001"
EXECUTORS = 3000
TABLES = 2500
SCANS = 4000
HOSTILE = "<script>window.hurt = 1</script><b>\"x'&amp;%3Cb%3E"
BEGUN = 1767225600000


def readers(n):
    return {"hits": 7 * n, "misses": n, "bypasses": n % 3, "bytesFromPool": n << 20,
            "bytesFromFile": n << 17, "loadNanos": n * 10**7}


def executor_added(n):
    return {"Event": "SparkListenerExecutorAdded", "Timestamp": BEGUN, "Executor ID": str(n),
            "Executor Info": {"Host": host(n), "Total Cores": 4, "Log Urls": {}, "Attributes": {},
                              "Resources": {}, "Resource Profile Id": 0}}


def host(n):
    return HOSTILE if n == 1 else f"worker-{n % 500}.example.org"


def executor_sampled(n, round_of_samples):
    used = (n % 100) << 26
    pool = {"medium": "dram", "paths": "", "bytesOnNodes": {"0": used}, "capacityBytes": 8 << 30,
            "usedBytes": used, "pinnedBytes": (n % 7) << 20, "chunks": n, "evictions": n % 11,
            "nativeVersion": "1.0",
            "estimates": {"askedBytes": 100 << 20, "hitBytes": [(20 + 8 * i) << 20 for i in range(9)]}}
    report = {"executor": str(n), "host": host(n), "state": "off" if n % 97 == 0 else "open",
              "why": "no room in the file system" if n % 97 == 0 else None, "pool": pool,
              "readers": readers(n * round_of_samples)}
    at = BEGUN + 3600000 * round_of_samples + 1000 * n
    return {"Event": "io.oap.spark.status.ExecutorSampled", "atMillis": at, "report": report}


def table(n):
    return HOSTILE if n == TABLES else f"spark_catalog.sales.table_{n:05}"


def scan_ended(n):
    of = table(1 + n % TABLES)
    metrics = {"chunksHit": n, "chunksMissed": 3, "chunksBypassed": 1, "missesCold": 2,
               "missesEvicted": 1, "bypassesPinnedFull": 1, "bytesFromPool": n << 16,
               "bytesFromFile": 1 << 20, "numOutputRows": 10 * n, "loadTime": n}
    scan = {"execution": n // 2, "endedMillis": BEGUN + 1000 * n, "table": of,
            "columns": [f"column_{c}" for c in range(1 + n % 20)], "metrics": metrics}
    return {"Event": "io.oap.spark.status.ScanEnded", "scan": scan}


def events():
    yield {"Event": "SparkListenerLogStart", "Spark Version": "4.1.1"}
    yield {"Event": "SparkListenerApplicationStart", "App Name": "thousands of rows",
           "App ID": APPLICATION, "Timestamp": BEGUN, "User": "nobody"}
    for n in range(1, EXECUTORS + 1):
        yield executor_added(n)
    for round_of_samples in range(1, 4):
        for n in range(1, EXECUTORS + 1):
            yield executor_sampled(n, round_of_samples)
    for n in range(1, SCANS + 1):
        yield scan_ended(n)
    yield {"Event": "SparkListenerApplicationEnd", "Timestamp": BEGUN + 4 * 3600000}


def write(folder):
    with open(folder / APPLICATION, "w", encoding="utf-8") as log:
        for event in events():
            # The server looks for events by how their lines begin, without white space.
            log.write(json.dumps(event, separators=(",", ":")) + "\n")
