package io.oap.spark.iceberg

import java.util.BitSet
import java.util.function.Supplier

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DeleteFile, FileContent, FileScanTask}
import org.apache.iceberg.data.BaseDeleteLoader
import org.apache.iceberg.io.FileIO
import org.apache.iceberg.spark.SparkExecutorCache

import io.oap.spark.read.UnservedFileException
import io.oap.spark.vector.DeletedPositions

/**
 * Loads which rows of data files are deleted by their position, by Iceberg's own loader. What delete
 * files say is kept for the tasks of this process where Iceberg's readers keep it, so that these find
 * it too.
 *
 * @param io by which delete files are read
 * @param table its name, by which Iceberg forgets what was kept of it
 * @param keeps whether the table is one of which anything is kept
 */
private[iceberg] final class PositionDeletes(io: FileIO, table: String, keeps: Boolean)
    extends BaseDeleteLoader((file: DeleteFile) => io.newInputFile(file)) {

  // None where a user has switched it off. Made on the thread of the task, which knows the session:
  // the first one of a process decides how much is kept, and the loader reads on threads of its own.
  private val kept = Option.when(keeps)(SparkExecutorCache.getOrCreate()).filter(_ != null)

  override protected def canCache(size: Long): Boolean = kept.exists(size < _.maxEntrySize)

  override protected def getOrLoad[V](location: String, load: Supplier[V], size: Long): V =
    kept.get.getOrLoad(table, location, load, size)

  /**
   * Reads the delete files of a split.
   *
   * @throws UnservedFileException where the manifest knows no row at a position, or where there are too
   *     many: a bit is held for each row up to the last deleted one
   */
  def of(split: FileScanTask): DeletedPositions = {
    val rows = split.file.recordCount
    val positions = new BitSet
    loadPositionDeletes(split.deletes, split.file.location).forEach { position =>
      if (position >= rows || position >= DeletedPositions.MostRows) {
        throw new UnservedFileException(split.file.location, s"row $position of it is deleted")
      }
      positions.set(position.toInt)
    }
    new DeletedPositions(positions)
  }
}

private[iceberg] object PositionDeletes {

  /** Whether these are all that deletes rows of a split; values of columns may, too. */
  def areAllOf(split: FileScanTask): Boolean = split.deletes.asScala.forall(file =>
    file.content == FileContent.POSITION_DELETES && file.keyMetadata == null)
}
