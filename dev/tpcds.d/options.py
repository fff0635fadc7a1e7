"""The options of the commands of dev/tpcds that run a Spark job."""

import argparse
import fractions
import re

from arguments import NINE_QUERIES, names, number, pair, queries, scale, size
from forms import FORMS

SCENARIOS = ("fit-both", "fit-large-only", "fit-none")
KINDS = ("spark", "oap", "spark-cache")
STORAGE = ("local", "hdd", "s3")
# What pools hold of the needed bytes, and queries in flight per core, where nothing else is asked.
MATRICES = {
    "memory": {"memory": "1.09,0.5", "load": "1,2,3"},
    "load": {"memory": "0.5", "load": "1/3,1,2"},
}
# Kinds of tenants of the load matrix: shares of the queries and of the time.
SIZES, BUSY = (1 / 3, 1.0), (1 / 3, 1.0)
TABLES = (
    "call_center catalog_page catalog_returns catalog_sales customer customer_address "
    "customer_demographics date_dim household_demographics income_band inventory item promotion "
    "reason ship_mode store store_returns store_sales time_dim warehouse web_page web_returns "
    "web_sales web_site").split()
CODECS = ("snappy", "zstd", "gzip", "lz4_raw", "uncompressed")
UNITS = {unit: 1 << (10 * (power + 1)) for power, unit in enumerate("kmgt")}
SYSTEMS_HELP = """
systems:
  --system NAME=KIND[,KEY=VALUE...] is one system; NAME=KIND may be KIND alone. KIND is spark,
  oap or spark-cache (CACHE TABLE of all tables first). A KEY without spark. in front is one of
  spark.oap. Each system is a Spark application of its own. Examples:
    --system spark
    --system small=oap,pool.size=512m,pool.policy=lru
    --system nvme=oap,pool.size=8g,pool.medium=file,pool.path=/mnt/nvme
  Three more keys serve this tool: slowdown=1.25 makes each query that much longer, a known effect
  that the statistics have to find; medium=pmem adds what persistent memory would take longer
  than DRAM for the bytes from the pool: a model, see tpcds/README.md; tenants=9 is --tenants for
  this system alone, with --deal, to compare queries at once with the same queries in a row:
    --deal --system row=oap,tenants=1 --system nine=oap,tenants=9

cold and warm:
  warm: rounds count after --warm-up others in the same application. cold: besides, pools are
  emptied before each round that counts, and the tables' files dropped from the page cache when
  the master is local. Results say whether they were.
"""

MATRIX_HELP = """
memory:
  Every system with each memory and each load. Memory is what all pools hold over what the
  queries need, which is measured first. Under-committed is more than 1: all fits. Over-committed
  is less: chunks leave before they are asked for again. Load is queries in flight per core; each is
  a tenant of its own, that runs all queries, one after the other.

load:
  Every system with each load, from small to overwhelmed, and four kinds of tenants: those who run
  the first third of the queries and those who run all; those who always have a query in flight and
  those who pause, so that they have one for a third of their time. The number of tenants follows
  from the load. The result says how fair it is to them.

--minutes keeps it within a time; the same command goes on later. All systems in all cells run before
one begins its next repeat. Fewer --queries or a smaller --scale make rounds shorter.
"""

# Whom dev/tpcds pairs compares where nothing else is asked.
PAIRS = ("spark", "built=oap,buildsides.enabled=false", "oap")

PAIRS_HELP = """
One application; each system is a session of its own. Query by query all systems run one after the
other, round by round, in this order and the other. All of them share the pool and compiled code.

systems:
  --system NAME=KIND[,KEY=VALUE...] is one system; KIND is spark or oap. Settings are those of a session;
  a KEY without spark. in front is one of spark.oap. The first system is Spark alone, which the others
  are compared with. Where OAP is to have other settings, name Spark alone with the same ones, too:
    --system spark --system same=spark,spark.sql.adaptive.enabled=false
    --system oap=oap,spark.sql.adaptive.enabled=false
  Settings of the application are for all of them: --conf.

bars:
  The nine queries at scale 10, and partitioned at scale 30, have bars, which are printed with what was
  measured; so have all queries together (no one much slower) and first runs. Exit status 1 says that
  rows differ or a query failed; a bar that is missed is no failure.
"""


