"""Kubernetes in place of Spark's own master and workers: a real API server with its etcd, and for each host
a process in the place of scheduler, kubelet and containers (kubelet.py).

Nobody ships the servers for this, so they are built from their sources, which come with Go's module proxy.
Drivers run in client mode. Images, limits of cgroups and a cluster's network are not there.
"""

import hashlib
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import containers
import kubelet
import processes
from kube_api import Api, path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "kubernetes"
PROGRAMS = {"etcd": "go.etcd.io/etcd/server/v3", "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver"}
PACKAGES = {"go": "golang-go", "openssl": "openssl", "setpriv": "util-linux"}
# Above the port of the cluster.
STORE_FROM_PORT, PEERS_FROM_PORT = 1014, 1015
# Pods that wait for a host that may be added.
WAITING_PODS = 5


def url(cluster):
    return f"k8s://{_server(cluster)}"


def _server(cluster):
    return f"https://{cluster.hosts.driver}:{cluster.settings['port']}"


def ports(cluster):
    """Ports of the driver's host that have to be free."""
    return [cluster.settings["port"] + n for n in (0, STORE_FROM_PORT, PEERS_FROM_PORT)]


def environment(_):
    """Variables of processes beside those of each cluster."""
    return {}


def _built(cluster):
    """The folder of the programs, which are made if they are not there yet."""
    asked = b"".join(file.read_bytes() for file in sorted(SOURCES.iterdir()))
    folder = cluster.home.parent / f"kubernetes-{hashlib.sha256(asked).hexdigest()[:12]}"
    if not (folder / "bin").is_dir():
        print("building an API server of Kubernetes and its etcd, some ten minutes ...", file=sys.stderr)
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        _run(["go", "mod", "tidy"], folder)
        for name, package in PROGRAMS.items():
            _run(["go", "build", "-trimpath", "-o", f"new/{name}", package], folder)
        (folder / "new").rename(folder / "bin")
    return folder / "bin"


def _run(words, folder):
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words[:3])} failed in {folder}:\n{done.stdout.strip()}")


def start_master(cluster):
    """Starts the API server, which its etcd does not outlive; returns its process."""
    missing = [f"missing: {tool}: Debian package {package}"
               for tool, package in PACKAGES.items() if not shutil.which(tool)]  # fmt: skip
    if missing:
        sys.exit("\n".join(missing))
    programs = _built(cluster)
    folder = _credentials(cluster)
    host = cluster.hosts.driver
    store = f"http://{host}:{cluster.settings['port'] + STORE_FROM_PORT}"
    peers = f"http://{host}:{cluster.settings['port'] + PEERS_FROM_PORT}"
    etcd = [
        *("setpriv", "--pdeathsig", "KILL", programs / "etcd", "--data-dir", cluster.home / "etcd"),
        *("--listen-client-urls", store, "--advertise-client-urls", store),
        *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
        *("--initial-cluster", f"default={peers}", "--unsafe-no-fsync", "--log-level", "warn"),
    ]
    key, certificate = folder / "key.pem", folder / "cert.pem"
    server = [
        programs / "kube-apiserver",
        f"--etcd-servers={store}",
        f"--bind-address={host}",
        f"--advertise-address={host}",
        f"--secure-port={cluster.settings['port']}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=AlwaysAllow",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        # There is no controller that would make the accounts of pods.
        "--disable-admission-plugins=ServiceAccount",
    ]
    both = ["sh", "-c", f"{shlex.join(map(str, etcd))} & exec {shlex.join(map(str, server))}"]
    return processes.spawn(both, cluster.log("master"), cluster.environment(), cluster.home)


