"""A Spark cluster of real processes on this machine: Spark's own standalone master and workers, YARN or
Kubernetes, each executor with a pool of its own.

Everything is kept in .cache/cluster of the checkout. Workers are hosts of their own: 127.0.0.2 and so
on, or, with --netns, network namespaces.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import measurements
import processes
from arguments import number, size
from cluster import ROOT, Cluster, locked

# Commands that start nothing need no Spark, and answer at once.
LIGHT = ("stop", "status", "kill", "retire", "pause", "resume")

# Seconds in which an application that ends leaves the cluster to the next.
ENDING = 10


def parser():
    made = argparse.ArgumentParser(
        prog="dev/cluster",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, words):
        return commands.add_parser(name, help=words, description=words, allow_abbrev=False)

    _start_options(command("start", "start a cluster and wait for it; again: what is missing of it"))
    command("stop", "end it; nothing is left but the logs, in .cache/cluster/logs")
    command("status", "print workers, executors, cores, memory and applications")
    kill = command("kill", "kill -9 the executors of a worker, which then starts new ones")
    kill.add_argument("worker", metavar="WORKER", help="name, number or host of the worker")
    kill.add_argument("--worker", action="store_true", dest="whole",
                      help="also the worker itself, first, so that no executor comes back")
    retire = command("retire", "have the executors of a worker leave (SIGPWR), as a cloud does that takes "
                     "a machine back; kill -9 those that are there still later")
    retire.add_argument("worker", metavar="WORKER", help="name, number or host of the worker")
    retire.add_argument("--seconds", type=number(0, 3600), default=5, metavar="N",
                        help="how much later (default 5)")
    command("add", "start one worker more and wait for it")
    for name, words in (
        ("pause", "stop the executors of a worker from running on (SIGSTOP)"),
        ("resume", "let the paused executors of a worker go on (SIGCONT)"),
    ):
        command(name, words).add_argument("worker", metavar="WORKER", help="name, number or host")
    command("submit", "spark-submit to this cluster, from the host of its driver; "
            "all that follows are arguments of spark-submit")
    measurements.add_parsers(command)
    return made


def _start_options(start):
    add = start.add_argument
    add("--workers", type=number(1, 50), default=3, metavar="N", help="workers (default 3)")
    add("--executor-memory", type=size, default="1g", metavar="SIZE",
        help="Java heap of each executor (default 1g)")
    add("--executor-cores", type=number(1, 64), default=1, metavar="N",
        help="tasks that an executor runs at a time (default 1)")
    add("--executors-per-worker", type=number(1, 20), default=1, metavar="N",
        help="executors on each host (default 1); "
        f"{', '.join(measurements.ONE_BY_HOST)} need one")
    add("--pool-size", type=size, default="512m", metavar="SIZE",
        help="pool of each executor, unless the application says otherwise (default 512m)")
    manager = start.add_mutually_exclusive_group()
    manager.add_argument("--yarn", action="store_true",
        help="YARN in place of Spark's own master and workers: a ResourceManager and NodeManagers")
    manager.add_argument("--kubernetes", action="store_true",
        help="Kubernetes in place of Spark's own master and workers: a real API server, which is built from its "
        "sources once (Go), and pods that are processes; hosts of the loopback only, drivers in client mode")
    add("--hdfs", action="store_true", help="also HDFS: a NameNode, and a DataNode on each worker's host")
    add("--s3", action="store_true", help="also a server on the driver's host that speaks S3 (S3Proxy)")
    add("--s3-latency", type=number(0, 10000), default=20, metavar="MS",
        help="how much later each of its answers begins (default 20)")
    add("--netns", action="store_true",
        help="hosts are network namespaces with names of their own (root, iproute2)")
    add("--port", type=number(1024, 60000), default=7077, metavar="N",
        help="port of the master (default 7077); its web page, if it has one, is 1003 above")


def start(asked):
    if asked.kubernetes and asked.netns:
        sys.exit("--kubernetes has hosts of the loopback only; leave out --netns")
    settings = {k: v for k, v in vars(asked).items() if k not in ("command", "needs")}
    with locked():
        found = Cluster.start(settings)
    print_status(found)


def stop(_):
    with locked():
        found = Cluster.read()
        if found is None:
            sys.exit("no cluster is running")
        found.stop()


def status(_):
    print_status(Cluster.running())


def _told(found, question):
    try:
        return question(found)
    except OSError as e:
        sys.exit(f"the master does not answer: {e}")


def print_status(found):
    registered = _told(found, found.manager.workers)
    applications = _told(found, found.manager.applications)
    page = "" if found.is_kubernetes else f", web page http://{found.hosts.driver}:{found.ui_port()}"
    print(f"master   {found.url()}{page}")
    if found.state["hdfs"]:
        print(f"hdfs     {found.state['hdfs']['url']}")
    if found.state["s3"]:
        print(f"s3       {found.state['s3']['url']} at {found.state['s3']['endpoint']}")
    for one in found.workers:
        known = registered.get(one["host"])
        if not processes.is_alive(one["process"]):
            what = "gone"
        elif known is None:
            what = "not registered"
        else:
            what = f"{known['cores']} cores, {known['memory']} MiB used"
        print(f"{one['name']:8} {one['host']}: pid {one['process']['pid']}, {what}")
        for executor in processes.executors(one["process"]):
            paused = ", paused" if processes.is_paused(executor["pid"]) else ""
            print(f"         executor {executor['executor']} of {executor['app']}: "
                  f"pid {executor['pid']}{paused}")
    for app in applications:
        print(f"application {app}")


def kill(asked):
    with locked():
        found = Cluster.running()
        hit = found.kill(found.worker(asked.worker), asked.whole)
    _say("killed", hit)


def retire(asked):
    with locked():
        found = Cluster.running()
        hit = found.retire(found.worker(asked.worker), asked.seconds)
    _say("retired", hit)


def add(_):
    with locked():
        found = Cluster.running()
        one = found.add()
        found.wait()
    print(f"{one['name']} {one['host']}: pid {one['process']['pid']}")


def pause(asked):
    with locked():
        found = Cluster.running()
        hit = found.signal_executors(found.worker(asked.worker), signal.SIGSTOP)
    _say("paused", hit)


def resume(asked):
    with locked():
        found = Cluster.running()
        hit = found.signal_executors(found.worker(asked.worker), signal.SIGCONT)
    _say("resumed", hit)


def _say(what, hit):
    for one in hit:
        print(f"{what} executor {one['executor']} of {one['app']}, pid {one['pid']}")
    if not hit:
        print(f"no executor was {what}: the worker had none")


def submit(asked):
    found = Cluster.running()
    program = str(found.spark_home / "bin" / "spark-submit")
    words = found.hosts.command(0, [program, *asked.arguments])
    os.execvpe(words[0], words, found.environment())


def free_cluster():
    """The cluster, of which a measurement takes all; refused where an application runs and does not end."""
    found = Cluster.running()
    deadline = time.monotonic() + ENDING
    while others := _told(found, found.manager.applications):
        if time.monotonic() > deadline:
            sys.exit("a measurement takes the whole cluster; end first or wait for\n" +
                     "\n".join(f"application {app}" for app in others))  # fmt: skip
        time.sleep(0.5)
    return found


def measure(asked):
    jars = [os.environ["OAP_JAR"], os.environ["OAP_TPCDS_JAR"]]
    with locked("measurement", taken="another measurement has this cluster; wait for it, or end it"):
        sys.exit(measurements.run(asked, free_cluster(), ROOT, *jars))


COMMANDS = {
    "start": start, "stop": stop, "status": status, "kill": kill, "retire": retire, "add": add,
    "pause": pause, "resume": resume, "submit": submit,
    **dict.fromkeys(measurements.COMMANDS, measure),
}  # fmt: skip


def parse(words):
    if words[:1] == ["submit"] and "--help" not in words:
        return argparse.Namespace(command="submit", arguments=words[1:])
    return parser().parse_args(words)


def main():
    words = sys.argv[1:]
    if words[:1] != ["--needs"]:
        asked = parse(words)
        COMMANDS[asked.command](asked)
    elif "--help" in words or "-h" in words:
        # The script that asks wants one word; it asks for the text itself.
        print("help")
    else:
        asked = parse(words[1:])
        if asked.command in measurements.COMMANDS:
            # A mistake is said before anything is built.
            measurements.job_options(asked, free_cluster(), ROOT)
            print("build")
        else:
            print("nothing" if asked.command in LIGHT else "spark")


if __name__ == "__main__":
    main()
