package io.oap.spark.executor

import java.io.IOException
import java.util.{BitSet => Bits}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.cache.pool.PoolSnapshot
import io.oap.common.{ChunkKey, FileId, FileIdentity}
import io.oap.spark.rpc.{ResidencyDelta, ResidencyReply}

/** Whatever happens to reports, the driver ends up knowing what the pool holds. */
class ResidencyTrackerSuite extends AnyFunSuite {
  private val Columns = 5
  private val RowGroups = 3

  private def id(file: Int) = new FileId(file, 0)

  private def known(file: Int) = new KnownFile(
    new FileIdentity(s"file:/f$file", 1000, file, ""),
    (0 until Columns).map(c => s"c$c").asJava,
    Array.tabulate(RowGroups)(_ * 100L),
    Array.fill(RowGroups * Columns)(7)
  )

  private def key(file: Int) = known(file).identity.placementKey

  private def snapshot(chunks: Iterable[(Int, Int)], version: Long = 1) = new PoolSnapshot(
    version,
    chunks.map { case (file, chunk) =>
      val key = new ChunkKey(id(file), chunk / Columns, chunk % Columns, chunk % 2)
      new PoolSnapshot.HeldKey(key, 7, 1)
    }.toSeq.asJava)

  /** The driver's part, as plainly as can be. */
  private final class PlainDriver {
    val held = mutable.HashMap.empty[Long, Bits]
    val forgotten = mutable.Set.empty[Long]
    private var last = 0L

    def accept(delta: ResidencyDelta): ResidencyReply =
      if (delta.from != 0 && delta.from != last) ResidencyReply(isAccepted = false, Array.empty)
      else {
        if (delta.from == 0) {
          held.clear()
          forgotten.clear()
        }
        last = delta.to
        val (taken, refused) =
          delta.files.partition(file => held.contains(file.file) || file.layout.isDefined)
        taken.foreach { file =>
          val bits = held.getOrElseUpdate(file.file, new Bits)
          bits.andNot(Bits.valueOf(file.evicted))
          bits.or(Bits.valueOf(file.added))
          forgotten -= file.file
        }
        ResidencyReply(isAccepted = true, refused.map(_.file).toArray)
      }

    /** For want of room; it is not asked for again unless something of it changes. */
    def forget(file: Long): Unit = {
      held.remove(file)
      forgotten += file
    }

    def restart(): Unit = {
      held.clear()
      last = -1
    }

    /** Chunks by file and number; files without chunks are as good as none. */
    def chunks: Set[(Long, Int)] =
      held.toSeq.flatMap { case (file, bits) =>
        Iterator.iterate(bits.nextSetBit(0))(b => bits.nextSetBit(b + 1)).takeWhile(_ >= 0)
          .map(file -> _)
      }.toSet
  }

  test("after lost reports, forgotten files and new drivers, the driver knows the pool") {
    val seed = System.nanoTime()
    info(s"seed $seed")
    val random = new Random(seed)
    val unknown = mutable.Set.empty[Int]
    val tracker = new ResidencyTracker(
      "1",
      None,
      file => Some(file.high.toInt).filterNot(unknown).map(known),
      filesPerReport = 3,
      bytesPerReport = 300)
    val driver = new PlainDriver
    val pool = mutable.Set.empty[(Int, Int)]
    var complete = 0
    for (step <- 1 to 2000) {
      for (_ <- 1 to random.nextInt(20)) {
        val chunk = (random.nextInt(12), random.nextInt(RowGroups * Columns))
        if (random.nextInt(3) == 0) pool -= chunk else pool += chunk
      }
      random.nextInt(12) match {
        case 0 => driver.restart()
        case 1 => driver.held.keys.headOption.foreach(driver.forget)
        case 2 => pool.filterInPlace(_ => random.nextInt(4) == 0)
        case 3 => unknown += random.nextInt(12)
        case 4 => unknown.clear()
        case _ => ()
      }
      val fails = random.nextInt(4) == 0
      var sent = 0
      def send(delta: ResidencyDelta): ResidencyReply = {
        sent += 1
        assert(delta.files.size <= 3, s"seed $seed step $step")
        val bytes = delta.files.map(_.estimatedBytes).sum
        assert(delta.files.size <= 1 || bytes <= 300, s"seed $seed step $step")
        if (fails && sent == 2) throw new IOException("lost")
        driver.accept(delta)
      }
      val isComplete =
        try tracker.report(snapshot(pool), 1000, pool.size)(send)
        catch { case _: IOException => false }
      if (isComplete) {
        complete += 1
        val expected = pool.iterator.collect {
          case (file, chunk) if !unknown(file) && !driver.forgotten(key(file)) =>
            key(file) -> chunk
        }.toSet
        assert(driver.chunks === expected, s"seed $seed step $step")
      }
    }
    assert(complete > 200, s"seed $seed: too few reports arrived to say anything")
  }

