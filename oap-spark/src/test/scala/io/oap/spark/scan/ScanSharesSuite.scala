package io.oap.spark.scan

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.FileIdentity

/** Which files the share of a scan is told by. */
class ScanSharesSuite extends AnyFunSuite {

  /** Files whose paths are counted when they are asked for. */
  private final class Files(count: Int) {
    var asked = 0

    val all: Seq[FileStatus] = (0 until count).map { i =>
      new FileStatus(100L + i, false, 1, 1, 7, new Path(s"/table/part-$i")) {
        override def getPath: Path = {
          asked += 1
          super.getPath
        }
      }
    }
  }

  test("few files are all looked at, by the keys that executors know them by") {
    val files = new Files(3)
    val expected = (0 until 3).map { i =>
      FileIdentity.placementKey(s"/table/part-$i", 100L + i, 7) -> (100L + i)
    }
    assert(ScanShares.sample(ScanShares.of(files.all)) == expected)
    assert(ScanShares.sample(ScanShares.of(Nil)).isEmpty)
  }

  test("of many files some are looked at, from the first to the last, and no others are hashed") {
    val files = new Files(1823)
    val sampled = ScanShares.sample(ScanShares.of(files.all))
    assert(sampled.size <= 200 && sampled.size > 100 && files.asked == sampled.size)
    val places = sampled.map(_._2 - 100)
    assert(places.head == 0 && places.last > 1800 &&
      places.zip(places.tail).map { case (a, b) => b - a }.distinct.size == 1)
  }
}
