"""The judge of dev/random-queries on small files: what it finds the same and what not."""

import datetime
import decimal
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet

JUDGE = Path(__file__).with_name("judge.py")
FIELDS = [
    {"name": "id", "type": "integer"},
    {"name": "price", "type": "decimal(4,2)"},
    {"name": "word", "type": "string"},
    {"name": "day", "type": "date"},
    {"name": "time", "type": "timestamp"},
    {"name": "share", "type": "double"},
    {"name": "pair", "type": {"type": "struct", "fields": [{"name": "a", "type": "binary"}]}},
    {"name": "late", "type": "string"},
]
ROWS = [
    '[1,-1.20,"a",-1,1000000,d8000000000000000,[0x00ff],"new"]',
    "[2,null,u0xc3a4,null,null,d7ff8000000000000,null,\"new\"]",
]


class JudgeTest(unittest.TestCase):
    def judged(self, rows):
        """Status and words of the judge, of a file that has ROWS without their last column."""
        with tempfile.TemporaryDirectory() as folder:
            table, dumps = Path(folder, "table"), Path(folder, "dumps")
            table.mkdir()
            dumps.mkdir()
            columns = {
                "id": pyarrow.array([1, 2], pyarrow.int32()),
                "price": pyarrow.array([decimal.Decimal("-1.20"), None], pyarrow.decimal128(4, 2)),
                "word": ["a", "ä"],
                "day": [datetime.date(1969, 12, 31), None],
                "time": pyarrow.array([1000000, None], pyarrow.timestamp("us", "UTC")),
                "share": [-0.0, float("nan")],
                "pair": [{"a": b"\x00\xff"}, None],
            }
            parquet.write_table(pyarrow.table(columns), table / "part-0.parquet")
            about = {"location": table.as_uri(), "schema": json.dumps({"fields": FIELDS}),
                     "defaults": {"late": '"new"'}}  # fmt: skip
            (dumps / "t.json").write_text(json.dumps(about), encoding="utf-8")
            (dumps / "t.rows").write_text("".join(row + "\n" for row in rows), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-B", JUDGE, dumps], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def test_same_rows_in_any_order(self):
        self.assertEqual(self.judged(ROWS[::-1]), (0, ""))

    def test_another_value(self):
        status, said = self.judged([ROWS[0].replace("-1.20", "-1.21"), ROWS[1]])
        self.assertEqual(status, 1)
        self.assertIn("-1.20", said)
        self.assertIn("-1.21", said)

    def test_zeros_of_two_signs(self):
        self.assertEqual(self.judged([ROWS[0].replace("d8000000000000000", "d0"), ROWS[1]])[0], 1)

    def test_a_row_twice(self):
        self.assertEqual(self.judged([*ROWS, ROWS[1]])[0], 1)

    def test_no_row(self):
        self.assertEqual(self.judged([])[0], 1)


if __name__ == "__main__":
    unittest.main()
