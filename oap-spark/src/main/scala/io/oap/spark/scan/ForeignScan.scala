package io.oap.spark.scan

import org.apache.spark.sql.connector.read.Scan

/** A scan of another library's table that reads through the cache and counts as cached scans do. */
private[spark] trait ForeignScan extends Scan
