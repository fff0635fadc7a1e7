package io.oap.spark.filescan

import org.apache.spark.sql.{DataFrame, SparkSession}

/** Rows with a column of each flat type, and the conditions that tests put on them. */
private[spark] object FlatTypes {

  /** Rows of which some are null, with days and moments before the calendars changed. */
  def rows(spark: SparkSession, from: Long, until: Long): DataFrame = {
    def some(column: String, every: Int) = s"IF(id % $every = 0, NULL, $column)"
    spark.range(from, until, 1, 1).selectExpr(
      "id",
      s"${some("id % 2 = 0", 13)} AS bool",
      s"${some("CAST(id % 100 AS TINYINT)", 7)} AS tiny",
      s"${some("CAST(id % 3000 AS SMALLINT)", 11)} AS small",
      s"${some("CAST(id / 500 AS INT)", 17)} AS step",
      s"${some("concat('s', id % 97)", 5)} AS s",
      s"${some("CAST(concat('b', id % 1000) AS BINARY)", 19)} AS bytes",
      s"${some("CAST(id / 3.0 AS FLOAT)", 23)} AS f",
      "CASE id % 50 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN NULL ELSE id / 7.0D END AS d",
      s"${some("CAST(id * 1.25 AS DECIMAL(9, 2))", 29)} AS d9",
      s"${some("CAST(id * 1.25 AS DECIMAL(18, 2))", 31)} AS d18",
      s"${some("CAST(id * 1.25 AS DECIMAL(38, 4))", 37)} AS d38",
      s"${some("date_add(DATE'1500-01-01', CAST(id * 20 AS INT))", 41)} AS day",
      s"${some("timestamp_seconds(id * 3600 * 24 * 30 - 14000000000)", 43)} AS moment",
      s"${some("CAST(timestamp_seconds(id * 60) AS TIMESTAMP_NTZ)", 47)} AS ntz"
    )
  }

  val conditions: Seq[String] = Seq(
    "step = 3",
    "step IN (1, 4) AND s = 's7'",
    "id > 100 AND id <= 230",
    "s IS NULL AND tiny < 50",
    "s IS NOT NULL AND bool",
    "bytes = CAST('b17' AS BINARY)",
    "d > 250 OR step = 1",
    "d = 0",
    "d18 BETWEEN 1000.01 AND 1010",
    "d38 = 1250",
    "day < DATE'1550-03-01'",
    "moment >= TIMESTAMP'1580-01-01 00:00:00' AND day IS NOT NULL",
    "NOT (step <=> 2) AND small IN (5, 6, 7)",
    "s LIKE 's1%' AND f < 400",
    "id < 0"
  )
}
