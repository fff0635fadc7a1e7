"""The commands that measure on the cluster: their options, and the Spark job behind them."""

import argparse
import os
import random
import re
import shutil
import sys

import spark_job
from arguments import NINE_QUERIES, number, pair, queries, scale, size

# What --placement can name, in the order of the default. Of Spark alone there is no failure to find.
PLACEMENTS = {
    "queries": ("spark", "off", "hash", "residency", "both"),
    "failures": ("off", "hash", "residency", "both"),
    "random": ("both", "residency", "hash"),
}
# In words of the person: auto is both.
SAME_PLACEMENT = {"both": "auto"}

# Pools by default, as a share of what the queries need.
SHARES = {"residency": 0.35, "loss": 0.35, "decommission": 0.6, "elastic": 0.35, "waiting": 1.1}

ROUNDS = {"queries": 3, "residency": 4, "loss": 6, "decommission": 6, "elastic": 2, "waiting": 10}

MINUTES = {"elastic": 15, "failures": 5, "frames": 30}

# They kill executors at random.
UNDER_KILLS = ("failures", "random", "frames")

# They kill, pause or keep busy one executor, and find it by its host.
ONE_BY_HOST = ("loss", "decommission", "waiting", *UNDER_KILLS)

# They make what they read.
OWN_DATA = ("random",)

COMMANDS = {
    "queries": "the queries, round after round, under each way of placement",
    "residency": "with pools that hold all only between them: does placement make them do so?",
    "loss": "kill -9 of an executor in the middle of a query: what is read again?",
    "decommission": "an executor is told to leave in 5 s, in the middle of a query: what is read again?",
    "elastic": "dynamic allocation under load that comes and goes: what do pools save that outlive executors?",
    "waiting": "is a query slower with placement than without, also while an executor is busy?",
    "failures": "queries while executors are killed, added and paused and files written again",
    "random": "random SQL while an executor is killed every 20 s and one paused now and then",
    "frames": "queries on cached DataFrames while an executor is killed every 20 s and one paused now and then",
}


def add_parsers(command):
    """`command(name, words)` makes the parser of one command."""
    for name, words in COMMANDS.items():
        _add_options(command(name, words), name)


def _add_options(parser, name):
    add = parser.add_argument
    if name in OWN_DATA:
        parser.set_defaults(data=None, scale=1.0, queries=[], storage="local", hdfs=False, s3=False)
    else:
        _add_data_options(add)
    add("--pool-size", type=size, metavar="SIZE",
        help="pool of each executor (default: " + _default_pool(name) + ")")
    if name not in UNDER_KILLS:
        add("--pool-share", type=_share, metavar="X",
            help="instead: this share of the bytes that the queries need, which are measured first"
            + (f" (default {SHARES[name]})" if name in SHARES else ""))
        each = " in each minute" if name == "elastic" else ""
        add("--rounds", type=number(1 if each else 2, 1000), default=ROUNDS[name], metavar="N",
            help=f"rounds of all queries{each} (default {ROUNDS[name]})")
    if name in ("loss", "decommission"):
        add("--losses", type=number(1, 1000), default=1, metavar="N",
            help="how many executors, one after the other (default 1)")
    if name in PLACEMENTS:
        kind = _placements(PLACEMENTS[name])
        alone = "; spark is Spark alone" if "spark" in PLACEMENTS[name] else ""
        add("--placement", type=kind, default=kind(",".join(PLACEMENTS[name])), metavar="LIST",
            help=f"of {', '.join(PLACEMENTS[name])} (default all{alone})")
    if name == "queries":
        add("--locality-wait", default="3s", metavar="TIME", help="spark.locality.wait (default 3s)")
    if name in MINUTES:
        # Of the first minute, when all is read once, elastic says nothing.
        least, each = (2, ", each way") if name == "elastic" else (1, "")
        add("--minutes", type=number(least, 100000), default=MINUTES[name], metavar="N",
            help=f"how long{each} (default {MINUTES[name]})")
    if name == "random":
        add("--queries", type=number(1, 1000000), default=1000, metavar="N", dest="random_queries",
            help="how many, each of which runs three times (default 1000)")
    if name in UNDER_KILLS:
        add("--seed", type=number(0, 999999), metavar="N", help="of what is random (default: any)")
    add("--conf", action="append", default=[], type=pair, metavar="KEY=VALUE",
        help="more of Spark's or OAP's configuration; can be repeated")


