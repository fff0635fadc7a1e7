"""Tests of the parts of dev/tpcds that need no Spark: options, limits of a device, the report's numbers."""

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import main  # puts dev/lib on the path
import device
import jobs
import matrix
import rounds
from made_results import small_matrix


def told(*words):
    asked = main.parser().parse_args(list(words))
    return jobs.request(asked, list(words), main.ROOT)


class Options(unittest.TestCase):
    def rejected(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            told(*words)
        # argparse prints what is wrong, the rest is the status itself.
        return said.getvalue() if ended.exception.code == 2 else str(ended.exception.code)

    def test_mistakes_are_named(self):
        for words, named in (
            ("generate --scale 0", "argument --scale: '0'"),
            ("generate --tables store_sales,foo", "argument --tables: 'foo'"),
            ("generate --file-rows 999", "argument --file-rows: '999' is no number from 1000 to"),
            ("run --queries q52,52", "argument --queries: '52'"),
            ("run --storage tape", "argument --storage: 'tape'"),
            ("run --storage device:4", "argument --storage: '4' is no size"),
            ("run --storage device:4m --master yarn", "wants a local master"),
            ("run --master spark://h:1", "wants --conf spark.default.parallelism=N"),
            ("run --storage device:4m --data hdfs://h/d", "wants data in a folder of this machine"),
            ("run --form avro", "argument --form: invalid choice: 'avro'"),
            ("run --form orc --data hdfs://h/d", "--form orc wants data in a folder of this machine"),
            ("run --sweep nothing", "argument --sweep"),
            ("run --sweep item --tenants 2", "--sweep wants one tenant"),
            ("run --sweep item --sweep-every 10", "a round has 9 queries"),
            ("run --system o=oap,tenants=x --deal", "tenants=x: a number up to 999"),
            ("run --system o=oap,tenants=2", "wants dev/tpcds run --deal"),
            ("matrix memory --system o=oap,tenants=2", "wants dev/tpcds run --deal"),
            ("scenario fit-none --needed 0x", "argument --needed: '0x'"),
            ("run --system spark --system spark", "two systems have the name spark"),
            ("matrix tape", "argument MATRIX"),
            ("matrix load --load 0/3", "argument --load: '0/3'"),
            ("matrix load --load 1/0", "argument --load: '1/0'"),
            ("matrix memory --memory 0.5,1/2", "says a number twice"),
            ("matrix memory --tenants 2", "unrecognized arguments: --tenants 2"),
            ("matrix memory --system a=oap,pool.size=1m", "--memory says the pool of a"),
            ("matrix load --system a=oap,cache.representation=auto", "--representation says how a keeps"),
            ("pairs --system oap", "the first --system is spark"),
            ("pairs --system spark,sql.x=1", "the first --system is spark with no setting"),
            ("pairs --system spark --system spark-cache", "spark-cache is a session of one application"),
            ("pairs --system spark --system o=oap,slowdown=2", "o is a session of one application"),
            ("pairs --system spark --system o=oap,pool.size=1g", "--pool-size says the pool of all"),
            ("pairs --system spark --system spark", "two systems have the name spark"),
            ("pairs --storage device:4m", "argument --storage: invalid choice"),
            ("pairs --warm-up 4 --repeats 2", "unrecognized arguments: --repeats 2"),
            ("scenario fit-none --representation auto", "argument --representation: invalid choice: 'auto'"),
        ):
            self.assertIn(named, self.rejected(*words.split()), words)

    def test_forms(self):
        self.assertEqual(told("generate")["form"], "parquet")
        self.assertEqual(told("run", "--form", "delta-deletes")["plan"]["form"], "delta-deletes")

    def test_layouts(self):
        self.assertEqual(told("generate")["layout"], {
            "codec": "snappy", "dictionary": True, "rowGroupBytes": 128 << 20, "fileRows": 500000})
        asked = "--codec zstd --plain --row-group-size 1g --file-rows 20000000"
        self.assertEqual(told("generate", *asked.split())["layout"], {
            "codec": "zstd", "dictionary": False, "rowGroupBytes": 1 << 30, "fileRows": 20000000})

    def test_matrices(self):
        plan = told("matrix", "memory")["plan"]
        self.assertEqual(plan["matrix"], {"kind": "memory", "pools": [1.09, 0.5], "loads": [1, 2, 3],
                                          "sizes": (1.0,), "busy": (1.0,)})
        self.assertEqual([s["name"] for s in plan["systems"]], ["spark", "oap"])
        self.assertEqual([s["settings"] for s in plan["systems"]], [{}, {}])
        self.assertEqual((plan["tenants"], plan["deal"], plan["state"]), (1, False, "warm"))
        load = told("matrix", "load", "--load", "1/4,2", "--system", "a=oap,pool.policy=lru")["plan"]
        self.assertEqual((load["matrix"]["pools"], load["matrix"]["loads"]), ([0.5], [0.25, 2]))
        self.assertEqual(load["systems"][0]["settings"], {"spark.oap.pool.policy": "lru"})
        self.assertIsNone(told("run")["plan"]["matrix"])
        self.assertIsNone(told("scenario", "fit-both")["plan"]["matrix"])

    def test_systems_in_turn(self):
        plan = told("pairs", "--scale", "10", "--partitioned")["plan"]
        self.assertEqual([(s["name"], s["kind"], s["settings"]) for s in plan["systems"]],
                         [("spark", "spark", {}), ("built", "oap", {"spark.oap.buildsides.enabled": "false"}),
                          ("oap", "oap", {})])  # fmt: skip
        self.assertEqual([plan[key] for key in ("scenario", "state", "warmUps", "rounds", "repeats", "partitioned")],
                         ["pairs", "in turn", 4, 6, 1, True])
        same = told("pairs", "--system", "spark", "--system", "same=spark,spark.sql.x=1", "--queries", "all")["plan"]
        self.assertEqual(same["systems"][1]["settings"], {"spark.sql.x": "1"})
        self.assertEqual(len(same["queries"]), 103)

    def test_a_cluster_whose_slots_are_said(self):
        words = "run --master spark://h:1 --conf spark.default.parallelism=8"
        self.assertEqual(told(*words.split())["plan"]["state"], "warm")

    def test_sweep_and_pools_of_a_run(self):
        plan = told("run", "--sweep", "item", "--pool-size", "1g")["plan"]
        self.assertEqual((plan["sweep"], plan["matrix"]), ({"table": "item", "every": 1}, None))
        self.assertIsNone(told("run", "--sweep-every", "9")["plan"]["sweep"])
        self.assertEqual(plan["systems"][1]["settings"], {"spark.oap.pool.size": "1g"})

    def test_race_of_policies(self):
        plan = told("run", "--system", "spark", "--policy", "lru,s3fifo", "--pool-size", "64m")["plan"]
        self.assertEqual([(s["name"], s["kind"]) for s in plan["systems"]],
                         [("spark", "spark"), ("lru", "oap"), ("s3fifo", "oap")])
        self.assertEqual([s["settings"] for s in plan["systems"][1:]],
                         [{"spark.oap.pool.size": "64m", "spark.oap.pool.policy": p} for p in ("lru", "s3fifo")])

    def test_tenants_of_a_system(self):
        words = "run --deal --system row=oap,tenants=1 --system nine=oap,tenants=9 --system spark"
        self.assertEqual([s["tenants"] for s in told(*words.split())["plan"]["systems"]], [1, 9, 0])

    def test_needed_bytes_that_are_said(self):
        self.assertEqual(told("scenario", "fit-none", "--needed", "2g")["plan"]["needed"], 2 << 30)
        self.assertEqual(told("scenario", "fit-none")["plan"]["needed"], 0)

    def test_form_of_chunks(self):
        self.assertEqual(told("scenario", "fit-none")["plan"]["representation"], "encoded")
        self.assertEqual(told("matrix", "load", "--representation", "vector")["plan"]["representation"], "vector")
        self.assertEqual(told("run")["plan"]["representation"], "")


def limit_or_skip(test, folder, rate):
    try:
        return device.Limit(folder, rate)
    except device.Impossible as e:
        return test.skipTest(str(e))


class Devices(unittest.TestCase):
    """The kernel's own limit where this machine has one for us, and files that look like it."""

    def folder(self, **where):
        made = tempfile.TemporaryDirectory(**where)
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name)

    def groups(self, v2):
        """What a kernel shows in its folder of control groups."""
        found = self.folder()
        if v2:
            (found / "cgroup.controllers").write_text("cpu io memory\n")
            (found / "cgroup.subtree_control").write_text("cpu memory\n")
        else:
            (found / "blkio").mkdir()
        return found

    def disk(self, partition):
        """What a kernel shows of the disk of the temporary folder."""
        found, number = self.folder(), os.stat(tempfile.gettempdir()).st_dev
        place = found / "devices" / "disk" / "part"
        place.mkdir(parents=True)
        (place.parent / "dev").write_text("8:0\n")
        if partition:
            (place / "partition").write_text("1\n")
        (found / f"{os.major(number)}:{os.minor(number)}").symlink_to(place)
        return found

    def test_of_a_partition_the_whole_disk_is_limited(self):
        missing = pathlib.Path(tempfile.gettempdir()) / "not" / "there"
        self.assertEqual(device.number_of(missing, self.disk(partition=True)), "8:0")
        number = os.stat(tempfile.gettempdir()).st_dev
        self.assertEqual(device.number_of(missing, self.disk(partition=False)),
                         f"{os.major(number)}:{os.minor(number)}")

    def test_what_the_kernel_is_told(self):
        for v2, key, line in ((True, "io.max", "8:0 rbps=5000"),
                              (False, "blkio.throttle.read_bps_device", "8:0 5000")):
            limit = device.Limit(tempfile.gettempdir(), 5000, self.groups(v2), self.disk(partition=True))
            self.assertEqual((limit.key, limit.line), (key, line))

    def test_a_limit_that_is_not_kept_is_none(self):
        groups, said = self.groups(v2=True), io.StringIO()
        limit = device.Limit(self.folder(dir=main.ROOT / "dev"), 5000, groups, self.disk(partition=True))
        # Plain files limit nothing.
        with self.assertRaisesRegex(device.Impossible, "does not keep it|around the page cache"):
            with contextlib.redirect_stderr(said), limit:
                pass
        self.assertEqual((limit.group / "io.max").read_text(), "8:0 rbps=5000")
        self.assertEqual((groups / "cgroup.subtree_control").read_text(), "+io")

    def test_why_not(self):
        with self.assertRaisesRegex(device.Impossible, "neither io of cgroup v2 nor blkio"):
            device.Limit(tempfile.gettempdir(), 5000, self.folder(), self.disk(partition=False))
        with self.assertRaisesRegex(device.Impossible, "lies on no disk"):
            device.number_of(tempfile.gettempdir(), self.folder())

    def test_reads_keep_to_the_limit(self):
        # Beside this file: the temporary folder may be memory.
        folder = self.folder(dir=main.ROOT / "dev")
        limit = limit_or_skip(self, folder, 4 << 20)
        try:
            limit.__enter__()
        except device.Impossible as e:
            self.skipTest(str(e))
        with contextlib.ExitStack() as stack:
            stack.push(limit.__exit__)
            file = folder / "data"
            file.write_bytes(os.urandom(8 << 20))
            subprocess.run(["sync", str(file)], check=True)
            subprocess.run(["dd", f"if={file}", "iflag=nocache", "count=0"], check=True,
                           stderr=subprocess.DEVNULL)
            begun = time.monotonic()
            subprocess.run(["cat", str(file)], check=True, stdout=subprocess.DEVNULL,
                           preexec_fn=limit.join)
            self.assertGreater(time.monotonic() - begun, 1.5)
            # What the page cache has is not limited.
            begun = time.monotonic()
            subprocess.run(["cat", str(file)], check=True, stdout=subprocess.DEVNULL,
                           preexec_fn=limit.join)
            self.assertLess(time.monotonic() - begun, 1.5)
            self.assertTrue(limit.group.exists())
        self.assertFalse(limit.group.exists())


