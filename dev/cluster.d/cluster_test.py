"""Tests of the parts of dev/cluster that need no cluster."""

import argparse
import contextlib
import io
import os
import signal
import sys
import tempfile
import time
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import hosts
import kube
import kubelet
import main
import measurements
import processes
import yarn
from cluster import Cluster, memory_in_mib


def fake_cluster(hdfs=None, executors_per_worker=1, s3=None):
    settings = {"pool_size": "512m", "executor_cores": 4}
    settings["executors_per_worker"] = executors_per_worker
    return SimpleNamespace(
        settings=settings, state={"hdfs": hdfs, "s3": s3}, workers=[1, 2, 3], hosts=hosts.Loopback(),
        home=Path("/home"))


def told(*words, hdfs=None, executors_per_worker=1, s3=None):
    asked = main.parse(list(words))
    return measurements.job_options(asked, fake_cluster(hdfs, executors_per_worker, s3), Path("root"))


class Options(unittest.TestCase):
    def rejected(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            main.parse(list(words))
        self.assertEqual(ended.exception.code, 2)
        return said.getvalue().splitlines()[-1]

    def test_mistakes_are_named(self):
        for words, named in (
            ("start --workers 0", "argument --workers: '0'"),
            ("start --pool-size 2q", "argument --pool-size: '2q'"),
            ("kill", "required: WORKER"),
            ("strat", "invalid choice: 'strat'"),
            ("start --work 3", "unrecognized arguments: --work 3"),
            ("queries --placement hash,none", "argument --placement: 'none'"),
            ("failures --placement off,spark", "argument --placement: 'spark'"),
            ("queries --queries q52,52", "argument --queries: '52'"),
            ("queries --scale 0", "argument --scale: '0'"),
            ("residency --pool-share 0", "argument --pool-share: '0'"),
            ("retire worker1 --seconds x", "argument --seconds: 'x'"),
            ("loss --minutes 3", "unrecognized arguments: --minutes 3"),
            ("elastic --minutes 1", "argument --minutes: '1'"),
            ("failures --rounds 3", "unrecognized arguments: --rounds 3"),
            ("frames --rounds 3", "unrecognized arguments: --rounds 3"),
            ("random --queries q52", "argument --queries: 'q52'"),
            ("random --data there", "unrecognized arguments: --data there"),
        ):
            self.assertIn(named, self.rejected(*words.split()))

    def test_both_is_auto(self):
        self.assertEqual(told("queries", "--placement", "off,both")["placements"], ["off", "auto"])
        self.assertEqual(told("queries", "--placement", "auto")["placements"], ["auto"])

    def test_queries_run_by_spark_alone_too(self):
        ways = ["off", "hash", "residency", "auto"]
        self.assertEqual(told("queries")["placements"], ["spark", *ways])
        self.assertEqual(told("failures")["placements"], ways)
        self.assertEqual(told("queries", "--placement", "spark")["placements"], ["spark"])

    def test_random_queries(self):
        self.assertEqual(told("random")["randomQueries"], 1000)
        made = told("random", "--queries", "7", "--seed", "3")
        self.assertEqual((made["randomQueries"], made["seed"], made["queries"]), (7, 3, []))
        self.assertEqual(made["placements"], ["auto", "residency", "hash"])

    def test_frames(self):
        self.assertEqual(told("frames")["minutes"], 30)
        made = told("frames", "--minutes", "2", "--queries", "q52", "--seed", "3")
        self.assertEqual((made["minutes"], made["queries"], made["seed"], made["pool"]), (2, ["q52"], 3, "512m"))

    def test_pool(self):
        self.assertEqual(told("queries")["pool"], "512m")
        self.assertEqual(told("queries", "--pool-share", "0.4")["pool"], "")
        self.assertEqual(told("residency")["poolShare"], 0.35)
        self.assertEqual(told("residency", "--pool-size", "1g")["poolShare"], 0.0)
        with self.assertRaises(SystemExit):
            told("loss", "--pool-size", "1g", "--pool-share", "0.4")

    def test_cluster_is_passed_on(self):
        options = told("failures", "--seed", "7")
        self.assertEqual((options["executors"], options["cores"], options["seed"]), (3, 4, 7))
        self.assertEqual(options["control"], ["root/dev/cluster"])

    def test_several_executors_of_a_host(self):
        for command in ("queries", "residency"):
            self.assertEqual(told(command, executors_per_worker=2)["executors"], 6)
        for command in ("loss", "decommission", "waiting", "failures"):
            with self.assertRaises(SystemExit) as ended:
                told(command, executors_per_worker=2)
            self.assertIn("--executors-per-worker 1", ended.exception.code)

    def test_store_must_be_there(self):
        known = {"hdfs": {"url": "hdfs://h:1"}, "s3": {"url": "s3a://b"}}
        self.assertEqual(told("queries", "--hdfs", **known)["store"], "hdfs://h:1")
        self.assertEqual(told("queries", "--s3", **known)["store"], "s3a://b")
        self.assertEqual(told("queries", **known)["store"], "")
        for words in (["--hdfs"], ["--s3"]):
            with self.assertRaises(SystemExit):
                told("queries", *words)
        for words in (["--hdfs", "--s3"], ["--s3", "--storage", "hdd"]):
            with self.assertRaises(SystemExit):
                told("queries", *words, **known)

    def test_a_measurement_needs_the_whole_cluster(self):
        def ask(*applications):
            found = SimpleNamespace(manager=SimpleNamespace(applications=lambda _: applications))
            with mock.patch.object(main.Cluster, "running", lambda: found), mock.patch.object(main, "ENDING", 0):
                return found, main.free_cluster()

        self.assertIs(*ask())
        with self.assertRaises(SystemExit) as ended:
            ask("app-1: other, running, 3 cores")
        self.assertIn("application app-1: other, running, 3 cores", ended.exception.code)

    def test_arguments_of_spark_submit_are_left_alone(self):
        asked = main.parse(["submit", "--class", "x.Y", "--workers", "z"])
        self.assertEqual(asked.arguments, ["--class", "x.Y", "--workers", "z"])


class Sizes(unittest.TestCase):
    def test_memory(self):
        self.assertEqual([memory_in_mib(text) for text in ("700m", "2g", "1t")], [700, 2048, 1 << 20])


class Processes(unittest.TestCase):
    def setUp(self):
        # They are meant to outlive what starts them.
        warnings.filterwarnings("ignore", "subprocess .* is still running", ResourceWarning)

    def start(self, *code):
        known = processes.spawn(
            [sys.executable, "-c", *code], os.devnull, dict(os.environ), Path("."))
        self.addCleanup(processes.end, [known])
        return known

    def test_a_process_is_known_by_the_time_it_began(self):
        known = self.start("import time; time.sleep(60)")
        self.assertTrue(processes.is_alive(known))
        self.assertFalse(processes.is_alive({**known, "began": known["began"] + "0"}))
        self.assertEqual(processes.end([known]), [])
        self.assertFalse(processes.is_alive(known))

    def test_a_paused_process_ends_too(self):
        known = self.start("import time; time.sleep(60)")
        processes.send(known, signal.SIGSTOP)
        os.waitid(os.P_PID, known["pid"], os.WSTOPPED)
        self.assertTrue(processes.is_paused(known["pid"]))
        self.assertEqual(processes.end([known]), [])

    def test_a_worker_without_executors(self):
        # Has a child, but that is none.
        known = self.start("import subprocess; subprocess.run(['sleep', '60'])")
        self.assertEqual(processes.executors(known), [])

    def test_executors_below_the_shells_of_yarn(self):
        # The name of a process is an argument of the shell here, and one of the process below it.
        words = "sleep 60 && YarnCoarseGrainedExecutorBackend --executor-id 7"
        inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)', " \
            "'org.x.YarnCoarseGrainedExecutorBackend', '--executor-id', '7', '--app-id', 'a'])"
        known = self.start(inner, words)
        until = time.monotonic() + 30
        while not (found := processes.executors(known)) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual([(one["executor"], one["app"]) for one in found], [("7", "a")])
        processes.end(found)


