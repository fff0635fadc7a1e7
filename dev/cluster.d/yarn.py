"""YARN in place of Spark's own master and workers: a ResourceManager, and a NodeManager on each host.

Spark brings only YARN's client; the servers of the same Hadoop come from Maven Central. Containers are
processes of the DefaultContainerExecutor. A container that takes more memory than it was given is
killed: what YARN measures includes the pool of its executor.
"""

import os
import shutil
from pathlib import Path

import containers
import hadoop
import maven
import processes

SERVERS = "org.apache.hadoop.yarn.server"
# Above the port of the cluster.
SCHEDULER_FROM_PORT, TRACKER_FROM_PORT, ADMIN_FROM_PORT = 1011, 1012, 1013
# A resource of each host that an executor takes one of, so that hosts get as many as were asked for,
# however much memory they have.
SLOT = "executor-slot"


def url(_):
    return "yarn"


def environment(cluster):
    """Where Spark finds the ResourceManager, and NodeManagers the Java of containers."""
    java = os.environ.get("JAVA_HOME") or str(Path(shutil.which("java")).resolve().parents[1])
    return {"HADOOP_CONF_DIR": str(cluster.conf / "yarn"), "JAVA_HOME": java}


def ports(cluster):
    """Ports of the driver's host that have to be free."""
    return [cluster.ui_port(),
            *(cluster.settings["port"] + n for n in (0, SCHEDULER_FROM_PORT, TRACKER_FROM_PORT, ADMIN_FROM_PORT))]


def start_master(cluster):
    host, port = cluster.hosts.driver, cluster.settings["port"]
    client = {
        "yarn.resourcemanager.hostname": host,
        "yarn.resourcemanager.address": f"{host}:{port}",
        "yarn.resourcemanager.scheduler.address": f"{host}:{port + SCHEDULER_FROM_PORT}",
        "yarn.resourcemanager.resource-tracker.address": f"{host}:{port + TRACKER_FROM_PORT}",
        "yarn.resourcemanager.admin.address": f"{host}:{port + ADMIN_FROM_PORT}",
        "yarn.resourcemanager.webapp.address": f"{host}:{cluster.ui_port()}",
    }
    hadoop.write_conf(cluster, "yarn", _files(cluster, client))
    server = {
        **client,
        "yarn.scheduler.minimum-allocation-mb": "64",
        "yarn.scheduler.maximum-allocation-mb": containers.machine_mib(),
        # A host that is gone counts as lost after these.
        "yarn.nm.liveness-monitor.expiry-interval-ms": "10000",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
    }
    files = _files(cluster, server)
    prefix = "yarn.scheduler.capacity."
    files["capacity-scheduler.xml"] = {
        f"{prefix}root.queues": "default",
        f"{prefix}root.default.capacity": "100",
        f"{prefix}maximum-am-resource-percent": "1",
        f"{prefix}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }
    return _daemon(cluster, 0, "master", files, "resourcemanager.ResourceManager")


def start_worker(cluster, one):
    """Starts the NodeManager of a host; returns its process."""
    host, name = one["host"], one["name"]
    folder = cluster.home / "yarn" / name
    executors = cluster.settings["executors_per_worker"]
    master = f"{cluster.hosts.driver}:{cluster.settings['port'] + TRACKER_FROM_PORT}"
    settings = {
        "yarn.resourcemanager.hostname": cluster.hosts.driver,
        "yarn.resourcemanager.resource-tracker.address": master,
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.address": f"{host}:0",
        "yarn.nodemanager.localizer.address": f"{host}:0",
        "yarn.nodemanager.webapp.address": f"{host}:0",
        "yarn.nodemanager.local-dirs": folder / "local",
        "yarn.nodemanager.log-dirs": cluster.log(name).with_suffix(""),
        "yarn.nodemanager.resource.memory-mb": containers.machine_mib(),
        # One more, for the ApplicationMaster.
        "yarn.nodemanager.resource.cpu-vcores": executors * cluster.settings["executor_cores"] + 1,
        f"yarn.nodemanager.resource-type.{SLOT}": executors,
        "yarn.nodemanager.pmem-check-enabled": "true",
        "yarn.nodemanager.vmem-check-enabled": "false",
        # A disk that is nearly full is the person's own affair.
        "yarn.nodemanager.disk-health-checker.enable": "false",
    }
    return _daemon(cluster, one["number"], name, _files(cluster, settings), "nodemanager.NodeManager")


def _files(cluster, settings):
    return {
        "core-site.xml": {"fs.defaultFS": f"{_store(cluster)}/"},
        "yarn-site.xml": settings,
        "resource-types.xml": {"yarn.resource-types": SLOT},
    }


def _store(cluster):
    """Where jars and configurations of applications lie."""
    return cluster.state["hdfs"]["url"] if cluster.state["hdfs"] else "file://"


def _daemon(cluster, number, name, files, program):
    conf = hadoop.write_conf(cluster, f"yarn-{name}", files)
    class_path = maven.class_path(cluster, "yarn")
    words = hadoop.command(cluster, number, class_path, conf, [f"{SERVERS}.{program}"], heap="384m")
    return processes.spawn(words, cluster.log(name), cluster.environment(), cluster.home)


def spark_settings(cluster):
    """What applications are told beside what they are told on each cluster."""
    return {
        **containers.spark_settings(cluster),
        f"spark.yarn.executor.resource.{SLOT}.amount": 1,
        "spark.yarn.am.memory": "512m",
        "spark.yarn.jars": f"local:{cluster.spark_home}/jars/*",
        "spark.yarn.stagingDir": f"{_store(cluster)}{cluster.home}/staging",
    }


def workers(cluster):
    """What each host that is registered has and has given away; OSError while the master is silent."""
    found = _ask(cluster, "nodes?states=RUNNING")["nodes"] or {}
    return {
        one["nodeHostName"]: {
            "cores": f"{one['usedVirtualCores']} of {one['usedVirtualCores'] + one['availableVirtualCores']}",
            "memory": f"{one['usedMemoryMB']} of {one['usedMemoryMB'] + one['availMemoryMB']}",
        }
        for one in found.get("node", [])
    }


def applications(cluster):
    """Those that run, in words."""
    found = _ask(cluster, "apps?states=ACCEPTED,RUNNING")["apps"] or {}
    return [
        f"{app['id']}: {app['name']}, {app['state'].lower()}, {app['allocatedVCores']} cores"
        for app in found.get("app", [])
    ]


def _ask(cluster, what):
    return cluster.hosts.get_json(f"http://{cluster.hosts.driver}:{cluster.ui_port()}/ws/v1/cluster/{what}")
