package io.oap.spark.rpc

import java.io.{IOException, ObjectInputStream}

import org.apache.spark.SparkEnv

import io.oap.cache.pool.JarVersion

/**
 * What goes with a task and is read by the version of the jar only that has made it. Classes of two
 * versions may have the same fields and mean something else by them.
 */
@SerialVersionUID(1)
private[spark] abstract class SameVersion extends Serializable {
  private val version = JarVersion.TEXT

  @throws[IOException]
  private def readObject(in: ObjectInputStream): Unit = {
    in.defaultReadObject()
    if (version != JarVersion.TEXT)
      throw new OtherVersionException(OtherVersionException.Driver, version)
  }
}

/**
 * What another version of the jar has sent.
 *
 * @param sender id of the executor, or `driver`
 * @param version of its jar
 */
private[spark] final class OtherVersionException(val sender: String, version: String)
    extends IOException(
      s"OAP $version runs in ${OtherVersionException.named(sender)}, and OAP ${JarVersion.TEXT} in " +
        s"${OtherVersionException.named(SparkEnv.get.executorId)}: all processes of an application " +
        "need the same version of the jar")

private object OtherVersionException {

  /** Spark's id of the driver. */
  val Driver = "driver"

  def named(id: String): String =
    if (id == Driver) "the driver" else s"executor $id"
}
