"""Tests of what is said of results: the bars and the report's first sentences."""

import unittest

import bars
from made_results import compared, result, small_matrix


def verdicts(*results):
    return [(row[1], row[-1]) for row in bars.judge(list(results))]


def one(scenario, base, other, *interval, **how):
    """The only verdict of a scenario in which two systems compare so."""
    made = result(scenario, (base, other), [compared(base, other, *interval, **how)])
    found = verdicts(made)
    assert len(found) == 1, found
    return found[0][1]


class Bars(unittest.TestCase):
    def test_every_factor_that_is_to_be_reached(self):
        for scenario, slow, fast, bar in (
            ("fit-large-only", "small-lru", "large", 8),
            ("fit-large-only", "small-lru", "small", 1.5),
            ("fit-none", "small-lru", "small", 1.66),
            ("fit-none", "large-lru", "large", 1.66),
        ):
            for low, high, verdict in ((bar, bar + 2, "holds"),
                                       (bar - 0.01, bar + 2, "not certain"),
                                       (bar - 0.5, bar, "not certain"),
                                       (bar - 0.5, bar - 0.01, "does not hold")):
                mean = (low + high) / 2
                self.assertEqual(one(scenario, slow, fast, mean, low, high), verdict, (scenario, low))
                # The same, measured the other way round.
                self.assertEqual(one(scenario, fast, slow, 1 / mean, 1 / high, 1 / low), verdict)

    def test_a_bar_says_what_was_measured(self):
        made = result("fit-none", comparisons=[compared("small", "small-lru", 0.5, 0.4, 0.8)])
        self.assertEqual(bars.judge([made]), [
            ["fit-none", "our policy over LRU in the small pool", "at least 1.66 x",
             "2.00 x (1.25 to 2.50)", "not certain"]])
        self.assertEqual({len(row) for row in bars.judge([made])}, {len(bars.HEADER)})

    def test_equal_is_no_difference_and_little_noise(self):
        for low, high, verdict in ((0.95, 1.05, "holds"), (0.91, 1, "holds"), (1, 1.1, "holds"),
                                   (1.01, 1.05, "does not hold"), (0.95, 0.99, "does not hold"),
                                   (0.95, 1.11, "not certain"), (0.9, 1.05, "not certain"),
                                   (0.1, 10, "not certain")):
            self.assertEqual(one("fit-both", "small", "large", 1, low, high), verdict, (low, high))
            self.assertEqual(one("fit-both", "large", "small", 1, 1 / high, 1 / low), verdict)

    def test_fewer_rounds_than_ten_carry_no_claim(self):
        for few in ({"other_runs": 9}, {"base_runs": 9}):
            for scenario, slow, fast, *interval in (
                ("fit-large-only", "small-lru", "large", 90, 80, 100),
                ("fit-large-only", "small-lru", "large", 2, 1, 3),
                ("fit-both", "small", "large", 1, 0.99, 1.01),
                ("fit-both", "large-pmem-model", "small", 1, 0.99, 1.01),
            ):
                self.assertEqual(one(scenario, slow, fast, *interval, **few), "too few rounds")
                self.assertEqual(one(scenario, fast, slow, *interval, **few), "too few rounds")

    def test_one_round_each_has_no_interval(self):
        nan = float("nan")
        made = result("fit-none", comparisons=[compared("small-lru", "small", 2, nan, nan, base_runs=1)])
        self.assertEqual(bars.judge([made])[0][-2:], ["2.00 x", "too few rounds"])

    def test_the_modelled_medium_is_a_model_and_at_most_so_far_behind(self):
        for low, high, verdict in ((1.1, 1.246, "holds"), (1.1, 1.25, "not certain"),
                                   (1.246, 1.3, "not certain"), (1.25, 1.3, "does not hold")):
            self.assertEqual(one("fit-both", "large-pmem-model", "small", 1.2, low, high), verdict)
        made = result("fit-both", comparisons=[compared("large-pmem-model", "small", 1.1, 1, 1.2)])
        self.assertTrue(verdicts(made)[0][0].startswith("MODEL: "))

    def test_what_was_not_measured_is_not_judged(self):
        self.assertEqual(verdicts(result("fit-large-only")), [])
        # Of another scenario, of systems without a bar, of single queries, of no scenario.
        lru = compared("small-lru", "small", 9, 9, 9)
        for made in (result("fit-both", comparisons=[lru]),
                     result("fit-none", comparisons=[compared("small", "large", 9, 9, 9)]),
                     result("fit-none", comparisons=[compared("small-lru", "small", 9, 9, 9, what="q52")]),
                     result(comparisons=[lru])):
            self.assertEqual(verdicts(made), [])
        self.assertIsNone(bars.ratio(result(comparisons=[lru]), "small-lru", "large"))

    def test_no_bar_is_judged_by_a_matrix(self):
        made = small_matrix()
        made["plan"].update(scenario="fit-none", tenants=2)
        made["comparisons"].append(compared("small-lru", "small", 9, 9, 9))
        self.assertEqual(bars.judge([made]), [])

    def test_bars_of_all_results_are_in_their_order(self):
        lru = compared("small-lru", "small", 9, 9, 9)
        found = bars.judge([result("fit-none", comparisons=[lru]), result("fit-large-only", comparisons=[lru])])
        self.assertEqual([row[0] for row in found], ["fit-none", "fit-large-only"])


