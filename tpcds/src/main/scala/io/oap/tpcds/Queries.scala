package io.oap.tpcds

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import io.oap.tpcds.data.TpcdsTable

/**
 * The texts of the TPC-DS queries. They are resources of the tests jar of spark-sql, which the
 * build unpacks into this module's jar; none is kept in the source tree.
 */
object Queries {

  /** The 99 queries: 103 texts, because four of them come in two parts. */
  val All: Seq[String] = (1 to 99).flatMap {
    case number @ (14 | 23 | 24 | 39) => Seq(s"q${number}a", s"q${number}b")
    case number => Seq(s"q$number")
  }

  /**
   * The queries asked for, or all when none is.
   *
   * @throws Options.Rejected when there is no such query
   */
  def named(names: Seq[String]): Seq[String] = {
    names.find(!All.contains(_)).foreach { name =>
      throw new Options.Rejected(s"there is no TPC-DS query $name")
    }
    if (names.isEmpty) All else names
  }

  /** The SQL of a query such as q52. */
  def text(name: String): String = {
    val stream = getClass.getResourceAsStream(s"/tpcds/$name.sql")
    if (stream == null) throw new FileNotFoundException(s"query $name")
    try new String(stream.readAllBytes(), UTF_8)
    finally stream.close()
  }

  /** Finds the tables that these queries name. */
  def tables(queries: Seq[String]): Seq[TpcdsTable] = {
    val words = queries.flatMap(name => text(name).toLowerCase.split("[^a-z_0-9]+")).toSet
    TpcdsTable.All.filter(table => words.contains(table.name))
  }
}
