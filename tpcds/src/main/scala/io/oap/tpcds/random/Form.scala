package io.oap.tpcds.random

/**
 * How the tables of a star are kept.
 *
 * @param word what users call it in CREATE TABLE
 */
sealed abstract class Form(val word: String) {

  /** Whether a column can have this type. */
  def takes(kind: Kind): Boolean = kind.parts.forall { case (_, part) => takes(part) }

  /** The name of a database. */
  def database(name: String): String = name

  /** Where a database of this name is made. */
  def location(folder: String): String = s" LOCATION '$folder'"

  /** Properties of a new table, as `'key' = 'value'`. */
  def properties(choices: Choices): Seq[(String, String)]

  /** Whether columns of a table with such properties can be renamed and dropped. */
  def letsColumnsGo(properties: Seq[(String, String)]): Boolean = true

  /** What sessions can be told of reading such tables, beside [[SessionSettings]]. */
  def settings(choices: Choices): Seq[(String, String)]

  /** Whether tables keep their versions, and rows can be deleted and changed; else they are Spark's own. */
  def hasVersions: Boolean = true

  /** Whether [[FileJudge]] can read the files of tables. */
  def isJudged: Boolean = false

  /** SQL of the version that a table has now. */
  def version(database: String, table: String): String

  /** SQL that makes a table what it was at a version. */
  def restored(database: String, table: String, version: String): String

  /** Statements that write files of a table again, with the same rows. */
  def compactions(database: String, table: StarTable): Seq[String]

  /** The wider types that a column of a type can be given. */
  def wider(kind: Kind): Option[Kind]

  /** A way to divide a table from now on by this column, too. */
  def partitionField(column: StarColumn): Option[String] = None
}

/** Spark's own tables, which nobody changes. */
sealed abstract class OfSpark(word: String) extends Form(word) {
  override def properties(choices: Choices): Seq[(String, String)] = Nil
  override def hasVersions: Boolean = false
  override def version(database: String, table: String): String = none
  override def restored(database: String, table: String, version: String): String = none
  override def compactions(database: String, table: StarTable): Seq[String] = Nil
  override def wider(kind: Kind): Option[Kind] = None

  private def none = throw new UnsupportedOperationException("tables of Spark have one version")
}

object Form {
  val All: Seq[Form] = Seq(Parquet, Orc, Iceberg, Delta)

  def named(word: String): Form = All.find(_.word == word).getOrElse(
    throw new IllegalArgumentException(s"there is no form of tables called $word"))

  /** In the names of types that only Spark's own tables have. */
  private val TypesOfSpark = Seq("INTERVAL", "COLLATE")

  case object Parquet extends OfSpark("parquet") {
    override def settings(choices: Choices): Seq[(String, String)] = Nil
    override def isJudged: Boolean = true
  }

  case object Orc extends OfSpark("orc") {

    /** Spark cannot read strings with a collation that it has written. */
    override def takes(kind: Kind): Boolean = super.takes(kind) && !kind.sql.contains("COLLATE")

    override def settings(choices: Choices): Seq[(String, String)] = Seq(
      // Without it Spark reads rows, and these come from no vector chunk.
      "spark.sql.codegen.wholeStage" -> choices.chance(80).toString,
      "spark.sql.sources.useV1SourceList" -> choices.oneOf("orc", "orc", "orc,parquet", ""),
      "spark.sql.orc.enableVectorizedReader" -> choices.chance(92).toString,
      "spark.sql.orc.enableNestedColumnVectorizedReader" -> choices.chance(85).toString,
      "spark.sql.orc.columnarReaderBatchSize" -> choices.oneOf("100", "4096", "4096", "5000"),
      "spark.sql.orc.filterPushdown" -> choices.chance(90).toString
    )
  }

