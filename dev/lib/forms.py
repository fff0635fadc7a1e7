"""Libraries that the forms of tables want besides Spark: those of Iceberg and of Delta, fetched by Maven.

`python3 forms.py FORM` prints the jars, with commas between; nothing for forms that Spark knows itself.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

# The line of Spark that the libraries are for.
LINE = "4.1"

# As Options.java has them.
FORMS = ("parquet", "iceberg", "iceberg-deletes", "iceberg-vectors", "delta", "delta-deletes", "orc")

# What else these libraries name comes with Spark.
ARTIFACTS = {
    "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13",),
    "delta": ("io.delta:delta-spark_4.1_2.13", "io.delta:delta-storage", "io.delta:delta-kernel-api",
              "io.delta:delta-kernel-defaults"),
}


def library(form):
    """The library that a form belongs to; Spark's own forms have an empty one."""
    found = form.partition("-")[0]
    return found if found in ARTIFACTS else ""


def version(name):
    """Of a library, as the tests of oap-spark take it."""
    pom = (ROOT / "pom.xml").read_text(encoding="utf-8")
    return re.search(rf"<{name}\.version>([^<]+)</{name}\.version>", pom).group(1)


def jars(form, run=subprocess.run):
    """Paths of the libraries of a form, which are fetched where they are missing."""
    name = library(form)
    if not name:
        return []
    line = os.environ.get("OAP_SPARK_LINE", LINE)
    if line != LINE:
        sys.exit(f"--form {form} wants Spark {LINE}: there is no {name} for {line} yet")
    folder = ROOT / ".cache" / f"{name}-{version(name)}"
    found = [folder / f"{artifact.split(':')[1]}-{version(name)}.jar" for artifact in ARTIFACTS[name]]
    if not all(jar.exists() for jar in found):
        if not shutil.which("mvn"):
            sys.exit("missing: mvn: Debian package maven")
        print(f"fetching {name} {version(name)} ...", file=sys.stderr)
        for artifact in ARTIFACTS[name]:
            words = [f"-Dartifact={artifact}:{version(name)}", f"-DoutputDirectory={folder}"]
            run(["mvn", "-q", "-B", f"{DEPENDENCY_PLUGIN}:copy", *words], check=True, stdout=sys.stderr)
    return [str(jar) for jar in found]


if __name__ == "__main__":
    print(",".join(jars(sys.argv[1])))
