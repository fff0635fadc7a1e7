package io.oap.spark.vector

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.schema.{MessageType, Type}
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.types.StructType

/**
 * A column of the read schema as it lies in one file, where its chunks can have the vector form.
 *
 * @param index its place in the read schema
 * @param leaf ordinal of the leaf column in the file's schema
 * @param form what its values are
 * @param representation what stands for that in the keys of its vector chunks
 */
private[spark] final case class FlatColumn(
    index: Int,
    leaf: Int,
    form: VectorType,
    representation: Long)

private[spark] object FlatColumn {

  /**
   * The columns of a read schema that a file has, flat, in the order of the schema. Which column of
   * the file a name or field id means is Spark's to say; where Spark would fail, there are none,
   * and its own reader is left to fail.
   *
   * @param calendar how dates and timestamps of the file are turned into Spark's, as text
   */
  def of(
      file: MessageType,
      schema: StructType,
      calendar: String,
      conf: Configuration): Seq[FlatColumn] = {
    val leaves = file.getColumns.asScala.zipWithIndex.collect {
      case (leaf, ordinal) if leaf.getPath.length == 1 => leaf.getPath.head -> ordinal
    }.toMap
    for {
      (field, index) <- requested(file, schema, conf).zipWithIndex
      if field.isPrimitive && !field.isRepetition(Type.Repetition.REPEATED)
      leaf <- leaves.get(field.getName)
      form <- VectorType.of(schema(index).dataType)
    } yield FlatColumn(
      index,
      leaf,
      form,
      form.representation(calendar))
  }

  private def requested(file: MessageType, schema: StructType, conf: Configuration): Seq[Type] =
    try {
      ParquetReadSupport
        .getRequestedSchema(file, schema, conf, enableVectorizedReader = true)
        .getFields
        .asScala
        .toSeq
    } catch {
      case NonFatal(_) => Nil
    }
}
