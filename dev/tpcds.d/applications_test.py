"""Tests of what tells differences between applications from noise of their rounds."""

import math
import random
import unittest

import applications
from made_results import record, result


def measured(*seconds, system="s"):
    """A result of one system with these seconds in its applications."""
    made = result(systems=(system,))
    made["rounds"] = [record(system, repeat, number, second)
                      for repeat, group in enumerate(seconds, 1)
                      for number, second in enumerate((9.0, *group))]
    return made


class Chance(unittest.TestCase):
    SEED = 20261121

    def noisy(self, chance, *means):
        """Five rounds around each mean, with noise of 5 %."""
        return [[mean * math.exp(chance.gauss(0, 0.05)) for _ in range(5)] for mean in means]

    def test_equal_applications_are_called_equal_as_often_as_they_should(self):
        chance, draws = random.Random(self.SEED), 400
        for means in ((1, 1), (7, 7, 7)):
            wrong = sum(applications.p_value(self.noisy(chance, *means), 199) < applications.LEVEL
                        for _ in range(draws))
            # Five standard deviations of the number of errors that 5 % gives.
            most = draws * 0.05 + 5 * math.sqrt(draws * 0.05 * 0.95)
            self.assertLessEqual(wrong, most, f"{means}, seed {self.SEED}")
            self.assertGreater(wrong, 0, f"{means}, seed {self.SEED}")

    def test_an_injected_difference_is_found(self):
        chance = random.Random(self.SEED)
        for means in ((1, 1.25), (1.25, 1), (1, 1, 1.25)):
            found = sum(applications.p_value(self.noisy(chance, *means), 199) < applications.LEVEL
                        for _ in range(50))
            self.assertGreater(found, 45, f"{means}, seed {self.SEED}")

    def test_p_is_the_share_of_orders_that_part_the_times_as_far(self):
        # Of the 252 ways to part ten times into two fives, two part them so.
        apart = [[1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.1, 2.2, 2.3, 2.4]]
        self.assertAlmostEqual(applications.p_value(apart, 20000), 2 / 252, delta=0.004)
        # Times a factor are the same: it is the logarithms that count.
        longer = [[50 * second for second in group] for group in apart]
        self.assertEqual(applications.p_value(longer), applications.p_value(apart))

    def test_applications_of_unequal_length(self):
        # The one of one round is the farthest off in a tenth of all orders.
        self.assertAlmostEqual(applications.p_value([[3.0], [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07,
                                                             1.08]], 20000), 0.1, delta=0.015)

    def test_times_that_are_all_the_same(self):
        self.assertEqual(applications.p_value([[2.0, 2.0], [2.0, 2.0]]), 1)

    def test_what_cannot_be_told(self):
        for groups in ([], [[1.0, 2.0]], [[1.0], [2.0], [3.0]]):
            self.assertIsNone(applications.p_value(groups))


class Rows(unittest.TestCase):
    FIRST, SECOND = (1.0, 1.1, 1.0, 1.1, 1.0), (4.0, 4.4, 4.0, 4.4, 4.0)

    def test_means_of_each_application_without_warm_up(self):
        row, = applications.rows(measured(self.FIRST, self.SECOND))
        self.assertEqual(row[:4], ["s", "5, 5", "1.04 s, 4.16 s", "4.00 x"])
        self.assertRegex(row[4], r"^they DIFFER MORE \(p = 0\.0\d+\)$")
        self.assertEqual(len(row), len(applications.HEADER))
        row, = applications.rows(measured(self.FIRST, self.FIRST))
        self.assertEqual(row[4], "no significant difference (p = 1)")

    def test_rounds_that_failed_do_not_count(self):
        made = measured(self.FIRST, self.SECOND)
        made["rounds"][-1]["counts"] = False
        self.assertEqual(applications.rows(made)[0][1], "5, 4")

    def test_a_repeat_that_was_continued_had_two_applications(self):
        made = measured(self.FIRST)
        for one in made["rounds"][-3:]:
            one["process"] = "another"
        self.assertEqual(applications.seconds(made, {"name": "s"}), [[1.0, 1.1], [1.0, 1.1, 1.0]])

    def test_an_application_for_each_round_needs_no_row(self):
        made = measured([1.0], [2.0], [3.0])
        self.assertEqual((applications.rows(made), applications.said(made)), ([], ""))

    def test_what_is_said_of_the_result(self):
        self.assertEqual(applications.said(measured(self.FIRST, self.FIRST)), "")
        differ = applications.said(measured(self.FIRST, self.SECOND))
        self.assertIn("1 system whose applications differ", differ)
        self.assertIn("one application only", applications.said(measured(self.FIRST)))
        self.assertEqual(applications.said({**measured(self.FIRST), "rounds": []}), "")


if __name__ == "__main__":
    unittest.main()
