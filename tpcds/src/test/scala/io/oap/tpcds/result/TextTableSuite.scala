package io.oap.tpcds.result

import org.scalatest.funsuite.AnyFunSuite

/** Columns of text. */
class TextTableSuite extends AnyFunSuite {
  test("columns are as wide as their widest cell") {
    assert(TextTable.align(Seq(Seq("a", "b"), Seq("aa", "bbb"))) == "a     b\naa  bbb")
  }
}
