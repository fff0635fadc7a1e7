"""Kinds of values on the command lines of dev/tpcds and dev/cluster, for argparse."""

import argparse
import re

NINE_QUERIES = "q19,q42,q43,q52,q55,q63,q68,q73,q98"


def size(text):
    if not re.fullmatch(r"[1-9][0-9]*[kmgtKMGT]", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no size such as 512m or 2g")
    return text


def number(least, most):
    """Makes the kind of whole numbers in these bounds."""

    def parse(text):
        if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return int(text)

    return parse


def scale(text):
    """A TPC-DS scale factor, above 0."""
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return float(text)


def names(pattern, what):
    """Makes the kind of lists of names, with commas, each of which matches the pattern."""

    def parse(text):
        found = text.split(",")
        for name in found:
            if not re.fullmatch(pattern, name):
                raise argparse.ArgumentTypeError(f"'{name}' is no {what}")
        return found

    return parse


def queries(text):
    """Names of TPC-DS queries; `all` stands for those of Spark's own tests."""
    if text == "all":
        return [f"q{n}{part}" for n in range(1, 100)
                for part in (("a", "b") if n in (14, 23, 24, 39) else ("",))]  # fmt: skip
    return names("q[1-9][0-9]?[ab]?", "query such as q52 or q14a")(text)


def pair(text):
    """KEY=VALUE, as it is."""
    if not re.fullmatch(r"[^=\s]+=.*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    return text
