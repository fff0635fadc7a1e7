package io.oap.tpcds.data

import java.math.BigDecimal
import java.sql.Date

import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** The tables' columns, and that their rows do not depend on how they are divided. */
class TpcdsTableSuite extends AnyFunSuite {
  private val Scale = 0.01

  // Of these a seventh is compared: all of them take three times as long as all other tables.
  private val Large = Set("store_sales", "catalog_sales", "customer_demographics")

  private def table(name: String): TpcdsTable =
    TpcdsTable.All.find(_.name == name).getOrElse(fail(name))

  test("24 tables with 425 columns") {
    assert(TpcdsTable.All.length == 24)
    assert(TpcdsTable.All.map(_.fileSchema.length).sum == 425)
  }

  test("keys are INT, money is DECIMAL, texts are CHAR and VARCHAR, strings in the file") {
    val ddl = table("item").ddl
    for (column <- Seq(
        "i_item_sk INT",
        "i_item_id CHAR(16)",
        "i_rec_start_date DATE",
        "i_item_desc VARCHAR(200)",
        "i_current_price DECIMAL(7,2)")) {
      assert(s"$ddl,".contains(s"$column,"))
    }
    assert(table("household_demographics").fileSchema == StructType.fromDDL(
      "hd_demo_sk INT, hd_income_band_sk INT, hd_buy_potential STRING, hd_dep_count INT, " +
        "hd_vehicle_count INT"))
  }

  test("column names are those of the specification") {
    assert(table("promotion").ddl.contains("p_response_target INT"))
    assert(table("store").ddl.contains("s_tax_percentage DECIMAL(5,2)"))
    assert(table("customer").ddl.contains("c_last_review_date INT"))
    assert(table("warehouse").ddl.contains("w_street_name VARCHAR(20)"))
  }

  test("rows are the same whatever the number of chunks, and as many as expected") {
    for (table <- TpcdsTable.All) {
      // Chunks are of as many, and their parts begin with other rows than their own first ones.
      val (chunk, chunks) = if (Large.contains(table.name)) (3, 7) else (0, 1)
      val divided = if (table.table.keepsHistory()) 1 else 7
      var count = 0L
      val whole = table.rows(Scale, chunk, chunks).map { row => count += 1; row }
      val parts = (chunk * divided until (chunk + 1) * divided).iterator
        .flatMap(table.rows(Scale, _, chunks * divided))
      assert(parts.sameElements(whole), s"${table.name} in $divided chunks")
      assert(count > 0, table.name)
      table.expectedRows(Scale).foreach { all =>
        assert(count == all * (chunk + 1) / chunks - all * chunk / chunks, table.name)
      }
    }
  }

  test("values are of the types of their columns") {
    for (table <- TpcdsTable.All) {
      for (row <- table.rows(Scale, 0, 1).take(20)) {
        assert(row.length == table.fileSchema.length)
        for ((value, field) <- row.toSeq.zip(table.fileSchema) if value != null) {
          val isOfType = (value, field.dataType) match {
            case (_: Int, IntegerType) | (_: String, StringType) | (_: Date, DateType) => true
            case (number: BigDecimal, decimal: DecimalType) =>
              number.scale <= decimal.scale && number.precision <= decimal.precision
            case _ => false
          }
          assert(isOfType, s"${table.name}.${field.name}: $value")
        }
      }
    }
  }

  test("a table whose rows depend on earlier ones is never divided") {
    intercept[IllegalArgumentException](table("item").rows(Scale, 1, 2))
    assert(table("item").chunks(1000, 1000) == 1)
  }

  test("fact tables have a partitioned layout, by the key of a date") {
    val columns = TpcdsTable.All.flatMap(t => t.partitionColumn.map(t -> _))
    assert(columns.map(_._1.name).toSet == Set(
      "store_sales",
      "store_returns",
      "catalog_sales",
      "catalog_returns",
      "web_sales",
      "web_returns",
      "inventory"))
    for ((table, column) <- columns)
      assert(table.fileSchema.names.contains(column) && column.endsWith("_date_sk"))
  }

  test("the number of chunks grows with the scale, and is less when chunks are larger") {
    assert(table("store_sales").chunks(1, 500000) == 6)
    assert(table("store_sales").chunks(10, 500000) == 58)
    assert(table("store_sales").chunks(10, 4000000) == 8)
    assert(table("store").chunks(1, 500000) == 1)
  }

  test("CHAR values are filled up, VARCHAR values are not") {
    val row = table("household_demographics").rows(Scale, 0, 1).next()
    assert(row.getString(2).length == 15)
    assert(table("item").rows(Scale, 0, 1).next().getString(4).trim.length < 200)
  }
}
