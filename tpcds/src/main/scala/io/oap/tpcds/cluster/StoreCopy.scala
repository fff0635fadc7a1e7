package io.oap.tpcds.cluster

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Copies of local folders in HDFS or in an object store, made when they are first asked for. */
final class StoreCopy(url: String, configuration: Configuration) {

  /** URL of the copy of a folder; it has this name only when it is complete. */
  def of(folder: Path): String = {
    val copy = new Path(s"$url/tpcds/${folder.getParent.getName}/${folder.getName}")
    val fs = copy.getFileSystem(configuration)
    if (!fs.exists(copy)) {
      val beside = copy.suffix(".unfinished")
      fs.delete(beside, true)
      fs.mkdirs(copy.getParent)
      fs.copyFromLocalFile(false, true, folder, beside)
      fs.rename(beside, copy)
    }
    copy.toString
  }
}
