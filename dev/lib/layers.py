#!/usr/bin/env python3
"""Checks that no C file of native/src includes a file of a layer above its own, and no two include each other.

FOLDERS orders the folders. The first comment of the header that MAPS names orders the files of a
folder, lowest first: each line that is indented by three spaces names files, by their name with or
without its ending, then, behind two spaces or more, says what they are. Files on one line may
include each other, though not in a circle. Prints one line per offence; exits with 1 when there is any.
"""

import re
import sys
from pathlib import Path

SOURCES = Path("native/src")
FOLDERS = (("base",), ("pool", "vector"), ("model", "tier"), ("jni",))
MAPS = {"pool": "pool.h", "vector": "vector_format.h", "model": "capacity_model.h", "tier": "tier.h"}

INCLUDE = re.compile(r'^#include "((?:\w+/)?\w+\.h)"', re.M)
COMMENT = re.compile(r"\A/\*.*?\*/", re.S)
LAYER = re.compile(r"^ \*   (\S+(?: \S+)*)", re.M)


def layers_of(text):
    """The lists of names, lowest first, that a header's first comment gives."""
    comment = COMMENT.match(text)
    return [names.split() for names in LAYER.findall(comment.group())] if comment else []


class Layers:
    """Where files of native/src stand; files maps their paths below it, as folder/name, to their text."""

    def __init__(self, files):
        self.files = files
        self.maps = {folder: layers_of(files.get(f"{folder}/{header}", "")) for folder, header in MAPS.items()}

    def module(self, path):
        """What a file is a part of: itself where the map names it with its ending, else all of its name."""
        folder, name = path.split("/")
        is_named = any(name in names for names in self.maps.get(folder, []))
        return f"{folder}/{name if is_named else name.split('.')[0]}"

    def level(self, path):
        """The line of the folder's map that a file stands on; None where the map lacks it."""
        folder, name = self.module(path).split("/")
        if folder not in MAPS:
            return 0
        return next((i for i, names in enumerate(self.maps[folder]) if name in names), None)

    def includes(self, path):
        """Yields the line and the path of each file of native/src that a file includes."""
        for found in INCLUDE.finditer(self.files[path]):
            name = found.group(1)
            target = name if "/" in name else f"{path.split('/')[0]}/{name}"
            if target in self.files:
                yield self.files[path].count("\n", 0, found.start()) + 1, target

    def upward(self, path, target):
        """Why a file must not include another; None where it may."""
        folder, other = path.split("/")[0], target.split("/")[0]
        rank = {name: i for i, names in enumerate(FOLDERS) for name in names}
        if folder != other:
            if rank[other] < rank[folder]:
                return None
            return f"{other}/ is not below {folder}/ (FOLDERS of dev/lib/layers.py)"
        own, theirs = self.level(path), self.level(target)
        if own is None or theirs is None or theirs <= own:
            return None
        layer, above = (" ".join(self.maps[folder][i]) for i in (own, theirs))
        return f'its layer "{above}" is above "{layer}" ({SOURCES}/{folder}/{MAPS[folder]})'

    def circle(self):
        """The modules of a circle of includes, the first one again at its end; empty where there is none."""
        edges = {}
        for path in sorted(self.files):
            uses = edges.setdefault(self.module(path), set())
            uses.update(self.module(target) for _, target in self.includes(path))
            uses.discard(self.module(path))
        done = set()

        def search(module, way):
            if module in way:
                return way[way.index(module):] + [module]
            if module in done:
                return []
            found = next(filter(None, (search(next_, way + [module]) for next_ in sorted(edges[module]))), [])
            done.add(module)
            return found

        return next(filter(None, (search(module, []) for module in sorted(edges))), [])

    def offences(self):
        for folder, names in ((folder, name) for folder, rows in self.maps.items() for row in rows for name in row):
            if not any(path in (f"{folder}/{names}", f"{folder}/{names}.c", f"{folder}/{names}.h") for path in self.files):
                yield f"{SOURCES}/{folder}/{MAPS[folder]}:1: names the layer {names}, but there is no such file: remove it"
        for path in sorted(self.files):
            if self.level(path) is None:
                folder = path.split("/")[0]
                yield f"{SOURCES}/{path}:1: stands in no layer: add it to the map in {SOURCES}/{folder}/{MAPS[folder]}"
            for line, target in self.includes(path):
                why = self.upward(path, target)
                if why:
                    yield (f"{SOURCES}/{path}:{line}: includes {target}, but {why}: "
                           "move what it needs down, or call it from above")
        circle = self.circle()
        if circle:
            yield (f"{SOURCES}: {' -> '.join(circle)} include each other: "
                   "move what they share into a file below them")


def main():
    files = {str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8")
             for path in SOURCES.rglob("*.[ch]")}
    found = list(Layers(files).offences())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
