package io.oap.spark.directory

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration.FiniteDuration
import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.executor._
import io.oap.spark.rpc.BlockTransfer

/** Parts on their way between executors that die in the middle. */
final class HandOversSuite extends AnyFunSuite {
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
      new HandOvers(this).begin("1", "test")(Some(Deal))
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
}
