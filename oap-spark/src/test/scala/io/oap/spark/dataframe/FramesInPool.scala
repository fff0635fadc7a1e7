package io.oap.spark.dataframe

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

import io.oap.spark.{CacheControl, CacheSuite}

/** A suite about cached DataFrames. */
trait FramesInPool extends CacheSuite {
  override protected def beforeAll(): Unit = {
    SparkSerializer.forget()
    super.beforeAll()
  }

  private val Flat =
    """SELECT id,
    if(id % 7 = 0, null, id % 2 = 0) boolean, if(id % 5 = 0, null, cast(id % 100 AS byte)) byte,
    cast(id % 30000 AS short) short, if(id % 3 = 0, null, cast(id AS int)) int, cast(id AS float) / 3 float,
    if(id % 11 = 0, cast('NaN' AS double), id / 7) double, cast(id AS decimal(9, 2)) small,
    cast(id AS decimal(18, 3)) medium, if(id % 4 = 0, null, cast(id AS decimal(30, 6)) * -12345) large,
    if(id % 6 = 0, null, concat('name ', id % 1000)) string, cast(concat('b', id) AS binary) binary,
    date_add(date'2020-01-01', cast(id % 5000 AS int)) date, timestamp_micros(id * 1234567) timestamp,
    timestamp_ntz'2020-01-01 00:00:00' ntz, cast(null AS string) nothing,
    make_dt_interval(id % 50) daytime, make_ym_interval(cast(id % 50 AS int)) yearmonth,
    concat('Ab', id % 10) COLLATE UTF8_LCASE collated"""

  /** Rows with a column of each flat type, in three partitions. */
  protected def flat(rows: Int): DataFrame = spark.sql(s"$Flat FROM range(0, $rows, 1, 3)")

  /** Bytes that are pinned in the pool of this process: those of DataFrames, when nothing runs. */
  protected def poolBytes: Long = CacheControl.localPool().fold(0L)(_.pinnedBytes())

  /** Caches a DataFrame while the body runs; then nothing of it may be left. */
  protected def cached[T](frame: DataFrame)(body: DataFrame => T): T = {
    val result =
      try body(frame.cache())
      finally frame.unpersist(blocking = true)
    assert(poolBytes === 0, "an uncached DataFrame is left in the pool")
    result
  }

  /** Compares the rows of a DataFrame uncached, while it is filled, and cached in the pool. */
  protected def assertCached(frame: => DataFrame): Unit = {
    val plain = rows(frame)
    cached(frame) { cached =>
      assertRows(rows(cached), plain, "filled")
      assert(poolBytes > 0 || plain.isEmpty, "the pool is not used")
      assertRows(rows(cached), plain, "read again")
      assertRows(rows(frame), plain, "another query")
    }
  }

  /** How many batches of cached rows a query looks into. */
  protected def batchesRead(query: DataFrame): Long = {
    val scans = collect(executed(query)) { case scan: InMemoryTableScanExec => scan }
    assert(scans.size === 1)
    scans.head.readBatches.value
  }
}
