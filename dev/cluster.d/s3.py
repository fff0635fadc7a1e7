"""A server beside the cluster that speaks S3, as a real process: S3Proxy over a folder.

With a latency, a proxy of ours stands before it and lets each answer begin later.
"""

import re
import sys
from pathlib import Path

import maven
import processes

HERE = Path(__file__).resolve().parent
BUCKET = "oap"
# Above the port of Spark's master.
SERVER_FROM_PORT, DELAYED_FROM_PORT = 1006, 1007


def start(cluster):
    """Starts the server; returns what the state keeps of it."""
    host, port = cluster.hosts.driver, cluster.settings["port"]
    endpoint = f"{host}:{port + SERVER_FROM_PORT}"
    folder = cluster.home / "s3"
    # A folder of the server's is a bucket.
    (folder / BUCKET).mkdir(parents=True)
    settings = {
        "s3proxy.authorization": "none",
        "s3proxy.endpoint": f"http://{endpoint}",
        "jclouds.provider": "filesystem-nio2",
        "jclouds.identity": "any",
        "jclouds.credential": "any",
        "jclouds.filesystem.basedir": str(folder),
    }
    conf = cluster.conf / "s3proxy.properties"
    conf.write_text("".join(f"{k}={v}\n" for k, v in settings.items()), encoding="utf-8")
    jar = maven.artifact(cluster, "org.gaul", "s3proxy", "4.1.0", "jar-with-dependencies")
    words = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-jar", str(jar), "--properties", str(conf)]
    made = {
        "url": f"s3a://{BUCKET}",
        "endpoint": f"http://{endpoint}",
        "class_path": _without_sparks(cluster, maven.class_path(cluster, "s3")),
        "processes": [_spawn(cluster, "s3", words)],
    }
    if cluster.settings["s3_latency"]:
        delayed = f"{host}:{port + DELAYED_FROM_PORT}"
        words = [sys.executable, str(HERE / "delay_proxy.py"), delayed, endpoint]
        words.append(str(cluster.settings["s3_latency"]))
        made["processes"].append(_spawn(cluster, "s3-latency", words))
        made["endpoint"] = f"http://{delayed}"
    return made


def _without_sparks(cluster, class_path):
    """Leaves out what Spark has too: it stands behind these, and has to work with its own versions."""
    sparks = {_name(jar) for jar in (cluster.spark_home / "jars").glob("*.jar")}
    return ":".join(jar for jar in class_path.split(":") if _name(Path(jar)) not in sparks)


def _name(jar):
    """Of a library, without its version."""
    return re.sub(r"-[0-9].*", "", jar.stem)


def _spawn(cluster, name, words):
    command = cluster.hosts.command(0, words)
    return processes.spawn(command, cluster.log(name), cluster.environment(), cluster.home)


def spark_settings(known):
    """What applications need to read and write there."""
    prefix = "spark.hadoop.fs.s3a."
    return {
        "spark.driver.extraClassPath": known["class_path"],
        "spark.executor.extraClassPath": known["class_path"],
        f"{prefix}endpoint": known["endpoint"],
        f"{prefix}endpoint.region": "us-east-1",
        f"{prefix}path.style.access": "true",
        f"{prefix}connection.ssl.enabled": "false",
        f"{prefix}access.key": "any",
        f"{prefix}secret.key": "any",
    }


def missing(cluster):
    """What still has to come up, in words; None when the server answers."""
    try:
        cluster.hosts.get_json(cluster.state["s3"]["endpoint"])
    except ValueError:
        return None  # It answers, in XML.
    except OSError:
        pass
    return "answer from the S3 server"
