package io.oap.spark.vector

import org.apache.spark.sql.functions.col

import io.oap.cache.stats.Figure
import io.oap.spark.{CacheControl, CacheSuite}

/** How vector chunks are made, as far as a query does not show it. */
class PromotionSuite extends CacheSuite {

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> "400m",
    "spark.oap.cache.representation" -> "vector",
    "spark.sql.files.maxPartitionBytes" -> "1g")

  test("a task has only so much memory for them; what is left out, another scan makes") {
    // 24 MB each when they are decoded; no dictionary holds them.
    val long = (1 to 4).map(n => s"repeat(cast(id + $n AS string), 1000) AS s$n")
    spark.range(10000, 15000, 1, 1).selectExpr("id" +: long: _*).write.parquet(path("long"))
    def query = spark.read.parquet(path("long")).selectExpr(
      "sum(id)" +: (1 to 4).map(n => s"sum(crc32(cast(s$n AS binary)))"): _*)
    def vectors = CacheControl.localPool().get.usedBytes() / (23 << 20)
    val expected = alone(rows(query))
    assertRows(rows(query), expected, "cold run")
    assert(vectors === 3)
    assertRows(rows(query), expected, "three of the columns as vector chunks")
    assert(vectors === 4)
    assertServed(query)
  }

  for ((what, count, length) <- Seq(("chunk", 40000, 4000), ("zone", 6000, 10000)))
    test(s"a $what of more bytes than a task has memory for is tried once") {
      spark.range(0, count, 1, 1)
        .selectExpr(s"rpad(lpad(id, 8, '0'), $length, 'text') AS s")
        .write.option("parquet.block.size", 1 << 30).parquet(path(what))
      val wanted = spark.read.parquet(path(what)).filter("s LIKE '00000007%'").head().getString(0)
      def query = spark.read.parquet(path(what)).filter(col("s") === wanted)
      withConf("spark.oap.cache.representation" -> "auto") {
        CacheControl.clear(spark)
        // All rows are decoded where they are to become a vector chunk, else those of one page.
        val dropped = (1 to 4).map { _ =>
          val (found, counters) = counting(rows(query))
          assert(found === Seq(s"[$wanted]"))
          counters.get(Figure.ROWS_DROPPED)
        }
        assert(dropped(0) < 1000)
        assert(dropped(1) > 4000)
        assert(dropped(2) === dropped(0))
        assert(dropped(3) === dropped(0))
      }
    }

  test("batches have no more rows than the session asks for") {
    spark.range(0, 20000, 1, 1).selectExpr("id", "array(id) AS list").write.parquet(path("batches"))
    def mostRows(columns: String*): Int = {
      val scan = cachedScans(executed(
        spark.read.parquet(path("batches")).selectExpr(columns: _*))).head
      val factory = scan.createReaderFactory()
      scan.planInputPartitions().map { partition =>
        val reader = factory.createColumnarReader(partition)
        try Iterator.continually(reader).takeWhile(_.next()).map(_.get().numRows).max
        finally reader.close()
      }.max
    }
    for (columns <- Seq(Seq("id"), Seq("id", "list"), Seq("list")); isWarm <- Seq(false, true)) {
      CacheControl.clear(spark)
      if (isWarm) mostRows(columns: _*)
      for (rows <- Seq(4096, 512)) withConf(
        "spark.sql.parquet.columnarReaderBatchSize" -> rows.toString) {
        assert(mostRows(columns: _*) === rows, s"$columns, warm $isWarm")
      }
    }
  }
}
