"""The report of dev/ml-bench: a table for each algorithm, in Markdown, and whether all models agree."""

import statistics

from algorithms import ALGORITHMS

HEAD = ("| size | system | s an iteration | x of memory | x of disk | fit, s | of the CPU, s | GC, s | on the heap, MB | on disk, MB "
        "| in the pool, MB | blocks read, MB | read from disks, MB | spilled, MB |")


def close(left, right, tolerance):
    return abs(left - right) <= tolerance * max(1.0, abs(left), abs(right))


def disagreements(runs):
    """Runs whose models are not that of the first one with their data, in words."""
    found, first = [], {}
    for run in runs:
        key = run["algorithm"], run["size"]
        other = first.setdefault(key, run)
        tolerance = ALGORITHMS[run["algorithm"]].TOLERANCE
        parameters = list(zip(run["parameters"], other["parameters"]))
        if not (run["rows"] == other["rows"] and len(run["parameters"]) == len(other["parameters"])
                and close(run["cost"], other["cost"], tolerance)
                and all(close(*pair, tolerance) for pair in parameters)):
            most = max((abs(a - b) for a, b in parameters), default=0)
            found.append(f"{run['algorithm']} {run['size']:g}x: {run['system']} round {run['round'] + 1} learned another "
                         f"model than {other['system']}: cost {run['cost']:.9g} and {other['cost']:.9g}, "
                         f"parameters differ by up to {most:.3g}")
    return found


def middle(runs, of):
    return statistics.median(of(run) for run in runs)


def an_iteration(run):
    return statistics.median(run["iterations"])


def row(size, system, runs, times):
    def ratio(base):
        return f"{times[base] / times[system]:.2f}" if base in times else ""
    spread = f"{times[system]:.3f} ({min(map(an_iteration, runs)):.3f} to {max(map(an_iteration, runs)):.3f})"
    cells = [f"{size:g}x", system, spread, ratio("memory"), ratio("disk"),
             f"{middle(runs, lambda run: run['fit']):.1f}",
             f"{middle(runs, lambda run: run['cpu']):.1f}", f"{middle(runs, lambda run: run['gc']):.2f}"]
    for of in (lambda run: run["cached"]["heap"], lambda run: run["after"]["disk"], lambda run: run["cached"]["pool"],
               lambda run: run["read_blocks"], lambda run: run["read_disk"], lambda run: run["spilled"]):
        cells.append(f"{middle(runs, of) / 1e6:,.0f}")
    return "| " + " | ".join(cells) + " |"


def of(runs):
    """The text, and whether all models agree."""
    lines = []
    for name in dict.fromkeys(run["algorithm"] for run in runs):
        mine = [run for run in runs if run["algorithm"] == name]
        rounds = max(run["round"] for run in mine) + 1
        most = mine[0]["cached"]["most"]
        lines += [f"## {name}", "", f"Medians of {rounds} runs of each system; Spark has {most / 1e6:,.0f} MB for blocks. "
                  "Heap: what is cached before the fit; disk: what is there after it.", "", HEAD,
                  "|" + "---|" * (HEAD.count("|") - 1)]
        for size in dict.fromkeys(run["size"] for run in mine):
            systems = {}
            for run in mine:
                if run["size"] == size:
                    systems.setdefault(run["system"], []).append(run)
            times = {system: middle(found, an_iteration) for system, found in systems.items()}
            lines += [row(size, system, found, times) for system, found in systems.items()]
        lines.append("")
    differ = disagreements(runs)
    lines += differ or ["All runs with the same data learned the same model."]
    return "\n".join(lines) + "\n", not differ
