"""What the scenarios have to reach, and whether results show that they do."""

import math

import applications
from rounds import counts, number_of, slowest_over_mean

HEADER = ["scenario", "what", "bar", "measured (95 % interval)", "verdict"]

# Scenario, how it is said, the slower system, the faster one, by what factor at least.
AT_LEAST = (
    ("fit-large-only", "large pool over small pool with LRU", "small-lru", "large", 8),
    ("fit-large-only", "our policy over LRU in the small pool", "small-lru", "small", 1.5),
    ("fit-none", "our policy over LRU in the small pool", "small-lru", "small", 1.66),
    ("fit-none", "our policy over LRU in the large pool", "large-lru", "large", 1.66),
)
SLOWEST_TENANT = 1.5
# Queries at once over the same ones in a row, by throughput.
AT_ONCE = 0.9
MODEL_APART = 1.246
# Equal is only what is known well enough: else the noisier the rounds, the more equal all would be.
EQUAL_WITHIN = 1.1
# RunsForAClaim of Comparison.scala.
ROUNDS_FOR_A_CLAIM = 10
TOO_FEW = "too few rounds"


def ratio(result, slow, fast):
    """How many times as fast: (ratio, low, high, rounds) with its 95 % interval and the rounds of the
    system that has fewer; None when not measured."""
    for c in result["comparisons"]:
        t = c["times"]
        runs = min(t["baseRuns"], t["otherRuns"])
        if c["what"] == "round" and (c["base"], c["other"]) == (slow, fast):
            return t["ratio"], t["low"], t["high"], runs
        if c["what"] == "round" and (c["base"], c["other"]) == (fast, slow):
            return 1 / t["ratio"], 1 / t["high"], 1 / t["low"], runs
    return None


def judge(results):
    """A row for each bar that these results say something about."""
    return [row for result in results for row in _rows(result)]


def _rows(result):
    if result["plan"].get("matrix"):
        return
    scenario = result["plan"]["scenario"]
    for name, what, slow, fast, bar in AT_LEAST:
        found = ratio(result, slow, fast) if name == scenario else None
        if found:
            yield [name, what, f"at least {bar:g} x", _said(found),
                   _verdict(found, holds=found[1] >= bar, fails=found[2] < bar)]
    if scenario == "fit-both":
        found = ratio(result, "small", "large")
        if found:
            _, low, high, _ = found
            yield [scenario, "the two pools equal within noise",
                   f"no significant difference, interval within {EQUAL_WITHIN:g} x either way", _said(found),
                   _verdict(found, holds=1 / EQUAL_WITHIN <= low <= 1 <= high <= EQUAL_WITHIN,
                            fails=not low <= 1 <= high)]
        found = ratio(result, "large-pmem-model", "small")
        if found:
            yield [scenario, "MODEL: DRAM over persistent memory", f"at most {MODEL_APART:g} x",
                   _said(found), _verdict(found, holds=found[2] <= MODEL_APART, fails=found[1] > MODEL_APART)]
    yield from _at_once(result)
    tenants = result["plan"]["tenants"]
    if tenants > 1 and not result["plan"]["deal"]:
        for system in result["systems"]:
            worst = [slowest_over_mean(r) for r in result["rounds"]
                     if r["system"] == system["name"] and counts(r)]
            if worst:
                # One round is enough to see that it does not hold.
                few = len(worst) < ROUNDS_FOR_A_CLAIM
                yield [scenario or "run", f"{tenants} tenants, {system['name']}: slowest over mean",
                       f"at most {SLOWEST_TENANT:g} in any round", f"{max(worst):.2f}",
                       "does not hold" if max(worst) > SLOWEST_TENANT else TOO_FEW if few else "holds"]


def _at_once(result):
    """Systems that differ in nothing but that the queries of a round are dealt out to more tenants."""
    def alike(one):
        return {k: v for k, v in one.items() if k not in ("name", "tenants")}

    rows = [s for s in result["systems"] if result["plan"]["deal"] and s.get("tenants") == 1]
    for row, many in ((r, m) for r in rows for m in result["systems"] if alike(m) == alike(r)):
        found = ratio(result, row["name"], many["name"]) if many["tenants"] > 1 else None
        if found:
            yield [result["plan"]["scenario"] or "run",
                   f"queries of {many['tenants']} tenants at once, {many['name']}, over the same in a row",
                   f"at least {AT_ONCE:g} x", _said(found),
                   _verdict(found, holds=found[1] >= AT_ONCE, fails=found[2] < AT_ONCE)]


def _verdict(found, *, holds, fails):
    if found[-1] < ROUNDS_FOR_A_CLAIM:
        return TOO_FEW
    return "holds" if holds else "does not hold" if fails else "not certain"


def _said(found):
    middle, low, high, _ = found
    interval = "" if math.isnan(low) else f" ({low:.2f} to {high:.2f})"
    return f"{middle:.2f} x{interval}"


def by_chance(comparisons):
    """What many comparisons at once are worth, in sentences; empty for fewer than two."""
    found = [p for p in (c["times"]["pValue"] for c in comparisons) if not math.isnan(p)]
    if len(found) < 2:
        return ""
    level = 0.05 / len(found)
    significant = sum(p < 0.05 for p in found)
    return (f"{len(found)} comparisons, each tested at 5 %: if all were equal, {0.05 * len(found):.2g} of them "
            f"would be called different by chance. {significant} of them {'is' if significant == 1 else 'are'} "
            f"called different, {sum(p < level for p in found)} with p below {level:.2g}, which leaves 5 % for "
            "any mistake among all of them (Bonferroni).")


def called(plan):
    """What was measured, in a word or two."""
    matrix = plan.get("matrix")
    return f"{matrix['kind']} matrix" if matrix else plan["scenario"] or "run"


def summary(results, judged):
    """The report in a few sentences."""
    rounds = sum(1 for result in results for r in result["rounds"] if r["number"] > 0)
    ran = [q for result in results for r in result["rounds"] for q in r["queries"] + r.get("sweeps", [])]
    failed = sum(1 for q in ran if q["error"])
    other = sum(1 for q in ran if q["difference"])
    said = [f"{number_of(rounds, 'round')} of queries in {number_of(len(results), 'comparison')}."]
    said.append("All queries ran and gave the same rows in all systems." if failed + other == 0
                else f"{number_of(failed, 'query', 'queries')} FAILED, {other} gave OTHER ROWS.")
    for result in results:
        said += [f"{called(result['plan'])} {words}." for words in (_short(result), applications.said(result))
                 if words]
    if judged:
        held = sum(1 for row in judged if row[-1] == "holds")
        said.append(f"{held} of {number_of(len(judged), 'bar')} {'holds' if held == 1 else 'hold'}.")
    return " ".join(said)


def _short(result):
    """Says so when there are too few rounds for a claim, or rounds are left."""
    plan = result["plan"]
    runs = [t["runs"] for t in result["times"] if t["what"] == "round"]
    if len(runs) < len(result["systems"]) or min(runs) < plan["rounds"] * plan["repeats"]:
        return "is not complete"
    if min(runs) < ROUNDS_FOR_A_CLAIM:
        return f"has {number_of(min(runs), 'round')} of a system; ten are the least for a claim"
    return ""
