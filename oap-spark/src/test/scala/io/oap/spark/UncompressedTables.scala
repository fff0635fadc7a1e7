package io.oap.spark

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.oap.cache.stats.CacheCounters

/** Tables of numbers that do not compress: each chunk takes 8 bytes a row. */
trait UncompressedTables { self: CacheSuite =>
  protected val Rows = 50000

  protected def sql(text: String): DataFrame = spark.sql(text)

  protected def columns(name: String, count: Int): Seq[String] =
    (0 until count).map(i => s"xxhash64(id, '$name', $i) AS c$i")

  protected def table(name: String, count: Int, properties: String = ""): Unit = {
    val declared = (0 until count).map(i => s"c$i BIGINT").mkString(", ")
    sql(s"CREATE TABLE $name ($declared) USING parquet OPTIONS " +
      s"('parquet.enable.dictionary' 'false') $properties")
    spark.range(0, Rows, 1, 1).selectExpr(columns(name, count): _*).write.insertInto(name)
  }

  protected def read(name: String, session: SparkSession = spark): DataFrame = session.table(name)

  /** Reads the table `wide`, which is to be much more than the pool holds. */
  protected def sweep(): Unit = (1 to 3).foreach(_ => read("wide").collect())

  protected def counters(query: => DataFrame): CacheCounters = counting(query.collect())._2

  protected def isWarm(query: => DataFrame): Boolean = counters(query).bytesFromFile == 0
}
