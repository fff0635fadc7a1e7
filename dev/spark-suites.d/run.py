"""Runs suites in JVMs of their own, again from where it stopped when one dies or hangs."""

import os
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import results

# A JVM that writes no line for this long is ended: the slowest single tests of Spark take minutes.
SILENCE_SECONDS = 900
# Few enough that both processors have work to the end, enough that a JVM's start costs little.
SUITES_PER_JVM = 12


@dataclass(frozen=True)
class Work:
    """Suites for one JVM: `side` is "with" or "without"; `name` is unique, for folders and logs."""

    side: str
    name: str
    suites: tuple


def work(side, groups, wanted):
    """Splits the wanted suites into JVMs; groups never share one."""
    made = []
    for group, suites in groups.items():
        chosen = [suite for suite in suites if suite in wanted]
        for start in range(0, len(chosen), SUITES_PER_JVM):
            name = f"{side}-{group}-{start // SUITES_PER_JVM + 1}"
            made.append(Work(side, name, tuple(chosen[start : start + SUITES_PER_JVM])))
    return made


class Runs:
    """JVMs of one invocation. `done` is called with (side, SuiteResult), by one thread at a time."""

    def __init__(self, environment, folder, logs, done):
        self._environment = environment
        self._folder = folder
        self._logs = logs
        self._done = done
        self._lock = threading.Lock()
        self._processes = set()
        self._stopped = False

    def all(self, works, jobs):
        """Runs everything, `jobs` JVMs at a time; leaves no process and no file behind but logs."""
        self._logs.mkdir(parents=True, exist_ok=True)
        try:
            with ThreadPoolExecutor(jobs) as pool:
                futures = [pool.submit(self._run, one) for one in works]
                try:
                    for future in futures:
                        future.result()
                except BaseException:
                    self._stop()
                    raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, one):
        left, attempt = list(one.suites), 1
        while left and not self._stopped:
            name = f"{one.name}.{attempt}"
            how_it_ended, ran = self._one_jvm(one.side, name, left)
            if self._stopped:
                return
            if not ran:
                ran = [results.SuiteResult(left[0])]
            if not ran[-1].ended:
                ran[-1].abort(f"{how_it_ended}; see {self._logs / name}.out")
                self._report(one.side, ran[-1])
            left = left[len(ran) :]
            attempt += 1

    def _one_jvm(self, side, name, suites):
        """How the JVM ended, and the suites it began. Reports each suite when it has ended."""
        folder = self._folder / name
        (folder / "tmp").mkdir(parents=True)
        lines = folder / "lines.txt"
        classes = [results.PREFIX + suite for suite in suites]
        command = self._environment.command(side, folder, lines, classes)
        with open(self._logs / f"{name}.out", "wb") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=self._environment.variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        with self._lock:
            self._processes.add(process)
            if self._stopped:
                _kill(process)
        try:
            ended = self._watch(side, process, lines)
        finally:
            _kill(process)
            with self._lock:
                self._processes.discard(process)
            self._keep_log(folder, name)
        ran = results.read(lines)
        shutil.rmtree(folder, ignore_errors=True)
        return ended, ran

    def _watch(self, side, process, lines):
        reported, size, changed = 0, 0, time.monotonic()
        while True:
            running = process.poll() is None
            grown = lines.stat().st_size if lines.exists() else 0
            if grown != size or not running:
                size, changed = grown, time.monotonic()
                ended = [result for result in results.read(lines) if result.ended]
                for result in ended[reported:]:
                    self._report(side, result)
                reported = len(ended)
            if not running:
                return f"the JVM ended with status {process.returncode}"
            if time.monotonic() - changed > SILENCE_SECONDS:
                return f"no test ended for {SILENCE_SECONDS} seconds"
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                pass

    def _report(self, side, result):
        with self._lock:
            self._done(side, result)

    def _keep_log(self, folder, name):
        for log, suffix in (("spark.log", "log"), ("lines.txt", "lines")):
            if (folder / log).exists():
                shutil.copy(folder / log, self._logs / f"{name}.{suffix}")
        for crash in folder.glob("hs_err_pid*.log"):
            shutil.move(crash, self._logs / f"{name}.{crash.name}")

    def _stop(self):
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)


def _kill(process):
    """Ends a JVM and what it started; each leads a process group of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
