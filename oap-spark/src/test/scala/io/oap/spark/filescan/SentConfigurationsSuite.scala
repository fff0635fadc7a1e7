package io.oap.spark.filescan

import java.net.{URL, URLClassLoader}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.DataFrame

/** How often configurations go to tasks. */
class SentConfigurationsSuite extends FileScanSuite {

  private def conf(value: String): Configuration = {
    val conf = new Configuration(false)
    conf.set("key", value)
    conf
  }

  private def sent(conf: Configuration) =
    SentConfigurations.broadcast(conf, Set.empty, spark.sparkContext)

  test("configurations that say the same are sent once, and as they were") {
    val changing = conf("one")
    val one = sent(changing)
    assert(sent(conf("one")) eq one)
    changing.set("key", "two")
    assert(one.value.value.get("key") === "one")
    assert(sent(changing).value.value.get("key") === "two")
    assert(sent(conf("one")) eq one)
  }

  test("keys that are left out are not sent, and their values make no other configuration") {
    val context = spark.sparkContext
    val more = conf("one")
    more.set("other", "value")
    val one = sent(conf("one"))
    assert(SentConfigurations.broadcast(more, Set("other"), context) eq one)
    more.set("key", "three")
    assert(SentConfigurations.broadcast(more, Set("other"), context).value.value.size === 1)
    assert(more.get("other") === "value")
  }

  test("what looks for classes elsewhere is another configuration") {
    val other = conf("one")
    other.setClassLoader(new URLClassLoader(Array.empty[URL], getClass.getClassLoader))
    assert(sent(other) ne sent(conf("one")))
  }

  test("the last ones stay") {
    val first = sent(conf("first"))
    (1 to SentConfigurations.Most).foreach(i => sent(conf(i.toString)))
    assert(sent(conf("first")) ne first)
    val last = sent(conf("last"))
    (2 to SentConfigurations.Most).foreach(i => sent(conf(i.toString)))
    assert(sent(conf("last")) eq last)
  }

  test("queries of one session send one, whatever columns they read") {
    val rows = spark.range(0, 1000, 1, 2).selectExpr("id", "id % 7 AS k", "id % 5 AS l")
    rows.write.orc(watched("sent-orc"))
    assertSentOnce(spark.read.orc(watched("sent-orc")))
    rows.write.bucketBy(2, "id").saveAsTable("sent_buckets")
    assertSentOnce(spark.table("sent_buckets"))
    rows.write.partitionBy("l").bucketBy(2, "id").saveAsTable("sent_others")
    assert(beyondSpark(spark.table("sent_others").where("k > 2")) === 0)
  }

  test("what was sent stays as it was, whatever tasks read with it") {
    spark.range(0, 1000, 1, 2).selectExpr("id", "id % 7 AS k", "concat('s', id) AS s").write
      .bucketBy(2, "id").saveAsTable("sent_same")
    def read(column: String) =
      assertServedByFiles(spark.table("sent_same").where("k > 2").select(column))
    read("id")
    val before = properties
    read("s")
    read("k")
    assert(properties === before)
  }

  private def properties: Map[Long, Map[String, String]] =
    SentConfigurations.kept(spark.sparkContext).map { one =>
      one.id -> one.value.value.asScala.map(entry => entry.getKey -> entry.getValue).toMap
    }.toMap

  private def assertSentOnce(table: => DataFrame): Unit = {
    assert(beyondSpark(table.where("k > 2").groupBy("k").sum("id")) === 1)
    assert(beyondSpark(table.where("k > 2").groupBy("k").sum("id")) === 0)
    assert(beyondSpark(table.select("l")) === 0)
  }

  /** How many broadcasts a query makes that Spark alone does not make. */
  private def beyondSpark(query: => DataFrame): Long = {
    val ofSpark = alone(broadcasts(executed(query)))
    broadcasts(assert(cachedFileScans(executed(query)).nonEmpty)) - ofSpark
  }

  /** How many broadcasts something makes: they are numbered. */
  private def broadcasts(body: => Unit): Long = {
    val before = spark.sparkContext.broadcast(0).id
    body
    spark.sparkContext.broadcast(0).id - before - 1
  }
}
