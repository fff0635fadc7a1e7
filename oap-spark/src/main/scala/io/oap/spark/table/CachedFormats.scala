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
  def isServed(conf: SQLConf, format: String): Boolean =
    isEnabled(conf) && isWanted(conf, format)

  /** Whether the session wants tables cached, but not those of this kind. */
  def isLeftOut(conf: SQLConf, format: String): Boolean =
    isEnabled(conf) && !isWanted(conf, format)

  private def isEnabled(conf: SQLConf): Boolean =
    OapConfig.CACHE_ENABLED.get(conf.getConfString(_, null))

  private def isWanted(conf: SQLConf, format: String): Boolean =
    OapConfig.CACHE_FORMATS.get(conf.getConfString(_, null)).contains(format)
}
