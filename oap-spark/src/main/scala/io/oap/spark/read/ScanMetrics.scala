package io.oap.spark.read

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.oap.cache.stats.{CacheCounters, MissCause}

/**
 * What the SQL tab shows of a cached scan. Spark makes the classes by name, hence one class each.
 *
 *   - bytesFromPool: bytes of column chunks taken from the pool
 *   - bytesFromFile: bytes read from data files, footers and page indexes included
 *   - chunksHit, chunksMissed, chunksBypassed: column chunks found in the pool, loaded into it, and
 *     read around it
 *   - missesCold to bypassesOther: why chunks were missed or bypassed, see `MissCause`
 *   - rowGroupsPruned: row groups ruled out by their statistics and the join keys Spark sent
 *   - zonesSkipped: zones of vector chunks of which no row was wanted
 *   - rowsDropped: rows left out of other zones and of decoded batches, because the query does not
 *     want them
 *   - tasksElsewhere: tasks that ran on another executor than the one they were placed on
 *   - loadTime: time the tasks spent reading files
 */
object ScanMetrics {
  def all: Array[CustomMetric] = Array(
    new BytesFromPool,
    new BytesFromFile,
    new ChunksHit,
    new ChunksMissed,
    new ChunksBypassed,
    new RowGroupsPruned,
    new ZonesSkipped,
    new RowsDropped,
    new TasksElsewhere,
    new LoadTime
  ) ++ causes.map(_._2)

  private val causes: Array[(MissCause, CustomMetric)] = Array(
    MissCause.COLD -> new MissesCold,
    MissCause.EVICTED -> new MissesEvicted,
    MissCause.CHANGED_FILE -> new MissesChangedFile,
    MissCause.NOT_ADMITTED -> new BypassesNotAdmitted,
    MissCause.TOO_LARGE -> new BypassesTooLarge,
    MissCause.PINNED_FULL -> new BypassesPinnedFull,
    MissCause.OTHER -> new BypassesOther
  )

  /** The values of one task so far. */
  def of(counters: CacheCounters): Array[CustomTaskMetric] = Array(
    TaskValue("bytesFromPool", counters.bytesFromPool),
    TaskValue("bytesFromFile", counters.bytesFromFile),
    TaskValue("chunksHit", counters.chunksHit),
    TaskValue("chunksMissed", counters.chunksMissed),
    TaskValue("chunksBypassed", counters.chunksBypassed),
    TaskValue("rowGroupsPruned", counters.rowGroupsPruned),
    TaskValue("zonesSkipped", counters.zonesSkipped),
    TaskValue("rowsDropped", counters.rowsDropped),
    TaskValue("tasksElsewhere", counters.tasksElsewhere),
    TaskValue("loadTime", counters.loadNanos / 1000000)
  ) ++ causes.map { case (cause, metric) => TaskValue(metric.name, counters.chunks(cause)) }

  private case class TaskValue(name: String, value: Long) extends CustomTaskMetric
}

/** A sum of bytes, shown with its unit. */
abstract class BytesMetric extends CustomMetric {
  override def aggregateTaskMetrics(taskMetrics: Array[Long]): String = {
    val bytes = taskMetrics.sum
    val units = Seq("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    val power = if (bytes < 1) 0 else (63 - java.lang.Long.numberOfLeadingZeros(bytes)) / 10
    if (power == 0) s"$bytes B"
    else
      String.format(java.util.Locale.ROOT, "%.1f %s", bytes / math.pow(1024, power), units(power))
  }
}

class BytesFromPool extends BytesMetric {
  override def name(): String = "bytesFromPool"
  override def description(): String = "bytes from the pool"
}

class BytesFromFile extends BytesMetric {
  override def name(): String = "bytesFromFile"
  override def description(): String = "bytes from files"
}

class ChunksHit extends CustomSumMetric {
  override def name(): String = "chunksHit"
  override def description(): String = "column chunks hit"
}

class ChunksMissed extends CustomSumMetric {
  override def name(): String = "chunksMissed"
  override def description(): String = "column chunks missed"
}

class ChunksBypassed extends CustomSumMetric {
  override def name(): String = "chunksBypassed"
  override def description(): String = "column chunks bypassed"
}

class RowGroupsPruned extends CustomSumMetric {
  override def name(): String = "rowGroupsPruned"
  override def description(): String = "row groups pruned"
}

class ZonesSkipped extends CustomSumMetric {
  override def name(): String = "zonesSkipped"
  override def description(): String = "zones skipped"
}

class RowsDropped extends CustomSumMetric {
  override def name(): String = "rowsDropped"
  override def description(): String = "rows dropped in the scan"
}

class TasksElsewhere extends CustomSumMetric {
  override def name(): String = "tasksElsewhere"
  override def description(): String = "tasks run elsewhere than placed"
}

class LoadTime extends CustomMetric {
  override def name(): String = "loadTime"
  override def description(): String = "load time, all tasks"
  override def aggregateTaskMetrics(taskMetrics: Array[Long]): String = s"${taskMetrics.sum} ms"
}

class MissesCold extends CustomSumMetric {
  override def name(): String = "missesCold"
  override def description(): String = "column chunks missed: cold"
}

class MissesEvicted extends CustomSumMetric {
  override def name(): String = "missesEvicted"
  override def description(): String = "column chunks missed: evicted"
}

class MissesChangedFile extends CustomSumMetric {
  override def name(): String = "missesChangedFile"
  override def description(): String = "column chunks missed: changed file"
}

class BypassesNotAdmitted extends CustomSumMetric {
  override def name(): String = "bypassesNotAdmitted"
  override def description(): String = "column chunks bypassed: not admitted"
}

class BypassesTooLarge extends CustomSumMetric {
  override def name(): String = "bypassesTooLarge"
  override def description(): String = "column chunks bypassed: too large"
}

class BypassesPinnedFull extends CustomSumMetric {
  override def name(): String = "bypassesPinnedFull"
  override def description(): String = "column chunks bypassed: pinned full"
}

class BypassesOther extends CustomSumMetric {
  override def name(): String = "bypassesOther"
  override def description(): String = "column chunks bypassed: other"
}
