"""Kinds of values on the command line, for argparse."""

import argparse
import re


def size(text):
    if not re.fullmatch(r"[1-9][0-9]*[kmgtKMGT]", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no size such as 512m or 2g")
    return text


def number(least, most):
    """Makes the kind of whole numbers in these bounds."""

    def parse(text):
        if not re.fullmatch(r"[0-9]{1,6}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return int(text)

    return parse
