package io.oap.spark.executor

import java.io.FileNotFoundException
import java.time.Duration
import java.util.concurrent.atomic.AtomicLong

import com.google.common.base.Ticker
import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.scalatest.funsuite.AnyFunSuite

/** For how long a status is kept. */
class KeptStatusesSuite extends AnyFunSuite {
  private val now = new AtomicLong
  private val statuses = new KeptStatuses(new Ticker { override def read(): Long = now.get })
  private val listed = KeptStatuses.Listed(new Path("store:/t/a.parquet"), 10, 1000)

  /** A store that tells a length, another one for each time that it is asked. */
  private object Store extends RawLocalFileSystem {
    var asked = 0L

    override def getFileStatus(path: Path): FileStatus = {
      asked += 1
      if (path.getName == "none") throw new FileNotFoundException(path.toString)
      new FileStatus(asked, false, 1, 0, 0, path)
    }
  }

  test("a store is asked again after a while, when it has to be, and for what has failed") {
    def length = statuses.of(listed, Store).getLen
    assert(Seq(length, length) === Seq(1, 1))
    now.addAndGet(KeptStatuses.KeptFor.minus(Duration.ofSeconds(1)).toNanos)
    assert(length === 1)
    now.addAndGet(Duration.ofSeconds(2).toNanos)
    assert(Seq(length, length) === Seq(2, 2))
    assert(statuses.askAgain(listed, Store).getLen === 3)
    assert(length === 3)
    statuses.forget(listed)
    assert(length === 4)
    // Another entry of a log for the same path.
    assert(statuses.of(listed.copy(modificationTime = 2000), Store).getLen === 5)
    assert(length === 4)
    val none = listed.copy(path = new Path("store:/t/none"))
    for (_ <- 1 to 2) intercept[FileNotFoundException](statuses.of(none, Store))
    assert(Store.asked === 7)
    statuses.clear()
    assert(length === 8)
  }
}
