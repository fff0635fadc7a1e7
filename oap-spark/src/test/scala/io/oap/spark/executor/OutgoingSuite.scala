package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.common.{ChunkKey, FileId}
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

  /** Who get the parts that are given out, each of which is taken before the next one. */
  private def receiversOf(
      outgoing: Outgoing,
      handOver: Long,
      isTaken: String => Boolean = _ => true): Seq[String] =
    Iterator.continually(outgoing.next(handOver)).takeWhile(_.isDefined).flatten.map { part =>
      if (isTaken(part.to)) outgoing.taken(handOver, part.to)
      part.to
    }.toSeq

  test("nothing is kept of receivers that have got all, or refuse") {
    val (outgoing, chunks) = loaded("dealt")
    for (receiver <- Seq("2", "3", "4")) outgoing.deal(1, receiver, chunks)
    outgoing.refuse(1, "3")
    assert(outgoing.receivers === Set("2", "4"))
    assert(receiversOf(outgoing, 1).toSet === Set("2", "4"))
    assert(outgoing.receivers.isEmpty)
  }

  test("a hand-over gives away, and ends, what waits of itself only") {
    val (outgoing, chunks) = loaded("twice")
    for (receiver <- Seq("2", "3")) outgoing.deal(1, receiver, chunks)
    for (receiver <- Seq("3", "4")) outgoing.deal(2, receiver, chunks)
    outgoing.refuse(1, "3")
    assert(receiversOf(outgoing, 1) === Seq("2"))
    outgoing.deal(1, "2", chunks)
    outgoing.end(1)
    assert(outgoing.receivers === Set("3", "4"))
    assert(receiversOf(outgoing, 2).toSet === Set("3", "4"))
  }

  /** Five parts, each as large as a part may be. */
  private def fiveParts(chunks: Seq[HeldKey], asks: Int): Seq[HeldKey] =
    Seq.fill(5)(new HeldKey(chunks.head.key, 8L << 20, asks))

  test("a receiver that stands still keeps one part, and the others get all of theirs") {
    val (outgoing, chunks) = loaded("still")
    val others = (2 to 10).map(_.toString)
    outgoing.deal(1, "still", fiveParts(chunks, 9))
    others.foreach(outgoing.deal(1, _, fiveParts(chunks, 1)))
    val got = receiversOf(outgoing, 1, _ != "still")
    assert(got.count(_ == "still") === 1)
    assert(others.forall(one => got.count(_ == one) == 5))
    assert(outgoing.receivers === Set("still"))
    // It has answered after all.
    outgoing.taken(1, "still")
    assert(receiversOf(outgoing, 1) === Seq.fill(4)("still"))
  }

  test("a receiver that stands still later gets nothing more before the others") {
    val (outgoing, chunks) = loaded("later")
    for (receiver <- Seq("2", "still")) outgoing.deal(1, receiver, fiveParts(chunks, 1))
    outgoing.taken(1, outgoing.next(1).get.to)
    outgoing.taken(1, outgoing.next(1).get.to)
    val got = receiversOf(outgoing, 1, _ != "still")
    assert(got === Seq("still", "2", "2", "2", "2", "still", "still", "still"))
  }

  test("a receiver that has taken a part gets several at a time") {
    val (outgoing, chunks) = loaded("several")
    outgoing.deal(1, "2", fiveParts(chunks, 1))
    assert(outgoing.next(1).isDefined)
    assert(outgoing.next(1).isEmpty)
    outgoing.taken(1, "2")
    assert(receiversOf(outgoing, 1, _ => false) === Seq.fill(4)("2"))
  }

  test("chunks that the pool has given up are under way to nobody") {
    val (outgoing, chunks) = loaded("gone")
    val gone = new HeldKey(new ChunkKey(new FileId(1, 2), 0, 0, 0), 8L << 20, 9)
    outgoing.deal(1, "2", gone +: fiveParts(chunks, 1))
    assert(receiversOf(outgoing, 1) === Seq.fill(5)("2"))
  }
}
