"""Tests of watchdog.py. Run from dev/lib: python3 -B -m unittest watchdog_test"""

import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import watchdog

WATCHDOG = Path(__file__).resolve().parent / "watchdog.py"


def run(script):
    with tempfile.TemporaryDirectory() as folder:
        script = script.replace("WATCHDOG", f"{WATCHDOG} $$").replace("FOLDER", folder)
        begun = time.monotonic()
        ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
        return ended, time.monotonic() - begun


class WatchdogTest(unittest.TestCase):
    def test_ends_what_hangs_and_what_that_began(self):
        ended, seconds = run("WATCHDOG 1 FOLDER & (sleep 50 & sleep 51; true); echo went on; wait")
        self.assertLess(seconds, 20)
        self.assertIn("not ended after 1 s", ended.stdout)
        self.assertIn("sleep 50", ended.stdout)
        self.assertIn("sleep 51", ended.stdout)
        self.assertIn("went on", ended.stdout)

    def test_ends_what_does_not_listen(self):
        ended, seconds = run("WATCHDOG 1 FOLDER & bash -c 'trap \"\" TERM; sleep 40; sleep 41'; echo $?; wait")
        self.assertLess(seconds, 30)
        self.assertIn("137", ended.stdout)

    def test_says_nothing_of_what_ends(self):
        ended, _ = run("WATCHDOG 9 FOLDER & w=$!; true; kill $w; wait $w 2>/dev/null; echo ok")
        self.assertEqual("ok\n", ended.stdout)

    def test_goes_with_its_script(self):
        ended, seconds = run("WATCHDOG 30 FOLDER & disown; echo gone")
        self.assertEqual("gone\n", ended.stdout)
        self.assertLess(seconds, 10)

    def test_prints_threads_of_ours(self):
        of_ours = '"main" #1\n   RUNNABLE\n\tat java.lang.Object.wait()\n\tat io.oap.cache.Pool.get(Pool.java:1)'
        self.assertEqual([of_ours], watchdog.threads_of_ours(f'Full dump\n\n{of_ours}\n\n"GC" #2\n\tat sun.misc.X()\n'))


if __name__ == "__main__":
    unittest.main()
