package io.oap.tpcds.scale

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import jdk.jfr.Recording
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.{Row, SparkSession}

import io.oap.common.OapConfig
import io.oap.spark.CacheControl
import io.oap.tpcds.{Circumstances, FileReads, Progress, Queries, Systems}
import io.oap.tpcds.cluster.{Application, Held}
import io.oap.tpcds.data.TpcdsTable
import io.oap.tpcds.lake.TableForm
import io.oap.tpcds.result.{MeasuredSystem, Plan, QueryRun, Round, Sample}
import io.oap.tpcds.storage.{Pace, StorageClass}

/**
 * One application of one system, with executors and a pool of its own, from its start until it is
 * closed. In local mode the next application of the same process opens another pool, because each
 * has its own settings; a pool of the same settings is emptied.
 */
final class SystemApplication(
    whole: Plan,
    system: MeasuredSystem,
    expected: TrieMap[String, Seq[Row]],
    progress: Progress)
    extends AutoCloseable {
  private val plan = whole.of(system)
  private val fair =
    if (plan.tenants > 1) Map("spark.scheduler.mode" -> "FAIR") else Map.empty[String, String]
  private val form = TableForm.named(plan.form)
  private val storage =
    if (plan.limitsDevice) StorageClass.LOCAL else StorageClass.ofScheme(plan.storage)
  private val data = form.data(plan.data, plan.scale)
  private val systems =
    Systems.start(form.settings(plan.data, plan.scale, storage) ++ system.settings ++ fair)
  private val isOap = system.kind == "oap"
  private val session: SparkSession = if (isOap) systems.oap else systems.sparkAlone
  private val context = session.sparkContext
  private val reads = new FileReads(context)
  private val sampler = new Sampler(context)
  private val tables = Queries.tables(plan.queries)
  private val known =
    (tables ++ TpcdsTable.All.filter(t => plan.sweep.exists(_.table == t.name))).distinct
  private val tenants = new Tenants(session, plan, system, expected)

  start()

  private def start(): Unit = {
    if (!context.isLocal) waitForExecutors()
    data.complete(systems.sparkAlone, known, plan.partitioned, progress)
    data.register(session, known, plan.partitioned, storage)
    if (isOap) systems.clearCache()
    if (system.kind == "spark-cache") cacheTables()
  }

  /** Waits for all executors: late ones would find the first rounds' chunks in the pools of the others. */
  private def waitForExecutors(): Unit = {
    val cores = context.getConf.getInt("spark.executor.cores", 1)
    val wanted = math.ceil(slots.toDouble / cores).toInt
    Application.waitFor(s"$wanted executors of $cores cores, as spark.default.parallelism " +
      s"($slots) and spark.executor.cores say")(executors >= wanted)
  }

  private def cacheTables(): Unit = {
    val howLong = if (plan.isCold) "LAZY" else ""
    tables.foreach(table => session.sql(s"CACHE $howLong TABLE ${table.name}"))
  }

  /** Facts for the result, of all systems: what OAP does where a system's settings say nothing. */
  def circumstances(revision: String): Circumstances = {
    val now = Circumstances.now(
      session,
      Map[String, Any](
        "revision" -> revision,
        "executors" -> executors,
        "layout" -> data.layoutWords(session)),
      plan.data)
    val defaults = OapConfig.ALL.asScala.map(entry => entry.key -> entry.defaultText)
      .filter { case (_, text) => text.nonEmpty }
    now.copy(configuration = defaults.toMap ++ (now.configuration -- system.settings.keys))
  }

  /** All files of the tables that the queries read. */
  def fileBytes: Long = files(tables).map(_.getLen).sum

  private def files(of: Seq[TpcdsTable]): Seq[FileStatus] =
    of.flatMap(data.files(session, _, plan.partitioned))

  /** How many pools there are. */
  def executors: Int =
    if (context.isLocal) 1 else context.getExecutorMemoryStatus.size - 1

  /** How many tasks run at a time. */
  def slots: Int = context.defaultParallelism

  /** What a pool needs to hold all that is in the pools now, in bytes. */
  def neededBytes: Long = Held(CacheControl.held(session)).neededBytes

  /** Does something while it is noted which chunks are asked for, in this process. */
  def recording[T](file: Path)(body: => T): T = {
    val recording = new Recording()
    try {
      recording.enable("io.oap.ChunkAccess")
      recording.start()
      val result = body
      recording.stop()
      Files.createDirectories(file.toAbsolutePath.getParent)
      recording.dump(file)
      result
    } finally {
      recording.close()
    }
  }

  /**
   * Runs all queries of one round in the state that the plan says. In local mode warm-ups read at
   * the machine's speed: what is in the pool afterwards does not depend on how long it took.
   */
  def round(repeat: Int, number: Int, done: Long => Unit): Round = {
    Pace.limitThisJvm(number > 0)
    val pageCache =
      if (plan.isCold && number > 0) coldState()
      else if (plan.limitsDevice) dropPageCache()
      else PageCache.LeftAlone
    // Spark frees the broadcasts of earlier queries after a garbage collection only.
    System.gc()
    val time = Instant.now().toString
    val counted = reads.during(
      sampler.during(tenants.round(repeat, number, done)),
      (ran: (Seq[QueryRun], Seq[Sample])) => ran._1.count(_.error.isEmpty))
    val (ran, samples) = counted.result
    val (sweeps, queries) = ran.partition(_.query == Tenants.Sweep)
    val pools = if (isOap) CacheControl.held(session).values.toSeq else Nil
    val seconds = if (plan.sweep.isEmpty) queries.map(_.ended).max else queries.map(_.seconds).sum
    Round(
      system.name,
      repeat,
      number,
      queries,
      seconds,
      SystemApplication.process,
      time,
      counted.bytes,
      pools.map(_.chunks.values.sum).sum + cachedTablesBytes,
      pools.map(_.evictedBytes).sum,
      pageCache,
      sweeps,
      samples
    )
  }

  /** What Spark's own cache holds; 0 but for `spark-cache`. */
  private def cachedTablesBytes: Long =
    context.getRDDStorageInfo.map(rdd => rdd.memSize + rdd.diskSize).sum

  private def coldState(): String = {
    if (isOap) systems.clearCache()
    if (system.kind == "spark-cache") {
      session.catalog.clearCache()
      cacheTables()
    }
    dropPageCache()
  }

  private def dropPageCache(): String = PageCache.drop(context, files(known).map(_.getPath))

  override def close(): Unit = {
    Pace.limitThisJvm(true)
    context.stop()
  }
}

object SystemApplication {
  private val process: String = Instant.now().toString
}
