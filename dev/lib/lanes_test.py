"""Tests of lanes.sh: each step runs once, two at a time, and one that hangs takes no other along. Run with python3 -m unittest."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(steps):
    """Runs bash code that adds steps; returns what it printed, and the headings that passed and failed."""
    with tempfile.TemporaryDirectory() as folder:
        script = f"set -euo pipefail\nLOGS={folder}/logs\n. dev/lib/lanes.sh\nbegin_steps\n{steps}\nrun_lanes\n"
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        logs = Path(folder) / "logs"
        return done.stdout, *(sorted((logs / name).read_text().splitlines()) for name in ("passed", "failed"))


class LanesTest(unittest.TestCase):
    def test_each_step_runs_once(self):
        text, passed, failed = run("for i in {1..9}; do add \"Step $i\" echo one two-$i; done")
        self.assertEqual(([f"Step {i}" for i in range(1, 10)], []), (passed, failed))
        for i in range(1, 10):
            self.assertEqual(1, text.count(f"== Step {i}\none two-{i}\n-- passed in "), text)

    def test_a_step_that_fails_is_named_and_ends_at_its_first_error(self):
        text, passed, failed = run("bad() {\n  false\n  echo behind\n}\nadd Bad bad\nadd Good true")
        self.assertEqual((["Good"], ["Bad"]), (passed, failed))
        self.assertRegex(text, r"-- FAILED with status 1 in \d+ s: Bad")
        self.assertNotIn("behind", text)

    def test_two_steps_run_at_a_time(self):
        meet = "meet() {\n  touch \"$LOGS/$1\"\n  until [[ -e \"$LOGS/$2\" ]]; do sleep 0.05; done\n}\n"
        _, passed, failed = run(meet + "limit=20 add A meet a b\nlimit=20 add B meet b a")
        self.assertEqual((["A", "B"], []), (passed, failed))

    def test_a_step_that_hangs_is_ended_alone(self):
        other = ("other() {\n  until grep -qx Hangs \"$FAILED\"; do sleep 0.05; done\n}\n")
        _, passed, failed = run(other + "limit=1 add Hangs sleep 50\nlimit=40 add Other other\nadd Next true")
        self.assertEqual((["Next", "Other"], ["Hangs"]), (passed, failed))


if __name__ == "__main__":
    unittest.main()
