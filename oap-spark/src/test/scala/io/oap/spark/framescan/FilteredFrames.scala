package io.oap.spark.framescan

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.dataframe.FramesInPool

/** A suite about queries that drop rows of a cached DataFrame, the view `facts`. */
trait FilteredFrames extends FramesInPool {
  protected val Facts = "SELECT id, id % 1000 k, cast(id / 100 AS int) ascending, " +
    "if(id % 9 = 0, null, cast(id % 50 AS decimal(9, 2))) price, " +
    "if(id % 7 = 0, null, concat('n', id % 77)) s, cast(id % 30 AS double) / 4 d, " +
    "cast(concat('b', id % 20) AS binary) b FROM range(0, 200000, 1, 3)"

  /** Gives the rows of a query of the view `facts` uncached and cached, and what the latter counted. */
  protected def assertSame(query: String): CacheCounters = {
    val facts = spark.sql(Facts)
    facts.createOrReplaceTempView("facts")
    val plain = rows(spark.sql(query))
    cached(facts) { _ =>
      assertRows(rows(spark.sql(query)), plain, s"filled: $query")
      val (found, counted) = counting(rows(spark.sql(query)))
      assertRows(found, plain, query)
      withConf("spark.sql.inMemoryColumnarStorage.enableVectorizedReader" -> "false") {
        assertRows(rows(spark.sql(query)), plain, s"by rows: $query")
      }
      withConf("spark.oap.cache.dataframes" -> "false") {
        val (off, none) = counting(rows(spark.sql(query)))
        assertRows(off, plain, s"switched off: $query")
        assert(dropped(none) === 0, query)
      }
      counted
    }
  }

  protected def dropped(counted: CacheCounters): Long =
    counted.get(Figure.ROWS_DROPPED) + counted.get(Figure.ZONES_SKIPPED)
}
