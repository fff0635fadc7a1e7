#!/usr/bin/env python3
"""Ends what a shell script began and does not end: a hang then fails with a name and with stacks.

Usage: watchdog.py SCRIPT SECONDS FOLDER

SCRIPT is the process number of the script. Waits SECONDS, or until SCRIPT is gone. Then the stacks of all
Java processes among SCRIPT's children, and theirs, go to FOLDER/stacks-<process>.txt; their threads that run code
of ours are printed. At last these children are ended: SIGTERM, and SIGKILL ten seconds later.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OURS = "at io.oap."
FRAMES = 25


def parents():
    """Of all processes: process number to that of the parent. What ends meanwhile is left out."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name, in brackets, may have blanks and brackets itself.
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass
    return found


def below(process, parent_of):
    """The children of a process and theirs, without this program."""
    found = [process]
    for known in found:
        found += [child for child, parent in parent_of.items() if parent == known and child != os.getpid()]
    return found[1:]


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def threads_of_ours(stacks):
    """The threads of a jstack's output that have a frame of ours, each cut after some frames."""
    threads = stacks.split("\n\n")
    return ["\n".join(thread.splitlines()[:FRAMES]) for thread in threads if OURS in thread]


def write_stacks(process, folder):
    try:
        stacks = subprocess.run(
            ["jstack", str(process)], capture_output=True, text=True, errors="replace", timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as problem:
        print(f"no stacks of {process}: {problem}")
        return
    path = folder / f"stacks-{process}.txt"
    path.write_text(stacks)
    print(f"all stacks of {process}: {path}; of our code:")
    print("\n\n".join(threads_of_ours(stacks)) or "no thread runs code of ours")


def end(script):
    processes = below(script, parents())
    for number in signal.SIGTERM, signal.SIGKILL:
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(command_of(process) for process in processes):
            time.sleep(0.1)


def main(script, seconds, folder):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.getppid() != script:
            return
        time.sleep(0.2)
    running = below(script, parents())
    print(f"\nnot ended after {seconds} s, so it is stopped here. It ran:")
    for process in running:
        print(f"  {process} {command_of(process)[:150]}")
    for process in running:
        if command_of(process).split(" ")[0].endswith("java"):
            write_stacks(process, folder)
    sys.stdout.flush()
    end(script)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
