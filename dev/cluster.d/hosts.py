"""Where the processes of the cluster live: addresses of the loopback, or network namespaces.

Both give each worker a host name of its own. On the loopback worker 1 is the host 127.0.0.2; that
needs nothing, and hosts can be told apart, but all reach each other's files and ports. With namespaces
worker 1 is the host oap-worker1 behind a bridge; the master and the driver are in a namespace too,
so that nothing of the machine's own network is touched.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

MOST_WORKERS = 200


class Loopback:
    """127.0.0.1 for master and driver, 127.0.0.2 and so on for the workers."""

    driver = "127.0.0.1"
    is_isolated = False

    def create(self, number):
        """Makes the host of worker `number` (0: master and driver) and returns its name."""
        return self.name(number)

    def name(self, number):
        return f"127.0.0.{number + 1}"

    def command(self, number, words):
        """The command line that runs `words` on a host."""
        return words

    def from_driver(self, outside):
        """Words before a command that a process on the driver's host starts, to change the cluster.

        `outside` is the id of a process that is on no host of the cluster.
        """
        return []

    def remove(self):
        pass

    def get_json(self, url):
        """What a web server on the driver's host answers; OSError when there is none."""
        # No proxy of the person's stands before an address of the machine itself.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=5) as answer:
            return json.load(answer)


class Namespaces:
    """A network namespace for each host, connected by a bridge in that of the driver."""

    driver = "oap-driver"
    is_isolated = True

    def __init__(self):
        if os.geteuid() != 0:
            sys.exit("--netns needs root")
        missing = [
            f"missing: {tool}: Debian package {package}"
            for tool, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("curl", "curl"))
            if not shutil.which(tool)
        ]
        if missing:
            sys.exit("\n".join(missing))

    def name(self, number):
        return f"oap-worker{number}" if number else self.driver

    def create(self, number):
        name = self.name(number)
        if (Path("/run/netns") / name).exists():
            sys.exit(f"there is a network namespace {name} already: a cluster of another checkout?")
        self._ip(f"netns add {name}")
        self._ip(f"-n {name} link set lo up")
        if number == 0:
            self._ip(f"-n {name} link add bridge type bridge")
            self._ip(f"-n {name} addr add {self._address(0)}/24 dev bridge")
            self._ip(f"-n {name} link set bridge up")
        else:
            port = f"port{number}"
            self._ip(
                f"-n {name} link add eth0 type veth peer name {port} netns {self.driver}",
            )
            self._ip(f"-n {name} addr add {self._address(number)}/24 dev eth0")
            self._ip(f"-n {name} link set eth0 up")
            self._ip(f"-n {self.driver} link set {port} master bridge up")
        # "ip netns exec" lays the files of this folder over those of /etc.
        folder = Path("/etc/netns") / name
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost"]
        lines += [f"{self._address(n)} {self.name(n)}" for n in range(MOST_WORKERS)]
        (folder / "hosts").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    def command(self, number, words):
        name = self.name(number)
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', name]
        return ["ip", "netns", "exec", name, *named, *words]

    def from_driver(self, outside):
        # Namespaces that are made inside one would be seen there only.
        return ["nsenter", "--target", str(outside), "--mount", "--net", "--uts"]

    def remove(self):
        """Takes away all namespaces; their links go with them."""
        for number in range(MOST_WORKERS):
            name = self.name(number)
            if (Path("/run/netns") / name).exists():
                subprocess.run(["ip", "netns", "del", name], check=True)
            shutil.rmtree(Path("/etc/netns") / name, ignore_errors=True)
        if Path("/etc/netns").is_dir() and not any(Path("/etc/netns").iterdir()):
            Path("/etc/netns").rmdir()

    def get_json(self, url):
        asked = ["curl", "-sf", "--noproxy", "*", "--max-time", "5", url]
        answer = subprocess.run(["ip", "netns", "exec", self.driver, *asked], capture_output=True)
        if answer.returncode != 0:
            raise OSError(f"no answer from {url}")
        return json.loads(answer.stdout)

    @staticmethod
    def _address(number):
        return f"10.215.0.{number + 1}"

    @staticmethod
    def _ip(words):
        done = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(
                f"this machine does not allow --netns: ip {words}: {done.stderr.strip()}\n"
                "Start the cluster without it: its workers are hosts of the loopback then."
            )
