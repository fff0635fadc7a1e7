"""Tests of layers: it finds includes that go up and circles, and only these. Run with python3 -m unittest."""

import unittest

from layers import Layers

MAP = "/*\n * The pool. Its layers:\n *\n *   low\n *   middle.h side  what they are\n *   middle.c\n *   pool.h\n */\n"
TREE = {
    "base/copy.h": "",
    "pool/low.h": "",
    "pool/low.c": '#include "low.h"\n\n#include "base/copy.h"\n#include "oap_pool.h"\n',
    "pool/middle.h": '#include "low.h"\n',
    "pool/middle.c": '#include "middle.h"\n\n#include "side.h"\n',
    "pool/side.h": '#include "middle.h"\n',
    "pool/pool.h": MAP + '#include "side.h"\n',
    "vector/vector_format.h": "/*\n *   vector_format\n */\n",
    "model/capacity_model.h": '/*\n *   capacity_model  it\n */\n#include "pool/pool.h"\n',
    "jni/jni.c": '#include "model/capacity_model.h"\n',
}


def offences(**changed):
    files = {name.replace("__", "/").replace("_h", ".h").replace("_c", ".c"): text for name, text in changed.items()}
    return list(Layers({**TREE, **files}).offences())


class LayersTest(unittest.TestCase):
    def test_tree_has_none(self):
        self.assertEqual([], offences())

    def test_include_that_goes_up_is_found_with_file_line_and_layers(self):
        self.assertEqual(
            ['native/src/pool/low.c:3: includes pool/side.h, but its layer "middle.h side" is above "low" '
             "(native/src/pool/pool.h): move what it needs down, or call it from above"],
            [line for line in offences(pool__low_c='#include "low.h"\n\n#include "side.h"\n') if "circle" not in line
             and "each other" not in line])

    def test_file_named_with_its_ending_stands_on_its_own_line(self):
        found = offences(pool__side_h='#include "middle.h"\n', pool__side_c='#include "pool.h"\n')
        self.assertTrue(any("pool/side.c:1: includes pool/pool.h" in line for line in found), found)

    def test_circle_within_a_layer_is_found(self):
        found = offences(pool__side_c='#include "middle.h"\n', pool__middle_h='#include "side.h"\n')
        self.assertEqual(
            ["native/src: pool/side -> pool/middle.h -> pool/side include each other: "
             "move what they share into a file below them"], found)

    def test_include_of_a_folder_that_is_not_below_is_found(self):
        for target in ("model/capacity_model.h", "vector/vector_format.h"):
            found = offences(pool__side_c=f'#include "{target}"\n')
            self.assertIn(f"pool/side.c:1: includes {target}, but {target.split('/')[0]}/ is not below pool/", found[0])

    def test_file_without_a_layer_is_found(self):
        self.assertEqual(["native/src/pool/new.c:1: stands in no layer: add it to the map in native/src/pool/pool.h"],
                         offences(pool__new_c=""))

    def test_layer_without_a_file_is_found(self):
        found = offences(pool__pool_h=MAP.replace("side", "side gone") + '#include "side.h"\n')
        self.assertEqual(["native/src/pool/pool.h:1: names the layer gone, but there is no such file: remove it"], found)


if __name__ == "__main__":
    unittest.main()