def add_options(parser, name):
    add = parser.add_argument
    add("--data", metavar="FOLDER",
        help="folder or URL where the generated data is kept (default .cache/tpcds)")
    add("--scale", type=scale, default=1.0, metavar="N",
        help="TPC-DS scale factor, about N GB of raw data (default 1)")
    add("--form", choices=FORMS, default="parquet", metavar="FORM",
        help=f"how tables are kept: {', '.join(FORMS)} (default parquet); the others are made from Parquet's")
    if name == "generate":
        _add_generation(add)
    elif name == "pairs":
        _add_pairs(add)
        parser.epilog = PAIRS_HELP
    else:
        _add_measurement(add, name)
        parser.epilog = {"run": SYSTEMS_HELP, "matrix": MATRIX_HELP}.get(name)
    add("--master", default="local[*]", metavar="URL", help="Spark master (default local[*])")
    add("--conf", action="append", default=[], type=pair, metavar="KEY=VALUE",
        help="more of Spark's configuration, for all systems; can be repeated")
    add("--driver-memory", type=size, default="3g", metavar="SIZE",
        help="heap of the driver, in local mode that of all (default 3g)")


def _add_generation(add):
    add("--tables", type=names("|".join(TABLES), "table of TPC-DS"), default=[], metavar="LIST",
        help="tables (default all 24)")
    add("--partitioned", action="store_true", help="fact tables partitioned by their date")
    add("--codec", choices=CODECS, default="snappy", help="compression (default snappy)")
    add("--plain", action="store_true", help="plain encoding: no dictionaries")
    add("--row-group-size", type=size, default="128m", metavar="SIZE",
        help="most bytes of a row group before compression (default 128m)")
    add("--file-rows", type=number(1000, 1000000000), default=500000, metavar="N",
        help="rows of a file, about; a row group has no more: for large ones say more (default 500000)")


def _add_what(add):
    add("--queries", type=queries, default=queries(NINE_QUERIES), metavar="LIST",
        help="queries, such as q52,q14a, or all (default the nine I/O-heavy ones)")
    add("--partitioned", action="store_true", help="fact tables partitioned by their date")


def _add_pairs(add):
    _add_what(add)
    add("--storage", choices=STORAGE, default="local",
        help="local: as it is; hdd: 4 MB/s per core; s3: 60 MB/s per core, 20 ms per request (default local)")
    add("--system", action="append", default=[], type=system, metavar="SYSTEM",
        help="a system, see below; can be repeated, the first one is spark (default " + " ".join(PAIRS) + ")")
    add("--pool-size", type=size, default="2g", metavar="SIZE", help="the pool of each executor (default 2g)")
    add("--warm-up", type=number(0, 1000), default=4, metavar="N",
        help="runs of each query and system that do not count (default 4)")
    add("--rounds", type=number(1, 10000), default=6, metavar="N",
        help="runs of each query and system that count (default 6)")
    add("--out", default="pairs.json", metavar="FILE",
        help="the result; the table lies beside it as Markdown (default pairs.json)")


