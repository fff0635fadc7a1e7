"""Spark's own master and workers."""

import processes

MANAGER = "org.apache.spark.deploy"


def url(cluster):
    return f"spark://{cluster.hosts.driver}:{cluster.settings['port']}"


def ports(cluster):
    """Ports of the driver's host that have to be free."""
    return [cluster.settings["port"], cluster.ui_port()]


def start_master(cluster):
    words = [f"{MANAGER}.master.Master", "--host", cluster.hosts.driver]
    words += ["--port", str(cluster.settings["port"]), "--webui-port", str(cluster.ui_port())]
    return _daemon(cluster, 0, "master", words, "-Dspark.port.maxRetries=1")


def start_worker(cluster, one):
    """Starts the worker of a host; returns its process."""
    executors = cluster.settings["executors_per_worker"]
    memory = executors * cluster.executor_mib()
    words = [f"{MANAGER}.worker.Worker", "--host", one["host"]]
    words += ["--webui-port", "0", "--work-dir", str(cluster.home / "work" / one["name"])]
    words += ["--cores", str(executors * cluster.settings["executor_cores"]), "--memory", f"{memory}m"]
    return _daemon(cluster, one["number"], one["name"], [*words, url(cluster)])


def _daemon(cluster, number, name, words, java_options=""):
    environment = cluster.environment()
    environment["SPARK_DAEMON_MEMORY"] = "512m"
    environment["SPARK_DAEMON_JAVA_OPTS"] = java_options
    environment["SPARK_LOCAL_DIRS"] = str(cluster.home / "local" / name)
    program = cluster.spark_home / "bin" / "spark-class"
    command = cluster.hosts.command(number, [str(program), *words])
    return processes.spawn(command, cluster.log(name), environment, cluster.home)


def environment(_):
    """Variables of processes beside those of each cluster."""
    return {}


def spark_settings(cluster):
    """What applications are told beside what they are told on each cluster."""
    return {"spark.driver.host": cluster.hosts.driver, "spark.driver.bindAddress": cluster.hosts.driver}


def workers(cluster):
    """What each host that is registered has and has given away; OSError while the master is silent."""
    found = _state(cluster)["workers"]
    return {
        one["host"]: {
            "cores": f"{one['coresused']} of {one['cores']}",
            "memory": f"{one['memoryused']} of {one['memory']}",
        }
        for one in found
        if one["state"] == "ALIVE"
    }


def applications(cluster):
    """Those that run, in words."""
    return [
        f"{app['id']}: {app['name']}, {app['state'].lower()}, {app['cores']} cores"
        for app in _state(cluster)["activeapps"]
    ]


def _state(cluster):
    return cluster.hosts.get_json(f"http://127.0.0.1:{cluster.ui_port()}/json/")
