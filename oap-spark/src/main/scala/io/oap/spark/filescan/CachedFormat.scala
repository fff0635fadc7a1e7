package io.oap.spark.filescan

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriterFactory, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.{DataSourceRegister, Filter}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

import io.oap.spark.status.CountingFormat
import io.oap.spark.status.Figures
import io.oap.spark.table.ScanCachePolicy

/**
 * A format whose reader gets the bytes of files from the cache. All else it leaves to the format
 * that it stands for, which reads as before: which rows and columns there are, it alone knows.
 */
private[spark] trait CachedFormat extends FileFormat with DataSourceRegister with CountingFormat {

  /** The format that it stands for. */
  def meant: FileFormat with DataSourceRegister

  /** All that decides how the format reads a file: of Delta's, what the table's log says of it. */
  def said: Seq[Any] = meant match {
    case delta: Product => meant.getClass.getName +: delta.productIterator.toSeq
    case _ => Seq(meant.getClass.getName)
  }

  /** Schemes of the files that are read through the cache. */
  protected def schemes: Seq[String]

  protected def orders: ReadOrders

  /** What is asked of the rows of the scan. */
  protected def above: AskedAbove

  /** The format for a scan that drops rows by join keys, too. */
  private[filescan] def joined(keys: FileJoinKeys): CachedFormat

  override def figures: Figures = orders.figures.value

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val caching = CachingFileSystem.caching(hadoopConf, schemes.asJava)
    val read = meant.buildReaderWithPartitionValues(
      session,
      dataSchema,
      partitionSchema,
      requiredSchema,
      filters,
      options,
      caching)
    val scan = ScanRequest(session, dataSchema, partitionSchema, requiredSchema, filters, options)
    orders.reading(read, ownReads(scan, read, caching))
  }

  /**
   * How the files are read by readers of our own, where they can be.
   *
   * @param read the function of the format that is meant
   * @param caching the configuration that it was made with
   */
  protected def ownReads(
      scan: ScanRequest,
      read: PartitionedFile => Iterator[InternalRow],
      caching: Configuration): Option[OwnReads]

  override def shortName(): String = meant.shortName()

  /** What EXPLAIN says. */
  override def toString: String = s"$meant, column cache"

  /** Scans that read the same are computed once, whatever their tasks count. */
  override def equals(other: Any): Boolean = other match {
    case that: CachedFormat => meant.getClass == that.meant.getClass && meant == that.meant
    case _ => false
  }

  override def hashCode(): Int = meant.hashCode()

  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] = meant.inferSchema(session, options, files)

  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType): OutputWriterFactory =
    meant.prepareWrite(session, job, options, dataSchema)

  override def supportBatch(session: SparkSession, schema: StructType): Boolean =
    meant.supportBatch(session, schema)

  /** None: the columns of a batch are those of Spark's reader in one file, and ours in another. */
  override def vectorTypes(
      requiredSchema: StructType,
      partitionSchema: StructType,
      conf: SQLConf): Option[Seq[String]] = None

  override def isSplitable(
      session: SparkSession,
      options: Map[String, String],
      path: Path): Boolean = meant.isSplitable(session, options, path)

  override def createFileMetadataCol(): AttributeReference = meant.createFileMetadataCol()

  override def supportDataType(dataType: DataType): Boolean = meant.supportDataType(dataType)

  override def supportReadDataType(dataType: DataType): Boolean =
    meant.supportReadDataType(dataType)

  override def supportFieldName(name: String): Boolean = meant.supportFieldName(name)

  override def allowDuplicatedColumnNames: Boolean = meant.allowDuplicatedColumnNames

  override def metadataSchemaFields: Seq[StructField] = meant.metadataSchemaFields

  override def fileConstantMetadataExtractors: Map[String, PartitionedFile => Any] =
    meant.fileConstantMetadataExtractors
}

/** Spark's Parquet format, or one that extends it; Spark asks scans for this class. */
private[spark] final class CachedParquetFormat(
    override val meant: ParquetFileFormat,
    override val table: String,
    override protected val schemes: Seq[String],
    override protected val orders: ReadOrders,
    override protected val above: AskedAbove)
    extends ParquetFileFormat
    with CachedFormat {

  override private[filescan] def joined(keys: FileJoinKeys): CachedParquetFormat =
    new CachedParquetFormat(meant, table, schemes, orders, above.copy(keys = keys))

  override protected def ownReads(
      scan: ScanRequest,
      read: PartitionedFile => Iterator[InternalRow],
      caching: Configuration): Option[OwnReads] =
    RowGroupReads.of(scan, meant, above, read, CachingFileSystem.plain(caching))
}

/** Spark's ORC format. */
private[spark] final class CachedOrcFormat(
    override val meant: OrcFileFormat,
    override val table: String,
    override protected val schemes: Seq[String],
    override protected val orders: ReadOrders,
    override protected val above: AskedAbove)
    extends OrcFileFormat
    with CachedFormat {

  override private[filescan] def joined(keys: FileJoinKeys): CachedOrcFormat =
    new CachedOrcFormat(meant, table, schemes, orders, above.copy(keys = keys))

  override protected def ownReads(
      scan: ScanRequest,
      read: PartitionedFile => Iterator[InternalRow],
      caching: Configuration): Option[OwnReads] =
    StripeReads.of(scan, above, caching)
}

private[spark] object CachedFormat {

  /**
   * The format that stands for one of Parquet or ORC; any other one is left as it is.
   *
   * @param keepsStatuses as [[ReadOrders]] has it
   */
  def of(
      meant: FileFormat,
      table: String,
      schemes: Seq[String],
      keepsStatuses: Boolean,
      policy: ScanCachePolicy,
      figures: ReaderFigures,
      above: AskedAbove): FileFormat = {
    def orders(kind: FileKind) = ReadOrders(kind, keepsStatuses, policy, figures)
    meant match {
      case orc: OrcFileFormat =>
        new CachedOrcFormat(orc, table, schemes, orders(FileKind.Orc), above)
      case parquet: ParquetFileFormat =>
        new CachedParquetFormat(parquet, table, schemes, orders(FileKind.Parquet), above)
      case other => other
    }
  }

  /** The schemes of some paths, that of the default file system for those that have none. */
  def schemes(paths: Seq[Path], conf: Configuration): Seq[String] =
    paths.map(path =>
      Option(path.toUri.getScheme).getOrElse(FileSystem.getDefaultUri(conf).getScheme)).distinct
}
