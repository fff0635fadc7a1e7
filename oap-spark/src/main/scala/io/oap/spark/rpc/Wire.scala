package io.oap.spark.rpc

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.io.IOException
import java.nio.ByteBuffer

import scala.reflect.ClassTag

import org.apache.spark.SparkEnv

import io.oap.cache.pool.JarVersion

/**
 * Messages between driver and executors as bytes, read with the class loader of this jar. Before
 * each stand the version of the jar that has made it, and whose it is.
 */
private[spark] object Wire {
  def encode[T: ClassTag](message: T): Array[Byte] = {
    val bytes = serializer.serialize(message)
    val all = new ByteArrayOutputStream(bytes.remaining + 64)
    val head = new DataOutputStream(all)
    head.writeUTF(JarVersion.TEXT)
    head.writeUTF(SparkEnv.get.executorId)
    all.write(bytes.array, bytes.arrayOffset + bytes.position, bytes.remaining)
    all.toByteArray
  }

  /** @throws OtherVersionException when another version of the jar has made the message */
  def decode[T: ClassTag](bytes: Array[Byte]): T = {
    val in = new ByteArrayInputStream(bytes)
    val head = new DataInputStream(in)
    val (version, sender) =
      try (head.readUTF(), head.readUTF())
      catch { case e: IOException => throw new IOException("This is no message of OAP", e) }
    if (version != JarVersion.TEXT)
      throw new OtherVersionException(sender, version)
    val start = bytes.length - in.available
    serializer.deserialize[T](
      ByteBuffer.wrap(bytes, start, in.available).slice(),
      getClass.getClassLoader)
  }

  // The one for closures is Java's serialization, whatever the application has set for its data.
  private def serializer = SparkEnv.get.closureSerializer.newInstance()
}
