package io.oap.spark.filescan

import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.types.{ByteType, DataType, StructType}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.vector.VectorChunk
import io.oap.spark.read.DerivedBatch

/**
 * Columns that a scan gives, of bytes or longs, which are 0 in each row and are not read from files.
 *
 * @param types by place in the schema of the scan
 */
private[filescan] final case class ZeroColumns(types: Map[Int, DataType]) {

  /** What is read from files. */
  def without(schema: StructType): StructType =
    StructType(schema.fields.zipWithIndex.collect {
      case (field, i) if !types.contains(i) => field
    })

  /** Puts the columns between those of a reader. It is closed with what is given. */
  def among(reader: PartitionReader[ColumnarBatch]): PartitionReader[ColumnarBatch] =
    if (types.isEmpty) reader else new Batches(reader)

  private final class Batches(reader: PartitionReader[ColumnarBatch])
      extends PartitionReader[ColumnarBatch] {

    private val zeros: Map[Int, ColumnVector] = types.map { case (i, dataType) =>
      val column = new ConstantColumnVector(VectorChunk.ZONE_ROWS, dataType)
      if (dataType == ByteType) column.setByte(0) else column.setLong(0)
      i -> column
    }

    private val whole = new DerivedBatch(batch => {
      val others = Iterator.range(0, batch.numCols).map(batch.column(_): ColumnVector)
      new ColumnarBatch(Array.tabulate(batch.numCols + zeros.size)(zeros.getOrElse(
        _,
        others.next())))
    })

    override def next(): Boolean = reader.next()

    override def get(): ColumnarBatch = whole.of(reader.get())

    override def close(): Unit = reader.close()
  }
}

private[filescan] object ZeroColumns {
  val None: ZeroColumns = ZeroColumns(Map.empty)
}
