package io.oap.spark.directory

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration.FiniteDuration
import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.executor._
import io.oap.spark.rpc.BlockTransfer

/** Parts on their way between executors that die in the middle. */
final class HandOversSuite extends AnyFunSuite {

  /** So many requests an executor answers at a time. */
  private val MostAtATime = 8

  private val Deal = HandOver(Array("2", "3"), Array(7L), Array(0), Array(0))

  /**
   * Executor 1 has parts for others.
   *
   * @param parts who they are for
   * @param answers what the receiver says of a part, which is the `n`th that is taken
   */
  private final class Executors(parts: Seq[String], answers: (String, Int) => Option[Long])
      extends HandOvers.Ask {
    val taken = new ConcurrentLinkedQueue[HandedPart]
    val befores = new ConcurrentLinkedQueue[Long]
    val withdrawn = new ConcurrentLinkedQueue[HandedPart]
    val ended = new CountDownLatch(4)
    private val takes = new AtomicInteger
    private var waiting = parts.zipWithIndex.map { case (to, i) =>
      HandedPart(to, new BlockTransfer.Offer("host1", 1, "1", s"block$i"))
    }

    override def apply[A](
        executor: String,
        request: ExecutorRequest[A],
        time: FiniteDuration): Option[A] = {
      val answer = request match {
        case _: HandOver => Some(parts.size.toLong)
        case TakePart(part, before) =>
          assert(executor === part.to)
          befores.add(before)
          taken.add(part)
          answers(executor, takes.incrementAndGet())
        case NextPart(last, refusing) => Some(next(last, refusing))
        case other => fail(s"$other")
      }
      answer.asInstanceOf[Option[A]]
    }

    private def next(last: Option[HandedPart], refusing: Option[String]): Option[HandedPart] =
      synchronized {
        last.foreach(withdrawn.add)
        waiting = waiting.filterNot(part => refusing.contains(part.to))
        val first = waiting.headOption
        waiting = waiting.drop(1)
        if (first.isEmpty) ended.countDown()
        first
      }

    def run(): Unit = {
      new HandOvers(this).begin("1", "test", isLeaving = true)(Some(Deal))
      assert(ended.await(1, TimeUnit.MINUTES))
      assert(withdrawn.asScala.toSet === taken.asScala.toSet, "nothing stays offered")
    }

    def takenBy(executor: String): Int = taken.asScala.count(_.to == executor)
  }

  test("all parts are passed on") {
    val executors = new Executors(Seq.fill(20)(Seq("2", "3")).flatten, (_, _) => Some(5L))
    executors.run()
    assert(executors.takenBy("2") === 20 && executors.takenBy("3") === 20)
    // Each is told what it has taken, but for what the other threads have on the way.
    val most = executors.befores.asScala.max
    assert(most >= 5 * (20 - 4) && most < 5 * 20)
  }

  test("who dies in the middle, or has no room, gets no more; the others do") {
    for (silence <- Seq(None, Some(0L))) {
      val executors = new Executors(
        Seq.fill(20)(Seq("2", "3")).flatten,
        (executor, n) => if (executor == "2" && n > 6) silence else Some(5L))
      executors.run()
      // Each of the threads may have had one more part in its hands.
      assert(executors.takenBy("2") <= 6 + 4 && executors.takenBy("3") === 20)
    }
  }

  /** Executors with parts for one receiver; whoever is asked by more than so many at a time answers none. */
  private final class Holders(holders: Int, partsOfEach: Int, receiver: String)
      extends HandOvers.Ask {
    private val inside = new ConcurrentHashMap[String, Int]
    private val waiting = new ConcurrentHashMap[String, Int]
    val taken = new AtomicInteger
    val begun = new CountDownLatch(1)
    val mayTake = new CountDownLatch(1)
    val ended = new CountDownLatch(4 * holders)

    override def apply[A](
        executor: String,
        request: ExecutorRequest[A],
        time: FiniteDuration): Option[A] =
      try {
        if (inside.merge(executor, 1, (a: Int, b: Int) => a + b) > MostAtATime) None
        else Some(answer(executor, request).asInstanceOf[A])
      } finally inside.merge(executor, -1, (a: Int, b: Int) => a + b): Unit

    private def answer(executor: String, request: ExecutorRequest[_]): Any = request match {
      case _: HandOver => partsOfEach.toLong
      case _: TakePart =>
        begun.countDown()
        assert(mayTake.await(1, TimeUnit.MINUTES))
        // As copying does: others come meanwhile.
        Thread.sleep(5)
        taken.incrementAndGet()
        5L
      case NextPart(_, refusing) =>
        val part = waiting.compute(
          executor,
          (_, given) => if (refusing.isDefined) partsOfEach + 1 else given + 1)
        if (part > partsOfEach) ended.countDown()
        Option.when(part <= partsOfEach)(
          HandedPart(receiver, new BlockTransfer.Offer("host1", 1, executor, s"block$part")))
      case other => fail(s"$other")
    }

    def begin(handOvers: HandOvers, isLeaving: Boolean): Unit =
      for (holder <- 1 to holders)
        handOvers.begin(s"$receiver from $holder", "test", isLeaving)(Some(Deal))
  }

  test("many who hand over to one ask it for no more at a time than it answers") {
    val holders = new Holders(12, 10, "new")
    holders.mayTake.countDown()
    holders.begin(new HandOvers(holders), isLeaving = false)
    assert(holders.ended.await(1, TimeUnit.MINUTES))
    assert(holders.taken.get === 12 * 10)
  }

  test("who leaves waits for no newcomer") {
    val newcomer = new Holders(20, 1, "new")
    val leaving = new Holders(1, 10, "other")
    val handOvers = new HandOvers(new HandOvers.Ask {
      override def apply[A](id: String, request: ExecutorRequest[A], time: FiniteDuration) =
        (if (id.startsWith("new")) newcomer else leaving) (id, request, time)
    })
    newcomer.begin(handOvers, isLeaving = false)
    assert(newcomer.begun.await(1, TimeUnit.MINUTES))
    leaving.mayTake.countDown()
    leaving.begin(handOvers, isLeaving = true)
    assert(leaving.ended.await(1, TimeUnit.MINUTES))
    assert(leaving.taken.get === 10 && newcomer.taken.get === 0)
    newcomer.mayTake.countDown()
    assert(newcomer.ended.await(1, TimeUnit.MINUTES))
  }
}
