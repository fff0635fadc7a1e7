package io.oap.spark.iceberg

import java.util.UUID

import org.apache.iceberg.PartitionSpec
import org.apache.iceberg.data.{GenericRecord, Record}
import org.apache.iceberg.data.parquet.GenericParquetWriter
import org.apache.iceberg.parquet.Parquet
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession

/** Equality deletes, which streams of changes into a table write, and Spark never does. */
private[spark] object EqualityDeletes {

  /** Commits the deletion of the rows whose column equals one of the values, all of them of the column's type. */
  def commit(spark: SparkSession, table: String, column: String, values: Seq[Any]): Unit = {
    val iceberg = Spark3Util.loadIcebergTable(spark, table)
    val schema = iceberg.schema.select(column)
    val writer = Parquet
      .writeDeletes(iceberg.io.newOutputFile(
        s"${iceberg.location}/data/equal-${UUID.randomUUID()}.parquet"))
      .forTable(iceberg)
      .withSpec(PartitionSpec.unpartitioned)
      .rowSchema(schema)
      .createWriterFunc((rows, file) => GenericParquetWriter.create(rows, file))
      .equalityFieldIds(schema.findField(column).fieldId)
      .buildEqualityWriter[Record]()
    values.foreach { value =>
      val row = GenericRecord.create(schema)
      row.setField(column, value)
      writer.write(row)
    }
    writer.close()
    iceberg.newRowDelta().addDeletes(writer.toDeleteFile).commit()
    spark.sql(s"REFRESH TABLE $table"): Unit
  }
}
