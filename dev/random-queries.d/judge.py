"""Compares rows that the cache gave with the Parquet files they came from, as pyarrow reads them.

Gets the folder of the dumps: for each table NAME.json (DumpedTable in FileJudge.scala) and NAME.rows, a
row a line as Outcome.text in Outcome.scala writes it. Prints what differs; then the status is 1.
"""

import datetime
import json
import struct
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow.parquet as parquet

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def text_of_string(value):
    if all(" " <= c <= "~" and c != '"' for c in value):
        return f'"{value}"'
    return "u0x" + value.encode().hex()


def text(value, kind):
    """A value as Outcome.text has it; `kind` is its type in Spark's JSON."""
    if value is None:
        return "null"
    if isinstance(kind, dict):
        return text_of_nested(value, kind)
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "double":
        return "d" + format(struct.unpack(">Q", struct.pack(">d", value))[0], "x")
    if kind == "float":
        return "f" + format(struct.unpack(">I", struct.pack(">f", value))[0], "x")
    if kind == "string" or kind.startswith(("char", "varchar")):
        return text_of_string(value)
    if kind == "binary":
        return "0x" + value.hex()
    if kind == "date":
        return str((value - EPOCH.date()).days)
    if kind.startswith("timestamp"):
        return str((value.replace(tzinfo=None) - EPOCH) // MICROSECOND)
    if kind.startswith("decimal"):
        return format(value, "f")
    return str(value)


def text_of_nested(value, kind):
    if kind["type"] == "struct":
        fields = kind["fields"]
        return "[" + ",".join(text(value[field["name"]], field["type"]) for field in fields) + "]"
    if kind["type"] == "array":
        return "(" + ",".join(text(item, kind["elementType"]) for item in value) + ")"
    pairs = [text(k, kind["keyType"]) + ":" + text(v, kind["valueType"]) for k, v in value]
    return "{" + ",".join(sorted(pairs)) + "}"


def rows_of_file(path, schema, defaults):
    table = parquet.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
    columns = []
    for field in schema["fields"]:
        name, kind = field["name"], field["type"]
        if name in table.column_names:
            columns.append([text(value, kind) for value in table.column(name).to_pylist()])
        else:
            columns.append([defaults[name]] * table.num_rows)
    return ["[" + ",".join(row) + "]" for row in zip(*columns)]


def difference(about, rows):
    folder = Path(unquote(urlparse(about["location"]).path))
    schema, found = json.loads(about["schema"]), Counter()
    for path in sorted(folder.rglob("*.parquet")):
        found.update(rows_of_file(path, schema, about["defaults"]))
    given = Counter(rows)
    if given == found:
        return None
    missing, more = list((found - given).elements()), list((given - found).elements())
    return "\n".join(
        [f"{sum(given.values())} rows, the files have {sum(found.values())}; only in the files:"]
        + [f"  {row[:1000]}" for row in missing[:3]]
        + ["only from the cache:"]
        + [f"  {row[:1000]}" for row in more[:3]]
    )


def main():
    folder, differs, compared = Path(sys.argv[1]), False, 0
    for file in sorted(folder.glob("*.json")):
        about = json.loads(file.read_text(encoding="utf-8"))
        rows = file.with_suffix(".rows").read_text(encoding="utf-8").splitlines()
        compared += len(rows)
        what = difference(about, rows)
        if what:
            print(f"{file.stem}: {what}")
            differs = True
    if compared == 0:
        print("there was no row to compare")
    sys.exit(1 if differs or compared == 0 else 0)


if __name__ == "__main__":
    main()