class Matrices(unittest.TestCase):
    def test_panels_are_of_one_memory_with_rising_load(self):
        found = matrix.panels(small_matrix())
        self.assertEqual([[c["load"] for c in cells] for _, cells in found], [[1, 2], [1, 2]])
        self.assertIn("under-committed", found[0][0])
        self.assertIn("over-committed", found[1][0])

    def test_a_system_is_found_though_names_begin_alike(self):
        result = small_matrix()
        cell = result["systems"][6]["cell"]
        self.assertEqual(matrix.system_at(result, cell, "s")["name"], "s pool 0.50, load 2.00")
        self.assertEqual(matrix.system_at(result, cell, "s x")["name"], "s x pool 0.50, load 2.00")

    def test_tables(self):
        (_, _, verdicts), (_, times_head, times), (_, fair_head, fairness) = matrix.tables(small_matrix())
        self.assertEqual([row[-1] for row in verdicts],
                         [f"verdict of {p} and {l}" for p in (1.09, 0.5) for l in (1.0, 2.0)])
        self.assertEqual((len(times), len(fairness)), (8, 8))
        self.assertEqual({len(row) for row in times}, {len(times_head)})
        self.assertEqual({len(row) for row in fairness}, {len(fair_head)})
        self.assertEqual(times[0][-2:], ["2.00 s (1.00 to 3.00)", "75.0 %"])
        self.assertEqual(rounds.mean({"mean": 2, "low": float("nan"), "high": float("nan")}), "2.00 s")
        self.assertEqual(fairness[0][-4:], ["one tenant", "", "", ""])
        self.assertEqual(fairness[-1][-4:-2], ["1.33", "1.33"])


if __name__ == "__main__":
    unittest.main()
