package io.oap.spark.cluster

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicReference}

import scala.collection.mutable
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.executor._
import io.oap.spark.rpc.BlockTransfer

/** Parts on their way between executors that die in the middle. */
final class HandOversSuite extends AnyFunSuite {

  /** So many requests an executor answers at a time. */
  private val MostAtATime = 8

  /** So long is an executor there that leaves. */
  private val Stays = 7.seconds

  /** Deals out a row group for each of these, in this order. */
  private def deal(receivers: String*): HandOver =
    HandOver(
      receivers.toArray,
      Array.fill(receivers.size)(7L),
      receivers.indices.toArray,
      receivers.indices.toArray)

  private def await(latch: CountDownLatch): Unit = assert(latch.await(1, TimeUnit.MINUTES))

  /**
   * Executor 1 has parts for others, one for each row group that it is dealt.
   *
   * @param answers what the receiver says of a part, which is the `n`th that is taken
   */
  private final class Executors(answers: (String, Int) => Option[Long]) extends HandOvers.Ask {
    val taken = new ConcurrentLinkedQueue[HandedPart]
    val befores = new ConcurrentLinkedQueue[Long]
    val times = new ConcurrentLinkedQueue[FiniteDuration]
    val withdrawn = new ConcurrentLinkedQueue[HandedPart]
    private val takes = new AtomicInteger
    private val waiting = mutable.HashMap.empty[Long, Seq[HandedPart]]
    private val underWay = mutable.HashMap.empty[Long, Int].withDefaultValue(0)

    override def apply[A](
        executor: String,
        request: ExecutorRequest[A],
        time: FiniteDuration): Option[A] = {
      times.add(time)
      val answer = request match {
        case deal: HandOver => Some(begin(deal))
        case TakePart(part, before) =>
          assert(executor === part.to)
          befores.add(before)
          taken.add(part)
          answers(executor, takes.incrementAndGet())
        case NextPart(number, last, refusing) => Some(next(number, last, refusing))
        case EndHandOver(number, last) => Some(end(number, last))
        case other => fail(s"$other")
      }
      answer.asInstanceOf[Option[A]]
    }

    private def begin(deal: HandOver): BegunHandOver = synchronized {
      val number = waiting.size + 1L
      waiting(number) = deal.to.toSeq.map(deal.receivers(_)).zipWithIndex.map { case (to, i) =>
        HandedPart(to, new BlockTransfer.Offer("host1", 1, "1", s"block$number-$i"))
      }
      BegunHandOver(number, deal.to.length)
    }

    private def next(
        number: Long,
        last: Option[HandedPart],
        refusing: Option[String]): Option[HandedPart] = synchronized {
      last.foreach(withdraw(number, _))
      waiting(number) = waiting(number).filterNot(part => refusing.contains(part.to))
      val first = waiting(number).headOption
      waiting(number) = waiting(number).drop(1)
      underWay(number) += first.size
      first
    }

    private def withdraw(number: Long, part: HandedPart): Unit = {
      withdrawn.add(part)
      underWay(number) -= 1
    }

    private def end(number: Long, last: HandedPart): Unit = synchronized {
      withdraw(number, last)
      waiting(number) = Nil
    }

    /** Waits until nothing of a hand-over waits or is under way any more. */
    def awaitEnd(number: Long): Unit = eventually(timeout(1.minute), interval(10.millis)) {
      synchronized(assert(waiting.get(number).contains(Nil) && underWay(number) === 0))
    }

    def checkNothingStaysOffered(): Unit =
      assert(withdrawn.asScala.toSet === taken.asScala.toSet)

    def run(receivers: String*): Unit = {
      new HandOvers(this).begin("1", "test", Some(Stays))(Some(deal(receivers: _*)))
      awaitEnd(1)
      checkNothingStaysOffered()
    }

    def takenBy(executor: String): Int = taken.asScala.count(_.to == executor)
  }

  test("all parts are passed on") {
    val executors = new Executors((_, _) => Some(5L))
    executors.run(Seq.fill(20)(Seq("2", "3")).flatten: _*)
    assert(executors.takenBy("2") === 20 && executors.takenBy("3") === 20)
    // Each is told what it has taken, but for what the other threads have on the way.
    val most = executors.befores.asScala.max
    assert(most >= 5 * (20 - 4) && most < 5 * 20)
    assert(executors.times.asScala.toSet === Set(Stays), "and waits no longer for an answer")
  }

  test("who dies in the middle, or has no room, gets no more; the others do") {
    for (silence <- Seq(None, Some(0L))) {
      val executors =
        new Executors((executor, n) => if (executor == "2" && n > 6) silence else Some(5L))
      executors.run(Seq.fill(20)(Seq("2", "3")).flatten: _*)
      // Each of the threads may have had one more part in its hands.
      assert(executors.takenBy("2") <= 6 + 4 && executors.takenBy("3") === 20)
    }
  }

