#!/usr/bin/env python3
"""Checks that no C file of native/src includes a file of a layer above its own, and no two include each other.

BELOW says which folders lie right below each; a folder may include these and all that lies below them.
The first comment of the header that MAPS names for a folder orders its files, lowest first: each line
that is indented by three spaces names files, by their name with or without its ending, then, behind
two spaces or more, says what they are. One header may order the files of several folders. Files on
one line may include each other, though not in a circle. Prints one line per offence; exits with 1
when there is any.
"""

import re
import sys
from pathlib import Path

SOURCES = Path("native/src")
BELOW = {
    "base": (),
    "slots": ("base",), "arena": ("base",), "policy": ("slots",), "shard": ("policy", "arena"), "home": ("shard",),
    "pool": ("home",),
    "vector": ("base",), "encode": ("vector",),
    "model": ("pool",), "tier": ("pool",),
    "jni": ("encode", "model", "tier"),
}
MAPS = {**dict.fromkeys(("slots", "arena", "policy", "shard", "home", "pool"), "pool/pool.h"),
        **dict.fromkeys(("vector", "encode"), "vector/vector_format.h"),
        "model": "model/capacity_model.h", "tier": "tier/tier.h"}

INCLUDE = re.compile(r'^#include "((?:\w+/)?\w+\.h)"', re.M)
COMMENT = re.compile(r"\A/\*.*?\*/", re.S)
LAYER = re.compile(r"^ \*   (\S+(?: \S+)*)", re.M)


def layers_of(text):
    """The lists of names, lowest first, that a header's first comment gives."""
    comment = COMMENT.match(text)
    return [names.split() for names in LAYER.findall(comment.group())] if comment else []


def all_below(folder):
    """The folders that a folder may include; an unknown one may include none."""
    direct = BELOW.get(folder, ())
    return set(direct).union(*map(all_below, direct))


class Layers:
    """Where files of native/src stand; files maps their paths below it, as folder/name, to their text."""

    def __init__(self, files):
        self.files = files
        self.maps = {folder: layers_of(files.get(header, "")) for folder, header in MAPS.items()}

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
        if folder != other:
            return None if other in all_below(folder) else f"{other}/ is not below {folder}/ (BELOW of dev/lib/layers.py)"
        own, theirs = self.level(path), self.level(target)
        if own is None or theirs is None or theirs <= own:
            return None
        layer, above = (" ".join(self.maps[folder][i]) for i in (own, theirs))
        return f'its layer "{above}" is above "{layer}" ({SOURCES}/{MAPS[folder]})'

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
        for header in dict.fromkeys(MAPS.values()):
            folders = [folder for folder in MAPS if MAPS[folder] == header]
            for name in (name for row in self.maps[folders[0]] for name in row):
                if not any(f"{folder}/{name}{ending}" in self.files for folder in folders for ending in ("", ".c", ".h")):
                    yield f"{SOURCES}/{header}:1: names the layer {name}, but there is no such file: remove it"
        for path in sorted(self.files):
            if self.level(path) is None:
                folder = path.split("/")[0]
                yield f"{SOURCES}/{path}:1: stands in no layer: add it to the map in {SOURCES}/{MAPS[folder]}"
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
