package io.oap.spark.sql

import org.apache.spark.sql.types._

import io.oap.spark.cluster.Cluster
import io.oap.spark.status.Advice

/** The table `oap.system.advice`. */
private[sql] object AdviceTable {
  val table = new SystemTable[Advice](
    "advice",
    Seq[SystemColumn[Advice]](
      SystemColumn(
        "executor_id",
        StringType,
        s"Spark's id of the executor; ${Advice.All}: all together, each with that part of its capacity",
        _.executor),
      SystemColumn("capacity_bytes", LongType, "a capacity that the pool could have", _.capacity),
      SystemColumn("change_bytes", LongType, "what that is more or less than now", _.change),
      SystemColumn(
        "hit_ratio",
        DoubleType,
        "part of the bytes asked for that a pool of that capacity would have had, from 0 to 1",
        _.hitRatio.map(Double.box).orNull),
      SystemColumn(
        "hit_ratio_change",
        DoubleType,
        "what that is more or less than the pool had",
        _.hitRatioChange.map(Double.box).orNull),
      SystemColumn(
        "asked_bytes",
        LongType,
        "bytes of column chunks that readers asked for lately, as they stand in the files; warming is not asking",
        _.asked),
      SystemColumn("advice", StringType, "the same in words", _.text)
    ),
    { session =>
      val cluster = Cluster.of(session.sparkContext)
      cluster.askFigures()
      Advice.of(cluster.status.snapshot())
    }
  )
}
