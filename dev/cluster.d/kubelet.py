"""Stands in for scheduler, kubelet and container runtime of a Kubernetes node: a pod's container is a process.

Pods of executors that no node has are taken one by one, as far as this node has room. Their container
runs an executor of the machine's own Spark, which this process does not leave behind. What a real
node does to executors is done: each pod has an address of its own, its status is told, more memory
than its limit ends it, and a pod that is deleted is told to leave before it is killed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from http.client import HTTPException
from pathlib import Path

import containers
import processes
from kube_api import Api, path

# Between two looks at the server and at the processes.
SECONDS = 0.3
MOST_PODS = 250
# The label of the pods that are run.
EXECUTORS = "spark-role=executor"
NOT_FOUND, CONFLICT = 404, 409
KILLED = 137
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "k": 10**3, "M": 10**6, "G": 10**9}


def in_bytes(quantity):
    """Of an amount of memory as Kubernetes writes it: 512Mi, 1G, 1000."""
    digits = quantity.rstrip("KMGik")
    return int(float(digits) * UNITS.get(quantity[len(digits) :], 1))


def limit(pod):
    """Bytes that a pod may have in memory; None where it does not say."""
    asked = pod["spec"]["containers"][0].get("resources", {}).get("limits", {}).get("memory")
    return in_bytes(asked) if asked else None


def environment(pod, address):
    """Variables of the pod's container; those that refer to its fields have their values."""
    fields = {
        "status.podIP": address,
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "spec.nodeName": pod["spec"].get("nodeName", ""),
    }
    found = {}
    for one in pod["spec"]["containers"][0].get("env", []):
        if "valueFrom" in one:
            found[one["name"]] = fields.get(one["valueFrom"].get("fieldRef", {}).get("fieldPath"), "")
        else:
            found[one["name"]] = one.get("value", "")
    return found


def command(variables, java, jars):
    """The command line of an executor, from the variables of its container."""
    prefix = "SPARK_JAVA_OPT_"
    numbers = sorted(int(name.removeprefix(prefix)) for name in variables if name.startswith(prefix))
    heap = variables["SPARK_EXECUTOR_MEMORY"]
    return [
        java,
        *(variables[f"{prefix}{number}"] for number in numbers),
        f"-Xms{heap}",
        f"-Xmx{heap}",
        *("-cp", ":".join(filter(None, [variables.get("SPARK_CLASSPATH"), f"{jars}/*"]))),
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", variables["SPARK_DRIVER_URL"]),
        *("--executor-id", variables["SPARK_EXECUTOR_ID"]),
        *("--cores", variables["SPARK_EXECUTOR_CORES"]),
        *("--app-id", variables["SPARK_APPLICATION_ID"]),
        *("--hostname", variables["SPARK_EXECUTOR_POD_IP"]),
        *("--resourceProfileId", variables.get("SPARK_RESOURCE_PROFILE_ID", "0")),
        *("--podName", variables["SPARK_EXECUTOR_POD_NAME"]),
    ]


class Running:
    """A pod whose process has been started, in a folder of its own."""

    def __init__(self, pod, address, process, folder):
        self.pod, self.address, self.process, self.folder = pod, address, process, folder
        self.began = _now()
        self.killed_at = None
        self.is_told = False
        self.why = "Error"
        self.limit = limit(pod)
        self.leaves = "preStop" in (pod["spec"]["containers"][0].get("lifecycle") or {})

    def end(self, grace):
        """Tells the process to leave, once; kills it when its time is over."""
        if self.killed_at is None:
            self.killed_at = time.monotonic() + grace
            # A container with such a hook is Spark's that is decommissioned.
            self.process.send_signal(signal.SIGPWR if self.leaves else signal.SIGTERM)
        elif time.monotonic() > self.killed_at:
            self.process.kill()

    def check_memory(self):
        if self.limit is None:
            return
        # With what it has started, such as Python.
        all_pids = [self.process.pid, *(one["pid"] for one in processes.descendants({"pid": self.process.pid}))]
        resident = sum(map(processes.resident, all_pids))
        if resident > self.limit:
            self.why = "OOMKilled"
            print(f"{self.pod['metadata']['name']}: {resident >> 20} MiB, limit {self.limit >> 20} MiB", flush=True)
            self.process.kill()


