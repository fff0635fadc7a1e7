package io.oap.tpcds.cluster

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

/** dev/cluster, called from a job that runs on the cluster. */
final class Control(command: Seq[String]) {

  /** kill -9 of the executors of a host; with `whole` also of its worker. */
  def kill(host: String, whole: Boolean): Unit =
    run(Seq("kill", host) ++ (if (whole) Seq("--worker") else Nil))

  /** The executors of a host are told to leave, and killed if they are there some seconds later. */
  def retire(host: String, seconds: Int): Unit =
    run(Seq("retire", host, "--seconds", seconds.toString))

  /** One worker more; it is registered when this returns. */
  def add(): Unit = run(Seq("add"))

  def pause(host: String): Unit = run(Seq("pause", host))

  def resume(host: String): Unit = run(Seq("resume", host))

  private def run(arguments: Seq[String]): Unit = {
    val process =
      new ProcessBuilder((command ++ arguments).asJava).redirectErrorStream(true).start()
    process.getOutputStream.close()
    val said = new String(process.getInputStream.readAllBytes(), UTF_8)
    if (process.waitFor() != 0) {
      throw new IOException(s"dev/cluster ${arguments.mkString(" ")}: $said")
    }
  }
}
