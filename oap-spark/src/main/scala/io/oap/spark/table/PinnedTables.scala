package io.oap.spark.table

import java.util.Locale

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext

import io.oap.spark.internals.PerSparkContext

/**
 * Columns of a table whose chunks stay in the pools once they are there.
 *
 * @param names of top-level columns, in lower case; nothing stands for all
 */
private[spark] final case class PinnedColumns(names: Option[Set[String]]) {
  def contains(column: String): Boolean =
    names.forall(_.contains(column.toLowerCase(Locale.ROOT)))

  def ++(that: PinnedColumns): PinnedColumns =
    PinnedColumns(for (some <- names; others <- that.names) yield some ++ others)

  /**
   * Gives the columns by what files call them.
   *
   * @param inFiles all names of a column that may have one of these names, in lower case
   */
  def renamed(inFiles: String => Iterable[String]): PinnedColumns =
    names.fold(this)(some => PinnedColumns.of(some.flatMap(inFiles)))

  /** Removes other columns; returns nothing when none is left. */
  def without(others: PinnedColumns, all: Set[String]): Option[PinnedColumns] = {
    val left = others.names.fold(Set.empty[String])(names.getOrElse(all) -- _)
    if (left.isEmpty) None else Some(PinnedColumns(Some(left)))
  }
}

private[spark] object PinnedColumns {
  val All: PinnedColumns = PinnedColumns(None)

  def of(names: Iterable[String]): PinnedColumns =
    PinnedColumns(Some(names.map(_.toLowerCase(Locale.ROOT)).toSet))
}

/**
 * What users of an application have pinned, by the folders and files of the tables; kept on its
 * driver, which tells it to the tasks of each scan. Thread-safe.
 */
private[spark] final class PinnedTables private () {
  private var byPath = Map.empty[String, PinnedColumns]

  def pin(paths: Seq[String], columns: PinnedColumns): Unit = synchronized {
    paths.foreach(path =>
      byPath = byPath.updated(path, byPath.get(path).fold(columns)(_ ++ columns)))
  }

  /** @param all all columns of the table, in lower case */
  def unpin(paths: Seq[String], columns: PinnedColumns, all: Set[String]): Unit = synchronized {
    for (path <- paths; pinned <- byPath.get(path)) {
      byPath = pinned.without(columns, all).fold(byPath - path)(byPath.updated(path, _))
    }
  }

  /** What is pinned of a table that lies there. */
  def of(paths: Seq[Path]): Option[PinnedColumns] = {
    val pinned = synchronized(byPath)
    if (pinned.isEmpty) None
    else {
      val above = paths.flatMap(Folders.upFrom)
      above.flatMap(path => pinned.get(path.toString)).reduceOption(_ ++ _)
    }
  }
}

private[spark] object PinnedTables {
  private val all = new PerSparkContext(_ => new PinnedTables)

  /** Returns the ones of an application. */
  def of(context: SparkContext): PinnedTables = all.of(context)
}
