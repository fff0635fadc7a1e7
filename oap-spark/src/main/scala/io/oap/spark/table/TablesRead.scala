package io.oap.spark.table

import java.util.concurrent.ConcurrentMap

import com.google.common.cache.CacheBuilder
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources.FileIndex

/**
 * The tables that queries of this driver were planned to read through the cache, by the folders
 * they lie in. The cache itself knows files only. Thread-safe; of the tables read longest ago some
 * are forgotten.
 */
private[spark] object TablesRead {
  private val Most = 10000L

  /**
   * A table as it was planned to be read last.
   *
   * @param length bytes of all its files; nothing where they were not seen yet, or it is one of
   *     several that were read as one
   */
  final case class TableRead(table: String, atMillis: Long, length: Option[Long])

  private val folders: ConcurrentMap[String, TableRead] =
    CacheBuilder.newBuilder().maximumSize(Most).build[String, TableRead]().asMap()

  /**
   * Remembers a table.
   *
   * @param table the table, where it is one of a catalog; else its paths are its name
   * @param files its files, or those of some partitions
   */
  def isRead(
      table: Option[CatalogTable],
      files: FileIndex,
      isWhole: Boolean): Unit = {
    val now = System.currentTimeMillis()
    val location = table.flatMap(_.storage.locationUri).map(new Path(_))
    val places = location.fold(files.rootPaths)(Seq(_)).map(_.toString)
    places.foreach { folder =>
      val length =
        if (!isWhole) Option(folders.get(folder)).flatMap(_.length)
        else if (places.size == 1) Some(files.sizeInBytes)
        else None
      folders.put(folder, TableRead(table.fold(folder)(_.identifier.unquotedString), now, length))
    }
  }

  /** Remembers a table of another library by its name and the folder that its files lie in. */
  def isRead(table: String, folder: Path): Unit =
    folders.put(folder.toString, TableRead(table, System.currentTimeMillis(), None)): Unit

  /** The table a file belongs to, if one is known. */
  def get(file: String): Option[TableRead] =
    Folders.upFrom(new Path(file)).map(folder => folders.get(folder.toString)).find(_ != null)

  /** The name of the table a file belongs to; of no known one, the folder in which it lies. */
  def nameOf(file: String): String =
    get(file).fold(new Path(file).getParent.toString)(_.table)
}
