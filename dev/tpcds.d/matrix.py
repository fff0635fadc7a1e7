"""What the report says of a matrix: systems in all combinations of memory, load and tenants."""

import statistics

from rounds import hit_share, mean


def panels(result):
    """The cells of one plot each: (label, the cells by rising load), in the order of the plan."""
    found = {}
    for system in result["systems"]:
        cell = system["cell"]
        found.setdefault((cell["pool"], cell["size"], cell["busy"]), {})[cell["load"]] = cell
    return [(_label(result, *key), [cells[load] for load in sorted(cells)])
            for key, cells in found.items()]


def _label(result, pool, size, busy):
    words = []
    matrix = result["plan"]["matrix"]
    if len(matrix["pools"]) > 1:
        words.append(f"{'under' if pool >= 1 else 'over'}-committed: {share(pool)} x needed")
    if len(matrix["sizes"]) > 1:
        words.append("all queries" if size == 1 else f"{share(size)} of the queries")
    if len(matrix["busy"]) > 1:
        words.append("no pauses" if busy == 1 else f"busy {share(busy)} of the time")
    return ", ".join(words)


def share(number):
    """0.33 as people write it."""
    return {0.333: "1/3", 0.667: "2/3"}.get(round(number, 3), f"{number:g}")


def system_at(result, cell, name):
    """What became of the system that was asked for by this name in a cell."""
    names = [s["name"] for s in result["plan"]["systems"]]
    return [s for s in result["systems"] if s["cell"] == cell][names.index(name)]


def _place(cell, panel):
    return [*([panel] if panel else []), share(cell["load"]), str(cell["tenants"])]


def tables(result):
    """(heading, header, rows) of each table."""
    places = [(panel, cell) for panel, cells in panels(result) for cell in cells]
    head = [*(["tenants are" if result["plan"]["matrix"]["kind"] == "load" else "memory"]
              if places[0][0] else []), "load per core", "tenants"]
    names = [s["name"] for s in result["plan"]["systems"]]
    comparisons = {(c["base"], c["other"]): c["times"] for c in result["comparisons"]
                   if c["what"] == "round"}
    verdicts, times, fairness = [], [], []
    for panel, cell in places:
        here = [system_at(result, cell, name) for name in names]
        for i, other in enumerate(here):
            for j in range(i):
                found = comparisons.get((here[j]["name"], other["name"]))
                if found:
                    verdicts.append([*_place(cell, panel), f"{names[i]} against {names[j]}",
                                     found["verdict"]])
        for name, system in zip(names, here):
            records = [r for r in result["rounds"] if r["system"] == system["name"] and r["counts"]]
            if records:
                times.append([*_place(cell, panel), name, *_times(result, system, records)])
                fairness.append([*_place(cell, panel), name, *_fairness(records)])
    yield "What is significant", [*head, "systems", "time of a round"], verdicts
    yield "Rounds", [*head, "system", "rounds", "median", "mean (95 % interval)", "from pool"], times
    yield "Fairness among tenants", [
        *head, "system", "slowest over mean", "in the worst round", "Jain's index",
        "in the worst round"], fairness  # fmt: skip


def _times(result, system, records):
    time = next(t for t in result["times"] if t["what"] == "round" and t["system"] == system["name"])
    shares = [s for s in map(hit_share, records) if s is not None]
    return [str(time["runs"]), f"{time['median']:.2f} s", mean(time),
            f"{100 * statistics.median(shares):.1f} %" if shares else ""]


def _fairness(records):
    if len({q["tenant"] for q in records[0]["queries"]}) == 1:
        return ["one tenant", "", "", ""]
    slowest = [r["slowestOverMean"] for r in records]
    index = [r["jain"] for r in records]
    return [f"{statistics.median(slowest):.2f}", f"{max(slowest):.2f}",
            f"{statistics.median(index):.3f}", f"{min(index):.3f}"]  # fmt: skip


def how(result):
    """How it was measured, in sentences."""
    plan = result["plan"]
    matrix = plan["matrix"]
    said = (f"The queries need {result['neededBytes'] / 1e6:,.0f} MB. "
            "A tenant runs its queries one after the other; load is queries in flight per core. ")
    if matrix["kind"] == "memory":
        return said + ("Under-committed: the pool holds more than what is needed; over-committed: less, "
                       "so that chunks leave it before they are asked for again. ")
    pool = " and ".join(f"{share(pool)}" for pool in matrix["pools"])
    return said + (f"The pool holds {pool} of what is needed. All tenants of a cell run the same "
                   "queries, so that one that takes longer was served worse. ")
