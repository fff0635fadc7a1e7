package io.oap.spark.table

import java.util.Locale
import java.util.regex.Pattern

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.internal.SQLConf

import io.oap.common.OapConfig

/**
 * Which tables are read through the cache. The first of these that says something decides:
 *
 *   1. the option `oap.cache` of the reader: on, off or pinned
 *   1. `spark.oap.cache.tables.exclude`
 *   1. `spark.oap.cache.tables.include`
 *   1. the property `oap.cache` of the table, or its option where it was created with one: on, off
 *      or pinned
 *
 * Else a table is cached unless the session includes others.
 *
 * @param excluded patterns of the session
 * @param included patterns of the session
 */
private[spark] final class TableSelector(excluded: Seq[TablePattern], included: Seq[TablePattern]) {

  /**
   * Whether a scan reads through the cache.
   *
   * @param table the table, where it is one of a catalog
   * @param paths where its files lie
   * @param options of the reader, and of the table where it has any
   * @throws AnalysisException when the option `oap.cache` is none of these
   */
  def isCached(
      table: Option[CatalogTable],
      paths: Seq[Path],
      options: Map[String, String]): Boolean = {
    lazy val names = table.toSeq.flatMap(TableSelector.names)
    option(table, options).map(_ != TableSelector.Off)
      .orElse(if (excluded.exists(_.matchesAny(names, paths))) Some(false) else None)
      .orElse(if (included.exists(_.matchesAll(names, paths))) Some(true) else None)
      .orElse(table.flatMap(TableSelector.property).map(_ != TableSelector.Off))
      .getOrElse(included.isEmpty)
  }

  /** Whether the chunks of a scan stay in the pools, by its option or else by its table. */
  def isPinned(table: Option[CatalogTable], options: Map[String, String]): Boolean =
    option(table, options).fold(table.exists(TableSelector.isPinned))(_ == TableSelector.Pinned)

  private def option(
      table: Option[CatalogTable],
      options: Map[String, String]): Option[TableSelector.Word] =
    TableSelector.ofReader(table, options).map(text =>
      TableSelector.word(text).getOrElse(
        throw new AnalysisException(
          "OAP_INVALID_OPTION",
          "22023",
          "The option <option> is on, off or pinned, not '<value>'.",
          Map("option" -> TableSelector.Key, "value" -> text),
          None,
          None)))
}

private[spark] object TableSelector {

  /** Name of the reader's option and of the table's property. */
  val Key = "oap.cache"

  /** Name of the option by which a hint tells its word, so that it is not taken for the table's. */
  val HintKey = "oap.cache.hint"

  def of(conf: SQLConf): TableSelector = {
    def patterns(entry: io.oap.common.ConfigEntry[java.util.List[String]]) =
      entry.get(key => conf.getConfString(key, null)).asScala.toSeq.map(new TablePattern(_))
    new TableSelector(
      patterns(OapConfig.CACHE_TABLES_EXCLUDE),
      patterns(OapConfig.CACHE_TABLES_INCLUDE))
  }

  /** What option and property may say. */
  private sealed trait Word
  private case object On extends Word
  private case object Off extends Word

  /** On, and what is in the pools stays there. */
  private case object Pinned extends Word

  private def word(text: String): Option[Word] =
    text.trim.toLowerCase(Locale.ROOT) match {
      case "on" => Some(On)
      case "off" => Some(Off)
      case "pinned" => Some(Pinned)
      case _ => None
    }

  /** Whether an option may say that. */
  def isWord(text: String): Boolean = word(text).isDefined

  /**
   * What a hint or a reader says. An option that the table was created with is the table's word: a
   * wrong one must not fail the queries of others.
   */
  def ofReader(table: Option[CatalogTable], options: Map[String, String]): Option[String] = {
    def option(name: String) =
      options.collectFirst { case (key, text) if key.equalsIgnoreCase(name) => text }
    option(HintKey).orElse(
      option(Key).filterNot(table.flatMap(TableProperty.createdWith(_, Key)).contains))
  }

  /** Whether a table says of itself that it is pinned. */
  def isPinned(table: CatalogTable): Boolean = property(table).contains(Pinned)

  /** What users call a table: with and without database and catalog. */
  def names(table: CatalogTable): Seq[String] = {
    val parts = table.identifier.nameParts
    parts.indices.map(from => parts.drop(from).mkString("."))
  }

  private def property(table: CatalogTable): Option[Word] =
    TableProperty.of(table, Key, "on, off or pinned")(word)
}

/**
 * A name or path, with * for any characters and ? for one. With a slash in it, it is the path of a
 * table or of a folder above it, with or without scheme and authority; else it is a table's name,
 * with or without database, whatever its case.
 */
private[spark] final class TablePattern(text: String) {
  private val isPath = text.contains("/")

  private val pattern = {
    val path = if (text.length > 1) text.stripSuffix("/") else text
    val regex = path.map {
      case '*' => ".*"
      case '?' => "."
      case other => Pattern.quote(other.toString)
    }.mkString
    Pattern.compile(
      regex,
      Pattern.DOTALL | (if (isPath) 0 else Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE))
  }

  /** Whether this is the table, or some of its paths. */
  def matchesAny(names: Seq[String], paths: Seq[Path]): Boolean =
    if (isPath) paths.exists(matchesPath) else names.exists(matches)

  /** Whether this is the table, or all of its paths. */
  def matchesAll(names: Seq[String], paths: Seq[Path]): Boolean =
    if (isPath) paths.nonEmpty && paths.forall(matchesPath) else names.exists(matches)

  /** Whether this is a table of that name. */
  def isName(name: String): Boolean = !isPath && matches(name)

  /**
   * The topmost folder above a path, or the path itself, that this stands for. The root of a file
   * system is one only where nothing below it is: `s3a://lake/` with a star stands for its folders.
   */
  def topmost(path: Path): Option[Path] = {
    val all = if (isPath) Folders.upFrom(path).filter(isFolder).toSeq else Nil
    all.filter(_.getParent != null).lastOption.orElse(all.lastOption)
  }

  private def matchesPath(path: Path): Boolean = Folders.upFrom(path).exists(isFolder)

  private def isFolder(folder: Path): Boolean =
    matches(folder.toString) || matches(folder.toUri.getPath)

  private def matches(name: String): Boolean = pattern.matcher(name).matches()
}
