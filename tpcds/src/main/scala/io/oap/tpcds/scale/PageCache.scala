package io.oap.tpcds.scale

import java.lang.ProcessBuilder.Redirect

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext

/** The page cache of this machine, as far as it holds the files of tables. */
object PageCache {
  val LeftAlone = "left alone"
  private val Dropped = "dropped"
  private val NotDropped = "not dropped"

  /**
   * Drops files from the page cache, where the system lets us: file by file, which needs no rights
   * (`posix_fadvise`, by way of dd).
   *
   * @return what came of it
   */
  def drop(context: SparkContext, files: Seq[Path]): String =
    if (!context.isLocal) NotDropped
    else if (files.nonEmpty && files.forall(file => dropped(file.toUri.getPath))) Dropped
    else NotDropped

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
