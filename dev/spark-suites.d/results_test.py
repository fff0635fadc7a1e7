"""What results.py makes of the lines of a run, and what it calls a difference."""

import tempfile
import textwrap
import unittest
from pathlib import Path

import main
import plans
import results

LINES = """suite\torg.apache.spark.sql.OneSuite
cache\t0\t0\t0\t0
start\ta
passed\ta\t10\t
cache\t5\t2\t1\t100
start\tb\\twith a tab
failed\tb\\twith a tab\t20\tNot\\nequal \\\\n
cache\t1\t1\t0\t50
end\torg.apache.spark.sql.OneSuite\t1500
suite\torg.apache.spark.sql.TwoSuite
start\tc
passed\tc\t1\t
start\td
passed\tcut o"""


class ReadTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        (self.folder / "lines.txt").write_text(LINES)
        self.one, self.two = results.read(self.folder / "lines.txt")

    def test_outcomes(self):
        self.assertTrue(self.one.ended)
        self.assertEqual(1.5, self.one.seconds)
        self.assertEqual("passed", self.one.tests["a"].kind)
        self.assertEqual(results.Outcome("failed", "Not\nequal \\n"), self.one.tests["b\twith a tab"])

    def test_counters_that_fell_began_anew(self):
        counted = (self.one.hits, self.one.misses, self.one.bypasses, self.one.pool_bytes)
        self.assertEqual((6, 3, 1, 150), counted)

    def test_a_died_jvm_blames_the_test_that_ran(self):
        self.assertFalse(self.two.ended)
        self.two.abort("the JVM ended")
        self.assertEqual(results.Outcome("aborted", "the JVM ended"), self.two.tests["d"])
        self.assertEqual("passed", self.two.tests["c"].kind)

    def test_kept_results_are_read_back(self):
        results.keep(self.one, self.folder / "kept")
        self.assertEqual(self.one.tests, results.kept("OneSuite", self.folder / "kept").tests)
        self.assertIsNone(results.kept("TwoSuite", self.folder / "kept"))


class DifferencesTest(unittest.TestCase):
    def differing(self, without, with_oap):
        sides = []
        for kinds in (without, with_oap):
            tests = {test: results.Outcome(kind) for test, kind in kinds.items()}
            sides.append(results.SuiteResult("S", tests))
        return set(results.differences(*sides))

    def test_only_what_passed_can_differ(self):
        self.assertEqual({"a"}, self.differing({"a": "passed"}, {"a": "failed"}))
        self.assertEqual({"a"}, self.differing({"a": "passed"}, {"a": "canceled"}))
        self.assertEqual(set(), self.differing({"a": "failed"}, {"a": "failed"}))
        self.assertEqual(set(), self.differing({"a": "failed"}, {"a": "passed"}))

    def test_what_did_not_run_differs(self):
        aborted = {results.WHOLE_SUITE: "aborted"}
        self.assertEqual({"a", results.WHOLE_SUITE}, self.differing({"a": "passed"}, aborted))
        self.assertEqual(set(), self.differing(aborted, aborted))

    def test_a_new_failure_differs(self):
        self.assertEqual({"b"}, self.differing({}, {"b": "failed"}))


class UnexplainedTest(unittest.TestCase):
    def unexplained(self, kinds, ended=True):
        tests = {test: results.Outcome(kind, "why") for test, kind in kinds.items()}
        comparison = main.Comparison(["S"])
        comparison.sides["with"]["S"] = results.SuiteResult("S", tests, ended=ended)
        self.differing = {test for _, test in comparison.differences()}
        return comparison.unexplained({("S", "known"): "reason"})

    def test_only_expected_failures_need_no_run_of_spark_alone(self):
        self.assertEqual([], self.unexplained({"a": "passed", "b": "ignored", "known": "failed"}))
        self.assertEqual({"known"}, self.differing)

    def test_whatever_else_does(self):
        for kind in ("failed", "canceled", "aborted"):
            self.assertEqual(["S"], self.unexplained({"a": "passed", "b": kind}))
        self.assertEqual(["S"], self.unexplained({"a": "passed"}, ended=False))
        self.assertEqual(["S"], self.unexplained({}))


