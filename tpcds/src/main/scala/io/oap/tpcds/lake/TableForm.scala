package io.oap.tpcds.lake

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.oap.tpcds.Options
import io.oap.tpcds.data.{DataFolder, TpcdsData, TpcdsTable}
import io.oap.tpcds.storage.{PacedFileSystem, StorageClass}

/**
 * A way to keep tables.
 *
 * @param word what people call it; Options.java has all of them
 */
sealed abstract class TableForm(val word: String) {

  /** What an application needs of Spark's configuration to make and read such tables. */
  def settings(root: String, scale: Double, storage: StorageClass): Map[String, String]

  /** The tables of one scale. */
  def data(root: String, scale: Double): TpcdsData
}

object TableForm {
  val All: Seq[TableForm] = Seq(
    Parquet,
    Iceberg("iceberg", version = 2, isDeletedFrom = false),
    Iceberg("iceberg-deletes", version = 2, isDeletedFrom = true),
    Iceberg("iceberg-vectors", version = 3, isDeletedFrom = true),
    Delta("delta", isDeletedFrom = false),
    Delta("delta-deletes", isDeletedFrom = true),
    Orc
  )

  /** @throws Options.Rejected when there is none of this name */
  def named(word: String): TableForm = All.find(_.word == word).getOrElse(
    throw new Options.Rejected(s"there is no form of tables called $word"))

  /** Spark's own tables of Parquet files, as they are generated. */
  case object Parquet extends TableForm("parquet") {
    override def settings(
        root: String,
        scale: Double,
        storage: StorageClass): Map[String, String] = Map.empty

    override def data(root: String, scale: Double): TpcdsData = new DataFolder(root, scale)
  }
}

/** A form that is made from Parquet tables. Its tables know their files by URLs of [[PacedFileSystem.SCHEME]]. */
sealed abstract class LakeForm(word: String) extends TableForm(word) {

  /** Whether a share of the rows of fact tables is deleted, without any of their files being written again. */
  def isDeletedFrom: Boolean

  /** Whether texts keep the spaces that CHAR columns are filled up with. */
  def keepsPadding: Boolean = false

  /**
   * Makes a table of these rows.
   *
   * @param partition by which it is partitioned
   * @return its name in SQL
   */
  def make(rows: DataFrame, folder: Path, partition: Option[String]): String

  /** The newest version of a table, as VERSION AS OF takes it. */
  def version(session: SparkSession, name: String): String =
    throw new UnsupportedOperationException(s"$word has no versions")

  /** Has a session look again what the newest version of a table is. */
  def refresh(session: SparkSession, name: String): Unit = ()

  /** Has a session know a table by its name in TPC-DS. */
  def register(session: SparkSession, table: TpcdsTable, folder: Path, partition: Option[String])
      : Unit

  override def settings(
      root: String,
      scale: Double,
      storage: StorageClass): Map[String, String] = Map(
    s"spark.hadoop.fs.${PacedFileSystem.SCHEME}.impl" -> classOf[PacedFileSystem].getName,
    s"spark.hadoop.${PacedFileSystem.STORAGE_KEY}" -> storage.scheme)

  override def data(root: String, scale: Double): TpcdsData =
    new LakeFolder(new DataFolder(root, scale), this)

  /** Where a table lies, from its folder. */
  protected def url(folder: Path): String =
    s"${PacedFileSystem.SCHEME}://${folder.toUri.getPath}"

  /** CREATE TABLE of the rows. */
  protected def create(
      rows: DataFrame,
      name: String,
      words: String,
      partition: Option[String],
      properties: Map[String, String]): Unit = {
    val by = partition.fold("")(column => s"PARTITIONED BY ($column)")
    val said = properties.map { case (key, value) => s"'$key' = '$value'" }.mkString(", ")
    rows.createOrReplaceTempView(LakeForm.Rows)
    rows.sparkSession.sql(
      s"CREATE TABLE $name $words $by TBLPROPERTIES ($said) AS SELECT * FROM ${LakeForm.Rows}")
    rows.sparkSession.catalog.dropTempView(LakeForm.Rows)
  }
}

private object LakeForm {
  private val Rows = "rows_of_parquet"
}

