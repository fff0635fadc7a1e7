package io.oap.spark.filter

import java.io.{ByteArrayOutputStream, ObjectOutputStream}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.connector.expressions.{Expression, Expressions}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.unsafe.types.UTF8String

import io.oap.spark.{CacheSuite, NativeMemory}

/** Join keys by the hundred thousand: what they cost a task and an executor. */
class ManyKeysSuite extends CacheSuite {
  private val rowCount = 20000

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(0, rowCount, 1, 1).selectExpr("id", "id * 3 AS k", "concat('s', id) AS s")
      .write.parquet(path("fact"))
  }

  private def planned(keys: Predicate*): (Seq[InputPartition], PartitionReaderFactory) = {
    val scan = cachedScans(executed(spark.read.parquet(path("fact")))).head
    scan.filter(keys.toArray)
    (scan.planInputPartitions().toSeq, scan.createReaderFactory())
  }

  private def in(column: String, keys: Iterator[Any]): Predicate =
    new Predicate(
      "IN",
      (Iterator[Expression](Expressions.column(column)) ++
        keys.map(Expressions.literal(_))).toArray)

  private def evenTexts(count: Int): Predicate =
    in("s", Iterator.range(0, count).map(n => UTF8String.fromString(s"s${2 * n}")))

  /** Even numbers, so far apart that neither a range nor a bitmap holds them. */
  private def evenKeys(count: Int): Predicate =
    in("id", Iterator.range(0, count).map(n => if (n < 5000) 2L * n else n * 1000000L))

  private def ids(partitions: Seq[InputPartition], factory: PartitionReaderFactory): Set[Long] =
    partitions.flatMap { partition =>
      val reader = factory.createColumnarReader(partition)
      try Iterator.continually(reader).takeWhile(_.next()).flatMap { reader =>
          val batch = reader.get()
          (0 until batch.numRows).map(batch.column(0).getLong(_)).toList
        }.toList
      finally reader.close()
    }.toSet

  private def serializedBytes(factory: PartitionReaderFactory): Int = {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(factory)
    bytes.size
  }

  private val even = (0L until 10000L by 2).toSet

  test("many keys are no part of what each task is given") {
    val (partitions, few) = planned(evenKeys(5000))
    assert(ids(partitions, few) === even)
    val (others, many) = planned(evenKeys(300000))
    assert(ids(others, many) === even)
    assert(serializedBytes(many) < serializedBytes(few) + 1000)
    // Vector chunks tell strings that are no entries of a dictionary by their first bytes only.
    withConf("spark.oap.cache.representation" -> "encoded") {
      val (texts, strings) = planned(evenTexts(40000))
      assert(ids(texts, strings) === (0L until rowCount by 2).toSet)
      assert(serializedBytes(strings) < serializedBytes(few) + 1000)
    }
  }

  test("the tasks of a process share one set of keys, which goes when it is not needed") {
    val (partitions, factory) = planned(evenKeys(1000000))
    ids(partitions, factory)
    val before = NativeMemory.heldByMalloc()
    val readers = Seq.fill(6)(factory.createColumnarReader(partitions.head))
    try {
      assert(readers.forall(_.next()))
      assert(NativeMemory.heldByMalloc() - before < (48L << 20))
      assert(SharedFilters.bytes > 8000000)
    } finally readers.foreach(_.close())
    val (others, another) = planned(evenKeys(900000))
    ids(others, another)
    assert(SharedFilters.bytes <= SharedFilters.MostIdleBytes)
  }

  test("of more keys than can be held, the least and the greatest count") {
    val (partitions, factory) = planned(evenKeys(1200000))
    assert(ids(partitions, factory) === (0L until rowCount).toSet)
    val above = in("id", Iterator.range(0, 1200000).map(n => 100L + 7L * n))
    val (some, bounded) = planned(above)
    assert(ids(some, bounded) === (100L until rowCount).toSet)
    assert(serializedBytes(bounded) < 50000)
    // So many strings are not compared at all.
    val (texts, strings) = planned(evenTexts(100000))
    assert(ids(texts, strings) === (0L until rowCount).toSet)
  }

  private def dynamicFilters(query: DataFrame): Int =
    collect(executed(query)) { case scan: BatchScanExec =>
      scan.runtimeFilters.count(_.isInstanceOf[DynamicPruningExpression])
    }.sum

  private def joined(dimension: String, fact: String = "fact"): DataFrame =
    spark.sql(
      s"""SELECT /*+ BROADCAST(d) */ count(*) FROM parquet.`${path(fact)}` f
         |JOIN $dimension d ON f.k = d.key WHERE d.used = 1""".stripMargin)

  /** Every other key is in no way near the last one, as compression would have it. */
  private def dimension(rows: Long): String = {
    spark.range(0, rows, 1, 1)
      .selectExpr("if(id % 2 = 0, id, xxhash64(id)) AS key", "1 AS used")
      .write.mode("overwrite").parquet(path(s"keys$rows"))
    s"parquet.`${path(s"keys$rows")}`"
  }

  test("a broadcast of which many rows are expected gives no keys") {
    spark.range(0, 1500000, 1, 2).selectExpr("xxhash64(id) AS k", "xxhash64(-id) AS v")
      .write.parquet(path("longFact"))
    def gives(keys: Long, fact: String): Boolean = {
      val table = dimension(keys)
      assertSameRows(joined(table, fact))
      dynamicFilters(joined(table, fact)) == 1
    }
    assert(gives(5000, "fact"))
    assert(!gives(100000, "fact"), "as many as the rows they drop, or more")
    assert(gives(40000, "longFact"))
    assert(!gives(300000, "longFact"))
  }

  test("a broadcast of which nothing is known gives its keys") {
    val rdd = spark.sparkContext.range(0, 1000).map(n => (n * 2, 1))
    spark.createDataFrame(rdd).toDF("key", "used").createOrReplaceTempView("unknown")
    assert(dynamicFilters(joined("unknown")) === 1)
    assertSameRows(joined("unknown"))
  }
}
