"""The cluster: Spark's own master and workers, YARN or Kubernetes, with or without HDFS or S3 beside them.

Everything lies in .cache/cluster of the checkout: state.json says what runs, conf/ is what
applications are started with, logs/ stays after the end until the next start.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import hdfs
import hosts
import kube
import processes
import s3
import standalone
import yarn

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / ".cache" / "cluster"
CONF = HOME / "conf"
LOGS = HOME / "logs"
# Until the master answers, and until all workers have said who they are.
START_SECONDS = 90
UI_FROM_PORT = 1003


def memory_in_mib(text):
    """Of a size as Spark writes it: 512m, 2g; without a letter it is MiB."""
    units = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
    letter = text[-1].lower()
    return int(int(text[:-1]) * units[letter]) if letter in units else int(text)


@contextmanager
def locked(name="cluster", taken=None):
    """One command changes the cluster at a time; the others wait, or end with what `taken` says."""
    HOME.parent.mkdir(exist_ok=True)
    with open(HOME.parent / f"{name}.lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if taken else 0))
        except BlockingIOError:
            sys.exit(taken)
        yield


class Cluster:
    """What state.json says. `settings` are the options of `start` that make the cluster what it is."""

    def __init__(self, state):
        self.state = state
        self.settings = state["settings"]
        self.hosts = hosts.Namespaces() if self.settings["netns"] else hosts.Loopback()
        # A cluster of an older version of this command knows no Kubernetes.
        self.is_kubernetes = self.settings.get("kubernetes", False)
        self.manager = yarn if self.settings["yarn"] else kube if self.is_kubernetes else standalone
        self.workers = state["workers"]
        self.home, self.conf = HOME, CONF
        self.spark_home = Path(os.environ.get("SPARK_HOME", ""))

    @staticmethod
    def read():
        """The cluster that was started here, or None."""
        file = HOME / "state.json"
        return Cluster(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None

    @staticmethod
    def running():
        """The cluster that runs; ends the command when there is none."""
        found = Cluster.read()
        if found is None:
            sys.exit("no cluster is running; dev/cluster start starts one")
        if not processes.is_alive(found.state["master"]):
            sys.exit(
                f"the master is gone, see {found.log('master')}; dev/cluster stop clears the rest away"
            )
        return found

    def save(self):
        file = HOME / "state.json"
        file.with_suffix(".new").write_text(json.dumps(self.state, indent=2), encoding="utf-8")
        file.with_suffix(".new").rename(file)

    @staticmethod
    def log(name):
        return LOGS / f"{name}.log"

    # -- starting

    @staticmethod
    def start(settings):
        """Starts what of the asked-for cluster does not run yet, and waits for it."""
        found = Cluster.read()
        if found and not processes.is_alive(found.state["master"]):
            print("clearing away what is left of a former cluster")
            found.stop()
            found = None
        if found and found.settings != settings:
            sys.exit("a cluster with other options is running; dev/cluster stop ends it")
        if not found:
            found = Cluster._begin(settings)
        dead = [one for one in found.workers if not processes.is_alive(one["process"])]
        for one in dead:
            found.forget(one)
        while len(found.workers) < settings["workers"]:
            found.add()
        found.wait()
        return found

    @staticmethod
    def _begin(settings):
        shutil.rmtree(HOME, ignore_errors=True)
        for folder in (CONF, LOGS):
            folder.mkdir(parents=True)
        made = Cluster({"settings": settings, "workers": [], "next": 1, "master": None, "hdfs": None,
                        "s3": None})
        if not made.hosts.is_isolated:
            for port in made.manager.ports(made):
                _require_free(port, settings["port"])
        made.save()
        try:
            made._start_master()
        except BaseException:
            made.stop()
            raise
        return made

    def _start_master(self):
        self.hosts.create(0)
        if self.settings["hdfs"]:
            self.state["hdfs"] = hdfs.start_name_node(self)
        if self.settings["s3"]:
            self.state["s3"] = s3.start(self)
        self.state["master"] = self.manager.start_master(self)
        self._write_conf()
        self.save()

    def environment(self):
        """Variables of all processes. The person's own Spark configuration has no say in it."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "HADOOP_"))}
        own = {"SPARK_HOME": str(self.spark_home), "SPARK_CONF_DIR": str(CONF)}
        return {**kept, **own, **self.manager.environment(self)}

    def _write_conf(self):
        settings = self.settings
        lines = {
            "spark.master": self.url(),
            "spark.executor.memory": settings["executor_memory"],
            "spark.executor.cores": settings["executor_cores"],
            "spark.oap.pool.size": settings["pool_size"],
            **self.manager.spark_settings(self),
        }
        if self.state["hdfs"]:
            # Data nodes on the loopback all register with one address; their names differ.
            lines["spark.hadoop.dfs.client.use.datanode.hostname"] = "true"
            lines["spark.hadoop.dfs.replication"] = hdfs.copies(self)
        if self.state["s3"]:
            lines.update(s3.spark_settings(self.state["s3"]))
        text = "".join(f"{key} {value}\n" for key, value in lines.items())
        (CONF / "spark-defaults.conf").write_text(text, encoding="utf-8")

    def add(self):
        """Starts one worker more, on a host of its own; does not wait for it."""
        number = self.state["next"]
        if number >= hosts.MOST_WORKERS:
            sys.exit(f"a cluster has had {number - 1} workers by now; stop it and start another one")
        self.state["next"] = number + 1
        name = f"worker{number}"
        one = {"name": name, "number": number, "host": self.hosts.create(number)}
        one["process"] = self.manager.start_worker(self, one)
        one["data_node"] = None
        self.workers.append(one)
        self.save()
        if self.state["hdfs"]:
            one["data_node"] = hdfs.start_data_node(self, one)
            self.save()
        return one

    def wait(self):
        """Until all workers are registered with the master, and data nodes with the name node."""
        until = time.monotonic() + START_SECONDS
        while True:
            for one in [{"name": "master", "process": self.state["master"]}, *self.workers]:
                if not processes.is_alive(one["process"]):
                    sys.exit(f"{one['name']} has ended, see {self.log(one['name'])}")
            missing = self._missing()
            if not missing:
                return
            if time.monotonic() > until:
                sys.exit(f"after {START_SECONDS} s there is still no {missing}; logs: {LOGS}")
            time.sleep(0.2)

    def _missing(self):
        try:
            alive = self.manager.workers(self)
        except (OSError, ValueError):
            # Not JSON: a server that is not ready yet.
            return "answer from the master"
        for one in self.workers:
            if one["host"] not in alive:
                return f"registration of {one['name']}"
        missing = hdfs.missing(self) if self.state["hdfs"] else None
        return missing or (s3.missing(self) if self.state["s3"] else None)

    # -- looking

    def url(self):
        return self.manager.url(self)

    def ui_port(self):
        return self.settings["port"] + UI_FROM_PORT

    def executor_mib(self):
        return memory_in_mib(self.settings["executor_memory"])

    def pool_mib(self):
        return memory_in_mib(self.settings["pool_size"])

    def worker(self, name):
        """By name, number or host, on Kubernetes also by the address of one of its pods."""
        for one in self.workers:
            if name in (one["name"], str(one["number"]), one["host"]) or (
                    self.is_kubernetes and kube.is_on(one, name)):
                return one
        names = ", ".join(one["name"] for one in self.workers)
        sys.exit(f"there is no worker {name}; there are {names}")

    # -- ending

    def forget(self, one):
        """A worker that is dead: also its executors, which may be paused, and its data node."""
        processes.end([one["data_node"]] if one["data_node"] else [])
        if self.is_kubernetes:
            try:
                kube.forget(self, one)
            except OSError as e:
                sys.exit(f"the API server does not answer, so {one['name']} stays known: {e}")
        self.workers.remove(one)
        self.save()

    def kill(self, one, with_worker):
        """kill -9, without a word before; returns the executors that it hit."""
        executors = processes.executors(one["process"])
        # With the worker goes all that runs on its host, such as an ApplicationMaster.
        below = processes.descendants(one["process"]) if with_worker else executors
        # The worker first: it would start its executors again.
        if with_worker:
            processes.send(one["process"], signal.SIGKILL)
        for process in below:
            processes.send(process, signal.SIGKILL)
        if with_worker:
            self.forget(one)
        return executors

    def retire(self, one, seconds):
        """Has executors leave (SIGPWR), and kills those that are there still after so many seconds."""
        executors = self.signal_executors(one, signal.SIGPWR)
        time.sleep(seconds)
        for executor in executors:
            processes.send(executor, signal.SIGKILL)
        return executors

    def signal_executors(self, one, number):
        executors = processes.executors(one["process"])
        for executor in executors:
            processes.send(executor, number)
        return executors

    def stop(self):
        """Ends everything and leaves nothing but the logs."""
        executors, daemons = [], []
        for one in self.workers:
            executors += processes.descendants(one["process"])
            daemons += [one["process"], one["data_node"]]
        if self.state["hdfs"]:
            daemons.append(self.state["hdfs"]["process"])
        if self.state["s3"]:
            daemons += self.state["s3"]["processes"]
        daemons.append(self.state["master"])
        left = processes.end([one for one in daemons if one]) + processes.end(executors)
        if left:
            pids = ", ".join(str(one["pid"]) for one in left)
            sys.exit(f"these processes do not end: {pids}")
        self.hosts.remove()
        for entry in HOME.iterdir():
            if entry == LOGS:
                continue
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def _require_free(port, first):
    """Ends the command where a port is taken that the options put so far above the first one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            above = f" + {port - first}" if port > first else ""
            sys.exit(f"port {port} (--port{above}) is taken; choose another one with --port")