class Yarn(unittest.TestCase):
    """What applications on YARN are told."""

    def settings(self, hdfs=None, executors_per_worker=1):
        cluster = fake_cluster(hdfs, executors_per_worker)
        cluster.spark_home, cluster.pool_mib = Path("/spark"), lambda: 512
        return yarn.spark_settings(cluster)

    def test_overhead_has_room_for_the_pool(self):
        self.assertEqual(self.settings()["spark.executor.memoryOverhead"], "1280m")

    def test_all_slots_are_asked_for(self):
        one, two = self.settings(), self.settings(executors_per_worker=2)
        key = "spark.executor.instances"
        self.assertEqual(2 * one[key], two[key])

    def test_staging_lies_where_the_files_lie(self):
        self.assertEqual(self.settings()["spark.yarn.stagingDir"], "file:///home/staging")
        hdfs = {"url": "hdfs://h:1"}
        self.assertEqual(self.settings(hdfs)["spark.yarn.stagingDir"], "hdfs://h:1/home/staging")


class Kubernetes(unittest.TestCase):
    """What stands in for a node makes of a pod."""

    # Of the variables that an executor's pod has.
    NAMES = ("DRIVER_URL", "EXECUTOR_ID", "EXECUTOR_CORES", "APPLICATION_ID", "EXECUTOR_POD_NAME", "EXECUTOR_MEMORY")

    def pod(self, *variables):
        container = {"name": "c", "image": "i", "env": list(variables)}
        return {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [container]}}

    def test_memory(self):
        sizes = ("1000", "512Mi", "1Gi", "2G", "1k")
        self.assertEqual([kubelet.in_bytes(text) for text in sizes], [1000, 512 << 20, 1 << 30, 2 * 10**9, 1000])

    def test_variables_that_refer_to_the_pod(self):
        field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
        pod = self.pod({"name": "A", "value": "x"}, {"name": "IP", "valueFrom": field}, {"name": "EMPTY"})
        self.assertEqual(kubelet.environment(pod, "127.1.1.2"), {"A": "x", "IP": "127.1.1.2", "EMPTY": ""})

    def test_command_of_an_executor(self):
        variables = {f"SPARK_{name}": name.lower() for name in (*self.NAMES, "EXECUTOR_POD_IP")}
        variables.update({f"SPARK_JAVA_OPT_{i}": f"-D{i}" for i in (10, 9)})
        words = kubelet.command(variables, "java", "/spark/jars")
        self.assertEqual(words[:5], ["java", "-D9", "-D10", "-Xmsexecutor_memory", "-Xmxexecutor_memory"])
        self.assertEqual(words[words.index("-cp") + 1], "/spark/jars/*")
        self.assertEqual(words[words.index("--hostname") + 1], "executor_pod_ip")

    def test_a_status_that_the_server_did_not_take_is_told_again(self):
        field = {"fieldRef": {"fieldPath": "status.podIP"}}
        pod = self.pod({"name": "SPARK_EXECUTOR_POD_IP", "valueFrom": field},
                       *({"name": f"SPARK_{name}", "value": "1"} for name in self.NAMES))
        pod["metadata"]["uid"], pod["status"] = "u", {"phase": "Pending"}
        asked = []

        def change(where, method, body, *_, **__):
            asked.append((where, method))
            if len(asked) == 1:
                raise OSError("silent")
            pod["status"] = body["status"]

        server = SimpleNamespace(change=change, pods=lambda fields, labels="": [pod] if fields == "spec.nodeName=h" else [])
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(kubelet, "Api", lambda *_: server):
            made = kubelet.Kubelet(SimpleNamespace(
                server="", credentials="", node="h", pods="127.1.1", folder=folder, logs=folder, java="false", jars="j",
                slots=1))
            with self.assertRaises(OSError):
                made.step()
            until = time.monotonic() + 30
            while pod["status"]["phase"] != "Failed" and time.monotonic() < until:
                made.step()
            self.assertEqual(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 1)
            self.assertEqual((made.running, os.listdir(folder)), ({}, ["p.log"]))
        self.assertEqual(set(asked), {("/api/v1/namespaces/n/pods/p/status", "PATCH")})

    def test_a_host_by_the_address_of_its_pod(self):
        found = Cluster({"settings": {"netns": False, "yarn": False, "kubernetes": True}, "workers": [
            {"name": f"worker{n}", "number": n, "host": f"127.0.0.{n + 1}"} for n in (1, 11)]})
        self.assertIs(found.manager, kube)
        self.assertEqual([found.worker(name)["number"] for name in ("127.1.11.3", "127.1.1.11", "127.0.0.12")],
                         [11, 1, 11])


if __name__ == "__main__":
    unittest.main()