  test("a hand-over whose time is over ends, and no other one of its executor does") {
    val now = new AtomicLong
    val areTaking = Map("2" -> new CountDownLatch(4), "3" -> new CountDownLatch(4))
    val mayTake = Map("2" -> new CountDownLatch(1), "3" -> new CountDownLatch(1))
    val executors = new Executors((executor, _) => {
      areTaking(executor).countDown()
      await(mayTake(executor))
      Some(5L)
    })
    val handOvers = new HandOvers(executors, () => now.get)
    handOvers.begin("1", "old", stays = None)(Some(deal(Seq.fill(20)("2"): _*)))
    await(areTaking("2"))
    now.addAndGet(2.minutes.toNanos)
    handOvers.begin("1", "new", Some(Stays))(Some(deal(Seq.fill(20)("3"): _*)))
    await(areTaking("3"))
    mayTake("2").countDown()
    executors.awaitEnd(1)
    mayTake("3").countDown()
    executors.awaitEnd(2)
    executors.checkNothingStaysOffered()
    assert(executors.takenBy("2") === 4 && executors.takenBy("3") === 20)
  }

  /**
   * An executor gives out one part until that is taken, and then as many as are wanted until parts
   * are on their way on four threads.
   */
  private final class SlowToBegin extends HandOvers.Ask {
    private val first = new AtomicReference[Thread]
    private val refused = new CountDownLatch(3)
    val others = new CountDownLatch(3)

    override def apply[A](
        executor: String,
        request: ExecutorRequest[A],
        time: FiniteDuration): Option[A] = Some(answer(request).asInstanceOf[A])

    private def answer(request: ExecutorRequest[_]): Any = request match {
      case _: HandOver => BegunHandOver(1, 5)
      case NextPart(_, None, _)
          if !first.compareAndSet(null, Thread.currentThread) &&
            refused.getCount > 0 =>
        refused.countDown()
        None
      case _: NextPart =>
        Option.when(others.getCount > 0)(
          HandedPart("2", new BlockTransfer.Offer("host1", 1, "1", "block")))
      case _: TakePart =>
        if (Thread.currentThread == first.get) await(refused)
        else {
          others.countDown()
          await(others)
        }
        5L
      case other => fail(s"$other")
    }
  }

  test("parts are on their way on as many threads again once the first one is taken") {
    val executors = new SlowToBegin
    new HandOvers(executors).begin("1", "test", stays = None)(Some(deal("2")))
    await(executors.others)
  }

  /** Executors with parts for one receiver; whoever is asked by more than so many at a time answers none. */
  private final class Holders(holders: Int, partsOfEach: Int, receiver: String)
      extends HandOvers.Ask {
    private val inside = new ConcurrentHashMap[String, Int]
    private val waiting = new ConcurrentHashMap[String, Int]
    val taken = new AtomicInteger
    val begun = new CountDownLatch(1)
    val mayTake = new CountDownLatch(1)
    val ended = new CountDownLatch(holders * partsOfEach)

    override def apply[A](
        executor: String,
        request: ExecutorRequest[A],
        time: FiniteDuration): Option[A] =
      try {
        if (inside.merge(executor, 1, (a: Int, b: Int) => a + b) > MostAtATime) None
        else Some(answer(executor, request).asInstanceOf[A])
      } finally inside.merge(executor, -1, (a: Int, b: Int) => a + b): Unit

    private def answer(executor: String, request: ExecutorRequest[_]): Any = request match {
      case _: HandOver => BegunHandOver(1, partsOfEach)
      case _: TakePart =>
        begun.countDown()
        await(mayTake)
        // As copying does: others come meanwhile.
        Thread.sleep(5)
        taken.incrementAndGet()
        ended.countDown()
        5L
      case NextPart(_, _, refusing) =>
        val part = waiting.compute(
          executor,
          (_, given) => if (refusing.isDefined) partsOfEach + 1 else given + 1)
        Option.when(part <= partsOfEach)(
          HandedPart(receiver, new BlockTransfer.Offer("host1", 1, executor, s"block$part")))
      case other => fail(s"$other")
    }

    def begin(handOvers: HandOvers, isLeaving: Boolean): Unit =
      for (holder <- 1 to holders)
        handOvers.begin(s"$receiver from $holder", "test", Option.when(isLeaving)(Stays))(
          Some(deal(receiver)))
  }

  test("many who hand over to one ask it for no more at a time than it answers") {
    val holders = new Holders(12, 10, "new")
    holders.mayTake.countDown()
    holders.begin(new HandOvers(holders), isLeaving = false)
    await(holders.ended)
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
    await(newcomer.begun)
    assert(handOvers.isUnderWay)
    leaving.mayTake.countDown()
    leaving.begin(handOvers, isLeaving = true)
    await(leaving.ended)
    assert(leaving.taken.get === 10 && newcomer.taken.get === 0)
    assert(handOvers.isUnderWay)
    newcomer.mayTake.countDown()
    await(newcomer.ended)
    eventually(timeout(1.minute), interval(10.millis))(assert(!handOvers.isUnderWay))
  }

  test("what is not begun after all is under way no more") {
    val handOvers = new HandOvers(new Executors((_, _) => fail("nothing is handed over")))
    val begins = new CountDownLatch(1)
    handOvers.begin("1", "test", stays = None) {
      await(begins)
      None
    }
    assert(handOvers.isUnderWay)
    begins.countDown()
    eventually(timeout(1.minute), interval(10.millis))(assert(!handOvers.isUnderWay))
  }
}
