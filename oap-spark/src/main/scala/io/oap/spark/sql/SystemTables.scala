package io.oap.spark.sql

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import io.oap.cache.stats.Figure
import io.oap.common.{ConfigEntry, OapConfig}
import io.oap.spark.buildside.{BuildSideFigures, BuildSides}
import io.oap.spark.cluster.{Answer, Cluster}
import io.oap.spark.status.{ExecutorReport, Figures, MemoryReport, PoolReport, ScanReport}

/** The tables of `oap.system`, with what their columns mean. */
private[spark] object SystemTables {

  def all: Seq[SystemTable[_]] =
    Seq(config, executors, AdviceTable.table, scans, buildSides) ++ ResidencyTables.all

  /** One record for each key and the value that this session has for it. */
  private val config = new SystemTable[(ConfigEntry[_], String)](
    "config",
    Seq(
      SystemColumn("key", StringType, "configuration key", _._1.key),
      SystemColumn("value", StringType, "its value in this session", _._2),
      SystemColumn("default", StringType, "value when nothing is set", _._1.defaultText),
      SystemColumn("type", StringType, "type of the value, with its unit", _._1.`type`),
      SystemColumn("allowed", StringType, "values that are allowed", _._1.allowed),
      SystemColumn(
        "scope",
        StringType,
        "session: each session may have its own; static: read once, by the driver or when an " +
          "executor opens its cache",
        _._1.scope.toString.toLowerCase(Locale.ROOT)
      ),
      SystemColumn("since", StringType, "first version that has the key", _._1.since),
      SystemColumn("meaning", StringType, "what it does", _._1.meaning)
    ),
    session =>
      OapConfig.ALL.asScala.toSeq.map(entry =>
        entry -> session.conf.get(entry.key, entry.defaultText))
  )

  private val executors = new SystemTable[ExecutorReport](
    "executors",
    Seq[SystemColumn[ExecutorReport]](
      SystemColumn("executor_id", StringType, "Spark's id of the executor", _.executor),
      SystemColumn("host", StringType, "host it runs on", _.host),
      SystemColumn(
        "state",
        StringType,
        "open; not used yet: no task has wanted the cache; off: it reads files as Spark alone " +
          "does; not reached: it gives no answer, and the figures are those it told last",
        _.state
      ),
      SystemColumn("why", StringType, "the reason, where the state has one", _.why),
      SystemColumn(
        "pool",
        StringType,
        "names its pool: executors with one name have one pool together, and each tells the capacity, " +
          "used bytes and chunks of all of it; the executor's id where the pool is its own",
        report => Option(report.pool).map(_ => report.poolName).orNull
      ),
      ofPool("medium", StringType, "where the pool lies, see spark.oap.pool.medium", _.medium),
      ofPool("path", StringType, "directories or devices of the pool", _.paths),
      ofPool(
        "nodes",
        MapType(IntegerType, LongType),
        "bytes of the pool on each memory node, about",
        _.bytesOnNodes),
      ofMemory(
        "keeps_to_nodes",
        StringType,
        "memory nodes that spark.oap.numa.bind has given the executor",
        memory => if (memory.keepsTo.isEmpty) null else memory.keepsTo),
      ofMemory(
        "heap_nodes",
        MapType(IntegerType, LongType),
        "bytes of the Java heap on each memory node",
        _.heapOnNodes),
      ofMemory(
        "rest_nodes",
        MapType(IntegerType, LongType),
        "bytes of the executor's other memory on each memory node, without mapped files: what tasks " +
          "have off the heap, and what the JVM needs",
        _.restOnNodes
      )
    ) ++ Figure.OF_POOL.asScala.map(figure =>
      ofPool(figure.column, LongType, figure.meaning, _.figures.get(figure))) ++
      Figure.OF_READERS.asScala.map(figure =>
        ofReaders(
          figure.column,
          LongType,
          figure.meaning,
          readers => figure.shown(readers.get(figure)))) ++ Seq(
        ofReaders(
          "load_mb_per_s",
          DoubleType,
          "megabytes read from files in a second that one task spent reading",
          _.loadRate),
        ofPool("native_version", StringType, "version of the native library", _.nativeVersion)
      ),
    reports
  )

  private def ofPool(
      name: String,
      dataType: DataType,
      comment: String,
      value: PoolReport => Any): SystemColumn[ExecutorReport] =
    SystemColumn(name, dataType, comment, report => Option(report.pool).map(value).orNull)

  private def ofMemory(
      name: String,
      dataType: DataType,
      comment: String,
      value: MemoryReport => Any): SystemColumn[ExecutorReport] =
    SystemColumn(name, dataType, comment, report => Option(report.memory).map(value).orNull)

  private def ofReaders(
      name: String,
      dataType: DataType,
      comment: String,
      value: Figures => Any): SystemColumn[ExecutorReport] =
    SystemColumn(
      name,
      dataType,
      comment,
      report => value(report.readers))

  private val scans = new SystemTable[ScanReport](
    "scans",
    Seq[SystemColumn[ScanReport]](
      SystemColumn("execution_id", LongType, "Spark's id of the SQL execution", _.execution),
      SystemColumn(
        "ended",
        TimestampType,
        "when the execution ended",
        scan => new java.sql.Timestamp(scan.endedMillis)),
      SystemColumn("table", StringType, "the table, or its paths", _.table),
      SystemColumn(
        "columns",
        ArrayType(StringType),
        "columns that were read",
        _.columns.asScala),
      ofScan("rows", "numOutputRows", "rows that the scan gave")
    ) ++ Figure.OF_READERS.asScala.map(figure =>
      ofScan(figure.column, figure.metric, figure.meaning)),
    session => Cluster.of(session.sparkContext).status.snapshot().scans.asScala.toSeq
  )

  private def ofScan(name: String, metric: String, comment: String): SystemColumn[ScanReport] =
    SystemColumn(name, LongType, comment, _.metrics.get(metric))

  private val buildSides = new SystemTable[BuildSideFigures](
    "buildsides",
    Seq[SystemColumn[BuildSideFigures]](
      SystemColumn("kind", StringType, "broadcast or shuffle", _.kind),
      SystemColumn("sides", LongType, "sides of joins that are kept", _.sides),
      SystemColumn(
        "bytes",
        LongType,
        "their bytes, as Spark counts them; a shuffle takes 16 MiB of the capacity besides",
        _.bytes),
      SystemColumn(
        "capacity_bytes",
        LongType,
        "bytes that they may have, see spark.oap.buildsides.maxSize and maxShuffleSize",
        _.capacityBytes),
      SystemColumn("hits", LongType, "times that a query found one", _.hits),
      SystemColumn("misses", LongType, "times that a query had to make one", _.misses),
      SystemColumn("evictions", LongType, "sides that made room for others", _.evictions)
    ),
    session => BuildSides.of(session.sparkContext).figures
  )

  private def reports(session: SparkSession): Seq[ExecutorReport] = {
    val cluster = Cluster.of(session.sparkContext)
    val silent = cluster.askFigures()
      .collect { case Answer(executor, None, Some(why), false) => executor -> why }.toMap
    cluster.status.snapshot().executors.asScala.toSeq
      .filter(_.isLive)
      .map(one => silent.get(one.report.executor).fold(one.report)(one.report.unreached))
      .sortBy(report => (report.executor.length, report.executor))
  }
}
