"""The scale test: generates TPC-DS data, measures systems on it and reports what came out."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev" / "lib"))

import jobs
import options


def parser():
    made = argparse.ArgumentParser(
        prog="dev/tpcds", description=__doc__, allow_abbrev=False,
        epilog="Each command lists its options with --help.")  # fmt: skip
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, words in (
        ("generate", "make the data: those tables that are not there yet"),
        ("run", "run queries on several systems, round after round, and compare their times"),
        ("pairs", "run queries on systems that take turns in one application, and print ratios and bars"),
        ("scenario", "the published comparison: two pools, sized by what the queries need"),
        ("matrix", "systems under pressure: in all combinations of memory, load and tenants"),
        ("report", "one HTML page and a summary in Markdown with pictures, from the results of the others"),
    ):
        command = commands.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + ".", allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        if name == "report":
            add = command.add_argument
            add("results", nargs="+", metavar="RESULT", help="results, as --out of the others named them")
            add("--out", metavar="FOLDER", default="report",
                help="where report.html, report.md and its pictures go (default report)")  # fmt: skip
        else:
            options.add_options(command, name)
    return made


def main():
    words = sys.argv[1:]
    if words[:1] != ["--needs"]:
        asked = parser().parse_args(words)
        if asked.command == "report":
            import report

            sys.exit(report.write(asked.results, pathlib.Path(asked.out)))
        sys.exit(jobs.submit(asked, words, ROOT))
    if "--help" in words or "-h" in words:
        # The script that asks wants one word; it asks for the text itself.
        print("help")
        return
    asked = parser().parse_args(words[1:])
    if asked.command == "report":
        print("plots")
    else:
        # A mistake is said before anything is built.
        jobs.request(asked, words[1:], ROOT)
        print("build")


if __name__ == "__main__":
    main()
