package io.oap.spark.directory

import java.util.BitSet

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.placement.{Holding, RowGroupView}
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta}

/**
 * The Directory against maps that are easily seen to be right. System property `oap.seed` is the
 * seed of the first round.
 */
final class DirectoryModelSuite extends AnyFunSuite {
  private val firstSeed: Long = java.lang.Long.getLong("oap.seed", 1)

  for (seed <- firstSeed until firstSeed + 20)
    test(s"random joins, losses and reports, seed $seed") {
      val model = new DirectoryModel(new Random(seed), limitBytes = 1L << 30)
      for (_ <- 1 to 1000) {
        model.step()
        model.check(isComplete = true)
      }
      assert(model.seen.forall(_._2 > 10), model.seen)
    }

  for (seed <- firstSeed until firstSeed + 20) test(s"the same at its limit, seed $seed") {
    val model = new DirectoryModel(new Random(seed), limitBytes = 10000)
    for (_ <- 1 to 1000) {
      model.step()
      model.check(isComplete = false)
    }
    assert(model.forgotten > 10)
  }
}

/** A Directory, and what it should hold. */
final private class DirectoryModel(random: Random, limitBytes: Long) {
  private val columns = Array("x", "y", "y", "z")
  private val directory = new Directory(limitBytes, () => 0)
  private val held = mutable.TreeMap.empty[String, mutable.Map[Long, BitSet]]
  private val reports = mutable.Map.empty[String, Long]
  private val known = mutable.Set.empty[Long]
  private val layouts = mutable.Map.empty[Long, FileLayout]
  private var joined = 0

  /** How often each kind of step has been made. */
  val seen = mutable.Map.empty[String, Int].withDefaultValue(0)
  var forgotten = 0

  def step(): Unit = random.nextInt(100) match {
    case n if n < 4 || held.isEmpty => join()
    case n if n < 7 => lose()
    case n if n < 10 => anew()
    case n if n < 14 => gap()
    case _ => report()
  }

  private def count(kind: String): Unit = seen(kind) += 1

  private def someExecutor(): String = held.keys.toSeq(random.nextInt(held.size))

  private def join(): Unit = {
    count("join")
    val id = joined.toString
    joined += 1
    directory.executorJoined(id, "host", 2)
    held(id) = mutable.Map.empty
    reports(id) = 0
    send(id, 0, Nil)
  }

  private def lose(): Unit = {
    count("loss")
    val id = someExecutor()
    directory.executorLost(id)
    held.remove(id)
  }

  private def anew(): Unit = {
    count("anew")
    val id = someExecutor()
    held(id).clear()
    send(id, 0, Seq.fill(3)(delta(id)))
  }

  private def gap(): Unit = {
    count("gap")
    val id = someExecutor()
    val files = Seq(FileDelta(file(), None, Array(1L), Array.empty))
    val reply = directory.accept(ResidencyDelta(id, reports(id) + 1, reports(id) + 2, files, 1, 1))
    assert(!reply.isAccepted && reply.withoutLayout.isEmpty)
  }

  private def report(): Unit = {
    count("report")
    val id = someExecutor()
    send(id, reports(id), Seq.fill(random.nextInt(4))(delta(id)))
  }

  private def file(): Long = random.nextInt(60).toLong

  private def layout(file: Long): FileLayout = layouts.getOrElseUpdate(
    file, {
      val rowGroups = 1 + random.nextInt(30)
      val bytes = Array.fill(rowGroups * columns.length)(1 + random.nextInt(1000))
      FileLayout(columns.clone(), Array.tabulate(rowGroups)(_ * 100000L), bytes)
    }
  )

