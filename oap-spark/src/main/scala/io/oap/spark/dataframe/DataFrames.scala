package io.oap.spark.dataframe

import org.apache.spark.SparkConf
import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.types._

import io.oap.common.OapConfig
import io.oap.spark.vector.VectorType

/** Whether cached DataFrames of an application go to the pool. */
private[spark] object DataFrames extends Logging {
  private val Key = StaticSQLConf.SPARK_CACHE_SERIALIZER.key
  private val Ours = classOf[DataFrameSerializer].getName

  /**
   * Has the application keep cached DataFrames by our serializer, unless its configuration names one.
   * Spark takes it from what its first session starts with.
   */
  def install(conf: SparkConf): Unit =
    if (conf.getBoolean("spark.kryo.registrationRequired", defaultValue = false)) {
      logWarning(
        "Cached DataFrames stay with Spark alone: spark.kryo.registrationRequired asks for " +
          "a registration of every class, and Spark registers its own batches only.")
    } else {
      conf.setIfMissing(Key, Ours)
      if (conf.get(Key) == Ours &&
        SparkSession.getDefaultSession.exists(_.conf.get(Key) != Ours)) {
        logWarning(
          "Cached DataFrames stay with Spark alone in this application: it had a session " +
            s"before the first one with OAP. Set $Key=$Ours before it starts.")
      }
    }

  /**
   * Whether what this session caches goes to the pool. The serializer is one for the process and may
   * outlive the application that named it.
   */
  def areOn(conf: SQLConf): Boolean = {
    def lookup(key: String): String = conf.getConfString(key, null)
    conf.getConf(StaticSQLConf.SPARK_CACHE_SERIALIZER) == Ours &&
    OapConfig.CACHE_ENABLED.get(lookup(_)) && OapConfig.CACHE_DATAFRAMES.get(lookup(_))
  }

  /** Rows of a batch: as many as the session says, if it does. Spark's default is for rows on the heap. */
  def mostRows(conf: SQLConf): Int =
    if (conf.contains(SQLConf.COLUMN_BATCH_SIZE.key))
      math.min(conf.columnBatchSize, PackedRows.MOST_ROWS)
    else PackedRows.MOST_ROWS

  /** Whether all columns have a vector form of their own, in which Spark can read them. */
  def areFlat(types: Seq[DataType]): Boolean = types.forall(VectorType.of(_).isDefined)

  /**
   * The flat type as which a column is kept, if it can be. A nested value is kept as the bytes that it
   * has in a binary row of Spark's, which says of both where they lie in the same way. What a user
   * defines is kept as what it is made of.
   */
  def stored(dataType: DataType): Option[DataType] = dataType match {
    case _: StructType | _: ArrayType | _: MapType => Some(BinaryType)
    case defined: UserDefinedType[_] => stored(defined.sqlType)
    case other => Option.when(VectorType.of(other).isDefined)(other)
  }
}
