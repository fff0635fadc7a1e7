"""A job of the TPC-DS jar, run by spark-submit in the foreground."""

import json
import signal
import subprocess
import sys


def words(spark_home, root, jars, main, told, *, driver_memory, conf, more=(), log="log4j2", java=()):
    """The command line of a job.

    `jars` are that of OAP, libraries, and last that of the jobs; `told` is what the job gets, as JSON; `conf` is a
    list of KEY=VALUE; `more` are further words for spark-submit, `java` for the driver's JVM; `log` names
    its logging configuration.
    """
    file = root / "tpcds" / "src" / "main" / "conf" / f"{log}.properties"
    found = [str(spark_home / "bin" / "spark-submit"), "--class", f"io.oap.tpcds.{main}", *more]
    found += ["--driver-memory", driver_memory]
    found += ["--driver-java-options", " ".join([f"-Dlog4j2.configurationFile={file}", *java])]
    for pair in ["spark.ui.showConsoleProgress=false", *conf]:
        found += ["--conf", pair]
    *libraries, jobs = jars
    return [*found, "--jars", ",".join(libraries), jobs, json.dumps(told)]


def run(command, **how):
    """Runs it; returns its exit status. `how` goes to subprocess.run."""
    # So that a command that is told to end takes its job with it, as one that is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return subprocess.run(command, **how).returncode
    except KeyboardInterrupt:
        return 130
