"""What the jobs behind dev/tpcds are told, and how they are started."""

import contextlib
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

import device
import forms
import spark_job
from options import BUSY, MATRICES, PAIRS, SIZES, in_bytes, shares, system


def systems(asked):
    found = [dict(one) for one in asked.system]
    policies = getattr(asked, "policy", [])
    if not found and not policies:
        found = [system(one) for one in (PAIRS if asked.command == "pairs" else ("spark", "oap"))]
    found += [system(f"{policy}=oap,pool.policy={policy}") for policy in policies]
    for one in found:
        if asked.command == "matrix" and "spark.oap.pool.size" in one["settings"]:
            sys.exit(f"dev/tpcds matrix: error: --memory says the pool of {one['name']}")
        if asked.command == "matrix" and "spark.oap.cache.representation" in one["settings"]:
            sys.exit(f"dev/tpcds matrix: error: --representation says how {one['name']} keeps chunks")
        if asked.command == "run" and one["kind"] == "oap":
            one["settings"] = {"spark.oap.pool.size": asked.pool_size, **one["settings"]}
    called = [one["name"] for one in found]
    for name in called:
        if called.count(name) > 1:
            sys.exit(f"dev/tpcds {asked.command}: error: two systems have the name {name}")
    return found


def _data(asked, root):
    # Relative to here, as it is typed: results are shown to others.
    return asked.data or os.path.relpath(root / ".cache" / "tpcds")


def _matrix(asked):
    """The matrix that is asked for, as Matrix.scala has it; None where none is."""
    if asked.command != "matrix":
        return None
    default, is_load = MATRICES[asked.matrix], asked.matrix == "load"
    return {
        "kind": asked.matrix,
        "pools": asked.memory or shares(default["memory"]),
        "loads": asked.load or shares(default["load"]),
        "sizes": SIZES if is_load else (1.0,),
        "busy": BUSY if is_load else (1.0,),
    }


def request(asked, words, root):
    """What the job is told: GenerateOptions or RunRequest."""
    if asked.command == "generate":
        return {
            "data": _data(asked, root),
            "scale": asked.scale,
            "tables": asked.tables,
            "partitioned": asked.partitioned,
            "form": asked.form,
            "layout": {
                "codec": asked.codec,
                "dictionary": not asked.plain,
                "rowGroupBytes": in_bytes(asked.row_group_size),
                "fileRows": asked.file_rows,
            },
        }
    _check(asked, root)
    scenario, run, pairs = (asked.command == name for name in ("scenario", "run", "pairs"))
    return {
        "plan": {
            "scenario": asked.scenario if scenario else "pairs" if pairs else "",
            "data": _data(asked, root),
            "scale": asked.scale,
            "queries": asked.queries,
            "partitioned": asked.partitioned,
            "form": asked.form,
            "storage": asked.storage,
            "systems": [] if scenario else systems(asked),
            "state": asked.state if run else "in turn" if pairs else "warm",
            "warmUps": asked.warm_up,
            "rounds": asked.rounds,
            "repeats": getattr(asked, "repeats", 1),
            "tenants": getattr(asked, "tenants", 1),
            "deal": scenario or run and asked.deal,
            "sweep": {"table": asked.sweep, "every": asked.sweep_every} if run and asked.sweep else None,
            "needed": in_bytes(asked.needed) if getattr(asked, "needed", None) else 0,
            "representation": getattr(asked, "representation", ""),
            "matrix": _matrix(asked),
            "seed": 0 if pairs else _seed(asked),
        },
        "out": os.path.abspath(asked.out),
        "minutes": getattr(asked, "minutes", None) or 0,
        "trace": os.path.abspath(asked.trace) if getattr(asked, "trace", None) else "",
        "command": shlex.join(["dev/tpcds", *words]),
        "revision": _revision(root),
    }


def _check(asked, root):
    """Ends the process when options do not go together, or not with this machine."""
    def fail(why):
        sys.exit(f"dev/tpcds: error: {why}")

    local, storage = re.match(r"local(\[|$)", asked.master), asked.storage.partition(":")[0]
    if "://" in _data(asked, root) and asked.form != "parquet":
        fail(f"--form {asked.form} wants data in a folder of this machine")
    if getattr(asked, "trace", None) and not local:
        fail("--trace wants a local master; dev/chunk-trace --help says how executors of a cluster record")
    if "://" in _data(asked, root) and storage != "local":
        fail(f"--storage {storage} wants data in a folder of this machine")
    if storage == "device" and not local:
        fail("--storage device limits the processes of this machine that it starts: it wants a local master")
    if not local and not any(one.startswith("spark.default.parallelism=") for one in asked.conf):
        fail("a cluster wants --conf spark.default.parallelism=N, the tasks that its executors run at a time")
    if getattr(asked, "sweep", "") and asked.tenants > 1:
        fail("--sweep wants one tenant: others' queries would run during the scan")
    for one in getattr(asked, "system", []) if asked.command == "pairs" else []:
        if one["kind"] not in ("spark", "oap") or one["slowdown"] != 1 or one["medium"] or one["tenants"]:
            fail(f"pairs: {one['name']} is a session of one application: spark or oap, with settings only")
        if any(key.startswith("spark.oap.pool.") for key in one["settings"]):
            fail("pairs: --pool-size says the pool of all systems")
    if asked.command == "pairs" and asked.system and (
            asked.system[0]["kind"] != "spark" or asked.system[0]["settings"]):
        fail("pairs: the first --system is spark with no setting: the others are compared with it")
    if any(one["tenants"] for one in getattr(asked, "system", [])) and not getattr(asked, "deal", False):
        fail("tenants of a system wants dev/tpcds run --deal: else more tenants run more queries")
    if getattr(asked, "sweep", "") and asked.sweep_every > len(asked.queries):
        fail(f"--sweep-every: a round has {len(asked.queries)} queries")
    try:
        _limit(asked, root)
    except device.Impossible as e:
        fail(f"--storage device: {e}")


def _limit(asked, root):
    """The limit of --storage device, else a context that does nothing."""
    kind, _, rate = getattr(asked, "storage", "").partition(":")
    return device.Limit(_data(asked, root), int(rate)) if kind == "device" else contextlib.nullcontext()


def _seed(asked):
    """The one that is asked for, else that of the result that is continued, else any."""
    if asked.seed is not None:
        return asked.seed
    try:
        return json.loads(pathlib.Path(asked.out).read_text(encoding="utf-8"))["plan"]["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        return random.randrange(1000000)


def _revision(root):
    words = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def submit(asked, words, root):
    """Runs the job in the foreground; returns its exit status."""
    told = request(asked, words, root)
    main = {"generate": "GenerateJob", "pairs": "PairsJob"}.get(asked.command, "RunJob")
    # Systems in turn share one pool.
    pool = [f"spark.oap.pool.size={asked.pool_size}"] if asked.command == "pairs" else []
    command = spark_job.words(
        pathlib.Path(os.environ["SPARK_HOME"]), root,
        (os.environ["OAP_JAR"], *forms.jars(asked.form), os.environ["OAP_TPCDS_JAR"]), f"scale.{main}", told,
        driver_memory=asked.driver_memory, conf=[*pool, *asked.conf], more=["--master", asked.master])
    try:
        with _limit(asked, root) as limit:
            return spark_job.run(command, preexec_fn=limit.join if limit else None)
    except device.Impossible as e:
        sys.exit(f"dev/tpcds: error: --storage device: {e}")
