package io.oap.tpcds.scale

import java.lang.ProcessBuilder.Redirect

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

/** The page cache of this machine, as far as it holds the files of tables. */
object PageCache {
  val LeftAlone = "left alone"
  private val Dropped = "dropped"
  private val NotDropped = "not dropped"

  /**
   * Drops the files of tables from the page cache, where the system lets us: file by file, which
   * needs no rights (`posix_fadvise`, by way of dd).
   *
   * @return what came of it
   */
  def drop(spark: SparkSession, tables: Seq[String]): String =
    if (!spark.sparkContext.isLocal) NotDropped
    else {
      val files = tables.flatMap(spark.table(_).inputFiles).map(new Path(_).toUri.getPath)
      if (files.nonEmpty && files.forall(dropped)) Dropped else NotDropped
    }

  private def dropped(file: String): Boolean =
    try {
      val words = Seq("dd", s"if=$file", "iflag=nocache", "count=0")
      val dd = new ProcessBuilder(words: _*)
        .redirectError(Redirect.DISCARD)
        .redirectOutput(Redirect.DISCARD)
        .start()
      dd.waitFor() == 0
    } catch {
      case NonFatal(_) => false
    }
}
