package io.oap.spark.dataframe

import com.esotericsoftware.kryo.DefaultSerializer
import com.esotericsoftware.kryo.serializers.JavaSerializer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.columnar.SimpleMetricsCachedBatch

/** A batch that is kept as rows. */
@DefaultSerializer(classOf[JavaSerializer])
private[dataframe] final class RowBatch(val rows: PackedRows, override val stats: InternalRow)
    extends SimpleMetricsCachedBatch with Serializable {
  override def numRows: Int = rows.count
}