  /** In the catalog `lake`, whose warehouse has to be the folder that stars lie in. */
  case object Iceberg extends Form("iceberg") {
    override def takes(kind: Kind): Boolean = super.takes(kind) && (kind.family match {
      case Family.Interval | _: Family.Collated => false
      case Family.Nested => !(Narrow ++ Form.TypesOfSpark).exists(kind.sql.contains(_))
      case _ => !Narrow.exists(kind.sql.startsWith(_))
    })

    override def database(name: String): String = s"lake.$name"

    override def location(folder: String): String = ""

    override def properties(choices: Choices): Seq[(String, String)] = {
      def mode = choices.oneOf("merge-on-read", "merge-on-read", "copy-on-write")
      Seq(
        "format-version" -> choices.oneOf("2", "3"),
        "write.delete.mode" -> mode,
        "write.update.mode" -> mode,
        "write.merge.mode" -> mode,
        "write.delete.granularity" -> choices.oneOf("file", "partition"),
        "write.distribution-mode" -> choices.oneOf("none", "hash"),
        "write.spark.fanout.enabled" -> "true",
        "write.parquet.compression-codec" -> choices.oneOf(
          "uncompressed",
          "snappy",
          "gzip",
          "zstd"),
        "write.parquet.row-group-size-bytes" -> choices.oneOf("20000", "134217728"),
        "write.parquet.row-group-check-min-record-count" -> "50",
        "write.parquet.page-size-bytes" -> choices.oneOf("500", "5000", "1048576"),
        "write.parquet.page-row-limit" -> choices.oneOf("50", "500", "20000"),
        "write.parquet.dict-size-bytes" -> choices.oneOf("200", "5000", "2097152")
      )
    }

    override def settings(choices: Choices): Seq[(String, String)] = Seq(
      "spark.sql.iceberg.vectorization.enabled" -> choices.chance(80).toString,
      "spark.sql.iceberg.aggregate-push-down.enabled" -> choices.chance(50).toString,
      "spark.sql.iceberg.executor-cache.enabled" -> choices.chance(50).toString,
      "spark.sql.iceberg.planning.preserve-data-grouping" -> choices.chance(30).toString,
      "spark.sql.sources.v2.bucketing.enabled" -> choices.chance(50).toString
    )

    override def version(database: String, table: String): String =
      s"SELECT snapshot_id FROM $database.$table.refs WHERE name = 'main'"

    override def restored(database: String, table: String, version: String): String =
      s"CALL lake.system.rollback_to_snapshot('${named(database, table)}', $version)"

    override def compactions(database: String, table: StarTable): Seq[String] = {
      val which = s"table => '${named(database, table.name)}'"
      val sorted = s", strategy => 'sort', sort_order => '${table.columns.head.name}'"
      for (how <- Seq("", sorted))
        yield s"CALL lake.system.rewrite_data_files($which$how, options => map('rewrite-all', 'true'))"
    }

    override def wider(kind: Kind): Option[Kind] = kind.sql match {
      case "INT" => Some(kind.copy(sql = "BIGINT"))
      case "FLOAT" => Some(kind.copy(sql = "DOUBLE"))
      case _ => None
    }

    override def partitionField(column: StarColumn): Option[String] =
      column.kind.family match {
        case Family.Integral | Family.Text => Some(s"bucket(3, ${column.name})")
        case Family.Date => Some(s"years(${column.name})")
        case _ => None
      }

    private def named(database: String, table: String) = s"${database.stripPrefix("lake.")}.$table"

    // Iceberg makes other types of them.
    private val Narrow = Seq("TINYINT", "SMALLINT", "CHAR", "VARCHAR")
  }

  /** In Spark's own catalog, which has to be Delta's. */
  case object Delta extends Form("delta") {
    override def takes(kind: Kind): Boolean = super.takes(kind) && (kind.family match {
      case Family.Interval | _: Family.Collated => false
      case Family.Nested => !Form.TypesOfSpark.exists(kind.sql.contains(_))
      case _ => true
    })

    override def properties(choices: Choices): Seq[(String, String)] = Seq(
      "delta.enableDeletionVectors" -> choices.chance(70).toString,
      "delta.columnMapping.mode" -> choices.oneOf("name", "name", "id", "none"),
      "delta.enableRowTracking" -> choices.chance(30).toString,
      // A column that is added does not bring it along.
      "delta.feature.timestampNtz" -> "supported"
    )

    override def letsColumnsGo(properties: Seq[(String, String)]): Boolean =
      !properties.contains("delta.columnMapping.mode" -> "none")

    override def settings(choices: Choices): Seq[(String, String)] = Seq(
      "spark.databricks.delta.deletionVectors.useMetadataRowIndex" -> choices.chance(70).toString,
      "spark.databricks.delta.stats.skipping" -> choices.chance(80).toString
    )

    override def version(database: String, table: String): String =
      s"DESCRIBE HISTORY $table LIMIT 1"

    override def restored(database: String, table: String, version: String): String =
      s"RESTORE TABLE $table TO VERSION AS OF $version"

    override def compactions(database: String, table: StarTable): Seq[String] = Seq(
      s"OPTIMIZE ${table.name}",
      s"OPTIMIZE ${table.name} ZORDER BY (${table.columns.head.name})",
      s"REORG TABLE ${table.name} APPLY (PURGE)"
    )

    override def wider(kind: Kind): Option[Kind] = None
  }
}