class Kubelet:
    """For one thread."""

    def __init__(self, asked):
        self.asked = asked
        self.api = Api(asked.server, asked.credentials)
        self.running = {}
        self.started = 0

    def register(self):
        room = {"cpu": str(os.cpu_count()), "memory": f"{containers.machine_mib()}Mi", "pods": str(MOST_PODS)}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.asked.node}}
        self.api.change("/api/v1/nodes", "POST", node, but=(CONFLICT,))
        status = {
            "addresses": [{"type": "InternalIP", "address": self.asked.node}],
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        self._merge(f"/api/v1/nodes/{self.asked.node}/status", {"status": status})

    def _merge(self, where, body):
        return self.api.change(where, "PATCH", body, "application/merge-patch+json", but=(NOT_FOUND, CONFLICT))

    def step(self):
        mine = {pod["metadata"]["uid"]: pod for pod in self.api.pods(f"spec.nodeName={self.asked.node}")}
        for uid, pod in mine.items():
            one = self.running.get(uid)
            if "deletionTimestamp" in pod["metadata"]:
                self._delete(uid, pod, one)
            elif one is None and pod["status"]["phase"] == "Pending":
                self.running[uid] = self._start(pod)
        for uid, one in list(self.running.items()):
            # As long as the server does not hear of it, it is told again.
            if one.process.poll() is not None:
                self._tell(one)
                self._forget(uid)
            elif not one.is_told:
                self._tell(one)
            elif uid not in mine:
                one.process.kill()
            else:
                one.check_memory()
        self._claim()

    def _claim(self):
        """Takes a pod, if there is room and no other node is faster."""
        if len(self.running) >= self.asked.slots:
            return
        for pod in self.api.pods("spec.nodeName=,status.phase=Pending", EXECUTORS):
            if "deletionTimestamp" in pod["metadata"]:
                continue
            target = {"apiVersion": "v1", "kind": "Node", "name": self.asked.node}
            name = {"name": pod["metadata"]["name"]}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": name, "target": target}
            if self.api.change(f"{path(pod)}/binding", "POST", binding, but=(NOT_FOUND, CONFLICT)):
                return

    def _start(self, pod):
        self.started += 1
        # Addresses are used again after so many, as those of a cluster's network are.
        address = f"{self.asked.pods}.{1 + self.started % MOST_PODS}"
        name = pod["metadata"]["name"]
        folder = Path(self.asked.folder) / name
        folder.mkdir(parents=True, exist_ok=True)
        own = environment(pod, address)
        own.update(SPARK_LOCAL_DIRS=str(folder / "local"), SPARK_CONF_DIR=str(folder))
        words = ["setpriv", "--pdeathsig", "KILL", *command(own, self.asked.java, self.asked.jars)]
        with open(Path(self.asked.logs) / f"{name}.log", "ab") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                                       env={**os.environ, **own})
        return Running(pod, address, process, folder)

    def _forget(self, uid):
        # What it has written goes with it, but for its log.
        shutil.rmtree(self.running.pop(uid).folder, ignore_errors=True)

    def _tell(self, one):
        """The status of a pod, as its process is."""
        code = one.process.poll()
        if code is None:
            phase, state = "Running", {"running": {"startedAt": one.began}}
        else:
            phase = "Failed" if code else "Succeeded"
            ended = {"exitCode": KILLED if code < 0 else code, "startedAt": one.began, "finishedAt": _now(),
                     "reason": one.why if code else "Completed"}
            state = {"terminated": ended}
        container = one.pod["spec"]["containers"][0]
        status = {
            "phase": phase,
            "podIP": one.address,
            "podIPs": [{"ip": one.address}],
            "hostIP": self.asked.node,
            "startTime": one.began,
            "conditions": [{"type": "Ready", "status": str(code is None)}],
            "containerStatuses": [{"name": container["name"], "image": container["image"], "imageID": "",
                                   "ready": code is None, "restartCount": 0, "state": state}],
        }
        self._merge(f"{path(one.pod)}/status", {"status": status})
        one.is_told = True

    def _delete(self, uid, pod, one):
        if one is not None and one.process.poll() is None:
            one.end(pod["metadata"].get("deletionGracePeriodSeconds", 0))
            return
        if one is not None:
            self._tell(one)
            self._forget(uid)
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
                   "preconditions": {"uid": uid}}
        self.api.change(path(pod), "DELETE", options, but=(NOT_FOUND, CONFLICT))


def _now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def main():
    parser = argparse.ArgumentParser()
    for name in ("server", "credentials", "node", "pods", "folder", "logs", "java", "jars"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--slots", type=int, required=True)
    kubelet = Kubelet(parser.parse_args())
    is_registered = False
    while True:
        try:
            if not is_registered:
                kubelet.register()
                is_registered = True
            kubelet.step()
        except (OSError, HTTPException, ValueError) as e:
            # Silent, or cut off in the middle of an answer. As a real one, it goes on when the server is back.
            print(f"the API server: {e}", file=sys.stderr, flush=True)
        time.sleep(SECONDS)


if __name__ == "__main__":
    main()
