"""A limit of what a process and its children may read from the device that a folder lies on.

The kernel keeps it, through a control group: io.max of cgroup v2 or, where the controller is still
that of v1, blkio.throttle.read_bps_device. Reads that the page cache answers are not limited.
"""

import os
import pathlib
import subprocess
import sys
import time

CGROUPS = pathlib.Path("/sys/fs/cgroup")
DEVICES = pathlib.Path("/sys/dev/block")
MOST_PROBED = 64 << 20


class Impossible(Exception):
    """Why there can be no limit here, in words for people."""


def _nearest(folder):
    """The folder, or the nearest one above that is there."""
    place = pathlib.Path(os.path.abspath(folder))
    while not place.exists():
        place = place.parent
    return place


def number_of(folder, devices=DEVICES):
    """MAJOR:MINOR of the disk under a folder, or under the nearest one above that is there."""
    place = _nearest(folder)
    device = os.stat(place).st_dev
    found = devices / f"{os.major(device)}:{os.minor(device)}"
    if not found.exists():
        raise Impossible(f"{place} lies on no disk of this machine, but on "
                         f"device {found.name} without one (such as tmpfs, overlay or a network)")
    if (found / "partition").exists():
        # Limits are for whole disks.
        return (found.resolve().parent / "dev").read_text().strip()
    return found.name


class Limit:
    """A control group that lets its processes read so many bytes per second from one disk.

    Used as a context: it is there within, and gone behind it, when all its processes have ended.
    """

    def __init__(self, folder, bytes_per_second, cgroups=CGROUPS, devices=DEVICES):
        self.folder, self.rate = folder, bytes_per_second
        self.number = number_of(folder, devices)
        self.cgroups = cgroups
        name = f"oap-{os.getpid()}"
        v2 = next((c for c in (cgroups, cgroups / "unified") if _has_io(c)), None)
        if v2:
            self.group, self.key, self.line = v2 / name, "io.max", f"{self.number} rbps={self.rate}"
        elif (cgroups / "blkio").is_dir():
            self.group, self.key = cgroups / "blkio" / name, "blkio.throttle.read_bps_device"
            self.line = f"{self.number} {self.rate}"
        else:
            raise Impossible(f"no control group below {cgroups} limits reads: neither io of cgroup v2 "
                             "nor blkio of v1 is there")
        if not os.access(self.group.parent, os.W_OK):
            raise Impossible(f"only root may make a control group in {self.group.parent}")

    def __enter__(self):
        try:
            if self.key == "io.max" and not _gives_io(self.group.parent):
                (self.group.parent / "cgroup.subtree_control").write_text("+io")
            self.group.mkdir()
            try:
                (self.group / self.key).write_text(self.line)
                self._probe()
            except BaseException:
                self._remove()
                raise
        except OSError as e:
            raise Impossible(f"the kernel refuses a limit for disk {self.number}: {e}") from None
        return self

    def __exit__(self, *_):
        self._remove()

    def _remove(self):
        try:
            self.group.rmdir()
        except OSError as e:
            print(f"{self.group} stays behind: {e}", file=sys.stderr)

    def join(self):
        """Takes the calling process into the group; for preexec_fn of subprocess."""
        (self.group / "cgroup.procs").write_text("0")

    def _probe(self):
        """Some systems take a limit and do not keep it."""
        size = min(2 * self.rate, MOST_PROBED) >> 20 << 20 or 1 << 20
        place = _nearest(self.folder)
        probe = place / f".{self.group.name}"
        try:
            with open(probe, "wb") as out:
                out.write(os.urandom(size))
                os.fsync(out.fileno())
            begun = time.monotonic()
            done = subprocess.run(
                ["dd", f"if={probe}", "of=/dev/null", "bs=1M", "iflag=direct"], preexec_fn=self.join,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            took = time.monotonic() - begun
        finally:
            probe.unlink(missing_ok=True)
        if done.returncode != 0:
            raise Impossible(f"{place} cannot be read around the page cache: {done.stderr.strip()}")
        if took < 0.5 * size / self.rate:
            raise Impossible(
                f"the kernel took the limit of {self.rate / 1e6:g} MB/s for disk {self.number} and does "
                f"not keep it: {size / 1e6:.0f} MB came in {took:.2f} s")


def _words(file):
    try:
        return file.read_text().split()
    except OSError:
        return []


def _has_io(group):
    return "io" in _words(group / "cgroup.controllers")


def _gives_io(group):
    return "io" in _words(group / "cgroup.subtree_control")
