"""Runs dev/quickstart for every form of tables, storage and layout, one after the other, and writes one
summary of all: summary.md beside the reports. It is written anew after each run.

A run whose report is there already is not run again: the same command goes on where it was stopped.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev" / "lib"))

import summary
from arguments import NINE_QUERIES, names, number, queries, scale, size
from forms import FORMS

STORAGE = ("local", "hdd", "s3")
LAYOUTS = ("plain", "partitioned")


def parser():
    made = argparse.ArgumentParser(
        prog="dev/lake-bench", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument

    def some(known, what):
        return names("|".join(known), what)

    add("--forms", type=some(FORMS, "form"), default=list(FORMS), metavar="LIST",
        help=f"of {', '.join(FORMS)} (default all)")
    add("--storage", type=some(STORAGE, "storage"), default=["local", "s3"], metavar="LIST",
        help="of local, hdd, s3 (default local,s3)")
    add("--layouts", type=some(LAYOUTS, "layout"), default=["plain"], metavar="LIST",
        help="of plain, partitioned (default plain)")
    add("--scale", type=scale, default=1.0, metavar="N", help="TPC-DS scale factor (default 1)")
    add("--queries", type=queries, default=queries(NINE_QUERIES), metavar="LIST",
        help="queries, such as q52,q14a (default the nine I/O-heavy ones)")
    add("--iterations", type=number(1, 9999), default=3, metavar="N",
        help="timed runs of each query and side (default 3)")
    add("--pool-size", type=size, default="2g", metavar="SIZE", help="the pool's capacity (default 2g)")
    add("--data", default=str(ROOT / ".cache" / "tpcds"), metavar="FOLDER",
        help="where the generated data is kept (default .cache/tpcds)")
    add("--out", type=Path, default=Path("lake-bench"), metavar="FOLDER",
        help="where reports and summary go (default lake-bench)")
    return made


def command(asked, form, storage, layout, report):
    """The words of one run."""
    words = [str(ROOT / "dev" / "quickstart"), "--form", form, "--storage", storage,
             "--scale", f"{asked.scale:g}", "--queries", ",".join(asked.queries),
             "--iterations", str(asked.iterations), "--pool-size", asked.pool_size,
             "--data", asked.data, "--report", str(report)]
    return words + (["--partitioned"] if layout == "partitioned" else [])


def run(asked, call=subprocess.call):
    """Returns the runs that failed, by their names."""
    asked.out.mkdir(parents=True, exist_ok=True)
    found, failed = [], []
    for storage in asked.storage:
        for layout in asked.layouts:
            for form in asked.forms:
                name = f"{form}-{storage}-{layout}"
                report = asked.out.absolute() / f"{name}.json"
                if not report.exists():
                    print(f"== {name}", flush=True)
                    if call(command(asked, form, storage, layout, report)):
                        failed.append(name)
                if report.exists():
                    found.append(json.loads(report.read_text(encoding="utf-8")))
                    text = summary.text(found)
                    (asked.out / "summary.md").write_text(text, encoding="utf-8")
    return found, failed


def main():
    found, failed = run(parser().parse_args())
    if found:
        print(summary.text(found))
    for name in failed:
        print(f"{name} FAILED", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
