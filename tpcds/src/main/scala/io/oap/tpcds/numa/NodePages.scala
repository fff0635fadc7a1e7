package io.oap.tpcds.numa

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.sys.process._

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.{col, explode, split}
import org.apache.spark.storage.StorageLevel

import io.oap.spark.OapExtensions
import io.oap.tpcds.{Progress, Queries}
import io.oap.tpcds.lake.TableForm
import io.oap.tpcds.storage.{PacedFileSystem, StorageClass}

/**
 * On which memory nodes the pages of an executor lie after a wordcount and a query of TPC-DS. It
 * runs in a virtual machine with two nodes, so it tells where pages lie and nothing of speed. Started
 * by dev/pool-vm.
 */
object NodePages {
  private val Names = Seq("q52")
  private val Scale = 1.0
  private val Lines = 200000L

  /** What has to lie on the node that was asked for. */
  private val PoolBar = 99.0
  private val OffHeapBar = 95.0

  /** Less than that is noise. */
  private val LeastBlockBytes = 16L << 20

  /**
   * Arguments: the folder of the data, to make what is missing of it; or that, spark.oap.numa.bind,
   * a folder to write to, and the command that tells the nodes of pages. Exit status 1 if pages do
   * not lie on the node whose number was given.
   */
  def main(arguments: Array[String]): Unit = arguments match {
    case Array(data) => withSpark("off")(makeData(_, data))
    case Array(data, bind, work, pageNodes) =>
      withSpark(bind)(run(_, data, bind, work, pageNodes))
    case _ => throw new IllegalArgumentException("data [bind work page-nodes]")
  }

  private def withSpark(bind: String)(body: SparkSession => Unit): Unit = {
    val spark = SparkSession.builder()
      .master("local[2]")
      .appName("OAP pages on nodes")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.extensions", classOf[OapExtensions].getName)
      .config("spark.sql.shuffle.partitions", "2")
      .config("spark.memory.offHeap.enabled", "true")
      .config("spark.memory.offHeap.size", "512m")
      .config(
        s"spark.hadoop.fs.${StorageClass.LOCAL.scheme}.impl",
        classOf[PacedFileSystem].getName)
      .config(s"spark.hadoop.${PacedFileSystem.CORES_KEY}", "2")
      .config("spark.oap.pool.size", "256m")
      .config("spark.oap.numa.bind", bind)
      .getOrCreate()
    try body(spark)
    finally spark.stop()
  }

  private def makeData(spark: SparkSession, folder: String): Unit =
    TableForm.Parquet.data(folder, Scale)
      .complete(spark, Queries.tables(Names), partitioned = false, Progress.ofTerminal())

  private def run(
      spark: SparkSession,
      data: String,
      bind: String,
      work: String,
      pageNodes: String): Unit = {
    val texts = Queries.tables(Names).map(_.name).sorted.mkString(" word ")
    spark.range(Lines).selectExpr(s"concat_ws(' ', '$texts', id % 1000, id) AS line")
      .write.mode("overwrite").parquet(s"$work/lines")
    spark.read.parquet(s"$work/lines").createOrReplaceTempView("lines")
    TableForm.Parquet.data(data, Scale)
      .register(spark, Queries.tables(Names), partitioned = false, StorageClass.LOCAL)

    for (_ <- 1 to 2) wordcount(spark).collect()
    report(spark, bind, "wordcount")
    for (name <- Names) spark.sql(Queries.text(name)).collect()
    val memory = report(spark, bind, Names.mkString(" and "))
    val blocks = ofBlocks(spark, pageNodes)
    say(bind, "blocks OFF_HEAP", blocks)
    require(blocks.values.sum > LeastBlockBytes, s"too little was kept off the heap: $blocks")
    for (node <- bind.toIntOption) {
      require(share(memory.pool, node) >= PoolBar, s"the pool lies elsewhere: ${memory.pool}")
      require(share(blocks, node) >= OffHeapBar, s"memory of tasks lies elsewhere: $blocks")
    }
  }

  /** Bytes by node of blocks that tasks keep off the heap, of lines that they read through the cache. */
  private def ofBlocks(spark: SparkSession, pageNodes: String): Map[Int, Long] = {
    val lines = spark.table("lines").rdd.map(_.getString(0) * 6).persist(StorageLevel.OFF_HEAP)
    lines.count()
    val ranges = OffHeapBlocks.of(lines.id, lines.getNumPartitions).asScala
    val command = Seq(pageNodes, ProcessHandle.current().pid().toString)
    val input = ranges.map(range => s"${range.address} ${range.bytes}\n").mkString
    val answer = (command #< new ByteArrayInputStream(input.getBytes(US_ASCII))).lazyLines
    answer.map(_.split(' ')).map(words => words(0).toInt -> words(1).toLong).toMap
  }

  private def wordcount(spark: SparkSession): DataFrame =
    spark.table("lines").select(explode(split(col("line"), " ")).as("word"))
      .groupBy("word").count().orderBy(col("count").desc).limit(10)

  /** Bytes by node. */
  private final case class Memory(
      pool: Map[Int, Long],
      heap: Map[Int, Long],
      rest: Map[Int, Long])

  private def report(spark: SparkSession, bind: String, after: String): Memory = {
    val row = spark.sql(
      "SELECT nodes, heap_nodes, rest_nodes, hits, keeps_to_nodes FROM oap.system.executors").head()
    def bytes(i: Int): Map[Int, Long] =
      Option(row.getMap[Int, Long](i)).fold(Map.empty[Int, Long])(_.toMap)
    val memory = Memory(bytes(0), bytes(1), bytes(2))
    println(s"pages: after $after: ${row.getLong(3)} hits, keeps to node ${row.getString(4)}")
    say(bind, "pool", memory.pool)
    say(bind, "heap", memory.heap)
    say(bind, "rest", memory.rest)
    memory
  }

  private def say(bind: String, what: String, bytes: Map[Int, Long]): Unit = {
    val parts = bytes.keys.toSeq.sorted.map(node =>
      String.format(
        Locale.ROOT,
        "node %d: %.1f MiB, %.2f %%",
        Int.box(node),
        Double.box(bytes(node) / 1048576.0),
        Double.box(share(bytes, node))))
    println(s"pages: bind=$bind $what: ${parts.mkString("; ")}")
  }

  private def share(bytes: Map[Int, Long], node: Int): Double =
    100.0 * bytes.getOrElse(node, 0L) / math.max(1L, bytes.values.sum)
}
