"""Spark's own test suites, with and without OAP: runs them, prints what differs, judges it.

Spark alone runs only those suites in which a failure with OAP needs explaining; what it did is kept in
.cache/spark-suites for later runs.
Exit status: 0 when the only differences are those in expected-differences.txt, all of those still
differ, and the column cache served chunks; else 1.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

import environment
import results
import run

HERE = Path(__file__).resolve().parent


def options():
    parser = argparse.ArgumentParser(prog="dev/spark-suites", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="only the subset of dev/check")
    parser.add_argument("--suites", metavar="A,B", help="only suites with such names")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--with-only", action="store_true", help="only OAP; compares nothing")
    side.add_argument("--without-only", action="store_true", help="only Spark alone; refreshes it")
    parser.add_argument("--refresh", action="store_true", help="run all suites on Spark alone, too")
    parser.add_argument("--jobs", type=int, default=2, help="JVMs at a time, each 3 GB (default 2)")
    parser.add_argument(
        "--representation",
        choices=results.REPRESENTATIONS,
        default=results.REPRESENTATIONS[0],
        help="what OAP keeps in the pool (default %(default)s)",
    )
    parser.add_argument("--list", action="store_true", help="print the suites and stop")
    parser.add_argument("--spark-home", help=argparse.SUPPRESS)
    parser.add_argument("--oap-jar", help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(groups, fast, asked):
    names = [name for group in groups.values() for name in group]
    if asked.fast:
        names = [name for name in names if name in fast]
    if asked.suites:
        parts = asked.suites.split(",")
        unknown = [part for part in parts if not any(part in name for name in names)]
        if unknown:
            sys.exit(f"no suite is called {', '.join(unknown)}; --list prints them")
        names = [name for name in names if any(part in name for part in parts)]
    return names


class Comparison:
    """Both sides of the suites of this run."""

    def __init__(self, names):
        self.names = names
        self.sides = {"without": {}, "with": {}}

    def done(self, side, result):
        self.sides[side][result.suite] = result
        failed = len(result.tests) - result.count("passed") - result.count("ignored")
        count = f"{result.count('passed')} passed, {failed} not"
        print(f"{result.seconds:7.1f} s  {side:8}{result.suite}: {count}", flush=True)

    def unexplained(self, expected):
        """Suites with OAP that did worse than the expected differences say."""
        return [
            name
            for name, result in self.sides["with"].items()
            if not (result.ended and result.count("passed"))
            or any((name, test) not in expected for test in results.not_passed(result))
        ]

    def differences(self):
        """{(suite, test): Outcome}; where Spark alone did not run, it would have passed all."""
        found = {}
        for name in self.names:
            without, with_oap = (self.sides[side].get(name) for side in ("without", "with"))
            changed = {}
            if without and with_oap:
                changed = results.differences(without, with_oap)
            elif with_oap:
                changed = results.not_passed(with_oap)
            found.update({(name, test): outcome for test, outcome in changed.items()})
        return found

    def table(self):
        width = max(len(name) for name in self.names)
        cache = f"{'hit':>7}{'missed':>8}{'bypassed':>10}{'MB from pool':>14}"
        counts = f"{'passed not   sec':>18}"
        print(f"\n{'':{width}}{'Spark alone':>18}{'with OAP':>18}  column chunks")
        print(f"{'suite':{width}}{counts}{counts}{cache}")
        for name in self.names:
            without, with_oap = (self.sides[side].get(name) for side in ("without", "with"))
            served = _served(with_oap) if with_oap else ""
            print(f"{name:{width}}{_counts(without)}{_counts(with_oap)}{served}")
        ran = self.sides["with"].values()
        if ran:
            total = sum(result.hits for result in ran)
            hit = sum(result.hits > 0 for result in ran)
            print(f"{total} column chunks came from the pool, in {hit} of {len(ran)} suites")


def _served(result):
    megabytes = result.pool_bytes / 1e6
    return f"{result.hits:>7}{result.misses:>8}{result.bypasses:>10}{megabytes:>14.1f}"


def _counts(result):
    if result is None:
        return f"{'-':>18}"
    bad = sum(result.count(kind) for kind in ("failed", "canceled", "aborted"))
    return f"{result.count('passed'):>8}{bad:>4}{result.seconds:>6.0f}"


def print_baseline_failures(comparison):
    """Spark alone fails these here; they say nothing about OAP."""
    for name in comparison.names:
        result = comparison.sides["without"].get(name)
        for test, outcome in result.tests.items() if result else ():
            if outcome.kind in ("failed", "canceled", "aborted"):
                print(f"{outcome.kind} with Spark alone: {name}: {test}: {_short(outcome.message)}")


def _short(message):
    return " ".join(message.split())[:240]


def judge(comparison, expected):
    """Prints what is wrong; returns whether anything is."""
    found = comparison.differences()
    ran = {name for name in comparison.names if name in comparison.sides["with"]}
    wrong = 0
    for (suite, test), outcome in found.items():
        if (suite, test) in expected:
            continue
        wrong += 1
        print(f"DIFFERENT {suite}: {test}: {outcome.kind}: {_short(outcome.message)}")
    for (suite, test), reason in expected.items():
        if suite in ran and (suite, test) not in found:
            wrong += 1
            print(f"STALE {suite}: {test}: listed because \"{reason}\", but it does not differ")
    print(f"{len(found)} tests differ, {len(set(found) & set(expected))} of them expected")
    return wrong > 0


def main():
    # So that a run that is told to end takes its JVMs and files with it, as one that is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = options()
    groups, fast = results.read_suites(HERE / "suites.txt")
    expected = results.read_expected(HERE / "expected-differences.txt", asked.representation)
    names = chosen(groups, fast, asked)
    if asked.list:
        print("\n".join(names))
        return 0
    made = environment.Environment(asked.spark_home, asked.oap_jar, asked.representation)
    baseline = made.baseline_folder()
    comparison = Comparison(names)
    logs = environment.HOME / "logs"

    def done(side, result):
        comparison.done(side, result)
        if side == "without" and result.ended:
            results.keep(result, baseline)

    def run_all(todo):
        run.Runs(made, environment.HOME / f"run.{os.getpid()}", logs, done).all(todo, asked.jobs)

    with_oap = run.work("with", groups, names)
    if asked.with_only:
        run_all(with_oap)
    elif asked.without_only:
        run_all(run.work("without", groups, names))
    elif asked.refresh:
        run_all(run.work("without", groups, names) + with_oap)
    else:
        run_all(with_oap)
        known = {name: results.kept(name, baseline) for name in names}
        comparison.sides["without"] = {name: result for name, result in known.items() if result}
        missing = [name for name in comparison.unexplained(expected) if not known[name]]
        run_all(run.work("without", groups, missing))
    comparison.table()
    print_baseline_failures(comparison)
    print(f"logs: {logs.relative_to(environment.ROOT)}")
    if asked.with_only or asked.without_only:
        return 0
    wrong = judge(comparison, expected)
    if not any(result.hits for result in comparison.sides["with"].values()):
        print("NOT SERVED: the column cache had no hit, so this comparison means nothing")
        wrong = True
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
