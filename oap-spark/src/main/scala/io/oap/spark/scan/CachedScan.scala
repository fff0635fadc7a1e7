package io.oap.spark.scan

import org.apache.spark.sql.connector.read.Scan

/** A scan of a V2 table that reads through the cache and has the metrics of cached scans. */
private[spark] trait CachedScan extends Scan
