#!/usr/bin/env python3
"""House rules that no compiler or formatter checks, over the files under version control.

Prints one line per offence, as file:line: what; exits with 1 when there is any.

  - a source file has at most 350 lines (exceptions, with reasons: dev/lib/long_files.txt), a method
    or function at most 50
  - a package, or a folder of native/src, has at most 20 source files
  - the first comment of a file says what the thing is
  - nothing is left to do, no package of ours lies in org.apache, no path is one machine's own
  - a doc comment stands alone: it does not begin with "The same", "That of" or "Those"
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

FILE_LINES = 350
METHOD_LINES = 50
PACKAGE_FILES = 20
LONG_FILES = Path("dev/lib/long_files.txt")
BRACES = {".java", ".scala", ".c", ".h"}
SOURCES = BRACES | {".py", ".sh"}

LEFT_TO_DO = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
LEANS_ON_ANOTHER = re.compile(r"/\*\*?\s+(?:\*\s+)?(?:The same|That of|Those)\b")
FOREIGN_PACKAGE = re.compile(r"^\s*package\s+org\.apache\b")
# The template of a name that is made up at run time is no path of a machine.
MACHINE_PATH = re.compile(r"""(^|[\s"'`=(,])/(home|root|Users|work|tmp(?!/[\w.-]*XXXXXX))/\w""")
NOT_CODE = re.compile(
    r'"""[\s\S]*?"""' r"|/\*[\s\S]*?\*/" r"|//[^\n]*"
    r'|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.[^'\n]*|[^'\\\n])'"
)
NO_METHOD = re.compile(
    r"\b(if|else|for|while|do|switch|try|catch|synchronized|new)\b"
    r"|\b(class|interface|record|enum|struct|union)\b|->|="
)
# Java and Scala of one package lie in two folders.
PACKAGE = re.compile(r"(?:(\w[\w-]*)/src/main/(?:java|scala)|(native)/src)/(.+)/[^/]+\.(?:java|scala|c|h)$")
TYPE = re.compile(r"\b(class|interface|record|enum|object|trait|package object)\s+\w")


def is_source(path, text):
    return path.suffix in SOURCES or text.startswith("#!")


def line_offences(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if LEFT_TO_DO.search(line):
            yield number, "left to do: finish it or open an issue"
        if path.suffix in (".java", ".scala") and FOREIGN_PACKAGE.search(line):
            yield number, "a package of ours lies in io.oap"
        if MACHINE_PATH.search(line):
            yield number, "a path of one machine"


def blank_out(text):
    """The text with comments and literals replaced by as many line ends as they had."""
    return NOT_CODE.sub(lambda found: "\n" * found.group().count("\n") or " ", text)


def method_in(head, suffix):
    """Name and offset of the method whose body follows this text, or None where no method's does."""
    if suffix == ".scala":
        found = re.search(r"\bdef\s+([^\s(\[:=]+)(?!.*\bdef\s)(.*)", head, re.DOTALL)
        if not found or re.search(r"\n\s*\n|\b(val|var|class|object|trait)\s", found.group(2)):
            return None
        return found.group(1), found.start()
    head = re.sub(r"@\w+(\([^)]*\))?", lambda found: " " * len(found.group()), head)
    if NO_METHOD.search(head):
        return None
    found = re.search(r"(\w+)\s*\(", head)
    return (found.group(1), len(head) - len(head.lstrip())) if found else None


def long_methods(code, suffix):
    """Yields (first line, name, number of lines) of the methods longer than allowed."""
    blocks, head_start = [], 0
    for found in re.finditer(r"[{};]", code):
        at = found.start()
        if found.group() == "{":
            method = method_in(code[head_start:at], suffix)
            blocks.append(method and (method[0], head_start + method[1]))
        elif found.group() == "}" and blocks:
            method = blocks.pop()
            lines = code.count("\n", method[1], at) + 1 if method else 0
            if lines > METHOD_LINES:
                yield code.count("\n", 0, method[1]) + 1, method[0], lines
        head_start = at + 1


def says_what_it_is(path, text):
    """Whether a comment stands before the first type, or at the top where there are no types."""
    if path.suffix in (".java", ".scala"):
        declared = TYPE.search(NOT_CODE.sub(lambda found: " " * len(found.group()), text))
        return re.search(r"/\*\*|^//", text[: declared.start()] if declared else text, re.M)
    body = re.sub(r"\A#![^\n]*\n", "", text).lstrip()
    return body.startswith(("#", "//", "/*", '"""')) and not body.startswith("#include")


def offences(path, text, may_be_long):
    yield from line_offences(path, text)
    if not is_source(path, text):
        return
    lines = len(text.splitlines())
    if lines > FILE_LINES and str(path) not in may_be_long:
        yield 1, f"{lines} lines, at most {FILE_LINES} are allowed"
    if not says_what_it_is(path, text):
        yield 1, "no comment at the top that says what this is"
    if path.suffix in BRACES:
        for comment in LEANS_ON_ANOTHER.finditer(text):
            yield text.count("\n", 0, comment.start()) + 1, "comment leans on another one: say what this is"
        for line, name, length in long_methods(blank_out(text), path.suffix):
            yield line, f"{name} has {length} lines, at most {METHOD_LINES} are allowed"


def large_packages(paths):
    """Yields (package, number of files) of those that have more files than allowed."""
    found = filter(None, (PACKAGE.match(str(path)) for path in paths))
    sizes = collections.Counter((match[1] or match[2], match[3]) for match in found)
    for (module, package), files in sorted(sizes.items()):
        if files > PACKAGE_FILES:
            yield f"{module}: {package}", files


def exceptions(text):
    """Paths that may be long. Each line is a path, white space and the reason."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            path, _, reason = line.partition(" ")
            if not reason.strip():
                sys.exit(f"{LONG_FILES}: no reason given for {path}")
            found[path] = reason.strip()
    return found


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True).stdout
    may_be_long = exceptions(LONG_FILES.read_text(encoding="utf-8"))
    failed = False
    paths = sorted(path for path in map(Path, filter(None, listed.split("\0"))) if path.is_file())
    for package, files in large_packages(paths):
        print(f"{package}: {files} files, at most {PACKAGE_FILES} are allowed in a package")
        failed = True
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for line, what in offences(path, text, may_be_long):
            print(f"{path}:{line}: {what}")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
