"""Numbers of rounds as the report says them."""

import math


def number_of(count, one, more=None):
    """1 round, 2 rounds."""
    return f"{count} {one if count == 1 else more or one + 's'}"


def hit_share(record):
    """Bytes from the pool over all bytes that scans took in a round; None where no pool was asked."""
    pool = sum(q["scan"].get("bytesFromPool", 0) for q in record["queries"])
    file = sum(q["scan"].get("bytesFromFile", 0) for q in record["queries"])
    return pool / (pool + file) if pool + file else None


def mean(time):
    """Mean time with its 95 % interval, where there is one."""
    interval = "" if math.isnan(time["low"]) else f" ({time['low']:.2f} to {time['high']:.2f})"
    return f"{time['mean']:.2f} s{interval}"
