package io.oap.spark.executor

import java.util.concurrent.{CompletableFuture, ExecutionException, TimeoutException, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.duration._

import org.apache.spark.internal.Logging

import io.oap.spark.rpc.Background

/**
 * Opens the cache for one application after the other, on a thread of its own, and once for each.
 * Whoever wants it waits until some time after the opening has begun, and goes on without it until
 * it is open. An opening that throws is tried again when it is wanted again. Thread-safe.
 *
 * @param patience that time
 * @param open opens it for an application
 */
private final class PatientOpening[K <: AnyRef, A](patience: FiniteDuration)(open: K => A)
    extends Logging {

  // One thread: what an application has opened is the next one's to take over or close.
  private val thread = Background.threads("oap-open", 1)
  private var last = Option.empty[Attempt]

  private final class Attempt(val application: K) {
    val result: CompletableFuture[A] =
      CompletableFuture.supplyAsync(() => open(application), thread)
    val deadline: Deadline = patience.fromNow
    val isLate = new AtomicBoolean
  }

  /**
   * Returns what was opened, or nothing if it is not open yet.
   *
   * @throws InterruptedException when the thread is interrupted, as that of a task that is killed
   */
  def get(application: K): Option[A] = {
    val attempt = attemptFor(application)
    try Some(attempt.result.get(attempt.deadline.timeLeft.toNanos, TimeUnit.NANOSECONDS))
    catch {
      case _: TimeoutException =>
        if (!attempt.isLate.getAndSet(true)) {
          logWarning("The column cache is still being opened; until it is, tasks read without it")
        }
        None
      case e: ExecutionException =>
        logWarning("The column cache could not be opened; it will be tried again", e.getCause)
        None
    }
  }

  private def attemptFor(application: K): Attempt = synchronized {
    last.filter(one => (one.application eq application) && !one.result.isCompletedExceptionally)
      .getOrElse {
        val attempt = new Attempt(application)
        last = Some(attempt)
        attempt
      }
  }
}