def plan_failure(approved, actual):
    return (
        "org.scalatest.exceptions.TestFailedException: \nPlans did not match:\n"
        f"last approved simplified plan: a\nlast approved explain plan: b\n\n{approved}\n\n"
        f"actual simplified plan: c\nactual explain plan: d\n\n{actual}\n"
    )


APPROVED = """Union
  Exchange [a] #1
    WholeStageCodegen (1)
      Project [a]
        Filter [a]
          ColumnarToRow
            InputAdapter
              Scan parquet spark_catalog.default.t [a,p]
                SubqueryBroadcast [p] #1
                  BroadcastExchange #2
                    Scan parquet spark_catalog.default.d [p]
  ReusedExchange [a] #1
"""
SAME = """Union
  Exchange [a] #4
    Filter [a,p]
      BatchScan spark_catalog.default.t [a]
        SubqueryBroadcast [p] #1
          BroadcastExchange #3
            BatchScan spark_catalog.default.d [p]
  ReusedExchange [a] #4
"""
NOT_REUSED = SAME.replace(
    "  ReusedExchange [a] #4",
    "  Exchange [a] #5\n    Filter [a]\n      BatchScan spark_catalog.default.t [a]",
)


class PlansTest(unittest.TestCase):
    def same(self, actual):
        return plans.same_but_for_scan(plan_failure(APPROVED, actual))

    def test_a_plan_that_differs_in_the_scan_is_the_same(self):
        self.assertTrue(self.same(SAME))

    def test_lost_reuse_is_worse(self):
        self.assertFalse(self.same(NOT_REUSED))

    def test_a_subquery_of_scan_and_filter_is_computed_once(self):
        subquery = "Subquery #1\n  Exchange [p] #{}\n    BatchScan spark_catalog.default.d [p]\n"
        plan = "Filter [a]\n{}  BatchScan spark_catalog.default.t [a]\n{}"

        def written(at_filter, at_scan):
            return plan.format(textwrap.indent(at_filter, "  "), textwrap.indent(at_scan, "    "))

        approved = written("ReusedSubquery [p] #1\n", subquery.format(3))
        approved = approved.replace("BatchScan", "Scan parquet")
        for number, same in ((3, True), (4, False)):
            actual = written(subquery.format(number), subquery.format(3))
            self.assertEqual(same, plans.same_but_for_scan(plan_failure(approved, actual)))

    def test_another_operator_column_or_table_is_worse(self):
        columns = (("t [a]", "t [a,b]"), ("Filter [a,p]", "Filter [p]"))
        for old, new in (("Union", "Expand"), (".t ", ".u "), *columns):
            self.assertFalse(self.same(SAME.replace(old, new)), new)

    def test_other_failures_are_no_plans(self):
        self.assertFalse(plans.same_but_for_scan("1 did not equal 2"))


class ExpectedTest(unittest.TestCase):
    def expected(self, text, representation):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "expected.txt"
            path.write_text(text)
            return results.read_expected(path, representation)

    def test_a_reason_may_hold_in_some_representations_only(self):
        text = "[counts [rows]]\nA: a\n\n[reads twice] vector auto\nA: b: c\n"
        both = {("A", "a"): "counts [rows]", ("A", "b: c"): "reads twice"}
        for representation in ("vector", "auto"):
            self.assertEqual(both, self.expected(text, representation))
        self.assertEqual({("A", "a"): "counts [rows]"}, self.expected(text, "encoded"))

    def test_what_is_no_line_of_the_file_is_an_error(self):
        for text in ("A: a", "[why]\nA", "[why] vektor\nA: a"):
            with self.assertRaises(ValueError):
                self.expected(text, "vector")


class CheckedInTest(unittest.TestCase):
    def test_expected_differences_name_suites_that_run(self):
        here = Path(__file__).parent
        groups, fast = results.read_suites(here / "suites.txt")
        names = [name for group in groups.values() for name in group]
        self.assertEqual(len(names), len(set(names)))
        for kept_as in results.REPRESENTATIONS:
            expected = results.read_expected(here / "expected-differences.txt", kept_as)
            self.assertEqual(set(), {suite for suite, _ in expected} - set(names))
        self.assertTrue(fast)


if __name__ == "__main__":
    unittest.main()
