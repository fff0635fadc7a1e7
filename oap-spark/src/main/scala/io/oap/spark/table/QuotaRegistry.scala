package io.oap.spark.table

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.CatalogTable

import io.oap.cache.quota.QuotaRule
import io.oap.cache.quota.QuotaRule.Kind
import io.oap.common.{ConfigEntry, OapConfig, PoolShare, TableShare}
import io.oap.spark.internals.{PerSparkContext, SparkInternals}

/**
 * The quotas and minimums of the tables of an application, kept on its driver, which tells each
 * scan's tasks those that its files count to. Thread-safe.
 *
 * A limit is one of folders: whoever reads the files in them, they count to it. What a table says
 * holds from when a query is planned that reads it; of tables in the same folder the one that was
 * planned last decides, and one that says nothing leaves it as it is.
 *
 * @param lookup the configuration of the application
 */
private[spark] final class QuotaRegistry(lookup: String => Option[String]) extends Logging {
  import QuotaRegistry._

  private val configured: Map[Kind, Seq[(TablePattern, PoolShare)]] =
    Kind.values.toSeq.map { kind =>
      kind -> entry(kind).get(key => lookup(key).orNull).asScala.toSeq.map(one =>
        (new TablePattern(one.table), one.share))
    }.toMap

  private val saysNothing = configured.values.forall(_.isEmpty)
  private var known = Map.empty[(Kind, String), Known]
  private var lastVersion = 0L
  private var hasWarned = false

  /**
   * A table is read: what counts for its files from now on.
   *
   * @param table the table, where it is one of a catalog, as the session knows it: Spark's sessions
   *     do not notice what others change of a table that they have read
   * @param paths where its files lie
   * @param refreshed the same table as the catalog knows it
   */
  def isRead(table: Option[CatalogTable], paths: Seq[Path])(
      refreshed: CatalogTable => CatalogTable): Seq[QuotaRule] = {
    val current = table.map(one => if (differs(one)) refreshed(one) else one)
    val shares = Kind.values.toSeq.map(kind => kind -> current.flatMap(property(kind, _))).toMap
    synchronized {
      if (saysNothing && known.isEmpty && shares.values.forall(_.isEmpty)) Nil
      else {
        val folders = foldersOf(current, paths)
        if (folders.nonEmpty)
          Kind.values.foreach(kind => note(kind, current, folders, shares(kind)))
        covering(folders ++ paths)
      }
    }
  }

  /** Whether a table says something else now than it said before, to this session or another. */
  private def differs(table: CatalogTable): Boolean = {
    val before = synchronized(known)
    before.values.exists(one =>
      one.owner.contains(table.identifier.unquotedString) &&
        Option(one.limit.share) != property(one.limit.kind, table))
  }

  /** What counts for a file or folder, if anything does. */
  def of(kind: Kind, path: String): Option[PoolShare] = {
    val limits = synchronized(known.values.map(_.limit))
      .filter(limit => limit.kind == kind && limit.share != null)
    Folders.upFrom(new Path(path)).map(text).flatMap(folder =>
      limits.filter(_.folders.contains(folder)).maxByOption(_.version)).nextOption().map(_.share)
  }

  private def note(
      kind: Kind,
      table: Option[CatalogTable],
      folders: Seq[Path],
      share: Option[PoolShare]): Unit = {
    val name = table.map(_.identifier.unquotedString)
    val said = byPattern(kind, table, folders)
      .orElse(share.map(one => Seq((name, folders, one)))).getOrElse(Nil)
    said.foreach { case (owner, where, one) => set(kind, owner, where.map(text), Some(one)) }
    // What the table said before, and says no more.
    val homes = said.map { case (_, where, _) => text(where.head) }
    for {
      home <- folders.headOption.map(text)
      if !homes.contains(home)
      before <- known.get((kind, home))
      if name.isDefined && name == before.owner && before.limit.share != null
    } set(kind, before.owner, before.limit.folders.asScala.toSeq, None)
  }

  /** By the first pattern that fits: by names the table, by paths the folders it stands for. */
  private def byPattern(
      kind: Kind,
      table: Option[CatalogTable],
      folders: Seq[Path]): Option[Seq[(Option[String], Seq[Path], PoolShare)]] = {
    val names = table.toSeq.flatMap(TableSelector.names)
    configured(kind).iterator.map { case (pattern, share) =>
      if (names.exists(pattern.isName)) {
        Seq((None, folders, share))
      } else {
        folders.flatMap(pattern.topmost).distinct.map(folder => (None, Seq(folder), share))
      }
    }.find(_.nonEmpty)
  }

  private def set(
      kind: Kind,
      owner: Option[String],
      folders: Seq[String],
      share: Option[PoolShare]): Unit = {
    val account = folders.head
    val before = known.get((kind, account))
    val all = before.fold(folders)(one => (one.limit.folders.asScala ++ folders).distinct.toSeq)
    val isSame = before.exists(one =>
      Option(one.limit.share) == share && one.limit.folders.size == all.size)
    if (isSame) known += (kind, account) -> before.get.copy(owner = owner)
    else {
      // Executors outlive applications in one JVM: later ones have later versions.
      lastVersion = math.max(lastVersion + 1, System.currentTimeMillis())
      val limit = new QuotaRule(kind, account, all.asJava, share.orNull, lastVersion)
      known += (kind, account) -> Known(limit, owner)
      warnOfTooMuch()
    }
  }

  private def warnOfTooMuch(): Unit = {
    val sum = known.values.map(_.limit).filter(limit =>
      limit.kind == Kind.MINIMUM && limit.share != null).map(_.share.percent).sum
    if (sum > 100 && !hasWarned) {
      hasWarned = true
      logWarning(s"The minimums of the tables read so far come to $sum % of the pools. Executors " +
        "keep what they have room for, of the tables that are read first.")
    }
  }

  /** The limits on folders above, those among them that are no more. */
  private def covering(paths: Seq[Path]): Seq[QuotaRule] = {
    val folders = paths.flatMap(Folders.upFrom).map(text).toSet
    known.values.map(_.limit).filter(_.folders.asScala.exists(folders)).toSeq
  }
}

