"""Tests of the report's first sentences and of what is said of many comparisons."""

import unittest

import summary
from made_results import compared, result, small_matrix


class Summaries(unittest.TestCase):
    def test_all_is_well(self):
        said = summary.summary([result("fit-none")])
        self.assertIn("20 rounds of queries", said)
        self.assertIn("All queries ran and gave the same rows in all systems.", said)
        self.assertNotIn("complete", said)
        self.assertNotIn("least for a claim", said)

    def test_failures_and_other_rows_are_counted_and_loud(self):
        made = result("fit-none")
        # A warm-up round counts here, too.
        made["rounds"][0]["queries"][0]["error"] = "lost"
        made["rounds"][1]["queries"][0]["error"] = "lost"
        made["rounds"][2]["queries"][1]["difference"] = "1 row instead of 2"
        said = summary.summary([made])
        self.assertIn("2 queries FAILED, 1 gave OTHER ROWS.", said)
        self.assertNotIn("All queries ran", said)

    def test_a_failed_scan_between_the_queries_counts(self):
        made = result()
        made["rounds"][-1]["sweeps"] = [{**made["rounds"][-1]["queries"][0], "error": "lost"}]
        self.assertIn("FAILED", summary.summary([made]))

    def test_what_is_not_complete_is_said(self):
        for made in (result("fit-none"), {**result("fit-none"), "times": []}):
            made["times"] = [t for t in made["times"] if t["system"] != "large"]
            self.assertIn("fit-none is not complete.", summary.summary([made]))
        made = result("fit-none")
        next(t for t in made["times"] if t["what"] == "round")["runs"] = 9
        self.assertIn("fit-none is not complete.", summary.summary([made]))

    def test_too_few_rounds_are_said(self):
        said = summary.summary([result("fit-none", rounds=3, repeats=3)])
        self.assertIn("fit-none has 9 rounds of a system; 10 are the least for a claim.", said)
        self.assertIn("memory matrix has 1 round of a system;", summary.summary([small_matrix()]))

    def test_one_is_not_many(self):
        said = summary.summary([result(systems=("oap",), rounds=1, repeats=1)])
        self.assertIn("1 round of queries in 1 comparison.", said)

    def test_applications_that_say_less_than_their_rounds_seem_to(self):
        self.assertIn("run has systems with one application only", summary.summary([result(repeats=1)]))
        made = result()
        for one in made["rounds"]:
            one["seconds"] *= one["repeat"] if one["system"] == "small" else 1
        self.assertIn("run has 1 system whose applications differ", summary.summary([made]))

    def test_bars_that_hold_are_counted(self):
        judged = [{"verdict": verdict} for verdict in ("holds", "not certain", "does not hold")]
        self.assertIn("1 of 3 bars holds.", summary.summary([{**result(), "bars": judged}]))
        two = [{**result(), "bars": judged[i:i + 1]} for i in (0, 2)]
        self.assertIn("1 of 2 bars holds.", summary.summary(two))
        self.assertIn("0 of 1 bar hold.", summary.summary(two[1:]))
        self.assertNotIn("bars", summary.summary([result()]))

    def test_names(self):
        self.assertEqual([summary.called(made["plan"]) for made in (result(), result("fit-none"), small_matrix())],
                         ["run", "fit-none", "memory matrix"])


class ManyComparisons(unittest.TestCase):
    def test_what_chance_finds_is_said(self):
        nan = float("nan")
        found = [compared("a", "b", 1, 1, 1, p=p) for p in (0.001, 0.02, 0.0499, 0.05, 0.7, nan)]
        said = summary.by_chance(found)
        self.assertIn("5 comparisons, each tested at 5 %: if all were equal, 0.25 of them", said)
        self.assertIn("3 of them are called different, 1 with p below 0.01,", said)

    def test_one_comparison_is_what_it_says(self):
        self.assertEqual(summary.by_chance([compared("a", "b", 1, 1, 1, p=0.04)]), "")


if __name__ == "__main__":
    unittest.main()
