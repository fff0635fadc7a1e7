"""What a person types into a front end to use the column cache, and what must come back.

A statement's answer stands in no statement, so that a front end that shows both proves nothing by
showing the statement.
"""

import re

EXTENSION = "io.oap.spark.OapExtensions"
CACHED = "Format: parquet, column cache"
# Executors are told of a dropped table in the background: of so many looks the last sees it.
LOOKS = 10


def on(table):
    """Enable, query, look, clear and drop, with a table of one's own."""
    return [
        f"CREATE TABLE {table} USING parquet AS "
        "SELECT id, id % 7 AS b FROM range(0, 100000, 1, 2)",
        f"SELECT concat('check', ':sum=', sum(b)) FROM {table}",
        f"SELECT concat('check', ':again=', sum(b)) FROM {table}",
        f"EXPLAIN FORMATTED SELECT sum(b) FROM {table}",
        f"SELECT /*+ OAP_CACHE(off) */ concat('check', ':hint=', sum(b)) FROM {table}",
        "SHOW TABLES IN oap.system",
        "SELECT concat('check', ':open=', bool_or(state = 'open'), ':misses=', sum(misses) > 0) "
        "FROM oap.system.executors",
        f"SELECT concat('check', ':columns=', array_join(collect_list(column), ',')) "
        f"FROM oap.system.columns WHERE table LIKE '%.{table}'",
        f"CALL oap.system.clear(table => '{table}')",
        f"CACHE SELECT id FROM {table} WHERE b >= 0",
        f"CALL oap.system.warm('{table}')",
        f"SELECT concat('check', ':warm=', sum(id) + sum(b)) FROM {table}",
        f"SELECT concat('check', ':read=', bytes_from_file, ':cold=', misses_cold) "
        f"FROM oap.system.scans WHERE table LIKE '%.{table}' ORDER BY execution_id DESC LIMIT 1",
        f"CALL oap.system.pin('{table}', array('b'))",
        f"SELECT concat('check', ':pinned=', array_join(array_sort(collect_set(column)), ',')) "
        f"FROM oap.system.chunks WHERE pinned AND path LIKE '%/{table}/%'",
        "CALL oap.system.verify()",
        f"CALL oap.system.unpin('{table}')",
        "SELECT concat('check', ':kept=', count_if(pinned), ':sound=', count(*) > 0) "
        f"FROM oap.system.chunks WHERE path LIKE '%/{table}/%'",
        f"CALL oap.system.clear(table => '{table}')",
        "SELECT concat('check', ':left=', count(*)) FROM oap.system.chunks "
        f"WHERE path LIKE '%/{table}/%'",
        # Spark gives each of two free executors one of two files; placement may keep them together.
        "SET spark.oap.placement=off",
        f"SELECT concat('check', ':anew=', sum(b)) FROM {table}",
        "SELECT concat('check', ':holders=', count(DISTINCT executor_id)) FROM oap.system.chunks "
        f"WHERE path LIKE '%/{table}/%'",
        f"DROP TABLE {table}",
        *["SELECT concat('check', ':dropped=', count(*)) FROM oap.system.chunks "
          f"WHERE path LIKE '%/{table}/%'"] * LOOKS,
    ]


EXPECTED_ON = [
    "check:sum=299995",
    "check:again=299995",
    CACHED,
    "CachedShare: [b: ",
    "check:hint=299995",
    "executors",
    "check:open=true:misses=true",
    "check:columns=b",
    "check:warm=5000249995",
    "check:read=0:cold=0",
    "check:pinned=b",
    "check:kept=0:sound=true",
    "check:left=0",
    "check:anew=299995",
    "check:holders=2",
    "check:dropped=0",
]


# A filter by a function in Python on a partition column, which no listing of files can evaluate.
PYTHON_FUNCTION = [
    "from pyspark.sql.functions import udf",
    "spark.sql('CREATE TABLE parts USING parquet PARTITIONED BY (p) AS '",
    "          'SELECT id, id % 5 AS p FROM range(1000)')",
    "is_odd = udf(lambda number: number % 2 == 1, 'boolean')",
    "odd = spark.table('parts').where(is_odd('p'))",
    "print('check', 'odd=' + str(odd.count()), sep=':')",
    "spark.sql('DROP TABLE parts')",
]
EXPECTED_OF_PYTHON_FUNCTION = "check:odd=400"


def off(table):
    """The same without the cache, in a session of one's own."""
    return [
        "SET spark.oap.cache.enabled=false",
        f"CREATE TABLE {table} USING parquet AS "
        "SELECT id, id % 7 AS b FROM range(0, 100000, 1, 2)",
        f"SELECT concat('check', ':sum=', sum(b)) FROM {table}",
        f"EXPLAIN FORMATTED SELECT sum(b) FROM {table}",
        "SELECT concat('check', ':held=', count(*)) FROM oap.system.chunks "
        f"WHERE path LIKE '%/{table}/%'",
        "SELECT concat('check', ':value=', value) FROM oap.system.config "
        "WHERE key = 'spark.oap.cache.enabled'",
    ]


EXPECTED_OFF = ["check:sum=299995", "check:held=0", "check:value=false"]


# What a user does whom the access lists leave out: the names are shown, the rest is refused.
FORBIDDEN = [
    "SHOW TABLES IN oap.system",
    "CALL oap.system.clear()",
    "SELECT executor_id FROM oap.system.executors",
]
EXPECTED_FORBIDDEN = [
    "advice",
    "CALL oap.system.clear needs the right to modify this application, which the user eve does not",
    "oap.system.executors needs the right to view this application, which the user eve does not",
]


def missing(output, expected, unwanted=()):
    """What of the answers is not in the output, and what should not be there."""
    # Tables are drawn with as much white space as their widest cell takes.
    words = re.sub(r"\s+", " ", output)
    lacks = [f"no '{text}'" for text in expected if text not in words]
    return lacks + [f"'{text}'" for text in unwanted if text in words]
