package io.oap.spark.scan

import java.util.TimeZone

import org.apache.spark.sql.connector.expressions.{Expression, Expressions}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.types._

import io.oap.cache.stats.Figure
import io.oap.spark.CacheSuite

/** Join keys that reach a scan while the query runs drop no row that joins. */
class RuntimeFiltersSuite extends CacheSuite {

  private def in(column: String, keys: Any*): Predicate =
    new Predicate(
      "IN",
      (Expressions.column(column) +: keys.map(Expressions.literal(_))).toArray[Expression])

  private def idsOf(partitions: Seq[InputPartition], factory: PartitionReaderFactory): Set[Long] =
    partitions.flatMap { partition =>
      val reader = factory.createColumnarReader(partition)
      try {
        Iterator.continually(reader).takeWhile(_.next()).flatMap { reader =>
          val batch = reader.get()
          (0 until batch.numRows).map(batch.column(0).getLong(_)).toList
        }.toList
      } finally reader.close()
    }.toSet

  test("join keys hold for the partitions that were planned with them, and for no others") {
    spark.range(0, 1000, 1, 2).selectExpr("id", "id % 10 AS p")
      .write.partitionBy("p").parquet(path("planned"))
    val scan = cachedScans(executed(spark.read.parquet(path("planned")))).head

    def planned(predicates: Predicate*): (Seq[InputPartition], PartitionReaderFactory) = {
      if (predicates.nonEmpty) scan.filter(predicates.toArray)
      (scan.planInputPartitions().toSeq, scan.createReaderFactory())
    }
    val all = (0L until 1000L).toSet
    val (some, ofSome) = planned(in("p", 3L, 4L), in("id", 13L, 500L))
    val (whole, ofWhole) = planned()
    val (other, ofOther) = planned(in("id", 7L))
    assert(idsOf(some, ofSome) === Set(13L))
    assert(idsOf(other, ofOther) === Set(7L))
    assert(idsOf(whole, ofWhole) === all)
    // A factory that was made for another planning drops nothing by its keys.
    assert(idsOf(whole, ofOther) === all)
    assert(idsOf(other, ofSome) === all)
    assert(idsOf(some, ofOther) === all.filter(id => id % 10 == 3 || id % 10 == 4))
  }

  // What the last join that was compared left out.
  private var dropped = 0L

  private def assertJoined(schema: String, file: String, keys: String, count: Long): Unit = {
    spark.sql(s"CREATE OR REPLACE TEMP VIEW joined AS SELECT * FROM VALUES $keys AS v(key, used)")
    spark.table("joined").write.mode("overwrite").parquet(path("keys"))
    val dimension = spark.read.parquet(path("keys")).filter("used = 1")
    def query = {
      val fact = spark.read.schema(schema).parquet(file)
      fact.join(dimension, fact("k") === dimension("key")).select(fact("id"))
    }
    dropped = assertSameRows(query).get(Figure.ROW_GROUPS_PRUNED)
    assert(query.count() === count)
  }

  private def write(name: String, columns: String*): String = {
    spark.range(0, 20000, 1, 1).selectExpr("id" +: columns: _*).write
      .options(rowGroupsOf(2000)).parquet(path(name))
    path(name)
  }

  test("decimals of which the files have fewer digits than the table") {
    val fixed = write("fixed", "CAST(id AS DECIMAL(20, 0)) AS k")
    assertJoined(
      "id BIGINT, k DECIMAL(38, 0)",
      fixed,
      "(CAST('17' AS DECIMAL(38, 0)), 1), (CAST('1234567890123456789012345' AS DECIMAL(38, 0)), 1)",
      count = 1)
    // 4 bytes in the file: the greatest key would become a negative number.
    val small = write("small", "CAST(id AS DECIMAL(9, 2)) AS k")
    val keys = (0 until 1500).map(n => s"(CAST($n AS DECIMAL(18, 2)), 1)")
    val greatest = "(CAST(21474837 AS DECIMAL(18, 2)), 1)"
    assertJoined("id BIGINT, k DECIMAL(18, 2)", small, (keys :+ greatest).mkString(", "), 1500)
  }

  test("strings that are not valid UTF-8") {
    val first = write("bytes", "IF(id < 2000, CAST(X'80' AS STRING), 'a') AS k")
    assertJoined("id BIGINT, k STRING", first, "(CAST(X'80' AS STRING), 1)", count = 2000)
    // So many that only the ends go to the row groups.
    val keys = (0 until 1500).map(n => s"('\u00e9$n', 1)") :+ "(CAST(X'80' AS STRING), 1)"
    assertJoined("id BIGINT, k STRING", first, keys.mkString(", "), count = 2000)
  }

  test("days that Java's old calendar, or the time zone, left out") {
    val days = write("days", "date_add(date'1582-10-10', int(id / 2000)) AS k")
    val gap = (0 until 1500).map(n => s"(date_add(date'1582-10-10', $n), 1)")
    for ((keys, count) <- Seq(gap.take(1) -> 2000, gap -> 20000)) {
      assertJoined("id BIGINT, k DATE", days, keys.mkString(", "), count.toLong)
    }
    val zone = TimeZone.getDefault
    try {
      TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Apia"))
      val late = write("late", "date_add(date'2011-12-30', int(id / 2000)) AS k")
      assertJoined("id BIGINT, k DATE", late, "(date'2011-12-30', 1)", count = 2000)
    } finally TimeZone.setDefault(zone)
  }

  test("days and strings that filters can tell leave out row groups") {
    val ordinary = write("ordinary", "date_add(date'2020-01-01', int(id / 2000)) AS k")
    assertJoined("id BIGINT, k DATE", ordinary, "(date'2020-01-03', 1), (NULL, 1)", count = 2000)
    assert(dropped === 9)
    val strings = write("strings", "concat('\u00e9', int(id / 2000)) AS k")
    assertJoined("id BIGINT, k STRING", strings, "('\u00e93', 1), ('\u00e94', 1)", count = 4000)
    assert(dropped === 8)
  }

  test("columns that are found by their ids") {
    def field(name: String, id: Long): StructField = StructField(
      name,
      LongType,
      nullable = true,
      new MetadataBuilder().putLong("parquet.field.id", id).build())
    val rows = spark.range(0, 20000, 1, 1).selectExpr("id", "-id AS k").rdd
    spark.createDataFrame(rows, StructType(Seq(field("id", 1), field("k", 2))))
      .write.options(rowGroupsOf(2000)).parquet(path("ids"))
    spark.range(15000, 15003).selectExpr("id AS key", "1 AS used").write.parquet(path("idKeys"))
    withConf("spark.sql.parquet.fieldId.read.enabled" -> "true") {
      // What the table calls k is called id in the files, and the other way round.
      def query = {
        val fact = spark.read.schema(StructType(Seq(field("k", 1), field("id", 2))))
          .parquet(path("ids"))
        val dimension = spark.read.parquet(path("idKeys")).filter("used = 1")
        fact.join(dimension, fact("k") === dimension("key")).select(fact("id"))
      }
      assertSameRows(query)
      assert(query.collect().map(_.getLong(0)).toSet === Set(-15000L, -15001L, -15002L))
    }
  }
}
