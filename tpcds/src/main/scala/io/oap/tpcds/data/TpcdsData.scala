package io.oap.tpcds.data

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.SparkSession

import io.oap.tpcds.Progress
import io.oap.tpcds.storage.StorageClass

/** The tables of one scale, kept in one way: made where they are missing, and made known to sessions. */
trait TpcdsData {

  /**
   * Makes those of the tables that are not there yet.
   *
   * @param partitioned whether the tables that have a partition column are wanted in that layout
   */
  def complete(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      progress: Progress): Unit

  /**
   * Makes the tables known to a session, read through a storage class.
   *
   * @throws Options.Rejected when the data does not lie on this machine and cannot be slowed down
   */
  def register(
      spark: SparkSession,
      tables: Seq[TpcdsTable],
      partitioned: Boolean,
      storage: StorageClass): Unit

  /** The data files of a table. */
  def files(spark: SparkSession, table: TpcdsTable, partitioned: Boolean): Seq[FileStatus]

  /** How files are written, in words. */
  def layoutWords(spark: SparkSession): String
}
