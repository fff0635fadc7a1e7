package io.oap.spark.rpc

import java.nio.ByteBuffer

import scala.reflect.ClassTag

import org.apache.spark.SparkEnv

/** Messages between driver and executors as bytes, read with the class loader of this jar. */
private[spark] object Wire {
  def encode[T: ClassTag](message: T): Array[Byte] = {
    val bytes = serializer.serialize(message)
    val copy = new Array[Byte](bytes.remaining)
    bytes.get(copy)
    copy
  }

  def decode[T: ClassTag](bytes: Array[Byte]): T =
    serializer.deserialize[T](ByteBuffer.wrap(bytes), getClass.getClassLoader)

  // The one for closures is Java's serialization, whatever the application has set for its data.
  private def serializer = SparkEnv.get.closureSerializer.newInstance()
}
