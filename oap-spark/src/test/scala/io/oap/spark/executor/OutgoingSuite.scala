package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.spark.CacheSuite

/** What waits in an executor to be handed to others. */
class OutgoingSuite extends CacheSuite {

  /** What the pool holds of a table, in a cache that is to hand it over. */
  private def loaded(name: String): (Outgoing, Seq[HeldKey]) = {
    spark.range(1000).write.parquet(path(name))
    spark.read.parquet(path(name)).collect()
    val cache = ExecutorCache.get().get
    val chunks = cache.snapshot().chunks.asScala.toSeq
    assert(chunks.nonEmpty)
    (new Outgoing(cache), chunks)
  }

  private def receiversOf(outgoing: Outgoing, handOver: Long): Set[String] =
    Iterator.continually(outgoing.next(handOver)).takeWhile(_.isDefined).flatten.map(_.to).toSet

  test("nothing is kept of receivers that have got all, or refuse") {
    val (outgoing, chunks) = loaded("dealt")
    for (receiver <- Seq("2", "3", "4")) outgoing.deal(1, receiver, chunks)
    outgoing.refuse(1, "3")
    assert(outgoing.receivers === Set("2", "4"))
    assert(receiversOf(outgoing, 1) === Set("2", "4"))
    assert(outgoing.receivers.isEmpty)
  }

  test("a hand-over gives away, and ends, what waits of itself only") {
    val (outgoing, chunks) = loaded("twice")
    for (receiver <- Seq("2", "3")) outgoing.deal(1, receiver, chunks)
    for (receiver <- Seq("3", "4")) outgoing.deal(2, receiver, chunks)
    outgoing.refuse(1, "3")
    assert(receiversOf(outgoing, 1) === Set("2"))
    outgoing.deal(1, "2", chunks)
    outgoing.end(1)
    assert(outgoing.receivers === Set("3", "4"))
    assert(receiversOf(outgoing, 2) === Set("3", "4"))
  }
}
