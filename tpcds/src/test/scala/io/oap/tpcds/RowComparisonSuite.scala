package io.oap.tpcds

import java.math.{BigDecimal => JBigDecimal}

import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

/** When two results count as the same. */
class RowComparisonSuite extends AnyFunSuite {
  private def difference(left: Row*)(right: Row*): Option[String] =
    RowComparison.difference(left, right)

  test("order does not matter, multiplicity does") {
    assert(difference(Row(1, "a"), Row(2, "b"))(Row(2, "b"), Row(1, "a")).isEmpty)
    assert(difference(Row(1), Row(1), Row(2))(Row(1), Row(2), Row(2)).isDefined)
    assert(difference(Row(1))(Row(1), Row(1)).contains("2 rows instead of 1"))
    assert(difference()().isEmpty)
  }

  test("values are compared exactly: nulls, decimals, texts, bytes, nested rows") {
    assert(difference(Row(null, 1))(Row(null, 1)).isEmpty)
    assert(difference(Row(null))(Row("null")).isDefined)
    assert(difference(Row(""))(Row(null)).isDefined)
    assert(difference(Row("a"))(Row("a ")).isDefined)
    assert(difference(Row(new JBigDecimal("1.10")))(Row(new JBigDecimal("1.11"))).isDefined)
    assert(difference(Row(Array[Byte](1, 2)))(Row(Array[Byte](1, 2))).isEmpty)
    assert(difference(Row(Array[Byte](1, 2)))(Row(Array[Byte](1, 3))).isDefined)
    assert(difference(Row(Row(1, Seq(2, 3))))(Row(Row(1, Seq(2, 3)))).isEmpty)
    assert(difference(Row(Row(1, Seq(2, 3))))(Row(Row(1, Seq(2, 4)))).isDefined)
    assert(difference(Row(1))(Row(1, 2)).isDefined)
  }

  test("only floating point numbers may differ, and only in their last bits") {
    val sum = 0.1 + 0.2
    assert(sum != 0.3)
    assert(difference(Row("x", sum))(Row("x", 0.3)).isEmpty)
    assert(difference(Row("x", 0.3))(Row("x", 0.3001)).isDefined)
    assert(difference(Row(Double.NaN))(Row(Double.NaN)).isEmpty)
    assert(difference(Row(Double.NaN))(Row(0.0)).isDefined)
    assert(difference(Row(1e-300))(Row(2e-300)).isDefined)
  }

  test("a last bit does not change which rows are compared with each other") {
    assert(difference(Row(0.3, "b"), Row(0.3, "a"))(Row(0.1 + 0.2, "a"), Row(0.3, "b")).isEmpty)
  }
}
