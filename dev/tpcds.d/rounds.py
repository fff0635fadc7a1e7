"""What single rounds of a result say: whether they count, hits, times, fairness among tenants."""

import math


def counts(record):
    ran = record["queries"] + record.get("sweeps", [])
    return record["number"] > 0 and not any(q["error"] for q in ran)


def number_of(count, one, more=None):
    """1 round, 2 rounds."""
    return f"{count} {one if count == 1 else more or one + 's'}"


def hit_share(record):
    """Bytes from the pool over all bytes that scans took in a round; None where no pool was asked."""
    pool = sum(q["fromPool"] for q in record["queries"])
    file = sum(q["fromFile"] for q in record["queries"])
    return pool / (pool + file) if pool + file else None


def mean(time):
    """Mean time with its 95 % interval, where there is one."""
    interval = "" if math.isnan(time["low"]) else f" ({time['low']:.2f} to {time['high']:.2f})"
    return f"{time['mean']:.2f} s{interval}"


def _tenants(record):
    """Seconds that the queries of each tenant took; pauses between them do not count."""
    seconds = {}
    for q in record["queries"]:
        seconds[q["tenant"]] = seconds.get(q["tenant"], 0) + q["seconds"]
    return list(seconds.values())


def slowest_over_mean(record):
    """What the queries of the slowest tenant took over the mean of all tenants."""
    seconds = _tenants(record)
    return max(seconds) * len(seconds) / sum(seconds)


def jain(record):
    """Jain's index of fairness among the tenants' speeds: 1 when all are equal, 1 over their number
    when one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984)."""
    speeds = [1 / seconds for seconds in _tenants(record)]
    return sum(speeds) ** 2 / (len(speeds) * sum(speed * speed for speed in speeds))
