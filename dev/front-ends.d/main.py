"""The column cache through Spark's own front ends, as real processes with two executors each.

Each front end is started with one jar and one line of configuration, and makes a table, reads it
twice, looks at oap.system, clears the table and looks again; what comes back is checked. The Thrift
server and Spark Connect have three users at once, of whom one has the cache switched off and one has
no rights in Spark's access lists.

  dev/front-ends                                       tries all
  dev/front-ends --start spark-sql -e "SHOW TABLES"    starts one, with further arguments of its own
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import venv
from pathlib import Path

import statements

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ROOT / ".cache" / "front-ends"
# A server that is not up by then never will be.
PATIENCE_SECONDS = 300

THRIFT_SERVER = [
    "spark-submit", "--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"]
CONNECT_SERVER = [
    "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
# What of Spark runs a front end, with the arguments that make it one.
PROGRAMS = {
    "spark-sql": ["spark-sql"],
    "spark-shell": ["spark-shell"],
    "pyspark": ["pyspark"],
    "thrift-server": THRIFT_SERVER,
    "connect": CONNECT_SERVER,
}
# Who may do what in a server.
ACCESS_LISTS = ["spark.acls.enable=true", "spark.modify.acls=ann", "spark.ui.view.acls=ann,bob"]
# Those that go to a server: the cache is there, not here.
CLIENTS = ["beeline", "connect-client"]


class Failure(Exception):
    """What a front end did not do."""


class Session:
    """Where one front end runs: its folder, and how Spark is started in it."""

    def __init__(self, name, options):
        self.folder = RUN / name
        self.options = options
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def spark(self, program, *arguments, conf=()):
        """The command that starts a program of Spark with OAP."""
        pairs = [
            f"spark.sql.extensions={statements.EXTENSION}",
            "spark.oap.pool.size=64m",
            "spark.ui.enabled=false",
            # As dev/check has the driver: they live for a minute, too short for the other compiler.
            "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1",
            f"spark.sql.warehouse.dir={self.folder}/warehouse",
            *conf,
        ]
        command = [f"{self.options.spark_home}/bin/{program}", "--master", "local-cluster[2,1,1024]"]
        command += ["--driver-memory", "1g", "--jars", self.options.oap_jar]
        for pair in pairs:
            command += ["--conf", pair]
        return command + list(arguments)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def start(self, command, log, stdin=subprocess.DEVNULL):
        environment = dict(os.environ, SPARK_HOME=self.options.spark_home)
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
        with open(self.folder / log, "wb") as output:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=stdin, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)

    def finish(self, process, log, may_fail=False):
        """Waits for a client and returns what it printed."""
        try:
            status = process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failure(f"it does not end: {self.folder / log}") from None
        finally:
            stop(process)
        if status and not may_fail:
            raise Failure(f"it ends with status {status}: {self.folder / log}")
        return (self.folder / log).read_text(encoding="utf-8", errors="replace")

    def check(self, process, log, expected=None, unwanted=(), may_fail=False):
        output = self.finish(process, log, may_fail)
        lacks = statements.missing(output, expected or statements.EXPECTED_ON, unwanted)
        if lacks:
            raise Failure(f"{', '.join(lacks)} in {self.folder / log}")


def stop(process):
    """Ends what was started here, with the processes that it started."""
    if process.poll() is None:
        os.killpg(process.pid, 15)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def spark_sql(session):
    script = session.write("script.sql", ";\n".join(statements.on("t")) + ";\n")
    session.check(session.start(session.spark("spark-sql", "-f", script), "log"), "log")


def spark_shell(session):
    lines = [f'spark.sql("{text}").collect().foreach(println)' for text in statements.on("t")]
    script = session.write("script.scala", "\n".join(lines) + "\n")
    with open(script, "rb") as typed:
        session.check(session.start(session.spark("spark-shell"), "log", stdin=typed), "log")


def python_script(builder, texts, *more):
    return "\n".join([
        "from pyspark.sql import SparkSession",
        f"spark = SparkSession.builder{builder}.getOrCreate()",
        f"for text in {texts!r}:",
        "    for row in spark.sql(text).collect():",
        "        print(*row)",
        *more,
        "spark.stop()",
        "",
    ])


def refused_script(builder):
    return "\n".join([
        "from pyspark.sql import SparkSession",
        f"spark = SparkSession.builder{builder}.getOrCreate()",
        f"for text in {statements.FORBIDDEN!r}:",
        # Spark Connect's client may also only ask for the schema of a statement.
        "    for ask in (lambda: spark.sql(text).schema, lambda: spark.sql(text).collect()):",
        "        try:",
        "            print(ask())",
        "        except Exception as error:",
        "            print(error)",
        "spark.stop()",
        "",
    ])


def pyspark(session):
    script = session.write("script.py", python_script("", statements.on("t"), *statements.PYTHON_FUNCTION))
    session.check(
        session.start(session.spark("spark-submit", script), "log"), "log",
        [*statements.EXPECTED_ON, statements.EXPECTED_OF_PYTHON_FUNCTION])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, server):
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise Failure("the server does not come up")


def thrift_server(session):
    port = free_port()
    server = session.start(
        session.spark(
            *THRIFT_SERVER, "spark-internal",
            "--hiveconf", f"hive.server2.thrift.port={port}",
            "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1", conf=ACCESS_LISTS),
        "server.log")
    try:
        wait_for(port, server)
        users = {
            "ann": statements.on("t"), "bob": statements.off("u"), "eve": statements.FORBIDDEN}
        running = {}
        for user, texts in users.items():
            script = session.write(f"{user}.sql", ";\n".join(texts) + ";\n")
            beeline = [f"{session.options.spark_home}/bin/beeline", "-n", user,
                       "-u", f"jdbc:hive2://127.0.0.1:{port}", "-f", script]
            if texts is statements.FORBIDDEN:
                beeline.append("--force=true")
            running[user] = session.start(beeline, f"{user}.log")
        try:
            session.check(running["ann"], "ann.log")
            session.check(running["bob"], "bob.log", statements.EXPECTED_OFF, [statements.CACHED])
            session.check(
                running["eve"], "eve.log", statements.EXPECTED_FORBIDDEN, may_fail=True)
        finally:
            for beeline in running.values():
                stop(beeline)
    finally:
        stop(server)


def connect(session):
    port = free_port()
    client = connect_client(session.options.spark_version)
    server = session.start(
        session.spark(
            *CONNECT_SERVER, "spark-internal",
            conf=[f"spark.connect.grpc.binding.port={port}",
                  "spark.connect.grpc.binding.address=127.0.0.1", *ACCESS_LISTS]),
        "server.log")
    try:
        wait_for(port, server)
        def remote(user):
            return f".remote('sc://127.0.0.1:{port}/;user_id={user}')"
        scripts = {
            "ann": python_script(remote("ann"), statements.on("t")),
            "bob": python_script(remote("bob"), statements.off("u")),
            "eve": refused_script(remote("eve")),
        }
        running = {
            user: session.start([client, session.write(f"{user}.py", text)], f"{user}.log")
            for user, text in scripts.items()}
        try:
            session.check(running["ann"], "ann.log")
            session.check(running["bob"], "bob.log", statements.EXPECTED_OFF, [statements.CACHED])
            session.check(running["eve"], "eve.log", statements.EXPECTED_FORBIDDEN)
        finally:
            for process in running.values():
                stop(process)
    finally:
        stop(server)


def connect_client(version):
    """The Python of an environment with Spark Connect's own client, made once in the checkout."""
    folder = ROOT / ".cache" / f"connect-client-{version}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print("installing Spark Connect's Python client from PyPI ...", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             f"pyspark-client=={version}"],
            check=True)
        # Written last, so that half an environment is never used.
        (folder / "complete").touch()
    return str(python)