def _credentials(cluster):
    """Makes what server and clients know each other by."""
    folder = cluster.conf / "kubernetes"
    folder.mkdir(mode=0o700)
    _run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=dev-cluster",
          "-addext", f"subjectAltName=IP:{cluster.hosts.driver}", "-keyout", "key.pem", "-out", "cert.pem"],
         folder)  # fmt: skip
    token = secrets.token_hex(16)
    (folder / "token").write_text(token, encoding="ascii")
    (folder / "tokens.csv").write_text(f"{token},dev-cluster,1\n", encoding="ascii")
    return folder


def start_worker(cluster, one):
    """Starts what stands in for a host's kubelet; returns its process."""
    name = one["name"]
    folder, logs = cluster.home / "pods" / name, cluster.log(name).with_suffix("")
    for made in (folder, logs):
        made.mkdir(parents=True)
    java = os.environ.get("JAVA_HOME")
    words = [
        *(sys.executable, "-B", HERE / "kubelet.py"),
        *("--server", _server(cluster), "--credentials", cluster.conf / "kubernetes"),
        *("--node", one["host"], "--pods", _network(one), "--slots", cluster.settings["executors_per_worker"]),
        *("--folder", folder, "--logs", logs, "--jars", cluster.spark_home / "jars"),
        *("--java", f"{java}/bin/java" if java else shutil.which("java")),
    ]
    return processes.spawn([*map(str, words)], cluster.log(name), cluster.environment(), cluster.home)


def _network(one):
    """The first bytes of the addresses of a host's pods."""
    return f"127.1.{one['number']}"


def is_on(one, address):
    """Whether a pod's address belongs to this host."""
    return address.startswith(f"{_network(one)}.")


def forget(cluster, one):
    """Deletes the node of a host that is gone and its pods, as the node controller does after a while."""
    api = _api(cluster)
    for pod in api.pods(f"spec.nodeName={one['host']}"):
        api.change(f"{path(pod)}?gracePeriodSeconds=0", "DELETE", None, but=(404,))
    api.change(f"/api/v1/nodes/{one['host']}", "DELETE", None, but=(404,))


def spark_settings(cluster):
    """What applications are told beside what they are told on each cluster."""
    prefix = "spark.kubernetes."
    credentials = cluster.conf / "kubernetes"
    return {
        **containers.spark_settings(cluster),
        "spark.driver.host": cluster.hosts.driver,
        "spark.driver.bindAddress": cluster.hosts.driver,
        f"{prefix}container.image": "the-machine",
        f"{prefix}authenticate.caCertFile": credentials / "cert.pem",
        f"{prefix}authenticate.oauthTokenFile": credentials / "token",
        f"{prefix}allocation.maxPendingPods": WAITING_PODS,
    }


def workers(cluster):
    """What each host that is registered has and has given away; OSError while the server is silent."""
    api = _api(cluster)
    pods = _executors(api)
    found = {}
    for node in api.ask("/api/v1/nodes")["items"]:
        name = node["metadata"]["name"]
        mine = [pod for pod in pods if pod["spec"].get("nodeName") == name]
        memory = sum(kubelet.limit(pod) or 0 for pod in mine) >> 20
        found[name] = {
            "cores": f"{len(mine) * cluster.settings['executor_cores']} of {os.cpu_count()}",
            "memory": f"{memory} of {containers.machine_mib()}",
        }
    return found


def applications(cluster):
    """Those that run, in words: a driver in client mode is known by its executors' pods only."""
    names = {}
    for pod in _executors(_api(cluster)):
        labels = pod["metadata"]["labels"]
        placed = names.setdefault((labels["spark-app-selector"], labels.get("spark-app-name", "")), [])
        placed += [pod] if "nodeName" in pod["spec"] else []
    cores = cluster.settings["executor_cores"]
    return [f"{key}: {name}, running, {len(pods) * cores} cores" for (key, name), pods in names.items()]


def _executors(api):
    """Pods that run, or are to."""
    pods = api.pods(labels=kubelet.EXECUTORS)
    return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]


def _api(cluster):
    return Api(_server(cluster), cluster.conf / "kubernetes")
