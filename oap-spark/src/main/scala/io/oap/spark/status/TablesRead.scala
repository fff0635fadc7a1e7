package io.oap.spark.status

import java.util.concurrent.ConcurrentMap

import com.google.common.cache.CacheBuilder
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.CatalogTable

import io.oap.spark.Folders

/**
 * The tables that queries of this driver were planned to read through the cache, by the folders
 * they lie in. The cache itself knows files only. Thread-safe; of the tables read longest ago some
 * are forgotten.
 */
private[spark] object TablesRead {
  private val Most = 10000L

  /** When a folder's table was planned to be read last, and what it is called. */
  private final case class Read(table: String, atMillis: Long)

  private val folders: ConcurrentMap[String, Read] =
    CacheBuilder.newBuilder().maximumSize(Most).build[String, Read]().asMap()

  /**
   * Remembers a table.
   *
   * @param table the table, where it is one of a catalog; else its paths are its name
   * @param paths where it lies, if it is none of a catalog
   */
  def isRead(table: Option[CatalogTable], paths: Seq[Path]): Unit = {
    val now = System.currentTimeMillis()
    val location = table.flatMap(_.storage.locationUri).map(uri => new Path(uri).toString)
    location.fold(paths.map(_.toString))(Seq(_)).foreach { folder =>
      folders.put(folder, Read(table.fold(folder)(_.identifier.unquotedString), now))
    }
  }

  /**
   * The table a file belongs to: its name and when it was planned to be read last. A file of no
   * known table is one of the folder in which it lies.
   */
  def of(file: String): (String, Option[Long]) = {
    val above = Folders.upFrom(new Path(file)).map(_.toString)
    above.map(folders.get(_)).find(_ != null) match {
      case Some(Read(table, at)) => (table, Some(at))
      case None => (new Path(file).getParent.toString, None)
    }
  }
}
