"""Tests of source_rules: each rule finds its offence, and only that. Run with python3 -m unittest."""

import unittest
from pathlib import Path

from source_rules import exceptions, large_packages, offences

JAVA = Path("a/A.java")
SCALA = Path("a/A.scala")
C = Path("a/a.c")
DOCUMENTED = "/** It. */\n"


def found(path, text, may_be_long=()):
    return [(line, what.split()[0]) for line, what in offences(path, text, may_be_long)]


def statements(count):
    return "    f();\n" * count


class SourceRulesTest(unittest.TestCase):
    def test_method_within_the_limit_passes(self):
        text = DOCUMENTED + "class A {\n  void g()\n      throws B {\n" + statements(47) + "  }\n}\n"
        self.assertEqual([], found(JAVA, text))

    def test_long_method_is_found_at_its_first_line(self):
        text = DOCUMENTED + "class A {\n  void g()\n      throws B {\n" + statements(48) + "  }\n}\n"
        self.assertEqual([(3, "g")], found(JAVA, text))

    def test_annotated_long_method_is_found(self):
        text = DOCUMENTED + 'class A {\n  @B("{")\n  void g() {\n' + statements(50) + "  }\n}\n"
        self.assertEqual([(4, "g")], found(JAVA, text))

    def test_long_class_and_braces_in_literals_and_comments_are_no_method(self):
        text = DOCUMENTED + 'class A {\n  String s = "f() {"; // g() {\n' + "  int i;\n" * 60 + "}\n"
        self.assertEqual([], found(JAVA, text))

    def test_long_scala_method_is_found_behind_others(self):
        text = DOCUMENTED + "object A {\n  def f = 1\n\n  def g(a: Int): Int = {\n"
        text += "    h()\n" * 50 + "  }\n}\n"
        self.assertEqual([(5, "g")], found(SCALA, text))

    def test_long_scala_object_after_a_method_is_no_method(self):
        text = DOCUMENTED + "object A {\n  def f = 1\n\n  object B {\n" + "    val a = 1\n" * 60 + "  }\n}\n"
        self.assertEqual([], found(SCALA, text))

    def test_long_c_function_is_found(self):
        text = "/* It. */\nstatic int g(int a)\n{\n" + statements(50) + "}\n"
        self.assertEqual([(2, "g")], found(C, text))

    def test_long_file_is_found_unless_it_is_listed(self):
        text = "/* It. */\n" + "int a;\n" * 350
        self.assertEqual([(1, "351")], found(C, text))
        self.assertEqual([], found(C, text, {str(C): "a reason"}))

    def test_comment_that_leans_on_another_is_found(self):
        text = DOCUMENTED + "class A {\n  /** The same for B. */\n  int b;\n  /**\n   * Those of C.\n   */\n  int c;\n}\n"
        self.assertEqual([(3, "comment"), (5, "comment")], found(JAVA, text))

    def test_comment_with_such_words_further_on_passes(self):
        text = DOCUMENTED + "class A {\n  /**\n   * Chunks of B.\n   * Those of C stay.\n   */\n  int b;\n}\n"
        self.assertEqual([], found(JAVA, text))

    def test_large_package_is_found_over_java_and_scala(self):
        java = [f"m/src/main/java/io/oap/a/J{i}.java" for i in range(12)]
        scala = [f"m/src/main/scala/io/oap/a/S{i}.scala" for i in range(9)]
        self.assertEqual([("m: io/oap/a", 21)], list(large_packages(java + scala)))
        self.assertEqual([("native: pool", 21)], list(large_packages(f"native/src/pool/{i}.c" for i in range(21))))

    def test_package_that_is_no_larger_than_allowed_passes(self):
        names = [f"m/src/main/scala/io/oap/a/S{i}.scala" for i in range(20)]
        others = ["m/src/main/scala/io/oap/a/b/S.scala", "n/src/main/scala/io/oap/a/S.scala",
                  "m/src/test/scala/io/oap/a/S.scala", "m/src/main/scala/io/oap/a/S.txt"]
        self.assertEqual([], list(large_packages(names + others)))

    def test_exception_needs_a_reason(self):
        self.assertEqual({"a/a.c": "generated"}, exceptions("# x\na/a.c generated\n"))
        with self.assertRaises(SystemExit):
            exceptions("a/a.c\n")

    def test_missing_first_comment_is_found(self):
        self.assertEqual([(1, "no")], found(JAVA, "package a;\n\nclass A {\n  /** B. */\n  int b;\n}\n"))
        self.assertEqual([(1, "no")], found(C, "#include <a.h>\n"))
        self.assertEqual([(1, "no")], found(Path("dev/a"), "#!/bin/sh\nset -e\n"))
        self.assertEqual([], found(Path("dev/a"), "#!/bin/sh\n# It.\nset -e\n"))

    def test_things_left_to_do_are_found(self):
        self.assertEqual([(2, "left")], found(Path("a.md"), "a\nb TO" + "DO c\n"))
        self.assertEqual([], found(Path("a.md"), "TO" + "DOS\n"))

    def test_foreign_package_is_found(self):
        self.assertEqual([(2, "a")], found(SCALA, DOCUMENTED + "package org.apache.spark.a\n"))
        self.assertEqual([], found(SCALA, DOCUMENTED + "import org.apache.spark.a\n"))

    def test_template_of_a_temporary_name_is_no_machine_path(self):
        self.assertEqual([], found(Path("a.md"), '"/tm' + 'p/oap-XXXXXX"\n'))
        self.assertEqual([(1, "a")], found(Path("a.md"), '"/tm' + 'p/oap"\n'))

    def test_machine_path_is_found(self):
        self.assertEqual([(1, "a")], found(Path("a.md"), "see /ho" + "me/a/b\n"))
        self.assertEqual([(1, "a")], found(Path("a.md"), '"/wo' + 'rk/a"\n'))
        self.assertEqual([], found(Path("a.md"), "s3a://bucket/wo" + "rk/a and src/ho" + "me/a\n"))


if __name__ == "__main__":
    unittest.main()
