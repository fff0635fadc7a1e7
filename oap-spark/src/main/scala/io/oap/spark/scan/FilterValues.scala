package io.oap.spark.scan

import org.apache.spark.sql.internal.SQLConf

/** Values in filters that the driver makes and executors compare with what files hold. */
private[spark] object FilterValues {

  /**
   * Runs a translation of conditions into filters such that days and moments are `LocalDate` and
   * `Instant`. By default Spark takes `java.sql.Date` and `java.sql.Timestamp`: they are told in the
   * calendar and the time zone of a process, so that the executor of another zone reads another day
   * out of them than the driver has put in.
   */
  def inEveryZone[T](translation: => T): T = {
    val conf = SQLConf.get.clone()
    conf.setConf(SQLConf.DATETIME_JAVA8API_ENABLED, true)
    SQLConf.withExistingConf(conf)(translation)
  }
}