  /** A change of what an executor holds of a file, with or without its layout. */
  private def delta(id: String): FileDelta = {
    val of = file()
    val chunks = layout(of).chunkBytes.length
    def some = {
      val set = new BitSet
      (0 until random.nextInt(6)).foreach(_ => set.set(random.nextInt(chunks)))
      set
    }
    val (added, evicted) = (some, some)
    val sendsLayout = random.nextBoolean()
    if (sendsLayout) known += of
    if (known(of)) {
      val now = held(id).getOrElseUpdate(of, new BitSet)
      now.andNot(evicted)
      now.or(added)
    } else if (!added.isEmpty) expectedWithoutLayout += of
    FileDelta(of, Option.when(sendsLayout)(layout(of)), added.toLongArray, evicted.toLongArray)
  }

  private val expectedWithoutLayout = mutable.ArrayBuffer.empty[Long]

  private def send(id: String, from: Long, files: Seq[FileDelta]): Unit = {
    // What was forgotten for want of room is unknown from here on, as an executor is told.
    val number = math.max(from, reports(id)) + 1
    val reply = directory.accept(ResidencyDelta(id, from, number, files, 10, 5))
    reports(id) = number
    assert(reply.isAccepted)
    if (forgotten == 0) assert(reply.withoutLayout.toSeq == expectedWithoutLayout.toSeq)
    expectedWithoutLayout.clear()
    forgetWhatIsForgotten()
  }

  private def forgetWhatIsForgotten(): Unit =
    for (file <- known.toSeq.sorted if directory.look(file)((_, _, _) => ()).isEmpty) {
      forgotten += 1
      known -= file
      held.values.foreach(_.remove(file))
    }

  def check(isComplete: Boolean): Unit = {
    if (isComplete) assert(forgotten == 0)
    assert(directory.estimatedBytes <= limitBytes)
    val wanted = if (random.nextBoolean()) Seq("y", "z") else Seq("x")
    val scan = directory.scan(wanted, isCaseSensitive = true)
    assert(scan.executors.map(_.id).toSeq == held.keys.toSeq)
    val of = file()
    assert(scan.rowGroups(of).isDefined == known(of))
    scan.rowGroups(of).foreach(_.zipWithIndex.foreach { case (view, rowGroup) =>
      checkRowGroup(scan, of, view, rowGroup, wanted.toSet)
    })
    checkTotals()
  }

  private def checkRowGroup(
      scan: DirectoryScan,
      file: Long,
      view: RowGroupView,
      rowGroup: Int,
      wanted: Set[String]): Unit = {
    val bytes = layout(file).chunkBytes
    val all = rowGroup * columns.length until (rowGroup + 1) * columns.length
    val these = all.filter(chunk => wanted(columns(chunk % columns.length)))
    assert(view.start == rowGroup * 100000L && view.end == view.start + all.map(bytes(_)).sum)
    assert(view.wantedBytes == these.map(bytes(_)).sum)
    val expected = scan.executors.indices.flatMap { e =>
      val has = held(scan.executors(e).id).getOrElse(file, new BitSet)
      val any = all.filter(has.get).map(bytes(_)).sum
      Option.when(any > 0)(Holding(e, these.filter(has.get).map(bytes(_)).sum, any))
    }
    assert(view.holdings.toSeq == expected)
  }

  private def checkTotals(): Unit = {
    val totals = directory.totals()
    assert(totals.files == known.size)
    val chunks = for ((id, files) <- held.toSeq; (file, bits) <- files.toSeq)
      yield (id, file, bits)
    def bytes(file: Long, bits: BitSet) = bits.stream.mapToLong(layout(file).chunkBytes(_)).sum
    for (executor <- totals.executors) {
      val own = chunks.filter(_._1 == executor.executor.id)
      assert(executor.chunks == own.map(_._3.cardinality).sum)
      assert(executor.chunkBytes == own.map { case (_, file, bits) => bytes(file, bits) }.sum)
    }
    val times = chunks
      .flatMap { case (_, file, bits) => bits.stream.toArray.map(file -> _) }
      .groupMapReduce(identity)(_ => 1)(_ + _)
    def sum(atLeast: Int) = times.collect {
      case ((file, chunk), n) if n >= atLeast => layout(file).chunkBytes(chunk).toLong
    }.sum
    assert(totals.heldBytes == sum(1) && totals.heldTwiceBytes == sum(2))
  }
}
