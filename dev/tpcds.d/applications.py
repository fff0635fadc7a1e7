"""Whether applications of one system differ more than the rounds within them.

The intervals of a result take all rounds of a system as independent of each other. Those of one
application share its compiled code, heap and pool; where applications differ, the intervals are too narrow.
"""

import math
import random
import statistics

from rounds import number_of

HEADING = "Applications"
HEADER = ["system", "rounds of each", "mean time of a round in each", "largest over smallest",
          "against the rounds within"]
NOTE = ("Intervals and tests take all rounds of a system as independent. Where its applications differ more "
        "than the rounds within them (one-way analysis of variance of logarithms, by permutation, at 5 %), "
        "they are not, and the intervals of that system are too narrow. --rounds 1 --repeats 10 makes each "
        "round an application of its own.")
LEVEL = 0.05
SHUFFLES = 1999


def seconds(result, system):
    """The times of the rounds that count: a list for each application, in the order they ran. A repeat
    that was interrupted and continued had two."""
    found = {}
    for r in result["rounds"]:
        if r["system"] == system["name"] and r["counts"]:
            found.setdefault((r["repeat"], r["process"]), []).append(r["seconds"])
    return list(found.values())


def p_value(groups, shuffles=SHUFFLES):
    """Of the hypothesis that it is chance which times (above 0) are in which group; None where no group
    has two times, or there is one group only.

    A permutation test with the statistic of a one-way analysis of variance of the logarithms: the
    squares between the groups, since with those within them they sum up to the same each time.
    """
    if len(groups) < 2 or max(map(len, groups)) < 2:
        return None
    sizes, values = [len(g) for g in groups], [math.log(second) for g in groups for second in g]
    middle = statistics.fmean(values)
    values = [value - middle for value in values]
    # The same result gives the same report.
    chance = random.Random(20261121)
    observed, as_far = _between(values, sizes), 0
    for _ in range(shuffles):
        chance.shuffle(values)
        as_far += _between(values, sizes) >= observed * (1 - 1e-9)
    return (1 + as_far) / (1 + shuffles)


def _between(values, sizes):
    squares, at = 0.0, 0
    for size in sizes:
        squares += sum(values[at:at + size]) ** 2 / size
        at += size
    return squares


def rows(result):
    """A row for each system with more than one application, of which one has more than one round."""
    return [row for row, _ in _judged(result)]


def _judged(result):
    for system in result["systems"]:
        groups = seconds(result, system)
        p = p_value(groups)
        if p is not None:
            means = [statistics.geometric_mean(g) for g in groups]
            differ = p < LEVEL
            said = "they DIFFER MORE" if differ else "no significant difference"
            yield [system["name"], ", ".join(str(len(g)) for g in groups),
                   ", ".join(f"{mean:.2f} s" for mean in means), f"{max(means) / min(means):.2f} x",
                   f"{said} (p = {p:.2g})"], differ


def said(result):
    """What this means for the result's claims, in a sentence; empty when it means nothing."""
    counted = [groups for groups in (seconds(result, s) for s in result["systems"]) if groups]
    if any(len(groups) == 1 and len(groups[0]) > 1 for groups in counted):
        return "has systems with one application only: what differs between applications is in no interval"
    differ = sum(differ for _, differ in _judged(result))
    if not differ:
        return ""
    return (f"has {number_of(differ, 'system')} whose applications differ more than the rounds within "
            "them: intervals are too narrow there")
