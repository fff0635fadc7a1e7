"""Tests of the report's page and plots, which need matplotlib: dev/check gives it to them."""

import contextlib
import html.parser
import io
import json
import pathlib
import re
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom

import plots
import report
import summary as sentences
from made_results import compared, result, small_matrix


class Page(html.parser.HTMLParser):
    """What a page has: its text outside of figures, its tags and all that a browser would fetch."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.fetched, self.words, self.cells = [], [], "", {}
        self._class, self._figure = None, ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if not self._figure and tag in ("svg", "style"):
            self._figure = tag
        for key, value in attributes:
            if key.split(":")[-1] in ("src", "href", "srcset", "data", "poster", "action"):
                self._fetch(value)
            if key == "class" and tag == "td":
                self._class = value
            if key not in ("d", "id", "class") and not key.startswith("xmlns"):
                self._style(value or "")

    def handle_endtag(self, tag):
        if tag == self._figure:
            self._figure = ""

    def handle_data(self, data):
        if not self._figure:
            self.words += data
        if self._class is not None:
            self.cells.setdefault(self._class, []).append(data)
            self._class = None
        if self.tags[-1:] == ["style"]:
            self._style(data)

    def _style(self, text):
        for found in re.findall(r"url\(([^)]*)\)", text):
            self._fetch(found)
        if "@import" in text:
            self.fetched.append(text)

    def _fetch(self, address):
        if not address.startswith(("#", "data:")):
            self.fetched.append(address)


class Pages(unittest.TestCase):
    def written(self, *results):
        """The page and the summary of results, by way of files."""
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            for i, one in enumerate(results):
                (folder / f"{i}.json").write_text(json.dumps(one), encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                files = [folder / f"{i}.json" for i in range(len(results))]
                self.assertEqual(report.write(files, folder / "new" / "out"), 0)
            page, summary = said.getvalue().split()
            self.assertEqual(pathlib.Path(page), folder / "new" / "out" / "report.html")
            self.pictures = {file.name: file.read_text(encoding="utf-8")
                             for file in pathlib.Path(page).parent.glob("*.svg")}
            return (Page(pathlib.Path(page).read_text(encoding="utf-8")),
                    pathlib.Path(summary).read_text(encoding="utf-8"))

    def test_the_summary_shows_pictures_that_lie_beside_it(self):
        _, summary = self.written(result("fit-none"), result("fit-none"), small_matrix())
        shown = re.findall(r"^!\[.+\]\((.+)\)$", summary, re.MULTILINE)
        self.assertEqual(sorted(shown), sorted(self.pictures))
        self.assertIn("memory-matrix-cells.svg", shown)
        # Two of one name do not write over each other.
        self.assertLessEqual({"fit-none-rounds.svg", "fit-none-2-rounds.svg"}, set(shown))
        for name, svg in self.pictures.items():
            xml.dom.minidom.parseString(svg)
            self.assertNotRegex(svg, r"\.\d{3}", name)

    def test_a_page_needs_nothing_else(self):
        page, _ = self.written(result("fit-none"), small_matrix())
        self.assertEqual(page.fetched, [])
        self.assertEqual(set(page.tags) & {"script", "link", "iframe", "object", "embed", "img", "base"}, set())
        self.assertIn("svg", page.tags)

    def test_this_test_sees_what_a_page_would_fetch(self):
        for text in ('<script src="a.js"></script>', '<link href="http://h/a.css">', '<img src="a.png">',
                     '<style>p { background: url(http://h) }</style>', '<style>@import "a";</style>',
                     '<p style="background: url(a.png)">'):
            self.assertEqual(len(Page(text).fetched), 1, text)

    def test_page_and_summary_say_what_was_measured_and_how(self):
        lru = compared("small-lru", "small", 2, 1.8, 2.2, verdict="twice as fast")
        model = compared("small-lru", "large-lru", 1, 0.9, 1.1, what="q52", verdict="of one query")
        made = result("fit-none", ("small-lru", "small"), [lru, model])
        made["bars"] = [{"scenario": "fit-none", "what": "a policy", "bar": "at least 1.66 x",
                         "measured": "2.00 x (1.80 to 2.20)", "verdict": "holds"}]
        page, summary = self.written(made)
        for text in (page.words, summary):
            for said in ("fit-none: scale 10, hdd storage", sentences.summary([made]),
                         "2.00 x (1.80 to 2.20)", "twice as fast", made["commands"][0], "slowed to 4 MB/s",
                         "5 rounds to measure; each system has 2 applications", "Linux x"):
                self.assertIn(said, text)
        self.assertIn("of one query", page.words)
        for said in ("kernel", "Linux x", "spark", "4.1.x", "2026-01-01T00:00:00Z", "spark.oap.pool.size", "64m"):
            self.assertIn(said, page.words)
        for line in ("- kernel: Linux x", "- spark: 4.1.x", "- layout: codec snappy",
                     "- time: 2026-01-01T00:00:00Z", "- spark.oap.pool.size: 64m"):
            self.assertIn(line, summary.splitlines())
        self.assertEqual(page.cells["yes"], ["holds"])
        self.assertNotIn("no", page.cells)

    def test_a_system_has_the_default_of_what_it_does_not_say(self):
        made = result("fit-none")
        made["circumstances"]["configuration"]["spark.oap.pool.policy"] = "s3fifo"
        made["systems"][1]["settings"]["spark.oap.pool.policy"] = "lru"
        made["systems"][1]["settings"]["spark.oap.cache.representation"] = "encoded"
        self.assertEqual("0 MB, s3fifo", report._row(made, made["systems"][0])[1])
        self.assertEqual("0 MB, lru, encoded", report._row(made, made["systems"][1])[1])

    def test_it_is_said_by_how_many_tenants(self):
        self.assertIn("TPC-DS queries one after the other. They need", report.how(result()))
        self.assertIn("by 3 tenants at once, each of whom runs them all.", report.how(result(tenants=3)))
        dealt = result(deal=True)
        dealt["systems"][1]["tenants"] = 9
        self.assertIn("one after the other or by 9 tenants at once, to whom they are dealt out.",
                      report.how(dealt))

    def test_systems_of_the_quickstart_take_turns(self):
        said = report.how(result(state="in turn", storage="local"))
        self.assertIn("take turns in one application, query by query", said)
        self.assertNotIn("random order", said)
        made = result(state="in turn")
        self.assertEqual(report._row(made, made["systems"][0])[-2], "")

    def test_results_of_dev_tpcds_run_and_of_a_matrix(self):
        page, summary = self.written(result(systems=("spark", "oap")), small_matrix())
        for text in (page.words, summary):
            self.assertIn("Systems compared: scale 10", text)
            self.assertIn("memory matrix: scale 10", text)
            self.assertIn("verdict of 0.5 and 2.0", text)
            self.assertIn("Fairness among tenants", text)
            self.assertNotIn("What was to be reached", text)

    def test_claims_of_many_queries_come_with_what_chance_does(self):
        found = [compared("small", "large", 1, 0.9, 1.1, what=what) for what in ("q19", "q52")]
        made = result(comparisons=found)
        self.assertIn("2 comparisons, each tested at 5 %", self.written(made)[0].words)
        # The summary lists none of them.
        self.assertNotIn("comparisons, each", self.written(made)[1])
        for text in (self.written(small_matrix())[0].words, self.written(small_matrix())[1]):
            self.assertIn("4 comparisons, each tested at 5 %", text)

    def test_applications_are_shown_beside_each_other(self):
        page, summary = self.written(result("fit-none"))
        for text in (page.words, summary):
            self.assertIn("2.00 s, 2.00 s", text)
            self.assertIn("by permutation", text)
        self.assertNotIn("Applications", self.written(result(rounds=1))[1])

    def test_failures_are_on_top(self):
        made = result()
        made["rounds"][-1]["queries"][0]["error"] = "lost"
        made["rounds"][-2]["queries"][0]["difference"] = "another row"
        page, summary = self.written(made)
        for text in (page.words, summary):
            self.assertIn("1 query FAILED, 1 gave OTHER ROWS", text)

    def test_a_result_that_has_only_begun(self):
        made = {**result("fit-none"), "rounds": [], "times": []}
        page, summary = self.written(made)
        self.assertNotIn("svg", page.tags)
        self.assertIn("fit-none is not complete", page.words)
        self.assertIn("fit-none is not complete", summary)
        self.assertIn("| small | 0 MB | 0 |  |  |  |  |", summary)

    def test_one_round_has_no_interval(self):
        made = result(systems=("a", "b"), rounds=1, repeats=1)
        nan = compared("a", "b", 1.0, "NaN", "NaN", base_runs=1, other_runs=1, p="NaN")
        for time in made["times"]:
            time.update(low="NaN", high="NaN")
        page, summary = self.written({**made, "comparisons": [nan]})
        self.assertIn("2.00 s", page.words)
        self.assertIn("| 2.00 s | 2.00 s |", summary)
        self.assertNotRegex(page.words + summary, r"(?i)\bnan\b")

    def test_what_is_no_result_is_named(self):
        with tempfile.TemporaryDirectory() as made:
            file = pathlib.Path(made) / "a.json"
            for text in ("", "[]", '{"plan": {}}'):
                file.write_text(text, encoding="utf-8")
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    self.assertEqual(report.write([file], pathlib.Path(made) / "out"), 1)
                self.assertIn(f"{file} is no result of dev/tpcds", said.getvalue())
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(report.write([file.parent / "b.json"], file.parent / "out"), 1)
            self.assertIn("b.json", said.getvalue())
            self.assertFalse((file.parent / "out").exists())

    def test_tables_have_a_cell_for_each_heading(self):
        made = result(comparisons=[compared("small", "large", 1, 1, 1),
                                   compared("small", "large", 1, 1, 1, what="q52")])
        for one in made["rounds"]:
            one["sweeps"] = [{**one["queries"][0], "query": "sweep"}]
        found = {heading: (header, rows) for heading, header, rows in report.tables(made)}
        self.assertLessEqual({"Rounds", "What is significant", "By query", "Sweeps", "Applications"},
                             set(found))
        for heading, (header, rows) in found.items():
            self.assertEqual({len(row) for row in rows}, {len(header)}, heading)
        self.assertEqual(found["Sweeps"][1][0], ["small", "10", "1.00 s", "75.0 %", "75.0 %"])
        self.assertEqual(found["Rounds"][1][0], [
            "small", "0 MB", "10", "2.00 s", "2.00 s (1.00 to 4.00)", "75.0 %", "4 MB",
            "1.00 of mean"])

    def test_of_an_even_number_of_rounds_the_median_lies_between_two(self):
        made = result(systems=("small",))
        for one in made["rounds"]:
            for q in one["queries"] if one["repeat"] == 1 else []:
                q["scan"]["bytesFromFile"] = 3
        (_, _, rows), *_ = report.tables(made)
        self.assertEqual(rows[0][5], "62.5 %")


class Plots(unittest.TestCase):
    def drawn(self, svg):
        self.assertTrue(svg.startswith("<svg") and svg.rstrip().endswith("</svg>"), svg[:80])
        self.assertIn('role="img" aria-label=', svg)

    def test_all_where_there_is_all(self):
        made = result("fit-none")
        for draw in (plots.rounds, plots.queries, plots.hits, plots.bandwidth):
            self.drawn(draw(made))
        self.drawn(plots.cells(small_matrix()))
        self.drawn(plots.scaling([made, {**made, "neededBytes": 400}]))

    def test_no_bytes_no_share_of_them(self):
        made = result(systems=("spark",))
        for one in made["rounds"]:
            for q in one["queries"]:
                q["scan"] = {}
        self.assertIsNone(plots.hits(made))

    def test_no_samples_no_bandwidth(self):
        made = result()
        for one in made["rounds"]:
            one["samples"] = one["samples"] if one["number"] == 0 else []
        self.assertIsNone(plots.bandwidth(made))

    def test_one_size_of_the_pool_is_no_scaling(self):
        made = result("fit-none")
        self.assertIsNone(plots.scaling([made]))
        self.assertIsNone(plots.scaling([]))
        self.assertIsNone(plots.scaling([made, made]))
        self.assertIsNone(plots.scaling([{**made, "neededBytes": 0}, {**made, "neededBytes": 0}]))

    def lines(self, *results):
        """Name and points of each line of the scaling plot."""
        found = []

        def drawn(_, x, y, **how):
            found.append((how["label"], x, y))

        axes = plots.plt.Axes
        with unittest.mock.patch.object(axes, "errorbar", drawn), unittest.mock.patch.object(axes, "legend"):
            self.assertIsNotNone(plots.scaling(list(results)))
        return found

    def test_scaling_joins_what_was_measured_alike(self):
        made = result("fit-none")
        self.assertEqual(self.lines(made, {**made, "neededBytes": 400}),
                         [("large", [0.5, 1], [2, 2]), ("small", [0.25, 0.5], [2, 2])])

    def test_scaling_joins_nothing_else(self):
        for change, words in (({"scale": 1.0}, "scale 1"), ({"storage": "s3"}, "s3 storage"),
                              ({"tenants": 9}, "9 tenants"), ({"queries": ["q52"]}, "queries q52"),
                              ({"partitioned": True}, "codec snappy, partitioned"),
                              ({"state": "cold"}, "cold")):
            both = [result("fit-none"), result("fit-none", **change)]
            self.assertIsNone(plots.scaling([both[0], {**both[1], "neededBytes": 400}]))
            more = [{**one, "neededBytes": 400} for one in both]
            found = self.lines(*both, *more)
            self.assertEqual(len(found), 4, words)
            self.assertEqual({tuple(x) for _, x, _ in found}, {(0.5, 1), (0.25, 0.5)}, words)
            self.assertIn(f"small, {words}", [label for label, _, _ in found])

    def test_rates_are_of_the_time_between_samples(self):
        samples = [{"second": second, "fromFile": mega * 1e6} for second, mega in ((1, 2), (1.01, 2.5), (3, 8))]
        self.assertEqual(plots._rates(samples, "fromFile"), ([0, 1, 3], [2, 3, 3]))

    def test_whiskers_end_where_the_interval_does(self):
        nan = float("nan")
        times = [{"mean": 2, "low": 1.5, "high": 3}, {"mean": 2, "low": nan, "high": nan}]
        self.assertEqual(plots._errors(times), [[0.5, 0], [1, 0]])


if __name__ == "__main__":
    unittest.main()
