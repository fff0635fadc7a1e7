"""The reports of dev/quickstart side by side, in Markdown."""

import statistics

ALONE, COLD, WARM = "sparkAlone", "oapCold", "oapWarm"


def text(reports):
    """A section for each storage and layout, in the order of the reports."""
    plans = [report["plan"] for report in reports]
    said = ["# The nine queries, by the form of their tables", "", _how(reports[0]), ""]
    for storage, partitioned in dict.fromkeys((p["storage"], p["partitioned"]) for p in plans):
        those = [r for r in reports
                 if (r["plan"]["storage"], r["plan"]["partitioned"]) == (storage, partitioned)]
        layout = "partitioned by date" if partitioned else "not partitioned"
        said += [f"## {storage} storage, {layout}", "", *_sums(those), "",
                 "Warm, times as fast as Spark alone, by query:", "", *_by_query(those), ""]
    return "\n".join(said)


def _how(report):
    plan, facts = report["plan"], report["circumstances"]
    return (f"Scale {plan['scale']:g}, {plan['rounds']} timed runs of each query and side, taken in turn; medians. "
            "Seconds are those of all queries; cold and warm are times as fast as Spark alone, geometric means of "
            "the queries. Data is what warm runs read of data files, counted by the file system. "
            f"{facts['machine']['processors']} processors, {facts['machine']['processor']}, "
            f"Spark {facts['versions']['spark']}, {facts['time'][:10]}.")


def _sums(reports):
    yield from _header("form", "Spark alone", "cold", "warm", "cold is", "warm is", "least warm", "data, warm",
                       "rows")
    for report in reports:
        names = report["plan"]["queries"]
        seconds = [sum(_seconds(report, side, q) for q in names) for side in (ALONE, COLD, WARM)]
        cold, warm = ([_ratio(report, side, q) for q in names] for side in (COLD, WARM))
        least = min(range(len(names)), key=warm.__getitem__)
        yield _row(
            report["plan"]["form"], *(f"{s:.2f} s" for s in seconds),
            f"{statistics.geometric_mean(cold):.2f} x", f"{statistics.geometric_mean(warm):.2f} x",
            f"{warm[least]:.2f} x ({names[least]})", f"{_read(report)} bytes",
            "the same" if not _differences(report) else "DIFFER")


def _by_query(reports):
    yield from _header("query", *(r["plan"]["form"] for r in reports))
    for query in reports[0]["plan"]["queries"]:
        yield _row(query, *(f"{_ratio(r, WARM, query):.2f} x" for r in reports))


def _runs(report, side, query):
    return [q for r in report["rounds"] if r["system"] == side and r["number"] > 0
            for q in r["queries"] if q["query"] == query]


def _seconds(report, side, query):
    return statistics.median(run["seconds"] for run in _runs(report, side, query))


def _ratio(report, side, query):
    return _seconds(report, ALONE, query) / _seconds(report, side, query)


def _read(report):
    """The most that any warm run read, in bytes."""
    return max(run["fileBytes"] for q in report["plan"]["queries"] for run in _runs(report, WARM, q))


def _differences(report):
    return [q for r in report["rounds"] for q in r["queries"] if q["difference"]]


def _header(*cells):
    yield _row(*cells)
    yield _row(*("---" for _ in cells))


def _row(*cells):
    return "| " + " | ".join(cells) + " |"
