package io.oap.spark.table

import org.apache.spark.sql.internal.SQLConf

import io.oap.common.OapConfig

/** Which kinds of tables a session reads through the cache: `spark.oap.cache.formats`. */
private[spark] object CachedFormats {
  val Parquet = "parquet"
  val Iceberg = "iceberg"
  val Delta = "delta"
  val Orc = "orc"

  /** Whether the session wants tables of this kind cached, as long as it wants any. */
  def isServed(conf: SQLConf, format: String): Boolean = {
    def text(key: String) = conf.getConfString(key, null)
    OapConfig.CACHE_ENABLED.get(text(_)) && OapConfig.CACHE_FORMATS.get(text(_)).contains(format)
  }
}
