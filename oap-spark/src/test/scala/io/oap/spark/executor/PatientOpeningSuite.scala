package io.oap.spark.executor

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

/** What tasks have of a cache that takes long to open. */
class PatientOpeningSuite extends AnyFunSuite with Eventually {

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(10, Millis))

  /** Opens caches as soon as it is let. */
  private final class Opening(patience: FiniteDuration) {
    val isLet = new CountDownLatch(1)
    val opened = new ConcurrentLinkedQueue[String]
    private val all = new PatientOpening[String, String](patience)(application => {
      isLet.await()
      opened.add(application)
      s"the cache of $application"
    })

    def get(application: String): Option[String] = all.get(application)
  }

  test("a task goes on without it after a while, and later ones have it") {
    val opening = new Opening(10.millis)
    assert(opening.get("one") === None)
    assert(opening.get("one") === None)
    opening.isLet.countDown()
    eventually(assert(opening.get("one") === Some("the cache of one")))
    assert(opening.opened.asScala.toSeq === Seq("one"))
  }

  test("a task that is killed does not wait") {
    val opening = new Opening(1.hour)
    Thread.currentThread.interrupt()
    intercept[InterruptedException](opening.get("one"))
    opening.isLet.countDown()
    assert(opening.get("one") === Some("the cache of one"))
  }

  test("what an application has left while it was opened is there before the next one's") {
    val opening = new Opening(10.millis)
    assert(opening.get("one") === None)
    assert(opening.get("two") === None)
    opening.isLet.countDown()
    eventually(assert(opening.get("two") === Some("the cache of two")))
    assert(opening.opened.asScala.toSeq === Seq("one", "two"))
  }

  test("an opening that throws is tried again") {
    val isFirst = new AtomicBoolean(true)
    val opening = new PatientOpening[String, String](1.hour)(application =>
      if (isFirst.getAndSet(false)) throw new IllegalStateException("for the test")
      else application)
    assert(opening.get("one") === None)
    assert(opening.get("one") === Some("one"))
  }
}
