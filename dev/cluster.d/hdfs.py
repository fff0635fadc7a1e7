"""HDFS beside the workers: a NameNode and one DataNode on each worker's host, as real processes.

Spark brings only the client of Hadoop; the servers of the same version come from Maven Central.
"""

import subprocess
import sys

import hadoop
import maven
import processes

SERVERS = "org.apache.hadoop.hdfs.server"
# Above the port of Spark's master. Data nodes on the loopback need different ports: all register
# with the address that the name node sees, 127.0.0.1.
RPC_FROM_PORT, WEB_FROM_PORT, DATA_FROM_PORT = 1004, 1005, 1010
# Two copies of a block: enough that a dead worker loses none, few enough that hosts differ.
COPIES = 2


def copies(cluster):
    """Of each block; the client asks for it."""
    return min(COPIES, cluster.settings["workers"])


def start_name_node(cluster):
    """Formats a new file system and starts its name node; returns what the state keeps of it."""
    host, port = cluster.hosts.driver, cluster.settings["port"]
    made = {
        "url": f"hdfs://{host}:{port + RPC_FROM_PORT}",
        "class_path": maven.class_path(cluster, "hdfs"),
    }
    settings = {
        "dfs.namenode.rpc-address": f"{host}:{port + RPC_FROM_PORT}",
        "dfs.namenode.http-address": f"{host}:{port + WEB_FROM_PORT}",
        "dfs.namenode.name.dir": (cluster.home / "hdfs" / "names").as_uri(),
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.permissions.enabled": "false",
        "dfs.replication": str(copies(cluster)),
        # A data node that is gone counts as dead after 2 * this + 10 heartbeats.
        "dfs.namenode.heartbeat.recheck-interval": "5000",
        "dfs.heartbeat.interval": "1",
    }
    conf = _write_conf(cluster, "namenode", made["url"], settings)
    program = f"{SERVERS}.namenode.NameNode"
    format_it = _command(cluster, 0, made, conf, [program, "-format", "-nonInteractive"])
    done = subprocess.run(format_it, capture_output=True, text=True, env=cluster.environment())
    if done.returncode != 0:
        sys.exit(f"the name node cannot be formatted: {(done.stdout + done.stderr)[-2000:]}")
    made["process"] = processes.spawn(
        _command(cluster, 0, made, conf, [program]),
        cluster.log("namenode"),
        cluster.environment(),
        cluster.home,
    )
    return made


def start_data_node(cluster, worker):
    """Starts the data node of a worker's host; returns its process."""
    known, host, number = cluster.state["hdfs"], worker["host"], worker["number"]
    name = f"datanode{number}"
    settings = {
        "dfs.namenode.rpc-address": known["url"].removeprefix("hdfs://"),
        "dfs.datanode.data.dir": (cluster.home / "hdfs" / name).as_uri(),
        "dfs.datanode.hostname": host,
        "dfs.datanode.address": f"{host}:{cluster.settings['port'] + DATA_FROM_PORT + number}",
        "dfs.datanode.ipc.address": f"{host}:0",
        "dfs.datanode.http.address": f"{host}:0",
        "dfs.datanode.use.datanode.hostname": "true",
        "dfs.heartbeat.interval": "1",
    }
    conf = _write_conf(cluster, name, known["url"], settings)
    words = _command(cluster, number, known, conf, [f"{SERVERS}.datanode.DataNode"])
    return processes.spawn(words, cluster.log(name), cluster.environment(), cluster.home)


def missing(cluster):
    """What still has to come up, in words; None when all data nodes are there."""
    host, port = cluster.hosts.driver, cluster.settings["port"] + WEB_FROM_PORT
    page = f"http://{host}:{port}/jmx?qry=Hadoop:service=NameNode,name="
    try:
        nodes = cluster.hosts.get_json(page + "FSNamesystemState")["beans"]
        info = cluster.hosts.get_json(page + "NameNodeInfo")["beans"]
    except OSError:
        return "answer from the name node"
    if not nodes or not info or info[0]["Safemode"]:
        return "name node that is ready"
    wanted, there = len(cluster.workers), nodes[0]["NumLiveDataNodes"]
    return f"data node {there + 1} of {wanted}" if there < wanted else None


def _write_conf(cluster, name, url, settings):
    files = {"core-site.xml": {"fs.defaultFS": url}, "hdfs-site.xml": settings}
    folder = hadoop.write_conf(cluster, name, files)
    # The servers do not start without folders for their web pages; the pages are not published.
    for pages in ("hdfs", "datanode", "static"):
        (folder / "webapps" / pages).mkdir(parents=True, exist_ok=True)
    return folder


def _command(cluster, number, known, conf, words):
    return hadoop.command(cluster, number, known["class_path"], conf, words)
