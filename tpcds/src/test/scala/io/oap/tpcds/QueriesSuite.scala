package io.oap.tpcds

import org.scalatest.funsuite.AnyFunSuite

/** The query texts are there, and the tables they need are found. */
class QueriesSuite extends AnyFunSuite {

  test("all texts are on the class path") {
    for (query <- Queries.All) assert(Queries.text(query).toLowerCase.contains("select"), query)
  }

  test("the tables of a query are those it names") {
    assert(Queries.tables(Seq("q52")).map(_.name).toSet == Set("date_dim", "store_sales", "item"))
    val q68 = Set("store_sales", "date_dim", "store", "household_demographics", "customer_address")
    assert(Queries.tables(Seq("q68")).map(_.name).toSet == q68 + "customer")
  }

  test("all queries together need all 24 tables") {
    assert(Queries.tables(Queries.All).length == 24)
  }
}