class Tenants(unittest.TestCase):
    def made(self, last):
        """Ten rounds in which two tenants need the same, but in the last one."""
        found = result(systems=("oap",), tenants=2)
        worst = found["rounds"][-1]
        for q in worst["queries"]:
            if q["tenant"] == 1:
                q["seconds"] *= last
        return found

    def test_the_worst_round_of_a_system_decides(self):
        # Of 1 and 3 the mean is 2.
        for last, said, verdict in ((1, "1.00", "holds"), (3, "1.50", "holds"),
                                    (4, "1.60", "does not hold")):
            self.assertEqual(bars.judge([self.made(last)]), [
                ["run", "2 tenants, oap: slowest over mean", "at most 1.5 in any round", said, verdict]])

    def test_warm_up_and_rounds_that_failed_decide_nothing(self):
        warm_up, failed = self.made(4), self.made(4)
        warm_up["rounds"][-1]["number"] = 0
        failed["rounds"][-1]["queries"][0]["error"] = "lost"
        for made in (warm_up, failed):
            made["rounds"].append(made["rounds"][-2])
            self.assertEqual(bars.judge([made])[0][-2:], ["1.00", "holds"])

    def test_fewer_rounds_than_ten_hold_nothing_and_one_can_fail(self):
        for last, verdict in ((1, "too few rounds"), (4, "does not hold")):
            made = self.made(last)
            del made["rounds"][1]
            self.assertEqual(bars.judge([made])[0][-1], verdict)

    def test_one_tenant_or_queries_dealt_out_say_nothing_of_fairness(self):
        self.assertEqual(bars.judge([result(systems=("oap",))]), [])
        self.assertEqual(bars.judge([result(systems=("oap",), tenants=2, deal=True)]), [])
        self.assertEqual(bars.judge([{**self.made(1), "rounds": []}]), [])


class AtOnce(unittest.TestCase):
    def made(self, low, high, **many):
        found = result(systems=("row", "nine"), deal=True, comparisons=[compared("row", "nine", 1, low, high)])
        for system, tenants in zip(found["systems"], (1, 9)):
            system.update(tenants=tenants, settings={})
        found["systems"][1].update(many)
        return found

    def test_as_many_queries_in_the_same_time(self):
        for low, high, verdict in ((0.9, 1.2, "holds"), (0.89, 1.2, "not certain"), (0.5, 0.89, "does not hold")):
            self.assertEqual(bars.judge([self.made(low, high)]), [
                ["run", "queries of 9 tenants at once, nine, over the same in a row", "at least 0.9 x",
                 f"1.00 x ({low:.2f} to {high:.2f})", verdict]])

    def test_only_systems_that_differ_in_nothing_else(self):
        self.assertEqual(bars.judge([self.made(1, 1, kind="other")]), [])
        self.assertEqual(bars.judge([self.made(1, 1, tenants=1)]), [])
        made = self.made(1, 1)
        made["plan"]["deal"] = False
        self.assertEqual(bars.judge([made]), [])


class Summaries(unittest.TestCase):
    def test_all_is_well(self):
        said = bars.summary([result("fit-none")], [])
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
        said = bars.summary([made], [])
        self.assertIn("2 queries FAILED, 1 gave OTHER ROWS.", said)
        self.assertNotIn("All queries ran", said)

    def test_a_failed_scan_between_the_queries_counts(self):
        made = result()
        made["rounds"][-1]["sweeps"] = [{**made["rounds"][-1]["queries"][0], "error": "lost"}]
        self.assertIn("FAILED", bars.summary([made], []))

    def test_what_is_not_complete_is_said(self):
        for made in (result("fit-none"), {**result("fit-none"), "times": []}):
            made["times"] = [t for t in made["times"] if t["system"] != "large"]
            self.assertIn("fit-none is not complete.", bars.summary([made], []))
        made = result("fit-none")
        next(t for t in made["times"] if t["what"] == "round")["runs"] = 9
        self.assertIn("fit-none is not complete.", bars.summary([made], []))

    def test_too_few_rounds_are_said(self):
        said = bars.summary([result("fit-none", rounds=3, repeats=3)], [])
        self.assertIn("fit-none has 9 rounds of a system; ten are the least for a claim.", said)
        self.assertIn("memory matrix has 1 round of a system;", bars.summary([small_matrix()], []))

    def test_one_is_not_many(self):
        said = bars.summary([result(systems=("oap",), rounds=1, repeats=1)], [])
        self.assertIn("1 round of queries in 1 comparison.", said)

    def test_applications_that_say_less_than_their_rounds_seem_to(self):
        self.assertIn("run has systems with one application only", bars.summary([result(repeats=1)], []))
        made = result()
        for one in made["rounds"]:
            one["seconds"] *= one["repeat"] if one["system"] == "small" else 1
        self.assertIn("run has 1 system whose applications differ", bars.summary([made], []))

    def test_bars_that_hold_are_counted(self):
        judged = [["", "", "", "", verdict] for verdict in ("holds", "not certain", "does not hold")]
        self.assertIn("1 of 3 bars holds.", bars.summary([result()], judged))
        self.assertIn("0 of 1 bar hold.", bars.summary([result()], judged[1:2]))
        self.assertNotIn("bars", bars.summary([result()], []))

    def test_names(self):
        self.assertEqual([bars.called(made["plan"]) for made in (result(), result("fit-none"), small_matrix())],
                         ["run", "fit-none", "memory matrix"])


class ManyComparisons(unittest.TestCase):
    def test_what_chance_finds_is_said(self):
        nan = float("nan")
        found = [compared("a", "b", 1, 1, 1, p=p) for p in (0.001, 0.02, 0.0499, 0.05, 0.7, nan)]
        said = bars.by_chance(found)
        self.assertIn("5 comparisons, each tested at 5 %: if all were equal, 0.25 of them", said)
        self.assertIn("3 of them are called different, 1 with p below 0.01,", said)

    def test_one_comparison_is_what_it_says(self):
        self.assertEqual(bars.by_chance([compared("a", "b", 1, 1, 1, p=0.04)]), "")


if __name__ == "__main__":
    unittest.main()
