package io.oap.spark.read

import org.apache.spark.sql.DataFrame

import io.oap.spark.{CacheControl, DamagedPool, UnloggedFailures}

/**
 * Damage of the pool that shows where the scan's reader is not asked any more: Spark looks entries of
 * a dictionary up when an operator wants the value. The task fails, and its next try reads the file.
 */
class DamagedValuesSuite extends UnloggedFailures {

  override protected def settings: Map[String, String] =
    super.settings ++ Map("spark.master" -> "local[2,2]", "spark.sql.adaptive.enabled" -> "false")

  for (condition <- Seq("true", "d >= 0"))
    test(s"entry that the dictionary does not have, where $condition") {
      val name = s"entries-${condition.length}"
      spark.range(0, 30000, 1, 1)
        .selectExpr("cast(id % 11 AS string) AS s", "id / 7.0D AS d")
        .write.options(rowGroupsOf(10000)).option("compression", "none").parquet(path(name))
      def query: DataFrame = spark.read.parquet(path(name)).where(condition).select("s", "d")
      withConf("spark.oap.cache.representation" -> "encoded") {
        val expected = alone(rows(query))
        CacheControl.clear(spark)
        rows(query)
        // Eleven entries: four bits for each row, which can say too much.
        DamagedPool.damage(key => key.column == 0 && key.rowGroup == 1) { chunk =>
          for (i <- chunk.limit() - 64 until chunk.limit()) chunk.put(i, -1: Byte)
        }
        assertRows(rows(query), expected, "after the damage")
        assertServed(query)
      }
    }
}
