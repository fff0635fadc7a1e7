"""Jobs that are run by spark-submit in the foreground: those of the TPC-DS jar, and programs in Python."""

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


def answer(command, name, log, **how):
    """Runs a program in Python that prints what it has to say as a last line of JSON; returns that.

    What Spark logs goes to the file `log`. Where the program fails, the command called `name` ends. `how`
    goes to subprocess.run.
    """
    with open(log, "wb") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, **how)
    if done.returncode:
        # Spark writes what Python says of an error to its own output.
        print(done.stdout.decode(errors="replace"), file=sys.stderr)
        sys.exit(f"{name}: the application failed, see above and {log}")
    return json.loads(done.stdout.decode().strip().splitlines()[-1])
