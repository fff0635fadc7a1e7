"""The report in a few sentences, and what many comparisons at once are worth."""

import math

import applications
from rounds import number_of


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


def summary(results):
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
    judged = [bar for result in results for bar in result["bars"]]
    if judged:
        held = sum(bar["verdict"] == "holds" for bar in judged)
        said.append(f"{held} of {number_of(len(judged), 'bar')} {'holds' if held == 1 else 'hold'}.")
    return " ".join(said)


def _short(result):
    """Says so when there are too few rounds for a claim, or rounds are left."""
    plan = result["plan"]
    runs = [t["runs"] for t in result["times"] if t["what"] == "round"]
    if len(runs) < len(result["systems"]) or min(runs) < plan["rounds"] * plan["repeats"]:
        return "is not complete"
    if min(runs) < result["roundsForAClaim"]:
        return (f"has {number_of(min(runs), 'round')} of a system; {result['roundsForAClaim']} are the least "
                "for a claim")
    return ""
