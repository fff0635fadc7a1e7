"""Small results for tests, as the job writes them."""

QUERIES = ("q19", "q52")


def query(tenant, begun, seconds, name="q52", *, error="", difference=""):
    return {"query": name, "tenant": tenant, "begun": begun, "seconds": seconds,
            "scan": {"bytesFromPool": 3, "bytesFromFile": 1}, "error": error, "difference": difference}


def record(system, repeat, number, seconds, tenants=1, process="p"):
    """A round in which every tenant runs both queries, each half the time."""
    ran = [query(t, half * seconds / 2, seconds / 2, name)
           for t in range(tenants) for half, name in enumerate(QUERIES)]
    samples = [{"second": seconds * part, "fromFile": 1e6 * part, "fromPool": 3e6 * part}
               for part in (0.5, 1.0)]
    return {"system": system, "repeat": repeat, "number": number, "process": process,
            "seconds": seconds, "heldBytes": 4e6, "pageCache": "left alone",
            "queries": ran, "sweeps": [], "samples": samples,
            "counts": number > 0, "slowestOverMean": 1.0, "jain": 1.0}


def system(name, **settings):
    return {"name": name, "kind": "oap" if settings else "spark", "settings": {
        f"spark.oap.{key.replace('_', '.')}": value for key, value in settings.items()},
        "slowdown": 1, "medium": "", "cell": None}


def compared(base, other, ratio, low, high, *, what="round", base_runs=10, other_runs=10, p=0.5,
             verdict="a verdict"):
    return {"what": what, "base": base, "other": other, "times": {
        "baseRuns": base_runs, "otherRuns": other_runs, "ratio": ratio, "low": low, "high": high,
        "pValue": p, "verdict": verdict}}


def timed(what, name, runs, mean=2.0):
    return {"what": what, "system": name, "runs": runs, "median": mean, "mean": mean,
            "low": mean / 2, "high": mean * 2}


def result(scenario="", systems=("small", "large"), comparisons=(), *, rounds=5, repeats=2, tenants=1,
           **plan):
    """A complete one: so many rounds of two seconds in so many applications of each system."""
    pools = {name: system(name, pool_size=str(100 * (i + 1))) for i, name in enumerate(systems)}
    ran = [record(name, repeat, number, 2.0, tenants) for repeat in range(1, repeats + 1)
           for name in systems for number in range(rounds + 1)]
    return {
        "plan": {
            "scenario": scenario, "scale": 10.0, "queries": list(QUERIES), "storage": "hdd",
            "partitioned": False, "systems": list(pools.values()), "state": "warm", "warmUps": 1,
            "rounds": rounds, "repeats": repeats, "tenants": tenants, "deal": False, "sweep": None,
            "matrix": None, "seed": 7, **plan},
        "commands": [f"dev/tpcds scenario {scenario} --conf 'a=<b>'"],
        "circumstances": {
            "time": "2026-01-01T00:00:00Z", "options": {"layout": "codec snappy", "executors": 1},
            "machine": {"kernel": "Linux x"}, "versions": {"spark": "4.1.x"},
            "configuration": {"spark.oap.pool.size": "64m"}},
        "neededBytes": 200, "systems": list(pools.values()), "rounds": ran,
        "times": [timed(what, name, rounds * repeats) for name in systems
                  for what in ("round", *QUERIES)],
        "comparisons": list(comparisons), "bars": [], "roundsForAClaim": 10}


def small_matrix():
    """Two systems in four cells, one round of each."""
    made = result(rounds=1, repeats=1, systems=("s", "s x"), matrix={
        "kind": "memory", "pools": [1.09, 0.5], "loads": [1.0, 2.0], "sizes": [1.0], "busy": [1.0]})
    systems, ran, times, comparisons = [], [], [], []
    for pool in (1.09, 0.5):
        for load, tenants in ((1.0, 1), (2.0, 2)):
            cell = {"pool": pool, "load": load, "size": 1.0, "busy": 1.0, "tenants": tenants}
            names = [f"{name} pool {pool:.2f}, load {load:.2f}" for name in ("s", "s x")]
            for name in names:
                systems.append({**system(name, pool_size="100"), "cell": cell})
                ran += [{**record(name, 1, number, 2.0),
                         "queries": [query(t, 0, 1 + t) for t in range(tenants)],
                         "slowestOverMean": 1.0 if tenants == 1 else 4 / 3}
                        for number in (0, 1)]
                times.append({**timed("round", name, 1), "low": 1.0, "high": 3.0})
            comparisons.append(compared(*names, 1, 1, 1, verdict=f"verdict of {pool} and {load}"))
    return {**made, "systems": systems, "rounds": ran, "times": times, "comparisons": comparisons}
