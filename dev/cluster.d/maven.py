"""What the cluster needs besides Spark: Java libraries, fetched by Maven and listed once."""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


def hadoop_version(cluster):
    """Of the client that this Spark brings."""
    for jar in (cluster.spark_home / "jars").glob("hadoop-client-api-*.jar"):
        return jar.stem.removeprefix("hadoop-client-api-")
    sys.exit(f"{cluster.spark_home} has no hadoop-client-api in jars")


def class_path(cluster, name):
    """The libraries of <name>.pom.xml, for the Hadoop of this Spark."""
    version = hadoop_version(cluster)
    listed = cluster.home.parent / f"{name}-{version}.classpath"
    if not listed.exists() or not all(map(_exists, listed.read_text(encoding="utf-8").split(":"))):
        print(f"fetching what {name} needs, for Hadoop {version} ...", file=sys.stderr)
        made = listed.with_suffix(".new")
        _run("-f", HERE / f"{name}.pom.xml", f"{DEPENDENCY_PLUGIN}:build-classpath",
             f"-Dhadoop.version={version}", f"-Dmdep.outputFile={made}", "-Dmdep.pathSeparator=:")
        made.rename(listed)
    return listed.read_text(encoding="utf-8").strip()


def artifact(cluster, group, name, version, classifier):
    """One jar, with nothing that it depends on."""
    folder = cluster.home.parent
    jar = folder / f"{name}-{version}-{classifier}.jar"
    if not jar.exists():
        print(f"fetching {name} {version} ...", file=sys.stderr)
        _run(f"{DEPENDENCY_PLUGIN}:copy", f"-Dartifact={group}:{name}:{version}:jar:{classifier}",
             f"-DoutputDirectory={folder}", "-Dmdep.useBaseVersion=true")
    return jar


def _run(*words):
    if not shutil.which("mvn"):
        sys.exit("missing: mvn: Debian package maven")
    subprocess.run(["mvn", "-q", "-B", *map(str, words)], check=True)


def _exists(name):
    return Path(name.strip()).exists()
