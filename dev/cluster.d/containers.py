"""What YARN and Kubernetes have in common: executors are containers, and one that takes more memory than it
was given is killed.
"""

import os

import hosts

# Beside its heap and its pool: code, threads, direct buffers, and what tasks decode into.
OVERHEAD_MIB = 768


def machine_mib():
    """Memory of this machine, which all hosts have together."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def spark_settings(cluster):
    """What applications are told on both."""
    return {
        # As many as there is room for, also on hosts that are added, and none is waited for.
        "spark.executor.instances": hosts.MOST_WORKERS * cluster.settings["executors_per_worker"],
        "spark.scheduler.minRegisteredResourcesRatio": 0,
        "spark.executor.memoryOverhead": f"{cluster.pool_mib() + OVERHEAD_MIB}m",
        # Killed executors are what some commands are about.
        "spark.executor.maxNumFailures": 10000,
    }
