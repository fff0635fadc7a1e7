"""The commands that measure on the cluster: their options, and the Spark job behind them."""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

from arguments import number, size

NINE_QUERIES = "q19,q42,q43,q52,q55,q63,q68,q73,q98"
PLACEMENTS = ("off", "hash", "residency", "auto")
# In words of the person: auto is both.
SAME_PLACEMENT = {"both": "auto"}
MAIN_CLASS = "io.oap.tpcds.cluster.ClusterJob"

COMMANDS = {
    "queries": "the queries, round after round, under each way of placement",
    "residency": "with pools that hold all only between them: does placement make them do so?",
    "loss": "kill -9 of an executor in the middle of a query: what is read again?",
    "waiting": "is a query slower with placement than without, also while an executor is busy?",
    "failures": "queries while executors are killed, added and paused and files written again",
}


def add_parsers(command):
    """`command(name, words)` makes the parser of one command."""
    for name, words in COMMANDS.items():
        _add_options(command(name, words), name)


def _add_options(parser, name):
    add = parser.add_argument
    add("--data", metavar="FOLDER", help="where the generated data is kept (default .cache/tpcds)")
    add("--scale", type=_scale, default=1.0, metavar="N", help="TPC-DS scale factor (default 1)")
    add("--queries", type=_queries, default=_queries(NINE_QUERIES), metavar="LIST",
        help="queries, such as q52,q68 (default the nine I/O-heavy ones)")
    add("--storage", choices=("local", "hdd", "s3"), default="local",
        help="how fast files are read, as for dev/quickstart (default local)")
    add("--hdfs", action="store_true",
        help="read the data from the cluster's HDFS, into which it is copied first")
    add("--pool-size", type=size, metavar="SIZE",
        help="pool of each executor (default: " + _default_pool(name) + ")")
    if name != "failures":
        add("--pool-share", type=_share, metavar="X",
            help="instead: this share of the bytes that the queries need, which are measured first"
            + (" (default 0.35)" if name in ("residency", "loss") else ""))
        rounds = {"queries": 3, "residency": 4, "loss": 6, "waiting": 5}[name]
        add("--rounds", type=number(2, 1000), default=rounds, metavar="N",
            help=f"rounds of all queries (default {rounds})")
    if name in ("queries", "failures"):
        add("--placement", type=_placements, default=_placements("off,hash,residency,both"),
            metavar="LIST", help="of off, hash, residency, both (default all)")
    if name == "queries":
        add("--locality-wait", default="3s", metavar="TIME", help="spark.locality.wait (default 3s)")
    if name == "failures":
        add("--minutes", type=number(1, 100000), default=5, metavar="N", help="how long (default 5)")
        add("--seed", type=number(0, 999999), metavar="N", help="of what is random (default: any)")
    add("--conf", action="append", default=[], metavar="KEY=VALUE",
        help="more of Spark's or OAP's configuration; can be repeated")


def _default_pool(name):
    return "--pool-share" if name in ("residency", "loss") else "as the cluster was started"


def _scale(text):
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return float(text)


def _share(text):
    if not re.fullmatch(r"[0-9](\.[0-9]{1,6})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no share such as 0.35")
    return float(text)


def _queries(text):
    names = text.split(",")
    for name in names:
        if not re.fullmatch(r"q[1-9][0-9]?[ab]?", name):
            raise argparse.ArgumentTypeError(f"'{name}' is no query such as q52 or q14a")
    return names


def _placements(text):
    names = [SAME_PLACEMENT.get(name, name) for name in text.split(",")]
    for name in names:
        if name not in PLACEMENTS:
            raise argparse.ArgumentTypeError(f"'{name}' is none of off, hash, residency, both")
    return names


def job_options(asked, cluster, root):
    """What the job is told, see ClusterOptions.scala."""
    name, settings = asked.command, cluster.settings
    pool, share = asked.pool_size, getattr(asked, "pool_share", None)
    if pool and share:
        sys.exit("--pool-size and --pool-share exclude each other")
    if not pool and not share:
        if name in ("residency", "loss"):
            share = 0.35
        else:
            pool = settings["pool_size"]
    hdfs = cluster.state["hdfs"]
    if asked.hdfs and not hdfs:
        sys.exit("the cluster has no HDFS; dev/cluster start --hdfs starts one with it")
    if asked.hdfs and asked.storage != "local":
        sys.exit("--hdfs and --storage exclude each other")
    seed = getattr(asked, "seed", None)
    return {
        "command": name,
        "data": os.path.abspath(asked.data or root / ".cache" / "tpcds"),
        "scale": asked.scale,
        "queries": asked.queries,
        "storage": asked.storage,
        "hdfs": hdfs["url"] if asked.hdfs else "",
        "rounds": getattr(asked, "rounds", 0),
        "placements": getattr(asked, "placement", ["off", "auto"]),
        "pool": pool or "",
        "poolShare": share or 0.0,
        "minutes": getattr(asked, "minutes", 0),
        "seed": random.randrange(1000000) if seed is None else seed,
        "executors": len(cluster.workers) * settings["executors_per_worker"],
        "cores": settings["executor_cores"],
        "control": [*cluster.hosts.from_driver(os.getpid()), str(root / "dev" / "cluster")],
        "work": str(cluster.home / "work-of-the-job"),
    }


def run(asked, cluster, root, oap_jar, tpcds_jar):
    """Runs the job in the foreground; returns its exit status."""
    options = job_options(asked, cluster, root)
    words = [str(cluster.spark_home / "bin" / "spark-submit"), "--class", MAIN_CLASS]
    words += ["--driver-memory", "2g", "--conf", "spark.ui.showConsoleProgress=false"]
    log = root / "tpcds" / "src" / "main" / "conf" / "log4j2.properties"
    words += ["--driver-java-options", f"-Dlog4j2.configurationFile={log}"]
    for pair in _conf(asked):
        words += ["--conf", pair]
    words += ["--jars", oap_jar, tpcds_jar, json.dumps(options)]
    # So that a command that is told to end takes its job with it, as one that is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        done = subprocess.run(cluster.hosts.command(0, words), env=cluster.environment())
    finally:
        shutil.rmtree(options["work"], ignore_errors=True)
    return done.returncode


def _conf(asked):
    wait = [f"spark.locality.wait={asked.locality_wait}"] if asked.command == "queries" else []
    for pair in asked.conf:
        if "=" not in pair:
            sys.exit(f"--conf wants key=value, not '{pair}'")
    return wait + asked.conf
