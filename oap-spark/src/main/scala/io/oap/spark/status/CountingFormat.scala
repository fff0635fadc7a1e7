package io.oap.spark.status

/** The format of a V1 scan that reads through the cache; it tells what Spark's scan cannot. */
private[spark] trait CountingFormat {

  /** What people call the table that is read. */
  def table: String

  /** What the tasks of the scan have counted so far. */
  def figures: Figures
}
