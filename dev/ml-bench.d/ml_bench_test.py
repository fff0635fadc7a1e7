"""Tests of the parts of dev/ml-bench that need no Spark: options, what the page cache forgets, the report."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import main  # puts dev/lib on the path
import report


def run(system, cost=10.0, parameters=(1.0, 2.0), seconds=(2.0, 1.0, 4.0), round_=0, size=1.0):
    held = {"heap": 100e6, "disk": 0, "pool": 5e6, "most": 200e6}
    return {"algorithm": "kmeans", "size": size, "system": system, "round": round_, "rows": 7, "cost": cost,
            "parameters": list(parameters), "iterations": list(seconds), "fit": 9.0, "cpu": 8.0, "gc": 0.5, "read_disk": 3e6,
            "read_blocks": 8e6, "spilled": 0, "cached": held, "after": {**held, "disk": 70e6}}


class Options(unittest.TestCase):
    def test_lists_ofWhatIsKnown_areTaken(self):
        asked = main.parser().parse_args(["--sizes", "0.5,2", "--systems", "pool,disk"])
        self.assertEqual((asked.sizes, asked.systems), ([0.5, 2.0], ["pool", "disk"]))
        self.assertEqual(main.share(asked), (1024 - 300) * 2**20 * 0.6)

    def test_lists_ofAnythingElse_areRefused(self):
        for words in (["--sizes", "0"], ["--sizes", "1,x"], ["--sizes", "nan"], ["--systems", "pools"],
                      ["--algorithms", "k"], ["--heap", "100"]):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                main.parser().parse_args(words)
            self.assertIn(words[1], said.getvalue())


class Pages(unittest.TestCase):
    def test_folders_thatAreGone_stopNothing(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "part").write_bytes(b"bytes")
            main.ForgottenPages([pathlib.Path(folder, "missing"), pathlib.Path(folder)]).forget()


class Report(unittest.TestCase):
    def test_times_areMediansOfRuns_andRatiosOfThem(self):
        text, agree = report.of([run("memory"), run("disk", seconds=[6, 6]), run("pool", seconds=[1, 1]),
                                 run("pool", seconds=[3, 3], round_=1)])
        self.assertTrue(agree)
        self.assertIn("| 1x | disk | 6.000 (6.000 to 6.000) | 0.33 | 1.00 | 9.0 | 8.0 | 0.50 | 100 | 70 | 5 | 8 | 3 | 0 |",
                      text)
        self.assertIn("| 1x | pool | 2.000 (1.000 to 3.000) | 1.00 | 3.00 |", text)

    def test_models_thatDiffer_areTold(self):
        for other in (run("pool", cost=10.01), run("pool", parameters=(1.0, 2.001)), run("pool", parameters=(1.0,)),
                      run("pool", cost=float("nan"))):
            text, agree = report.of([run("memory"), other])
            self.assertFalse(agree)
            self.assertIn("pool round 1 learned another model than memory", text)

    def test_models_thatDifferByRounding_agree(self):
        self.assertTrue(report.of([run("memory"), run("pool", cost=10.000001)])[1])

    def test_models_ofOtherSizes_areNotCompared(self):
        self.assertTrue(report.of([run("memory"), run("memory", cost=20.0, size=2.0)])[1])


if __name__ == "__main__":
    unittest.main()
