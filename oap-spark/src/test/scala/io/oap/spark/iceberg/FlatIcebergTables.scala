package io.oap.spark.iceberg

import scala.jdk.CollectionConverters._

import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.spark.Spark3Util
import org.apache.iceberg.types.Types.IntegerType
import org.apache.spark.sql.DataFrame

import io.oap.common.ChunkKey
import io.oap.spark.CacheControl
import io.oap.spark.executor.ExecutorCache

/** Tells which reader has read a query of Iceberg tables, by the chunks that its runs leave. */
trait FlatIcebergTables extends IcebergSession {

  /** Columns of all flat types, and expressions of an id for their values. */
  protected object Types {
    private val all = Seq(
      ("id BIGINT", "id"),
      ("b BOOLEAN", "IF(id % 5 = 0, NULL, id % 2 = 0)"),
      ("i INT", "CAST(id % 1000 AS INT)"),
      ("f FLOAT", "CASE id % 40 WHEN 0 THEN FLOAT('NaN') WHEN 1 THEN -0.0F ELSE FLOAT(id / 8) END"),
      (
        "d DOUBLE",
        "CASE id % 40 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN NULL ELSE id / 3D END"),
      ("d9 DECIMAL(9, 2)", "CAST(id * 1.25 - 400 AS DECIMAL(9, 2))"),
      ("d18 DECIMAL(18, 4)", "CAST(id * 1.5 AS DECIMAL(18, 4))"),
      (
        "d20 DECIMAL(30, 3)",
        "CAST(id * 1000000007 AS DECIMAL(30, 3)) * CAST(1000000007 AS DECIMAL(10))"),
      ("day DATE", "date_add(DATE '1500-01-01', CAST(id * 30 AS INT))"),
      ("t TIMESTAMP", "IF(id % 9 = 0, NULL, timestamp_seconds(id * 1000000 - 20000000000))"),
      ("n TIMESTAMP_NTZ", "CAST(timestamp_seconds(id * 999999 - 20000000000) AS TIMESTAMP_NTZ)"),
      ("s STRING", "IF(id % 11 = 0, NULL, concat('s', id % 50))"),
      ("u STRING", "concat('unique ', id)"),
      ("x BINARY", "CAST(concat('x', id % 20) AS BINARY)"),
      ("nothing INT", "CAST(NULL AS INT)")
    )
    val columns: String = all.map(_._1).mkString(", ")
    val values: String = all.map(_._2).mkString(", ")
  }

  /** Adds a column that files written before have this value in. */
  protected def addDefault(table: String, column: String, value: Int): Unit = {
    val literal = Expressions.lit(value).to[Integer](IntegerType.get)
    Spark3Util.loadIcebergTable(spark, s"ice.db.$table").updateSchema()
      .addColumn(column, IntegerType.get, null, literal).commit()
    sql(s"REFRESH TABLE ice.db.$table"): Unit
  }

  protected def held: Set[ChunkKey] =
    ExecutorCache.get().get.snapshot().chunks.asScala.map(_.key).toSet

  private def vectors: Int = held.count(_.representation != ChunkKey.ENCODED)

  /** Asserts equal rows in all representations, and that our own readers have read all. */
  protected def assertFlat(query: => DataFrame, mayBeEmpty: Boolean = false): Unit = {
    val encoded = inEachRepresentation(query, mayBeEmpty)
    assert(mayBeEmpty || vectors > 0, "no vector chunk was made")
    assert(encodedLeft <= encoded, "encoded chunks were made beside vector chunks")
  }

  /** Asserts equal rows in all representations, and that Iceberg's own readers have read all. */
  protected def assertByIceberg(query: => DataFrame, mayBeEmpty: Boolean = false): Unit = {
    inEachRepresentation(query, mayBeEmpty)
    assert(vectors === 0, "vector chunks were made")
  }

  /** Asserts equal rows in all representations, and that both kinds of readers have read. */
  protected def assertMixed(query: => DataFrame): Unit = {
    inEachRepresentation(query, mayBeEmpty = false)
    assert(vectors > 0 && encodedLeft > 0)
  }

  private def encodedLeft: Int = held.count(_.representation == ChunkKey.ENCODED)

  /** Runs a query alone, cold, promoted and warm in each representation; the last one is `vector`. */
  private def inEachRepresentation(query: => DataFrame, mayBeEmpty: Boolean): Int = {
    val expected = alone(rows(query))
    var left = 0
    for (representation <- Seq("encoded", "auto", "vector"))
      withConf("spark.oap.cache.representation" -> representation) {
        CacheControl.clear(spark)
        for (run <- Seq("cold", "promoted"))
          assertRows(rows(query), expected, s"$representation, $run")
        val (warm, counters) = counting(rows(query))
        assertRows(warm, expected, s"$representation, warm")
        assert(counters.bytesFromFile === 0, s"$representation: a warm run read files")
        assert(mayBeEmpty || counters.chunksHit > 0, s"$representation: nothing from the pool")
        if (representation == "encoded") assert(vectors === 0)
        left = encodedLeft
      }
    left
  }
}
