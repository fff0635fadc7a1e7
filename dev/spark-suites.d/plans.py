"""Whether a plan with OAP is Spark's own plan but for the scan: for the plan stability suites.

Those suites compare a query's plan, written as an indented tree of operators, with one that is checked in.
With OAP no plan can be the same text, since BatchScan stands where FileSourceScan stood, and OAP's scan
takes more subqueries (it filters by every join key). What must be the same is all the rest: joins,
exchanges, aggregates, and how often something is computed instead of reused.
"""

import re
from dataclasses import dataclass, field

FAILED = "Plans did not match:"
INDENT = 2
# Wrappers of code generation stand elsewhere when a scan's subquery defines an exchange first. A V1 scan
# hands out all partition columns and needs a Project behind it, OAP's only those that are wanted.
LEFT_OUT = ("WholeStageCodegen", "InputAdapter", "ColumnarToRow", "Project")
SCANS = ("Scan parquet ", "BatchScan ")


@dataclass
class Node:
    text: str
    children: list = field(default_factory=list)

    @property
    def name(self):
        return self.text.split(" ")[0]

    @property
    def number(self):
        """Of an exchange or a subquery; reuses say the number of what they reuse."""
        found = re.search(r" #(\d+)$", self.text)
        return found and found.group(1)


def both(message):
    """The approved plan and the actual one out of a failed test's message, or None."""
    if FAILED not in message:
        return None
    found = re.search(
        r"last approved explain plan:[^\n]*\n\n(.*?)\n\s*actual simplified plan:[^\n]*\n"
        r"actual explain plan:[^\n]*\n\n(.*)",
        message,
        re.DOTALL,
    )
    return found and (parse(found.group(1)), parse(found.group(2)))


def parse(text):
    """The tree of an indented plan."""
    root = Node("plan")
    path = [root]
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped:
            continue
        depth = (len(line) - len(line.lstrip())) // INDENT
        node = Node(stripped)
        path[depth].children.append(node)
        path[depth + 1 :] = [node]
    return root


def operators(plan):
    """The plan as nested (text, children) without reuse: what is reused stands written out.

    The third element of a scan or a filter is the set of its columns.
    """
    defined = {}

    def collect(node):
        if node.number and not node.name.startswith("Reused"):
            kind = "Subquery" if "Subquery" in node.name else "Exchange"
            defined[kind, node.number] = node
        for child in node.children:
            collect(child)

    def written(node):
        if node.name.startswith("Reused"):
            target = defined.get((node.name[len("Reused") :], node.number))
            return written(target) if target else [(node.text, [], set())]
        if node.text.startswith(SCANS):
            # What stands below a scan are the subqueries of its runtime filters.
            table, columns = with_columns(node.text.removeprefix(SCANS[0]).removeprefix(SCANS[1]))
            return [(f"Scan {table}", [], columns)]
        below = [part for child in node.children for part in written(child)]
        if node.name in LEFT_OUT:
            return below
        text, columns = re.sub(r" #\d+$", "", node.text), set()
        if node.name == "Filter":
            text, columns = with_columns(text)
        return [(text, below, columns)]

    collect(plan)
    return written(plan)


def with_columns(text):
    """("Filter", {"a", "b"}) for "Filter [a,b]"."""
    name, _, columns = text.partition(" [")
    return name, set(columns.rstrip("]").split(","))


def no_worse(approved, actual):
    """Whether two results of `operators` are the same operators, scans reading no more columns.

    A filter may ask for more: a V2 scan leaves "is not null" of a partition column to it.
    """
    if len(approved) != len(actual):
        return False
    for (text, below, columns), (own_text, own_below, own_columns) in zip(approved, actual):
        less, more = (columns, own_columns) if text == "Filter" else (own_columns, columns)
        if text != own_text or not less <= more or not no_worse(below, own_below):
            return False
    return True


def computed(plan):
    """The exchanges that are computed, not reused: by number, since one may be written twice.

    A subquery that a filter and the scan below it have in common is written out in both.
    """
    own = {plan.number} if "Exchange" in plan.name and not plan.name.startswith("Reused") else set()
    return own.union(*(computed(child) for child in plan.children))


def same_but_for_scan(message):
    """Whether a failed plan stability test says no more than that OAP reads the files."""
    pair = both(message)
    if not pair:
        return False
    approved, actual = pair
    same = no_worse(operators(approved), operators(actual))
    return same and len(computed(actual)) <= len(computed(approved))
