"""Servers of Hadoop as real processes: their configuration folders and command lines."""

# To the logs that the cluster keeps.
LOG4J = """log4j.rootLogger=INFO,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


def write_conf(cluster, name, files):
    """Writes a configuration folder; `files` are dictionaries of settings, by file name."""
    folder = cluster.conf / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, settings in files.items():
        lines = [
            f"<property><name>{key}</name><value>{value}</value></property>"
            for key, value in settings.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>"]) + "\n"
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "log4j.properties").write_text(LOG4J, encoding="utf-8")
    return folder


def command(cluster, number, class_path, conf, words, heap="256m"):
    """The command line of a server on the host of worker `number` (0: the driver's)."""
    java = ["java", f"-Xmx{heap}", "-XX:+UseSerialGC", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
    return cluster.hosts.command(number, [*java, "-cp", f"{conf}:{class_path}", *words])
