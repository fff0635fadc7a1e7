"""What suites did: read from the lines SuiteRun.java writes, kept for Spark alone, compared."""

from dataclasses import dataclass, field
from pathlib import Path

import plans

OUTCOMES = ("passed", "failed", "canceled", "ignored", "pending")
PREFIX = "org.apache.spark.sql."
# What OAP can keep in the pool; the first is the default.
REPRESENTATIONS = ("auto", "encoded", "vector")
# Stands in place of a test's name for what befell the suite as a whole.
WHOLE_SUITE = "(the suite)"


@dataclass
class Outcome:
    """Of one test: one of OUTCOMES or "aborted", and the message of a failure."""

    kind: str
    message: str = ""


@dataclass
class SuiteResult:
    """One run of one suite; the column chunks hit, missed and bypassed are zero without OAP."""

    suite: str
    tests: dict = field(default_factory=dict)
    seconds: float = 0
    ended: bool = False
    hits: int = 0
    misses: int = 0
    bypasses: int = 0
    pool_bytes: int = 0
    lines: list = field(default_factory=list)

    def count(self, kind):
        return sum(outcome.kind == kind for outcome in self.tests.values())

    def abort(self, message):
        """The JVM ended within this suite: the test that ran, or the suite, takes the blame."""
        started = [line[1] for line in self.lines if line[0] == "start"]
        blamed = started[-1] if started and started[-1] not in self.tests else WHOLE_SUITE
        self.tests[blamed] = Outcome("aborted", message)
        self.lines.append(["aborted", message])
        self.lines.append(["end", PREFIX + self.suite, "0"])


def _fields(line):
    unescaped = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
    fields = []
    for text in line.rstrip("\n").split("\t"):
        parts, at = [], 0
        while at < len(text):
            pair = text[at : at + 2]
            parts.append(unescaped.get(pair, text[at]))
            at += 2 if pair in unescaped else 1
        fields.append("".join(parts))
    return fields


def read(path):
    """The suites of a file of lines, in the order they ran. The last may not have ended."""
    results, seen = [], (0, 0, 0, 0)
    if not Path(path).exists():
        return results
    text = Path(path).read_text(encoding="utf-8")
    # The JVM may be in the middle of the last line.
    for line in text[: text.rfind("\n") + 1].split("\n"):
        fields = _fields(line)
        if fields[0] == "suite":
            results.append(SuiteResult(fields[1][len(PREFIX) :]))
        if not results or not fields[0]:
            continue
        current = results[-1]
        current.lines.append(fields)
        if fields[0] in OUTCOMES:
            current.tests[fields[1]] = Outcome(fields[0], fields[3])
        elif fields[0] == "aborted":
            current.tests[WHOLE_SUITE] = Outcome("aborted", fields[1])
        elif fields[0] == "cache":
            seen = _count_cache(current, seen, tuple(int(number) for number in fields[1:5]))
        elif fields[0] == "end":
            current.ended, current.seconds = True, int(fields[2]) / 1000
    return results


def _count_cache(result, before, now):
    """Adds what was counted since; counters that fell began anew."""
    base = before if all(new >= old for new, old in zip(now, before)) else (0, 0, 0, 0)
    result.hits += now[0] - base[0]
    result.misses += now[1] - base[1]
    result.bypasses += now[2] - base[2]
    result.pool_bytes += now[3] - base[3]
    return now


def keep(result, folder):
    """Writes the lines of one suite, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{result.suite}.made"
    escape = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
    lines = ["\t".join(text.translate(escape) for text in fields) for fields in result.lines]
    made.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made.rename(folder / f"{result.suite}.txt")


def kept(suite, folder):
    """What `keep` wrote, or None."""
    results = read(folder / f"{suite}.txt")
    return results[0] if results else None


def not_passed(result):
    """The tests of a suite that neither passed nor were ignored, by name, with what happened."""
    return {
        test: outcome
        for test, outcome in result.tests.items()
        if outcome.kind not in ("passed", "ignored")
        and not plans.same_but_for_scan(outcome.message)
    }


def differences(without, with_oap):
    """The tests that pass without OAP and not with it, by name, with what happened instead.

    A plan stability test whose plan is the same but for the scan does not differ.
    """
    found = {}
    for test, outcome in with_oap.tests.items():
        before = without.tests.get(test)
        bad = outcome.kind in ("failed", "aborted")
        if plans.same_but_for_scan(outcome.message):
            continue
        if outcome.kind != "passed" and (before.kind == "passed" if before else bad):
            found[test] = outcome
    for test, outcome in without.tests.items():
        if outcome.kind == "passed" and test not in with_oap.tests:
            found[test] = Outcome("aborted", "did not run")
    return found


def read_suites(path):
    """Names by group, and the names marked fast."""
    groups, fast = {}, set()
    for line in _content(path):
        if line.startswith("["):
            group = groups.setdefault(line.strip("[]"), [])
            continue
        name, *marks = line.split()
        group.append(name)
        if "fast" in marks:
            fast.add(name)
    return groups, fast


def read_expected(path, representation):
    """{(suite, test): reason} where OAP keeps chunks in that representation.

    A line "[reason]" holds for the lines "suite: test" below it, "[reason] vector" in that
    representation only, of which several may stand there.
    """
    expected, reason, kept_as = {}, None, []
    for line in _content(path):
        if line.startswith("["):
            reason, _, marks = line[1:].rpartition("]")
            kept_as = marks.split() or REPRESENTATIONS
            unknown = set(kept_as) - set(REPRESENTATIONS)
            if unknown:
                raise ValueError(f"{path}: no representation is called {', '.join(unknown)}: {line}")
            continue
        suite, separator, test = line.partition(": ")
        if not separator or not reason:
            raise ValueError(f"{path}: not '[reason]' nor 'suite: test': {line}")
        if representation in kept_as:
            expected[suite, test] = reason
    return expected


def _content(path):
    lines = (line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
