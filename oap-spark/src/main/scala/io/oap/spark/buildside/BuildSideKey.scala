package io.oap.spark.buildside

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

import io.oap.spark.framescan.CachedRows
import io.oap.spark.iceberg.IcebergRows
import io.oap.spark.internals.SparkInternals

/**
 * All that decides about what an exchange makes.
 *
 * @param form what rows become, in canonical form: the mode of a broadcast, the partitioning of a shuffle
 * @param reads what each scan of the shape reads: which versions of which files, or which DataFrame
 * @param settings what the session has set to other values than Spark's, but for what no row
 *     depends on
 */
private[spark] final case class BuildSideKey(
    shape: PlanShape,
    form: Any,
    reads: Seq[Any],
    settings: Map[String, String]) {

  // Asked for often, and it takes a walk over all of it.
  override lazy val hashCode: Int = (shape, form, reads, settings).##

  /** The cached DataFrames that rows come from. */
  def frames: Seq[CachedRows] = reads.collect { case rows: CachedRows => rows }

  /** Bytes of the heap that it takes, about. */
  def bytes: Long = {
    val files = reads.iterator.map {
      case iceberg: IcebergRows => iceberg.splits.size
      case listed: Iterable[_] => listed.size
      case _ => 1
    }.sum
    BuildSideKey.BytesOfAValue * shape.values + BuildSideKey.BytesOfAFile * files
  }
}

private[spark] object BuildSideKey {

  // A text of a condition is there as Spark's and as Java's, which Parquet's filters take.
  private val BytesOfAValue = 256L
  private val BytesOfAFile = 1024L

  /** Prefixes of keys that decide how and where a query runs, and which sessions often differ in. */
  private val Harmless = Seq(
    "spark.oap.",
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.shuffle.partitions",
    // Delta sets it with each commit of the session, into whatever table.
    "spark.databricks.delta.lastCommitVersionInSession"
  )

  /**
   * Returns the key by which what an exchange makes of the rows of a plan is known now; none where they do not
   * follow from files or cached DataFrames alone, or where the files cannot be told.
   *
   * @param files those of the plan
   * @throws java.util.concurrent.ExecutionException when a file cannot be asked for
   */
  def of(
      form: Any,
      plan: SparkPlan,
      conf: SQLConf,
      files: FilesNow): Option[BuildSideKey] = for {
    shape <- PlanShape.of(plan.canonicalized)
    reads <- files.ask()
  } yield BuildSideKey(shape, form, reads, settings(conf))

  /** What is set to another value than Spark's: a session that sets the same is no other one. */
  private def settings(conf: SQLConf): Map[String, String] =
    conf.getAllConfs.filterNot { case (key, value) =>
      Harmless.exists(key.startsWith) || SparkInternals.defaultOf(key).contains(value)
    } +
      // Where it is not set it is that of the process, which may change.
      (SQLConf.SESSION_LOCAL_TIMEZONE.key -> conf.sessionLocalTimeZone)
}
