"""Processes that outlive the command that started them: known by their id and the time they began.

An id alone may belong to another process by the time a later command reads it.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

TERMINATION_SECONDS = 10


def spawn(command, log, environment, folder):
    """Starts a process that belongs to no terminal; returns {"pid": ..., "began": ...}."""
    with open(log, "ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    return {"pid": process.pid, "began": _stat(process.pid)[19]}


def is_alive(known):
    """Whether the process still runs; one that has ended and waits for its parent does not."""
    stat = known and _stat(known["pid"])
    return bool(stat) and stat[19] == known["began"] and stat[0] not in "ZX"


def is_paused(pid):
    stat = _stat(pid)
    return bool(stat) and stat[0] == "T"


def descendants(known):
    """What a process has started, and what that has, without those that wait for their parent."""
    parents = {}
    for entry in Path("/proc").iterdir():
        stat = _stat(entry.name) if entry.name.isdigit() else None
        if stat and stat[0] not in "ZX":
            parents.setdefault(int(stat[1]), []).append({"pid": int(entry.name), "began": stat[19]})
    found, left = [], [known]
    while left:
        children = parents.get(left.pop()["pid"], [])
        found += children
        left += children
    return sorted(found, key=lambda one: one["pid"])


def executors(worker):
    """Executors that a worker process has started: [{"pid", "began", "executor", "app"}]."""
    found = []
    for one in descendants(worker):
        words = _command(one["pid"])
        # A shell of YARN that starts an executor has all of its words in one.
        if any(re.fullmatch(r"[\w.]*(CoarseGrained|Kubernetes)ExecutorBackend", word) for word in words):
            names = {"executor": _value(words, "--executor-id"), "app": _value(words, "--app-id")}
            found.append({**one, **names})
    return found


def resident(pid):
    """Bytes that a process has in memory, shared pages and those of files among them."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def send(known, number):
    """Sends a signal to a process if it is still the one that is meant."""
    if is_alive(known):
        try:
            os.kill(known["pid"], number)
        except ProcessLookupError:
            pass


def end(all_known):
    """Ends processes, with force those that do not go; returns those that could not be ended."""
    for known in all_known:
        # A paused process takes no other signal before it goes on.
        send(known, signal.SIGTERM)
        send(known, signal.SIGCONT)
    left = _wait_for_end(all_known)
    for known in left:
        send(known, signal.SIGKILL)
    return _wait_for_end(left)


def _wait_for_end(all_known):
    until = time.monotonic() + TERMINATION_SECONDS
    left = [known for known in all_known if is_alive(known)]
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left = [known for known in left if is_alive(known)]
    return left


def _stat(pid):
    """The fields of /proc/PID/stat from the state on: 0 state, 1 parent, 19 time of start."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _value(words, option):
    return words[words.index(option) + 1] if option in words else "?"
