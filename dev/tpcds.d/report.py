"""Writes report.md, its pictures and report.html from results of dev/tpcds run, scenario and matrix."""

import html
import json
import pathlib
import statistics
import sys
import typing

import applications
import matrix
import plots
import summary
from rounds import hit_share, mean, number_of

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; display: block; overflow-x: auto }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child, .words { text-align: left }
pre { background: #f5f5f5; padding: .7rem; overflow-x: auto; white-space: pre-wrap }
.yes { color: #00694b; font-weight: 600 } .no { color: #a33c00; font-weight: 600 }
figure { margin: 1.5rem 0 } figcaption { font-size: .9rem; color: #555 }
"""
FACTS = "Machine, versions, configuration"
BARS = {"scenario": "scenario", "what": "what", "bar": "bar", "measured": "measured (95 % interval)",
        "verdict": "verdict"}
MARKS = {"holds": "yes", "does not hold": "no"}


def write(files, folder):
    """Exit status: 0, or 1 with one line on standard error."""
    try:
        results = [_read(file) for file in files]
    except (OSError, ValueError, KeyError, TypeError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    parts = list(_parts(results))
    for name, svg, _ in (part.what for part in parts if part.kind == "picture"):
        (folder / name).write_text(svg, encoding="utf-8")
    for name, text in (("report.html", _page(parts)), ("report.md", _markdown(parts))):
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)
    return 0


def _read(file):
    try:
        result = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        result["plan"]["systems"], result["times"], result["rounds"], result["bars"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{file} is no result of dev/tpcds run, scenario or matrix, or of another version") from None
    # What is not a number is written as text, since JSON has no other way.
    for numbers in [*result["times"], *(c["times"] for c in result["comparisons"])]:
        for key in ("low", "high", "pValue"):
            if key in numbers:
                numbers[key] = float(numbers[key])
    return result


def title(result):
    plan = result["plan"]
    name = {"run": "Systems compared"}.get(summary.called(plan), summary.called(plan))
    return f"{name}: scale {plan['scale']:g}, {_storage(plan)} storage"


def _storage(plan):
    kind, _, rate = plan["storage"].partition(":")
    return f"{kind} of {int(rate) / 1e6:g} MB/s" if rate else kind


def how(result):
    """How it was measured, in sentences."""
    plan = result["plan"]
    by_whom = " or ".join(_by_whom(plan, n) for n in sorted(
        {system.get("tenants") or plan["tenants"] for system in result["systems"]}))
    needed = f" They need {result['neededBytes'] / 1e6:,.0f} MB." if result["neededBytes"] else ""
    if plan.get("matrix"):
        what = matrix.how(result)
    else:
        what = (f"A round is {number_of(len(plan['queries']), 'TPC-DS query', 'TPC-DS queries')} "
                f"{by_whom}.{needed} ")
    if plan.get("sweep"):
        every = {1: "each query"}.get(plan["sweep"]["every"], f"every {plan['sweep']['every']} queries")
        what += (f"After {every} all columns of {plan['sweep']['table']} are read, which is no part of "
                 "the queries' times and hits. ")
    slow = {"hdd": "Storage is slowed to 4 MB/s per core. ",
            "s3": "Storage is slowed to 60 MB/s per core and 20 ms per request. "}
    storage = slow.get(plan["storage"], "")
    if plan["storage"].startswith("device:"):
        dropped = {r["pageCache"] for r in result["rounds"]} == {"dropped"}
        storage = (f"The kernel limits the disk of the data to {_storage(plan).split()[-2]} MB/s. The page "
                   f"cache was {'' if dropped else 'NOT '}emptied of the data before each round. ")
    data = f"Data: {result['circumstances']['options'].get('layout', '')}."
    if plan["state"] == "in turn":
        return (f"{what}The systems take turns in one application, query by query, after {number_of(plan['warmUps'], 'run')} "
                f"of each query to warm up; {number_of(plan['rounds'], 'round')} to measure. {storage}{data}")
    return (
        f"{what}Rounds are {plan['state']}: each application has {number_of(plan['warmUps'], 'round')} to warm "
        f"up and {number_of(plan['rounds'], 'round')} to measure; each system has "
        f"{number_of(plan['repeats'], 'application')}, in random order (seed {plan['seed']}). "
        + storage
        + data)


def _by_whom(plan, tenants):
    if tenants == 1:
        return "one after the other"
    return f"by {tenants} tenants at once, " + (
        "to whom they are dealt out" if plan["deal"] else "each of whom runs them all")


def tables(result):
    """(heading, header, rows) of each table of a result; what is no number is words."""
    if result["plan"].get("matrix"):
        yield from matrix.tables(result)
    else:
        yield from _tables(result)
    differ = applications.rows(result)
    if differ:
        yield applications.HEADING, applications.HEADER, differ


def _tables(result):
    yield "Rounds", ["system", "pool", "rounds", "median", "mean (95 % interval)", "from pool",
                     "held", "slowest tenant"], [_row(result, s) for s in result["systems"]]
    verdicts = [[f"{c['other']} against {c['base']}", c["times"]["verdict"]]
                for c in _compared(result, "What is significant")]
    if verdicts:
        yield "What is significant", ["systems", "time of a round"], verdicts
    queries = [[c["what"], f"{c['other']} against {c['base']}", c["times"]["verdict"]]
               for c in _compared(result, "By query")]
    if queries:
        yield "By query", ["query", "systems", "time"], queries
    sweeps = [row for row in (_sweeps(result, s) for s in result["systems"]) if row]
    if sweeps:
        yield "Sweeps", ["system", "scans", "median", "from pool", "queries' bytes from pool"], sweeps


def _compared(result, heading):
    """The comparisons that the table with this heading lists."""
    if heading == "By query":
        first = result["systems"][0]["name"]
        return [c for c in result["comparisons"] if c["what"] != "round" and c["base"] == first]
    return [c for c in result["comparisons"] if c["what"] == "round" and heading == "What is significant"]


def note(result, heading):
    """What has to be known about the table with this heading, in sentences; mostly nothing."""
    return applications.NOTE if heading == applications.HEADING else summary.by_chance(_compared(result, heading))


def _sweeps(result, system):
    """The scans of a whole table between the queries, and what they left to the queries."""
    records = [r for r in result["rounds"] if r["system"] == system["name"] and r["counts"]]
    scans = [q for r in records for q in r.get("sweeps", [])]
    if not scans:
        return None
    shares = [hit_share({"queries": scans}), hit_share(
        {"queries": [q for r in records for q in r["queries"]]})]
    return [system["name"], str(len(scans)), f"{statistics.median(q['seconds'] for q in scans):.2f} s",
            *("" if s is None else f"{100 * s:.1f} %" for s in shares)]


def _pool(result, system):
    """Size, policy and representation, as far as the system says or the result tells the default."""
    settings = {**result["circumstances"]["configuration"], **system["settings"]}
    size = settings.get("spark.oap.pool.size", "")
    size = f"{int(size) / 1e6:,.0f} MB" if size.isdigit() else size
    others = (settings.get(f"spark.oap.{key}") for key in ("pool.policy", "cache.representation"))
    return ", ".join(filter(None, (size, *others)))


def _row(result, system):
    records = [r for r in result["rounds"] if r["system"] == system["name"] and r["counts"]]
    pool = _pool(result, system) if system["kind"] == "oap" else ""
    if system["medium"]:
        pool += f", MODEL of {system['medium']}"
    if system["slowdown"] != 1:
        pool += f" slowed {system['slowdown']:g} x for a test"
    if not records:
        return [system["name"], pool, "0", "", "", "", "", ""]
    time = next(t for t in result["times"] if t["what"] == "round" and t["system"] == system["name"])
    shares = [s for s in map(hit_share, records) if s is not None]
    share = f"{100 * statistics.median(shares):.1f} %" if shares else ""
    slowest = statistics.median(r["slowestOverMean"] for r in records)
    return [system["name"], pool, str(time["runs"]), f"{time['median']:.2f} s",
            mean(time), share,
            _held(result, records),
            f"{slowest:.2f} of mean"]


def _held(result, records):
    """What was in the pools at the end of a round; nobody knows where systems take turns with one pool."""
    if result["plan"]["state"] == "in turn":
        return ""
    return f"{statistics.median(r['heldBytes'] for r in records) / 1e6:,.0f} MB"


def facts(result):
    """Machine, versions and configuration, as (name, value)."""
    found = result["circumstances"]
    for part in ("machine", "versions", "options"):
        for key, value in sorted(found[part].items()):
            yield key, str(value)
    yield "time", found["time"]
    for key, value in sorted(found["configuration"].items()):
        yield key, value


class Part(typing.NamedTuple):
    """A piece of the report, which the page and the summary each write in their own way."""

    kind: str
    what: typing.Any
    # Whether the page has it and the summary does not.
    only_page: bool = False


def _parts(results):
    yield Part("h1", "OAP: the scale test")
    yield Part("text", summary.summary(results))
    judged = [[bar[key] for key in BARS] for result in results for bar in result["bars"]]
    if judged:
        yield Part("h2", "What was to be reached")
        yield Part("table", (list(BARS.values()), judged))
    scaling = plots.scaling([r for r in results if not r["plan"].get("matrix")])
    yield from _picture("scaling", scaling, "Time of a round by the size of the pool.")
    names = [summary.called(result["plan"]).replace(" ", "-") for result in results]
    for i, (result, name) in enumerate(zip(results, names)):
        before = names[:i].count(name)
        yield from _of_result(result, f"{name}-{before + 1}" if before else name)


def _of_result(result, name):
    yield Part("h2", title(result))
    yield Part("text", how(result))
    is_matrix = bool(result["plan"].get("matrix"))
    if result["times"] and is_matrix:
        yield from _picture(f"{name}-cells", plots.cells(result),
                            "Time of a round, mean and 95 % interval, by queries in flight per core.")
    elif result["times"]:
        yield from _picture(f"{name}-rounds", plots.rounds(result), "Time of a round by system.")
    for heading, header, rows in tables(result):
        # As many lines as all else together.
        by_query = heading == "By query"
        yield Part("h3", heading, by_query)
        yield Part("table", (header, rows), by_query)
        said = note(result, heading)
        if said:
            yield Part("text", said, by_query)
        if by_query:
            yield from _picture(f"{name}-queries", plots.queries(result), "Mean time of each query, 95 % intervals.")
    if not is_matrix:
        yield from _picture(f"{name}-hits", plots.hits(result),
                            "What share of the bytes came from the pool, round by round.")
        yield from _picture(f"{name}-bandwidth", plots.bandwidth(result), "What was read from files and from the pool.")
    yield Part("h3", "Commands")
    yield Part("code", result["commands"])
    yield Part("facts", list(facts(result)))


def _picture(name, svg, caption):
    if svg:
        yield Part("picture", (f"{name}.svg", svg, caption))


def _html_table(header, rows):
    cell = html.escape
    rows = list(rows)
    # A column of words is set to the left, one of numbers to the right.
    words = [any(len(row[i]) > 28 or " against " in row[i] for row in rows) for i in range(len(header))]
    kinds = ["words" if is_words else "" for is_words in words]
    head = "".join(f'<th class="{k}">{cell(name)}</th>' for k, name in zip(kinds, header))
    body = "".join(
        "<tr>" + "".join(f'<td class="{MARKS.get(c, k)}">{cell(c)}</td>' for k, c in zip(kinds, row))
        + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html(part):
    kind, what, _ = part
    if kind == "table":
        return _html_table(*what)
    if kind == "picture":
        return f"<figure>{what[1]}<figcaption>{html.escape(what[2])}</figcaption></figure>"
    if kind == "code":
        return f"<pre>{html.escape(chr(10).join(what))}</pre>"
    if kind == "facts":
        return f"<details><summary>{FACTS}</summary>{_html_table(['', ''], what)}</details>"
    tag = "p" if kind == "text" else kind
    return f"<{tag}>{html.escape(what)}</{tag}>"


def _page(parts):
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>OAP: the scale test</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(map(_html, parts)) + "\n</body></html>\n")  # fmt: skip


def _markdown_table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
                     for line in lines)


def _markdown_part(part):
    kind, what, _ = part
    if kind == "table":
        return _markdown_table(*what)
    if kind == "picture":
        return f"![{what[2]}]({what[0]})"
    if kind == "code":
        return "\n".join(f"    {line}" for line in what)
    if kind == "facts":
        return "\n\n".join([f"### {FACTS}", "\n".join(f"- {key}: {value}" for key, value in what)])
    return "#" * int(kind[1]) + f" {what}" if kind[0] == "h" else what


def _markdown(parts):
    return "\n\n".join(_markdown_part(part) for part in parts if not part.only_page) + "\n"
