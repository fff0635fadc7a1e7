package io.oap.tpcds.scale

import java.util.concurrent.{Executors, TimeUnit}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.SparkContext

import io.oap.spark.CacheControl
import io.oap.tpcds.result.Sample
import io.oap.tpcds.storage.Pace

/**
 * Notes once a second what has been read so far, from files and from the pool. It sees this process
 * only: on a cluster there is nothing to see, and no samples come out.
 */
final class Sampler(context: SparkContext) {
  private val samples = ArrayBuffer.empty[Sample]

  /** @return what the body returns, and the samples taken while it ran, the last one at its end */
  def during[T](body: => T): (T, Seq[Sample]) =
    if (!context.isLocal) (body, Nil)
    else {
      samples.synchronized(samples.clear())
      val start = System.nanoTime()
      val (files, pool) = readSoFar()
      def note(): Unit = {
        val (nowFiles, nowPool) = readSoFar()
        val second = (System.nanoTime() - start).toDouble / TimeUnit.SECONDS.toNanos(1)
        samples.synchronized(samples += Sample(second, nowFiles - files, nowPool - pool))
      }
      val thread = Executors.newSingleThreadScheduledExecutor()
      val result =
        try {
          thread.scheduleAtFixedRate(() => note(), 1, 1, TimeUnit.SECONDS)
          body
        } finally {
          thread.shutdownNow()
          thread.awaitTermination(1, TimeUnit.SECONDS)
        }
      note()
      (result, samples.synchronized(samples.toSeq))
    }

  private def readSoFar(): (Long, Long) =
    (Pace.readsOfThisJvm().bytes, CacheControl.localCounters().bytesFromPool)
}
