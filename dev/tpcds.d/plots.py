"""The pictures of the report, each as the text of an SVG file, which a page may also hold as an element."""

import io
import itertools
import math
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from matrix import panels, share, system_at  # noqa: E402
from rounds import hit_share  # noqa: E402

# Told apart also by those who do not see all colours (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
plt.rcParams.update({
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "oap",
})  # fmt: skip


def colours(result):
    """A colour for each system of a result."""
    names = [system["name"] for system in result["systems"]]
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def _svg(figure, what):
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    # Results are kept in the tree: a hundredth of a point is finer than what can be seen.
    text = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), text)
    # As wide as the page allows, and named for those who hear it.
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="([\d.]+)pt"', rf'\1 role="img" aria-label="{what}" '
                  r'style="max-width:100%;width:\2pt"', text, count=1)  # fmt: skip
    return text


def _errors(times):
    low = [0 if math.isnan(t["low"]) else t["mean"] - t["low"] for t in times]
    high = [0 if math.isnan(t["high"]) else t["high"] - t["mean"] for t in times]
    return [low, high]


def rounds(result):
    """Time of a round by system: mean, 95 % interval and every single round."""
    times = [t for t in result["times"] if t["what"] == "round"]
    colour = colours(result)
    figure, axes = plt.subplots(figsize=(7.5, 0.6 + 0.55 * len(times)))
    at = range(len(times))
    axes.barh(at, [t["mean"] for t in times], xerr=_errors(times), height=0.6, capsize=4,
              color=[colour[t["system"]] for t in times], alpha=0.75)
    for y, t in zip(at, times):
        single = [r["seconds"] for r in result["rounds"] if r["system"] == t["system"] and r["counts"]]
        axes.plot(single, [y] * len(single), "|", color="black", markersize=9, alpha=0.6)
    axes.set_yticks(at, [t["system"] for t in times])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds for a round; ticks are single rounds, whiskers 95 % intervals of the mean")
    return _svg(figure, "Time of a round by system")


def queries(result):
    """Time of each query by system, with 95 % intervals."""
    names = result["plan"]["queries"]
    systems = [s["name"] for s in result["systems"]]
    colour = colours(result)
    by = {(t["what"], t["system"]): t for t in result["times"]}
    figure, axes = plt.subplots(figsize=(max(7.5, 0.22 * len(names) * (len(systems) + 1)), 3.4))
    width = 0.8 / len(systems)
    for i, system in enumerate(systems):
        found = [(x, by[name, system]) for x, name in enumerate(names) if (name, system) in by]
        if found:
            axes.bar([x + (i - (len(systems) - 1) / 2) * width for x, _ in found],
                     [t["mean"] for _, t in found], width, yerr=_errors([t for _, t in found]),
                     capsize=2, color=colour[system], alpha=0.75, label=system)
    # Few rounds give intervals that would hide the bars.
    means = [t["mean"] for t in result["times"] if t["what"] != "round"]
    axes.set_ylim(0, 1.8 * max(means))
    axes.set_xticks(range(len(names)), names)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("seconds")
    axes.legend(ncols=len(systems), loc="lower center", bbox_to_anchor=(0.5, 1))
    return _svg(figure, "Time of each query by system")


def hits(result):
    """Share of bytes from the pool, round after round; None when no system has a pool."""
    colour = colours(result)
    figure, axes = plt.subplots(figsize=(7.5, 3))
    for system in result["systems"]:
        records = [r for r in result["rounds"] if r["system"] == system["name"]]
        labelled = False
        for repeat in sorted({r["repeat"] for r in records}):
            points = [(r["number"], hit_share(r)) for r in records if r["repeat"] == repeat]
            points = sorted((x, 100 * y) for x, y in points if y is not None)
            if points:
                axes.plot(*zip(*points), "o-", color=colour[system["name"]], markersize=4, alpha=0.8,
                          label=None if labelled else system["name"])
                labelled = True
    if not axes.lines:
        plt.close(figure)
        return None
    axes.set_ylim(0, 103)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("round (0 and below: warm-up, from an empty pool)")
    axes.set_ylabel("% of bytes from the pool")
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    return _svg(figure, "Share of bytes from the pool by round")


def bandwidth(result):
    """What was read from files and from the pool over the time of one round of each system."""
    shown = []
    for system in result["systems"]:
        found = [r for r in result["rounds"] if r["system"] == system["name"] and r["samples"]
                 and r["number"] > 0]
        if found:
            shown.append(found[-1])
    if not shown:
        return None
    figure, grid = plt.subplots(2, 1, figsize=(7.5, 4.4), sharex=True)
    colour = colours(result)
    for axes, key, name in zip(grid, ("fromFile", "fromPool"), ("files", "pool")):
        for record in shown:
            x, y = _rates(record["samples"], key)
            axes.step(x, y, where="post", color=colour[record["system"]], label=record["system"])
        axes.set_ylabel(f"from {name}, MB/s")
        axes.set_ylim(bottom=0)
    grid[1].set_xlabel("seconds since the round began (the last round of each system)")
    grid[0].legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    return _svg(figure, "Bandwidth of files and pool over time")


