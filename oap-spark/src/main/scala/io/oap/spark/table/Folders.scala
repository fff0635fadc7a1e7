package io.oap.spark.table

import org.apache.hadoop.fs.Path

/** Where paths lie. */
private[spark] object Folders {

  /** The path itself, then the folders above it up to the root. */
  def upFrom(path: Path): Iterator[Path] =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null)
}
