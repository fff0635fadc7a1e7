package io.oap.spark.delta

import io.oap.spark.{OapExtensions, WatchedFileSystem}
import io.oap.spark.filescan.FileScanSuite

/** A suite whose queries are V1 scans of Delta tables, with Delta's extension and catalog beside ours. */
abstract class DeltaScanSuite extends FileScanSuite {
  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.sql.extensions" ->
      s"io.delta.sql.DeltaSparkSessionExtension,${classOf[OapExtensions].getName}",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions" -> "1",
    // VACUUM lists folders by so many tasks, which are 10,000 where nothing is said.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism" -> "2",
    s"spark.delta.logStore.${WatchedFileSystem.Scheme}.impl" -> "io.delta.storage.LocalLogStore"
  )
}
