package io.oap.spark.read

import java.time.ZoneId

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.metadata.FileMetaData
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.internal.SQLConf

/**
 * How a reader turns the dates and timestamps of one file into Spark's: by what its writer noted
 * down and what the session says.
 *
 * @param dates calendar of dates and of timestamps other than INT96
 * @param int96 calendar of INT96 timestamps
 * @param int96Zone the zone that INT96 timestamps are shifted by, if they are
 */
private[spark] final case class DatetimeRebase(
    dates: RebaseSpec,
    int96: RebaseSpec,
    int96Zone: Option[ZoneId]) {

  /** All of it in words: what a file does not say of its zone is this process's. */
  def text: String =
    s"${dates.mode} ${dates.timeZone} ${int96.mode} ${int96.timeZone} ${int96Zone.getOrElse("")}"
}

private[spark] object DatetimeRebase {
  def of(file: FileMetaData, settings: ReadSettings, hadoopConf: Configuration): DatetimeRebase = {
    val noted = file.getKeyValueMetaData
    DatetimeRebase(
      DataSourceUtils.datetimeRebaseSpec(noted.get, settings.datetimeRebaseMode),
      DataSourceUtils.int96RebaseSpec(noted.get, settings.int96RebaseMode),
      int96Zone(file, settings, hadoopConf)
    )
  }

  /** INT96 timestamps of writers other than parquet-mr are shifted where the session says so. */
  private def int96Zone(
      file: FileMetaData,
      settings: ReadSettings,
      hadoopConf: Configuration): Option[ZoneId] =
    if (settings.shiftsForeignInt96 && !file.getCreatedBy.startsWith("parquet-mr")) {
      Some(DateTimeUtils.getZoneId(hadoopConf.get(SQLConf.SESSION_LOCAL_TIMEZONE.key)))
    } else {
      None
    }
}