def _add_measurement(add, name):
    if name == "matrix":
        _add_matrix(add)
    if name == "scenario":
        add("scenario", choices=SCENARIOS, metavar="SCENARIO",
            help="fit-both: all that the queries need fits into both pools; fit-large-only; fit-none")
    _add_what(add)
    storage = {"run": "local", "scenario": "hdd", "matrix": "s3"}[name]
    add("--storage", type=_storage, default=storage, metavar="KIND",
        help="local: as it is; hdd: 4 MB/s per core; s3: 60 MB/s per core, 20 ms per request; "
        "device:SIZE: what the kernel lets through from the disk of the data in a second, such as "
        f"device:8m (root, local master; see tpcds/README.md) (default {storage})")
    if name != "scenario":
        add("--system", action="append", default=[], type=system, metavar="SYSTEM",
            help=f"a system, see {'below' if name == 'run' else 'dev/tpcds run --help'}; can be "
            "repeated (default spark and oap)")
    if name == "run":
        add("--policy", type=names("[a-z_0-9]+", "name"), default=[], metavar="LIST",
            help="race: one more system for each of these policies of the pool")
        add("--pool-size", type=size, default="2g", metavar="SIZE",
            help="pool of each executor, where a system says nothing else (default 2g)")
        add("--state", choices=("warm", "cold"), default="warm", help="see below (default warm)")
        add("--deal", action="store_true",
            help="deal the queries of a round out to the tenants; else each runs them all")
        add("--sweep", choices=TABLES, default="", metavar="TABLE",
            help="between the queries, read all columns of this table; that is no part of the queries' "
            "times and hits (one tenant)")
        add("--sweep-every", type=number(1, 1000), default=1, metavar="N",
            help="after every so many queries of a round (default 1)")
    else:
        add("--needed", type=size, metavar="SIZE",
            help="bytes that the queries need, where no pool can hold all to measure them")
        add("--representation", choices=("encoded", "vector"), default="encoded",
            help="how all pools keep chunks, so that all need as many bytes: as in the files, or in their "
            "vector form (default encoded)")
    if name != "matrix":
        tenants = 9 if name == "scenario" else 1
        add("--tenants", type=number(1, 1000), default=tenants, metavar="N",
            help="how many run queries at the same time, FAIR scheduling above 1 "
            + ("(default 9, to whom the queries of a round are dealt out)" if name == "scenario"
               else "(default 1)"))
    add("--warm-up", type=number(0, 1000), default=1, metavar="N",
        help="rounds of each application that do not count (default 1)")
    add("--rounds", type=number(1, 10000), default=5, metavar="N",
        help="rounds of each application that count (default 5)")
    add("--repeats", type=number(1, 1000), default=2, metavar="N",
        help="applications of each system, in random order (default 2); ten counting rounds of a "
        "system are the least for a claim")
    add("--seed", type=number(0, 999999), metavar="N", help="of all that is random (default any)")
    add("--out", default="result.json", metavar="FILE",
        help="the result; one that is there is continued (default result.json)")
    add("--minutes", type=number(1, 100000), metavar="N",
        help="begin no round after so many minutes; the same command goes on later")
    add("--trace", metavar="FOLDER",
        help="record the chunks asked for, for dev/chunk-trace (local masters)")


def _add_matrix(add):
    add("matrix", choices=MATRICES, metavar="MATRIX", help="memory or load, see below")
    add("--memory", type=shares, metavar="LIST",
        help="pools over what the queries need (default 1.09,0.5 for memory, 0.5 for load)")
    add("--load", type=shares, metavar="LIST",
        help="queries in flight per core (default 1,2,3 for memory, 1/3,1,2 for load)")


def shares(text):
    """Numbers above 0, with commas; each may be a fraction."""
    found = []
    for one in text.split(","):
        if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6}|/[1-9][0-9]{0,2})?", one) or not fractions.Fraction(one):
            raise argparse.ArgumentTypeError(f"'{one}' is no number above 0, such as 0.5 or 1/3")
        found.append(float(fractions.Fraction(one)))
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"'{text}' says a number twice")
    return found


def _storage(text):
    """A kind of storage as Plan.scala has it: of a device in bytes per second."""
    if text in STORAGE:
        return text
    kind, _, rate = text.partition(":")
    if kind != "device":
        raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(STORAGE)}, device:SIZE")
    return f"device:{in_bytes(size(rate))}"


def system(text):
    """One --system, as MeasuredSystem of Plan.scala."""
    head, *pairs = text.split(",")
    name, _, kind = head.rpartition("=")
    if kind not in KINDS:
        raise argparse.ArgumentTypeError(f"'{kind}' is none of {', '.join(KINDS)}")
    if not re.fullmatch(r"[\w.-]*", name):
        raise argparse.ArgumentTypeError(f"'{name}' is no name of letters, digits, . and -")
    settings = dict(pair(one).split("=", 1) for one in pairs)
    try:
        slowdown = float(settings.pop("slowdown", "1"))
    except ValueError:
        slowdown = 0
    if not 1 <= slowdown <= 1000:
        raise argparse.ArgumentTypeError("slowdown is a factor of at least 1")
    medium = settings.pop("medium", "")
    if medium not in ("", "pmem") or (medium and kind != "oap"):
        raise argparse.ArgumentTypeError("medium is pmem, and only for oap")
    tenants = settings.pop("tenants", "0")
    if not re.fullmatch("0|[1-9][0-9]{0,2}", tenants):
        raise argparse.ArgumentTypeError(f"tenants={tenants}: a number up to 999")
    full = {k if k.startswith("spark.") else f"spark.oap.{k}": v for k, v in settings.items()}
    return {"name": name or kind, "kind": kind, "settings": full, "slowdown": slowdown,
            "medium": medium, "tenants": int(tenants), "cell": None}  # fmt: skip


def in_bytes(size):
    return int(size[:-1]) * UNITS[size[-1].lower()]
