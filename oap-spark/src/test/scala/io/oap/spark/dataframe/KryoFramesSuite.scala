package io.oap.spark.dataframe

import org.apache.spark.storage.StorageLevel

/** Cached DataFrames of applications that serialize with Kryo. */
class KryoFramesSuite extends FramesInPool {
  override protected def settings: Map[String, String] = super.settings +
    ("spark.serializer" -> "org.apache.spark.serializer.KryoSerializer")

  test("levels_serialized_giveTheSameRows") {
    val plain = rows(flat(12000))
    for (level <-
        Seq(StorageLevel.MEMORY_ONLY, StorageLevel.DISK_ONLY, StorageLevel.MEMORY_ONLY_SER)) {
      val frame = flat(12000).persist(level)
      try {
        assertRows(rows(frame), plain, s"filled at $level")
        assertRows(rows(frame), plain, s"read again at $level")
      } finally frame.unpersist(blocking = true)
    }
  }
}