FRONT_ENDS = {
    "spark-sql": spark_sql,
    "spark-shell": spark_shell,
    "pyspark": pyspark,
    "thrift-server": thrift_server,
    "connect": connect,
}


def start(options):
    """Becomes a front end: with OAP and Spark's defaults, in the folder where the user is."""
    name, *further = options.start
    environment = dict(os.environ, SPARK_HOME=options.spark_home)
    if name == "connect-client":
        environment.setdefault("SPARK_REMOTE", "sc://localhost")
        # Without a script, a prompt with the session in it.
        session = "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()"
        command = [connect_client(options.spark_version), *(further or ["-i", "-c", session])]
    elif name == "beeline":
        url = ["-u", "jdbc:hive2://localhost:10000"]
        command = [f"{options.spark_home}/bin/beeline", *(further or url)]
    else:
        # Spark from PyPI is known to the Python of its own environment only.
        packages = Path(options.spark_home).resolve().parent
        if packages.name == "site-packages":
            python = packages.parents[2] / "bin" / "python"
            environment.setdefault("PYSPARK_PYTHON", str(python))
        program, *first = PROGRAMS[name]
        command = [f"{options.spark_home}/bin/{program}", *first, "--jars", options.oap_jar,
                   "--conf", f"spark.sql.extensions={statements.EXTENSION}", *further]
    os.execvpe(command[0], command, environment)


def parser():
    made = argparse.ArgumentParser(
        prog="dev/front-ends", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("front_ends", nargs="*", metavar="FRONT-END",
                      help=f"which to try, all by default: {', '.join(FRONT_ENDS)}")
    made.add_argument("--start", nargs=argparse.REMAINDER,
                      help="NAME ARGUMENT ...: start one instead, in the foreground: "
                           f"{', '.join([*PROGRAMS, *CLIENTS])}; all that follows is passed on to "
                           "it, such as --conf spark.oap.pool.size=8g or --help")
    for name in ("--spark-home", "--oap-jar", "--spark-version"):
        made.add_argument(name, help=argparse.SUPPRESS)
    made.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    return made


def main():
    options = parser().parse_args()
    for name in options.front_ends:
        if name not in FRONT_ENDS:
            parser().error(f"there is no front end '{name}': {', '.join(FRONT_ENDS)}")
    if options.start is not None and (options.start or [None])[0] not in [*PROGRAMS, *CLIENTS]:
        parser().error(f"--start takes one of {', '.join([*PROGRAMS, *CLIENTS])}")
    if options.check:
        return 0
    if options.start:
        start(options)
    # So that whoever ends this ends the servers as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = False
    for name in options.front_ends or FRONT_ENDS:
        begun = time.monotonic()
        try:
            FRONT_ENDS[name](Session(name, options))
            verdict = "passed"
        except Failure as failure:
            failed = True
            verdict = f"FAILED: {failure}"
        print(f"{name:14} {time.monotonic() - begun:4.0f} s  {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