def _add_data_options(add):
    add("--data", metavar="FOLDER", help="where the generated data is kept (default .cache/tpcds)")
    add("--scale", type=scale, default=1.0, metavar="N", help="TPC-DS scale factor (default 1)")
    add("--queries", type=queries, default=queries(NINE_QUERIES), metavar="LIST",
        help="queries, such as q52,q68 (default the nine I/O-heavy ones)")
    add("--storage", choices=("local", "hdd", "s3"), default="local",
        help="how fast files are read, as for dev/quickstart (default local)")
    add("--hdfs", action="store_true",
        help="read the data from the cluster's HDFS, into which it is copied first")
    add("--s3", action="store_true", help="read the data from the cluster's S3 server in that way")


def _default_pool(name):
    return "--pool-share" if name in SHARES else "as the cluster was started"


def _share(text):
    if not re.fullmatch(r"[0-9](\.[0-9]{1,6})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no share such as 0.35")
    return float(text)


def _placements(known):
    """Makes the kind of lists of these; both may also be called auto, as in the configuration."""

    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in (*known, *SAME_PLACEMENT.values()):
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return [SAME_PLACEMENT.get(name, name) for name in names]

    return parse


def _store(asked, cluster):
    """What the state keeps of the store that data is read from; None for the machine's own files."""
    names = [name for name in ("hdfs", "s3") if getattr(asked, name)]
    if not names:
        return None
    if len(names) > 1 or asked.storage != "local":
        sys.exit("--hdfs, --s3 and --storage exclude each other")
    if not cluster.state[names[0]]:
        sys.exit(f"the cluster has no {names[0].upper()}; dev/cluster start --{names[0]} starts one with it")
    return cluster.state[names[0]]


def job_options(asked, cluster, root):
    """What the job is told, see ClusterOptions.scala."""
    name, settings = asked.command, cluster.settings
    if name in ONE_BY_HOST and settings["executors_per_worker"] > 1:
        sys.exit(f"{name} takes a host for an executor; start the cluster with --executors-per-worker 1")
    pool, share = asked.pool_size, getattr(asked, "pool_share", None)
    if pool and share:
        sys.exit("--pool-size and --pool-share exclude each other")
    if not pool and not share:
        share = SHARES.get(name)
        pool = None if share else settings["pool_size"]
    store = _store(asked, cluster)
    seed = getattr(asked, "seed", None)
    return {
        "command": name,
        "data": os.path.abspath(asked.data or root / ".cache" / "tpcds"),
        "scale": asked.scale,
        "queries": asked.queries,
        "storage": asked.storage,
        "store": store["url"] if store else "",
        "rounds": getattr(asked, "rounds", 0),
        "losses": getattr(asked, "losses", 0),
        "placements": getattr(asked, "placement", ["off", "auto"]),
        "pool": pool or "",
        "poolShare": share or 0.0,
        "minutes": getattr(asked, "minutes", 0),
        "randomQueries": getattr(asked, "random_queries", 0),
        "seed": random.randrange(1000000) if seed is None else seed,
        "executors": len(cluster.workers) * settings["executors_per_worker"],
        "cores": settings["executor_cores"],
        "control": [*cluster.hosts.from_driver(os.getpid()), str(root / "dev" / "cluster")],
        "work": str(cluster.home / "work-of-the-job"),
    }


def run(asked, cluster, root, oap_jar, tpcds_jar):
    """Runs the job in the foreground; returns its exit status."""
    options = job_options(asked, cluster, root)
    wait = [f"spark.locality.wait={asked.locality_wait}"] if asked.command == "queries" else []
    words = spark_job.words(
        cluster.spark_home, root, (oap_jar, tpcds_jar), "cluster.ClusterJob", options,
        driver_memory="2g", conf=wait + asked.conf,
        log="random-queries-log4j2" if asked.command == "random" else "log4j2")
    try:
        return spark_job.run(cluster.hosts.command(0, words), env=cluster.environment())
    finally:
        shutil.rmtree(options["work"], ignore_errors=True)
