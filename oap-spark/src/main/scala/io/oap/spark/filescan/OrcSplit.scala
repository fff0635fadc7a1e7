package io.oap.spark.filescan

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.orc.{OrcConf, TypeDescription}
import org.apache.orc.TypeDescription.Category
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.cache.layout.ChunkRequest
import io.oap.cache.orc.{OrcFileLayout, OrcLayout}
import io.oap.cache.stream.CachedFileStream
import io.oap.common.ChunkKey
import io.oap.spark.read._
import io.oap.spark.vector.{DeletedPositions, FlatColumn, VectorType}

/**
 * One split of an ORC file, opened: the stripes in it, and Spark's vectorized reader over them, which
 * gets its bytes from the cache.
 *
 * @param read the file, as all who read it in this task see it
 * @throws UnservedFileException for files whose stripes are not known to the cache
 */
private[filescan] final class OrcSplit(
    override val file: PartitionedFile,
    orc: OrcDecoding,
    read: FileRead,
    cache: ColumnCache,
    context: ReadContext)
    extends OpenSplit {

  override type Group = OrcStripe

  private def hadoopConf = orc.hadoopConf

  private val source = read.source(hadoopConf)

  private val layout: OrcFileLayout =
    Using.resource(new CachedFileStream(source, OrcLayout.READER, cache, context))(_.layout) match {
      case known: OrcFileLayout if known.schema.getCategory == Category.STRUCT => known
      case _ => throw unserved("its stripes are not known")
    }

  // Spark's V2 reader would have these turned into the partitions' types, V1 does not look at them.
  if (orc.partitionSchema.exists(field => columnsByName.contains(inLowerCase(field.name))))
    throw unserved("it has a column that is called as one of partitions")

  private def unserved(why: String) = new UnservedFileException(file.filePath.toString, why)

  override def deleted: DeletedPositions = DeletedPositions.None

  /** As ORC's reader does, which takes the stripes that begin in the split. */
  override val groups: Seq[OrcStripe] = layout.stripes.asScala.toSeq
    .filter(stripe => stripe.offset >= file.start && stripe.offset < file.start + file.length)
    .map(OrcStripe(_))

  /** Vector chunks tell which of their zones hold a candidate. */
  override def candidates(filters: Array[Filter]): Seq[OrcStripe] = groups

  override def columns(schema: StructType): Seq[FlatColumn] = {
    val calendar = Seq(OrcConf.PROLEPTIC_GREGORIAN, OrcConf.PROLEPTIC_GREGORIAN_DEFAULT)
      .map(_.getBoolean(hadoopConf)).mkString("orc ", " ", "")
    for {
      (field, i) <- schema.fields.toSeq.zipWithIndex
      column <- inFile(field)
      form <- VectorType.of(field.dataType) if OrcSplit.isOfType(column, field.dataType)
    } yield FlatColumn(i, column.getId, form, form.representation(calendar))
  }

  /** The column of the file that Spark's reader takes, whether or not names are sensitive to case. */
  private def inFile(field: StructField): Option[TypeDescription] =
    if (columnsAreByPosition || CharVarcharUtils.getRawTypeString(field.metadata).isDefined) None
    else
      columnsByName.get(inLowerCase(field.name)) match {
        case Some(Seq((name, column))) if name == field.name => Some(column)
        case _ => None
      }

  private lazy val columnsByName: Map[String, Seq[(String, TypeDescription)]] =
    names.zip(layout.schema.getChildren.asScala.toSeq)
      .groupBy { case (name, _) => inLowerCase(name) }

  private def inLowerCase(name: String) = name.toLowerCase(Locale.ROOT)

  private def names = layout.schema.getFieldNames.asScala.toSeq

  /** Where the writer did not know the names, or the reader is told not to go by them. */
  private lazy val columnsAreByPosition =
    OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(hadoopConf) || names.forall(_.startsWith("_col"))

  override def key(group: OrcStripe, leaf: Int, representation: Long): ChunkKey =
    layout.key(group.stripe, leaf, representation)

  override def encodedBytes(group: OrcStripe, leaf: Int): Option[Long] =
    Option(layout.chunk(group.stripe, leaf)).map(_.length.toLong)

  override def isInFooter(group: OrcStripe, leaf: Int): Boolean =
    Option(layout.chunk(group.stripe, leaf)).exists(isInFooter)

  private def isInFooter(chunk: ChunkRequest) = chunk.offset >= layout.footerStart

  /**
   * The encoded chunks of a column, and of what is nested in it, but for those that come with the
   * file's footer.
   *
   * @throws UnservedFileException where columns are not told by their names
   */
  def chunks(field: StructField): Seq[ChunkRequest] = {
    if (columnsAreByPosition) throw unserved("its columns are found by their position")
    for {
      (_, column) <- columnsByName.getOrElse(inLowerCase(field.name), Nil)
      id <- column.getId to column.getMaximumId
      group <- groups
      chunk <- Option(layout.chunk(group.stripe, id)) if !isInFooter(chunk)
    } yield chunk
  }

  override def decoded(
      groups: Seq[OrcStripe],
      schema: StructType,
      filters: Array[Filter],
      batchSize: Int): DecodedBatches = {
    val start = groups.headOption.fold(file.start)(_.stripe.offset)
    val end = groups.lastOption.fold(file.start)(group => group.stripe.offset + group.stripe.length)
    val part = file.copy(start = start, length = end - start)
    read.whileOpening(() => new OrcBatches(orc.reader(schema, filters, batchSize, part)))
  }

  override def recordRead(found: Long, asked: Long): Unit =
    cache.files().recordRead(source.identity.id, found, asked)
}

private object OrcSplit {

  /** Whether a column of a file is what Spark writes for a type, so that nothing is turned into it. */
  private def isOfType(column: TypeDescription, dataType: DataType): Boolean =
    (dataType, column.getCategory) match {
      case (BooleanType, Category.BOOLEAN) => true
      case (ByteType, Category.BYTE) => true
      case (ShortType, Category.SHORT) => true
      case (IntegerType, Category.INT) => true
      case (LongType, Category.LONG) => true
      case (FloatType, Category.FLOAT) => true
      case (DoubleType, Category.DOUBLE) => true
      case (DateType, Category.DATE) => true
      case (StringType, Category.STRING) => true
      case (BinaryType, Category.BINARY) => true
      case (wanted: DecimalType, Category.DECIMAL) =>
        column.getPrecision == wanted.precision && column.getScale == wanted.scale
      case _ => false
    }
}

/** A stripe of an ORC file. */
private[filescan] final case class OrcStripe(stripe: OrcFileLayout.Stripe) extends SplitGroup {
  override def firstRow: Long = stripe.firstRow

  override def rows: Long = stripe.rows
}

/** Its bytes are checked when they are copied from the pool, so that none of them is damaged. */
private final class OrcBatches(reader: PartitionReader[ColumnarBatch]) extends DecodedBatches {
  override def next(): Boolean = reader.next()

  override def batch: ColumnarBatch = reader.get()

  override def dropDamaged(): Unit = ()

  override def close(): Unit = reader.close()
}
