"""What a JVM needs to run Spark's own suites: class path, options, and the layout they expect.

Everything lies in .cache/spark-suites of the checkout. The tests jars of spark-sql and spark-hive are
unpacked, since suites open their resources as files; a folder stands for Spark's source tree, since some
suites look for sql/core/src/test/resources in it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOME = ROOT / ".cache" / "spark-suites"
MAIN_CLASS = "io.oap.suites.SuiteRun"
# Resource folders by the place where Spark's source tree has them.
UNPACKED = {"spark-sql_2.13": "sql/core", "spark-hive_2.13": "sql/hive"}
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
POOL_SIZE = "512m"


class Environment:
    """The class path is made once per Spark version and pom.xml; the rest is cheap and made anew."""

    def __init__(self, spark_home, oap_jar, representation):
        self.spark_home = Path(spark_home)
        self.oap_jar = oap_jar
        self.representation = representation
        self.spark_version = self._spark_version()
        pom = (HERE / "pom.xml").read_bytes()
        self.folder = HOME / f"{self.spark_version}-{hashlib.sha256(pom).hexdigest()[:12]}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._dependencies = self._resolve()
        self.source_tree = self._unpack()
        self._classes = self._compile()

    def baseline_folder(self):
        """Results of Spark alone: the same for the same Spark, test dependencies and Java."""
        java = re.search(r"\d+", _output(_java("java"), "-version")).group()
        return self.folder / f"baseline-java{java}"

    def command(self, side, work, result_lines, suites):
        """The command line of a JVM that runs the suites in the folder `work`, with or without OAP."""
        options = [
            "-Xmx3g",
            # Tests compile much and run shortly: the second compiler costs more than it brings.
            "-XX:TieredStopAtLevel=1",
            # Without it there is little room for compiled code; once it is full, all runs interpreted.
            "-XX:ReservedCodeCacheSize=512m",
            "-XX:+UseParallelGC",
            *_opens(),
            "-Dspark.testing=1",
            "-Dspark.ui.enabled=false",
            "-Dspark.ui.showConsoleProgress=false",
            f"-Dspark.test.home={self.source_tree}",
            f"-Djava.io.tmpdir={work / 'tmp'}",
            f"-Dderby.system.home={work / 'tmp'}",
            "-Dderby.system.durability=test",
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            f"-Doap.suites.log={work / 'spark.log'}",
        ]
        if side == "with":
            options += [
                "-Dspark.sql.extensions=io.oap.spark.OapExtensions",
                f"-Dspark.oap.pool.size={POOL_SIZE}",
                f"-Dspark.oap.cache.representation={self.representation}",
            ]
        class_path = ":".join(self._class_path(side))
        main = [MAIN_CLASS, str(result_lines), *suites]
        return [_java("java"), *options, "-cp", class_path, *main]

    def variables(self):
        """The environment of such a JVM. The person's own Spark configuration has no say in it."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
        return {**kept, "SPARK_HOME": str(self.source_tree), "SPARK_TESTING": "1"}

    def _class_path(self, side):
        spark = [str(self.spark_home / "jars" / "*")]
        unpacked = [str(self._resources(place)) for place in UNPACKED.values()]
        oap = [self.oap_jar] if side == "with" else []
        return [str(self._classes), *unpacked, *spark, *oap, *self._dependencies]

    def _spark_version(self):
        for jar in (self.spark_home / "jars").glob("spark-core_2.13-*.jar"):
            return jar.name[len("spark-core_2.13-") : -len(".jar")]
        sys.exit(f"no Spark distribution in {self.spark_home}")

    def _resolve(self):
        listed = self.folder / "class-path.txt"
        if not listed.exists():
            print("resolving the test dependencies of Spark ...", file=sys.stderr)
            made = listed.with_suffix(f".{os.getpid()}")
            subprocess.run(
                ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml")]
                + [f"{DEPENDENCY_PLUGIN}:build-classpath", "-Dmdep.pathSeparator=:"]
                + [f"-Dmdep.outputFile={made}", f"-Dspark.version={self.spark_version}"],
                check=True,
            )
            made.rename(listed)
        return listed.read_text().strip().split(":")

    def _resources(self, place):
        return self.folder / "spark" / place / "src" / "test" / "resources"

    def _unpack(self):
        for artifact, place in UNPACKED.items():
            target = self._resources(place)
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"part.{os.getpid()}")
            jar = next(path for path in self._dependencies if f"/{artifact}-" in path)
            with zipfile.ZipFile(jar) as tests:
                tests.extractall(part)
            part.rename(target)
        return self.folder / "spark"

    def _compile(self):
        classes = self.folder / "classes"
        source = HERE / "SuiteRun.java"
        compiled = classes / "io" / "oap" / "suites" / "SuiteRun.class"
        if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
            shutil.rmtree(classes, ignore_errors=True)
            path = ":".join(self._dependencies)
            warnings = ["-Xlint:all,-classfile", "-Werror"]
            target = ["-d", str(classes), "-cp", path, str(source)]
            subprocess.run([_java("javac"), *warnings, *target], check=True)
        return classes


def _java(tool):
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / tool) if home else tool


def _output(*command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode()


def _opens():
    """What Spark needs opened in the JVM, as the project's own tests have it."""
    pom = xml.etree.ElementTree.parse(ROOT / "pom.xml")
    return pom.find(".//{*}spark.test.opens").text.split()
