"""Tests of the parts of dev/lake-bench that need no Spark."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import main
import forms
import summary


def report(form, storage="local", partitioned=False, *, warm=1.0, read=0, difference=""):
    def record(system, number, seconds, file_bytes=7):
        return {"system": system, "number": number, "queries": [
            {"query": q, "seconds": factor * seconds, "fileBytes": file_bytes, "difference": difference}
            for q, factor in (("q19", 1), ("q52", 2))]}

    rounds = [record(summary.ALONE, 0, 1000)]
    for number, factor in ((1, 1), (2, 1), (3, 50)):
        rounds += [record(summary.ALONE, number, 4.0 * factor), record(summary.COLD, number, 5.0 * factor),
                   record(summary.WARM, number, warm * factor, read)]
    return {
        "plan": {"form": form, "storage": storage, "partitioned": partitioned, "scale": 1.0, "rounds": 3,
                 "queries": ["q19", "q52"]},
        "circumstances": {"time": "2026-01-01T00:00:00Z", "machine": {"processors": 2, "processor": "p"},
                          "versions": {"spark": "4.1.1"}},
        "rounds": rounds}


class Summary(unittest.TestCase):
    def test_a_line_has_sums_of_medians_and_ratios(self):
        lines = summary.text([report("orc", warm=2.0)]).splitlines()
        self.assertIn("| orc | 12.00 s | 15.00 s | 6.00 s | 0.80 x | 2.00 x | 2.00 x (q19) | 0 bytes | the same |",
                      lines)
        self.assertIn("| q52 | 2.00 x |", lines)

    def test_what_is_wrong_is_seen(self):
        self.assertIn("| 5 bytes | the same |", summary.text([report("orc", read=5)]))
        self.assertIn("| 0 bytes | DIFFER |", summary.text([report("orc", difference="1 row")]))

    def test_each_storage_and_layout_has_a_section(self):
        said = summary.text([report("orc"), report("delta"), report("orc", "s3", True)])
        self.assertEqual([line for line in said.splitlines() if line.startswith("## ")], [
            "## local storage, not partitioned", "## s3 storage, partitioned by date"])
        self.assertIn("| query | orc | delta |", said)


class Runs(unittest.TestCase):
    def test_what_is_there_is_not_run_again(self):
        with tempfile.TemporaryDirectory() as folder:
            asked = main.parser().parse_args(
                ["--forms", "orc,delta", "--storage", "s3", "--layouts", "partitioned", "--out", folder])
            Path(folder, "orc-s3-partitioned.json").write_text(json.dumps(report("orc")), encoding="utf-8")
            ran = []

            def call(words):
                ran.append(words)
                return 1

            with contextlib.redirect_stdout(io.StringIO()):
                found, failed = main.run(asked, call)
            self.assertEqual(failed, ["delta-s3-partitioned"])
            self.assertEqual([r["plan"]["form"] for r in found], ["orc"])
            self.assertEqual(len(ran), 1)
            self.assertEqual(ran[0][1:5], ["--form", "delta", "--storage", "s3"])
            self.assertEqual(ran[0][-1], "--partitioned")
            self.assertTrue(Path(folder, "summary.md").exists())

    def test_mistakes_are_named(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            main.parser().parse_args(["--forms", "orc,avro"])
        self.assertIn("'avro' is no form", said.getvalue())


class Forms(unittest.TestCase):
    def test_forms_are_those_of_the_jobs(self):
        text = (main.ROOT / "tpcds/src/main/java/io/oap/tpcds/Options.java").read_text(encoding="utf-8")
        listed = text.partition("List<String> FORMS =")[2].partition(";")[0]
        self.assertEqual(listed.count('"') // 2, len(forms.FORMS))
        for form in forms.FORMS:
            self.assertIn(f'"{form}"', listed)

    def test_libraries(self):
        self.assertEqual([forms.library(f) for f in ("parquet", "orc", "iceberg-deletes", "delta")],
                         ["", "", "iceberg", "delta"])
        self.assertEqual(forms.jars("orc"), [])
        self.assertRegex(forms.version("iceberg"), r"^1\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
