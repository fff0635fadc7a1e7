package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.spark.CacheSuite

/** What waits in an executor to be handed to others. */
class OutgoingSuite extends CacheSuite {

  test("nothing is kept of receivers that have got all, or refuse") {
    spark.range(1000).write.parquet(path("dealt"))
    spark.read.parquet(path("dealt")).collect()
    val cache = ExecutorCache.get().get
    val chunks = cache.snapshot().chunks.asScala.toSeq
    assert(chunks.nonEmpty)
    val outgoing = new Outgoing(cache)
    for (receiver <- Seq("2", "3", "4")) outgoing.deal(receiver, chunks)
    outgoing.refuse("3")
    assert(outgoing.receivers === Set("2", "4"))
    val parts = Iterator.continually(outgoing.next()).takeWhile(_.isDefined).flatten.toSeq
    assert(parts.map(_.to).toSet === Set("2", "4"))
    assert(outgoing.receivers.isEmpty)
  }
}
