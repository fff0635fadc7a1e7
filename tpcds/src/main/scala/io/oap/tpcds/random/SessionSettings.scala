package io.oap.tpcds.random

/** What sessions can be told about planning, reading and computing. */
object SessionSettings {

  /** Known to make Spark alone give wrong rows; then what it gives with these is right. */
  val Safe: Seq[(String, String)] = Seq(
    "spark.sql.columnVector.offheap.enabled" -> "false",
    "spark.sql.codegen.wholeStage" -> "true",
    "spark.sql.parquet.enableVectorizedReader" -> "true",
    "parquet.hadoop.vectored.io.enabled" -> "false",
    "spark.sql.parquet.filterPushdown" -> "false"
  )

  /** Reads by Parquet's own row reader, which shares no decoder with Spark's vectorized one. */
  val RowReader: Seq[(String, String)] =
    (Safe.toMap + ("spark.sql.parquet.enableVectorizedReader" -> "false")).toSeq

  /**
   * A value for each of them, so that a session keeps none of the query before.
   *
   * @param isCollated whether the query has strings with a collation
   */
  def of(choices: Choices, isCollated: Boolean = false): Seq[(String, String)] = {
    def share(percent: Int): String = choices.chance(percent).toString
    val adaptive = share(60)
    Seq(
      "spark.sql.adaptive.enabled" -> adaptive,
      "spark.sql.ansi.enabled" -> share(50),
      "spark.sql.codegen.wholeStage" -> share(35),
      // Without generated code, MIN and MAX of Spark alone keep no copy of a string with a collation,
      // and give what the row has that came last.
      "spark.sql.codegen.factoryMode" -> {
        val mode = choices.oneOf("FALLBACK", "FALLBACK", "NO_CODEGEN")
        if (isCollated) "FALLBACK" else mode
      },
      "spark.sql.autoBroadcastJoinThreshold" -> choices.oneOf("-1", "20k", "10m", "10m"),
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> choices.oneOf("-1", "10m"),
      "spark.sql.join.preferSortMergeJoin" -> share(50),
      "spark.sql.session.timeZone" ->
        choices.oneOf("UTC", "America/Los_Angeles", "Asia/Kathmandu", "Pacific/Apia"),
      "spark.sql.shuffle.partitions" -> choices.between(1, 2).toString,
      "spark.sql.columnVector.offheap.enabled" -> share(15),
      "spark.sql.parquet.enableVectorizedReader" -> share(92),
      "spark.sql.parquet.enableNestedColumnVectorizedReader" -> share(85),
      "spark.sql.parquet.columnarReaderBatchSize" -> choices.oneOf("7", "100", "4096", "4096"),
      "spark.sql.parquet.filterPushdown" -> share(90),
      "spark.sql.parquet.aggregatePushdown" -> share(30),
      "parquet.hadoop.vectored.io.enabled" -> share(20),
      "spark.sql.optimizer.nestedSchemaPruning.enabled" -> share(85),
      "spark.sql.sources.useV1SourceList" -> choices.oneOf("parquet", "parquet", ""),
      "spark.sql.files.maxPartitionBytes" -> choices.oneOf("60k", "1m", "128m"),
      "spark.sql.files.openCostInBytes" -> choices.oneOf("1k", "30k"),
      "spark.sql.optimizer.runtime.bloomFilter.enabled" -> share(60),
      "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold" ->
        choices.oneOf("1b", "10g"),
      // Adaptive, Spark alone may plan a subquery that shares a scan with the plan around it, and
      // the two wait for each other for ever.
      "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly" ->
        Seq(share(70), adaptive).max,
      "spark.sql.exchange.reuse" -> share(85),
      "spark.sql.cbo.enabled" -> share(20),
      "spark.oap.cache.representation" -> choices.oneOf("auto", "auto", "encoded", "vector"),
      // How many tasks read what the sizes above leave in one: their number is most of a run's time.
      "spark.sql.files.minPartitionNum" -> choices.oneOf("1", "1", "2")
    )
  }
}
