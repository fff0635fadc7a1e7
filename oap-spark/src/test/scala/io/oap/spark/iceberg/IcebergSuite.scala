package io.oap.spark.iceberg

import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.spark.{CacheSuite, OapExtensions, WatchedFileSystem}

/** A suite with a catalog of Iceberg tables, in one process. */
abstract class IcebergSuite extends IcebergSession

/**
 * A catalog of Iceberg tables, `ice`, on a file system that counts. Iceberg's own cache of delete
 * files is off, so that each query reads them.
 */
trait IcebergSession extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings ++ Map(
      "spark.sql.extensions" ->
        ("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions," +
          classOf[OapExtensions].getName),
      "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
      "spark.sql.catalog.ice.type" -> "hadoop",
      "spark.sql.catalog.ice.warehouse" -> s"${WatchedFileSystem.Scheme}://$folder/ice",
      "spark.sql.iceberg.executor-cache.enabled" -> "false"
    )

  protected def sql(text: String): DataFrame = spark.sql(text)

  /** Paths of the data and delete files that the body reads, one for each read. */
  protected def filesRead(body: => Unit): Seq[Path] = {
    val read = new ConcurrentLinkedQueue[Path]
    WatchedFileSystem.beforeReads(path =>
      if (path.getParent.toString.contains("/data")) read.add(path): Unit)(body)
    read.toArray(Array.empty[Path]).toSeq
  }

  /** Asserts rows as by Iceberg alone, and that the warm run reads no data file. */
  protected def assertWarm(query: => DataFrame, mayBeEmpty: Boolean = false): Unit = {
    assertServed(query, mayBeEmpty)
    assert(filesRead(rows(query)) === Nil, "files that a warm run read")
  }

  /** The scans of a plan that read Iceberg tables through the cache. */
  protected def icebergScans(plan: SparkPlan): Seq[CachedIcebergScan] =
    collectWithSubqueries(plan) { case exec: BatchScanExec => exec.scan }
      .collect { case scan: CachedIcebergScan => scan }

  protected def isCached(query: DataFrame): Boolean = icebergScans(executed(query)).nonEmpty
}
