package io.oap.tpcds.storage

import java.io.InterruptedIOException
import java.util.concurrent.TimeUnit

import org.scalatest.funsuite.AnyFunSuite

/** The bucket under a clock that moves only when somebody sleeps. */
class TokenBucketSuite extends AnyFunSuite {
  private val Millis = 1000000L

  private class VirtualClock(start: Long = 0) extends TokenBucket.Clock {
    var now: Long = start
    var lateness: Long = 0

    override def nanoTime(): Long = now
    override def sleep(nanos: Long): Unit = now += nanos + lateness
    def elapsedMillis: Long = (now - start) / Millis
  }

  test("reads take as long as their bytes at the rate, large or small") {
    for (size <- Seq(1, 8000, 1000000, 10000000)) {
      val clock = new VirtualClock
      val bucket = new TokenBucket(4e6, clock)
      for (_ <- 1 to 10000000 / size) bucket.take(size.toLong)
      assert(clock.elapsedMillis == 2500, s"$size bytes at a time")
    }
  }

  test("a pace without its limit counts, but does not wait") {
    val clock = new VirtualClock
    val pace = new Pace(StorageClass.S3, 1, clock)
    def read(): Unit = {
      pace.request(3)
      pace.transfer(600000000, true)
    }
    Pace.limitThisJvm(false)
    try read()
    finally Pace.limitThisJvm(true)
    assert(clock.elapsedMillis == 0)
    read()
    // The bucket has up to 50 ms of credit.
    assert(clock.elapsedMillis >= 20 + 10000 - 50 && clock.elapsedMillis <= 20 + 10000)
  }

  test("sleeping too long is made good, as long as it is within the burst") {
    val clock = new VirtualClock
    clock.lateness = 10 * Millis
    val bucket = new TokenBucket(1e6, clock)
    for (_ <- 1 to 1000) bucket.take(10000)
    assert(clock.elapsedMillis >= 10000 && clock.elapsedMillis <= 10020)
  }

  test("a pause earns at most the burst") {
    val clock = new VirtualClock
    val bucket = new TokenBucket(1e6, clock)
    clock.now += TimeUnit.HOURS.toNanos(1)
    val before = clock.elapsedMillis
    bucket.take(1000000)
    assert(clock.elapsedMillis - before == 950)
  }

  test("threads share the rate: what one has taken the next one waits for") {
    var waits = Seq.empty[Long]
    val frozen = new TokenBucket.Clock {
      override def nanoTime(): Long = 0
      override def sleep(nanos: Long): Unit = waits :+= nanos / Millis
    }
    val bucket = new TokenBucket(1e6, frozen)
    for (_ <- 1 to 3) bucket.take(100000)
    assert(waits == Seq(100, 200, 300))
  }

  test("the clock may wrap around") {
    val clock = new VirtualClock(Long.MaxValue - 500 * Millis)
    val bucket = new TokenBucket(1e6, clock)
    for (_ <- 1 to 20) bucket.take(100000)
    assert(clock.elapsedMillis == 2000)
  }

  test("an interrupt while waiting is an I/O error, and the thread stays interrupted") {
    val interrupting = new TokenBucket.Clock {
      override def nanoTime(): Long = 0
      override def sleep(nanos: Long): Unit = throw new InterruptedException("kill")
    }
    intercept[InterruptedIOException](new TokenBucket(1.0, interrupting).take(1))
    assert(Thread.interrupted())
  }

  test("a rate must be above 0") {
    intercept[IllegalArgumentException](new TokenBucket(0, new VirtualClock))
  }

  test("a storage class multiplies its bandwidth by the cores and waits once for requests sent together") {
    val clock = new VirtualClock
    val hdd = new Pace(StorageClass.HDD, 2, clock)
    hdd.request(1)
    hdd.transfer(8000000, true)
    assert(clock.elapsedMillis == 1000)

    val remote = new VirtualClock
    val s3 = new Pace(StorageClass.S3, 2, remote)
    s3.request(5)
    assert(remote.elapsedMillis == 20)
    s3.transfer(120000000, true)
    assert(remote.elapsedMillis >= 990 && remote.elapsedMillis <= 1020)
  }

  test("a modelled medium costs what it is slower than DRAM, from the first byte on") {
    val clock = new VirtualClock
    val medium = new ModelledMedium(0.5e9, 1e6, 2, clock)
    clock.sleep(5000 * Millis)
    val before = clock.elapsedMillis
    medium.read(1000000000L, 3)
    // A second at half a gigabyte per second and core, less what DRAM takes, and 1 ms per chunk.
    val inDram = 1000 / (105.9 / 56) / 2
    assert(math.abs(clock.elapsedMillis - before - (1000 - inDram + 3)) < 2)
    assert(ModelledMedium.named("pmem", 2) eq ModelledMedium.named("pmem", 2))
    intercept[IllegalArgumentException](ModelledMedium.named("paper", 2))
  }
}