  test("a change is told once, with its layout the first time only") {
    val tracker = new ResidencyTracker("1", None, file => Some(known(file.high.toInt)), 10, 10000)
    val sent = mutable.ArrayBuffer.empty[ResidencyDelta]
    def report(chunks: (Int, Int)*): Unit = {
      sent.clear()
      assert(tracker.report(snapshot(chunks), 1000, 14) { delta =>
        sent += delta
        ResidencyReply(isAccepted = true, Array.empty)
      })
    }
    report(4 -> 0, 4 -> 6)
    assert(sent.map(d => (d.executor, d.from, d.to, d.capacityBytes, d.usedBytes)) ===
      Seq(("1", 0, 1, 1000, 14)))
    val first = sent.head.files.head
    assert(first.layout.get.columns.toSeq === Seq("c0", "c1", "c2", "c3", "c4"))
    assert(first.layout.get.chunkBytes.length === RowGroups * Columns)
    assert(Bits.valueOf(first.added) === bits(0, 6))
    report(4 -> 0, 4 -> 7)
    val second = sent.head.files.head
    assert((sent.head.from, sent.head.to) === ((1, 2)))
    assert(second.layout.isEmpty)
    assert(Bits.valueOf(second.added) === bits(7))
    assert(Bits.valueOf(second.evicted) === bits(6))
    report(4 -> 0, 4 -> 7)
    assert(sent.head.files.isEmpty)
    report()
    assert(Bits.valueOf(sent.head.files.head.evicted) === bits(0, 7))
  }

  test("what a list lacks that is not whole is not told to be gone") {
    val tracker = new ResidencyTracker("1", None, file => Some(known(file.high.toInt)), 10, 10000)
    val driver = new PlainDriver
    def report(version: Long, chunks: (Int, Int)*): Unit =
      assert(tracker.report(snapshot(chunks, version), 1000, 14)(driver.accept))
    report(1, 4 -> 0, 4 -> 6, 5 -> 1)
    report(-1, 4 -> 0, 4 -> 7)
    assert(driver.chunks === Set(key(4) -> 0, key(4) -> 6, key(4) -> 7, key(5) -> 1))
    report(2, 4 -> 0, 4 -> 7)
    assert(driver.chunks === Set(key(4) -> 0, key(4) -> 7))
  }

  test("a report has as many files as its bytes allow, and at least one") {
    // Names, three starts, fifteen lengths and a word of bits.
    val bytesOfFile = 5 * 2 + 3 * 8 + 15 * 4 + 8
    for ((bytesPerReport, files) <-
        Seq(3L * bytesOfFile -> 3, 3L * bytesOfFile - 1 -> 2, 1L -> 1)) {
      val tracker =
        new ResidencyTracker("1", None, file => Some(known(file.high.toInt)), 10, bytesPerReport)
      val sent = mutable.ArrayBuffer.empty[Int]
      assert(tracker.report(snapshot((1 to 6).map(_ -> 0)), 1000, 42) { delta =>
        sent += delta.files.size
        ResidencyReply(isAccepted = true, Array.empty)
      })
      assert(sent.toSeq === Seq.fill(6 / files)(files))
    }
  }

  private def bits(numbers: Int*): Bits = {
    val bits = new Bits
    numbers.foreach(bits.set)
    bits
  }
}