private[spark] object QuotaRegistry {

  /** @param owner the table that said it; nothing where the configuration did */
  private final case class Known(limit: QuotaRule, owner: Option[String])

  private val all = new PerSparkContext(context =>
    new QuotaRegistry(SparkInternals.confOf(context).getOption))

  /** Returns the ones of an application. */
  def of(context: SparkContext): QuotaRegistry = all.of(context)

  /** Name of the table's property. */
  def property(kind: Kind): String = kind match {
    case Kind.QUOTA => "oap.cache.quota"
    case Kind.MINIMUM => "oap.cache.minimum"
  }

  private def entry(kind: Kind): ConfigEntry[java.util.List[TableShare]] = kind match {
    case Kind.QUOTA => OapConfig.CACHE_TABLES_QUOTAS
    case Kind.MINIMUM => OapConfig.CACHE_TABLES_MINIMUMS
  }

  private def property(kind: Kind, table: CatalogTable): Option[PoolShare] =
    TableProperty.of(table, property(kind), PoolShare.ALLOWED) { text =>
      try Some(PoolShare.parse(text))
      catch { case _: IllegalArgumentException => None }
    }

  /** The table's own folder first, then those of its files that lie elsewhere. */
  private def foldersOf(table: Option[CatalogTable], paths: Seq[Path]): Seq[Path] =
    table.flatMap(_.storage.locationUri).map(new Path(_)) match {
      case Some(home) if home.toUri.getScheme != null =>
        home +: paths.filterNot(Folders.upFrom(_).contains(home))
      case _ => paths
    }

  private def text(path: Path): String = path.toString.stripSuffix("/")
}