def cells(result):
    """Time of a round in every cell of a matrix: a plot for each panel, loads beside each other,
    systems by colour."""
    names = [system["name"] for system in result["plan"]["systems"]]
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    times = {t["system"]: t for t in result["times"] if t["what"] == "round"}
    shown = panels(result)
    rows = (len(shown) + 1) // 2
    columns = min(2, len(shown))
    figure, grid = plt.subplots(
        rows, columns, figsize=(7.5, 0.5 + 2.7 * rows), squeeze=False, sharex=True, layout="constrained")
    width = 0.8 / len(names)
    for axes, (label, loads) in zip(grid.flat, shown):
        for i, name in enumerate(names):
            found = [(x, times[system["name"]]) for x, system in enumerate(
                system_at(result, cell, name) for cell in loads) if system["name"] in times]
            axes.bar([x + (i - (len(names) - 1) / 2) * width for x, _ in found],
                     [t["mean"] for _, t in found], width, yerr=_errors([t for _, t in found]),
                     capsize=3, color=colour[name], alpha=0.75)
        axes.set_title(label, fontsize=10)
        axes.set_xlim(-0.5, len(loads) - 0.5)
        axes.set_xticks(range(len(loads)), [share(cell["load"]) for cell in loads])
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(shown):]:
        axes.set_visible(False)
    figure.supxlabel("queries in flight per core", fontsize=10)
    figure.supylabel("seconds for a round", fontsize=10)
    # Of all systems, also those that have not run yet.
    boxes = [plt.Rectangle((0, 0), 1, 1, color=colour[name], alpha=0.75) for name in names]
    figure.legend(boxes, names, ncols=len(names), loc="outside upper center")
    return _svg(figure, "Time of a round by memory, load and system")


def _rates(samples, key):
    x, y, before = [], [], {"second": 0, key: 0}
    for sample in samples:
        span = sample["second"] - before["second"]
        if span > 0.05:
            x.append(before["second"])
            y.append((sample[key] - before[key]) / 1e6 / span)
            before = sample
    return [*x, before["second"]], [*y, y[-1] if y else 0]


def scaling(results):
    """Time of a round by how large the pool is against what is needed; None where no system was
    measured alike with two sizes. Results that were not measured alike have lines of their own."""
    lines = {}
    for result in results:
        for t in result["times"]:
            if t["what"] == "round" and result["neededBytes"]:
                size = next(s for s in result["systems"] if s["name"] == t["system"])["settings"]
                share = float(size["spark.oap.pool.size"]) * executors(result)
                line = lines.setdefault((t["system"], *_alike(result)), [])
                line.append((share / result["neededBytes"], t))
    lines = {_line(key, lines): points for key, points in sorted(lines.items())}
    if all(len({x for x, _ in points}) < 2 for points in lines.values()):
        return None
    figure, axes = plt.subplots(figsize=(7.5, 3.4))
    for (name, points), colour in zip(lines.items(), itertools.cycle(COLOURS)):
        points.sort(key=lambda point: point[0])
        times = [t for _, t in points]
        axes.errorbar([x for x, _ in points], [t["mean"] for t in times], yerr=_errors(times),
                      fmt="o-", capsize=4, color=colour, label=name)
    axes.set_yscale("log")
    for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        axis(lambda seconds, _: f"{seconds:g}")
    axes.axvline(1, color="#888888", linestyle=":")
    axes.set_xlabel("pool over what the queries need (right of the dotted line all fits)")
    axes.set_ylabel("seconds for a round")
    axes.legend(ncols=1 if max(map(len, lines)) > 40 else 3, loc="lower center", bbox_to_anchor=(0.5, 1))
    return _svg(figure, "Time of a round by size of the pool")


def _alike(result):
    """All of a plan that a round takes longer or shorter for, in words, beside system and pool."""
    plan = result["plan"]
    found = result["circumstances"]
    layout = found["options"].get("layout", "") + (", partitioned" if plan["partitioned"] else "")
    return (f"scale {plan['scale']:g}", f"{plan['storage']} storage", plan["state"], layout,
            f"queries {','.join(sorted(plan['queries']))}",
            f"{plan['tenants']} tenants" + (", dealt out" if plan["deal"] else ""),
            ", ".join(f"{key} {found['machine'].get(key)}" for key in ("processor", "taskSlots")))


def _line(key, keys):
    """How a line of the scaling plot is called: with what other lines have otherwise."""
    name, *alike = key
    return ", ".join([name, *(words for i, words in enumerate(alike, 1) if len({k[i] for k in keys}) > 1)])


def executors(result):
    """Pools of a system; each has a part of its size."""
    return result["circumstances"]["options"].get("executors", 1)
