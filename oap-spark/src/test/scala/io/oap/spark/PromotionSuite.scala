package io.oap.spark

/** How vector chunks are made, as far as a query does not show it. */
class PromotionSuite extends CacheSuite {

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> "400m",
    "spark.oap.cache.representation" -> "vector",
    "spark.sql.files.maxPartitionBytes" -> "1g")

  test("a task has only so much memory for them; what is left out, another scan makes") {
    // 40 MB each when they are decoded; no dictionary holds them.
    val long = (1 to 4).map(n => s"repeat(cast(id + $n AS string), 1700) AS s$n")
    spark.range(10000, 15000, 1, 1).selectExpr("id" +: long: _*).write.parquet(path("long"))
    def query = spark.read.parquet(path("long")).selectExpr(
      "sum(id)" +: (1 to 4).map(n => s"sum(crc32(cast(s$n AS binary)))"): _*)
    def vectors = CacheControl.localPool().get.usedBytes() / (40 << 20)
    val expected = alone(rows(query))
    assertRows(rows(query), expected, "cold run")
    assert(vectors === 3)
    assertRows(rows(query), expected, "three of the columns as vector chunks")
    assert(vectors === 4)
    assertServed(query)
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