/** Tables of Iceberg in a Hadoop catalog, deleted from by position deletes, since version 3 by deletion vectors. */
final case class Iceberg(override val word: String, version: Int, isDeletedFrom: Boolean)
    extends LakeForm(word) {

  private val catalog = "lake"

  override def settings(
      root: String,
      scale: Double,
      storage: StorageClass): Map[String, String] = {
    val known = s"spark.sql.catalog.$catalog"
    super.settings(root, scale, storage) ++ Map(
      "spark.sql.extensions" ->
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
      known -> "org.apache.iceberg.spark.SparkCatalog",
      s"$known.type" -> "hadoop",
      s"$known.warehouse" -> url(new DataFolder(root, scale).folder)
    )
  }

  override def make(rows: DataFrame, folder: Path, partition: Option[String]): String = {
    val properties = Map(
      "format-version" -> version.toString,
      "write.delete.mode" -> "merge-on-read",
      "write.update.mode" -> "merge-on-read",
      "write.merge.mode" -> "merge-on-read",
      "write.parquet.compression-codec" -> "snappy"
    )
    // A file for each task, or for each partition.
    val spread = if (partition.isEmpty) "none" else "hash"
    rows.sparkSession.sql(s"CREATE NAMESPACE IF NOT EXISTS $catalog.`$word`")
    val name = nameOf(folder)
    create(
      rows,
      name,
      "USING iceberg",
      partition,
      properties + ("write.distribution-mode" -> spread))
    name
  }

  override def register(
      session: SparkSession,
      table: TpcdsTable,
      folder: Path,
      partition: Option[String]): Unit =
    session.sql(
      s"CREATE OR REPLACE TEMP VIEW ${table.name} AS SELECT * FROM ${nameOf(folder)}"): Unit

  override def version(session: SparkSession, name: String): String = {
    refresh(session, name)
    session.sql(
      s"SELECT snapshot_id FROM $name.refs WHERE name = 'main'").head().getLong(0).toString
  }

  /** The catalog of each session keeps tables for a while. */
  override def refresh(session: SparkSession, name: String): Unit =
    session.sql(s"REFRESH TABLE $name"): Unit

  /** A folder below the warehouse is a namespace. */
  private def nameOf(folder: Path): String = s"$catalog.`$word`.${folder.getName}"
}

/** Tables of Delta, deleted from by deletion vectors. */
final case class Delta(override val word: String, isDeletedFrom: Boolean) extends LakeForm(word) {

  override def settings(
      root: String,
      scale: Double,
      storage: StorageClass): Map[String, String] =
    super.settings(root, scale, storage) ++ Map(
      "spark.sql.extensions" -> "io.delta.sql.DeltaSparkSessionExtension",
      "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
      s"spark.delta.logStore.${PacedFileSystem.SCHEME}.impl" -> "io.delta.storage.LocalLogStore",
      // Fifty of them would measure the scheduling of empty tasks.
      "spark.databricks.delta.snapshotPartitions" -> "1"
    )

  override def make(rows: DataFrame, folder: Path, partition: Option[String]): String = {
    val properties = Map("delta.enableDeletionVectors" -> isDeletedFrom.toString)
    val name = s"delta.`${url(folder)}`"
    create(rows, name, "USING delta", partition, properties)
    name
  }

  override def version(session: SparkSession, name: String): String =
    session.sql(s"DESCRIBE HISTORY $name LIMIT 1").select("version").head().getLong(0).toString

  override def register(
      session: SparkSession,
      table: TpcdsTable,
      folder: Path,
      partition: Option[String]): Unit = {
    session.sql(s"DROP TABLE IF EXISTS ${table.name}")
    session.sql(s"CREATE TABLE ${table.name} USING delta LOCATION '${url(folder)}'"): Unit
  }
}

/** Spark's own tables of ORC files. */
case object Orc extends LakeForm("orc") {
  override def isDeletedFrom: Boolean = false
  override def keepsPadding: Boolean = true

  override def make(rows: DataFrame, folder: Path, partition: Option[String]): String = {
    rows.write.partitionBy(partition.toSeq: _*).option("compression", "snappy").orc(url(folder))
    s"orc.`${url(folder)}`"
  }

  override def register(
      session: SparkSession,
      table: TpcdsTable,
      folder: Path,
      partition: Option[String]): Unit = {
    val by = partition.fold("")(column => s"PARTITIONED BY ($column)")
    session.sql(s"DROP TABLE IF EXISTS ${table.name}")
    session.sql(
      s"CREATE TABLE ${table.name} (${table.ddl}) USING orc $by LOCATION '${url(folder)}'")
    if (partition.nonEmpty) session.sql(s"ALTER TABLE ${table.name} RECOVER PARTITIONS"): Unit
  }
}
