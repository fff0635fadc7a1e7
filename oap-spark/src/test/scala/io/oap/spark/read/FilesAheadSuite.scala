package io.oap.spark.read

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.WatchedFileSystem

/** Statuses of the files of a task, as stores tell them soon, late and not at all. */
class FilesAheadSuite extends AnyFunSuite {
  private val folder = Files.createTempDirectory("oap-ahead")

  private val conf = new Configuration(false)
  for ((key, value) <- WatchedFileSystem.settings)
    conf.set(key.stripPrefix("spark.hadoop."), value)

  private def file(name: String): Path = Files.writeString(folder.resolve(name), name)

  private def part(path: Path, start: Long = 0): PartitionedFile = PartitionedFile(
    InternalRow.empty,
    SparkPath.fromPathString(s"${WatchedFileSystem.Scheme}:$path"),
    start,
    1)

  private def statusesOf(path: Path): Long = WatchedFileSystem.statusesOf(_.endsWith(path.toString))

  test("the next files are asked for while the store tells of one, and each of them once") {
    val files = (0 until 20).map(i => file(s"a$i"))
    val parts = files.flatMap(path => Seq(part(path), part(path, 1))).toArray
    val ahead = new FilesAhead(parts, conf)
    // The first ones get no answer before some are asked for.
    val together = new CountDownLatch(3)
    WatchedFileSystem.beforeStatuses { _ =>
      together.countDown()
      assert(together.await(20, TimeUnit.SECONDS), "they are asked for one after the other")
    } {
      assert(ahead.source(parts.head).identity.path.endsWith("a0"))
    }
    assert(files.count(statusesOf(_) > 0) < 10, "they are asked for long before they are read")
    for ((one, i) <- parts.toSeq.zipWithIndex.tail) {
      val source = ahead.source(one)
      assert(source.identity.path.endsWith(s"/a${i / 2}"))
      assert(source.identity.length === s"a${i / 2}".length)
    }
    assert(files.map(statusesOf) === files.map(_ => 1L))
  }

  test("a file that is missing is told of when its turn comes") {
    val parts = Array(part(file("b0")), part(folder.resolve("none")), part(file("b1")))
    val ahead = new FilesAhead(parts, conf)
    assert(ahead.source(parts(0)).identity.length === 2)
    val error = intercept[FileNotFoundException](ahead.source(parts(1)))
    assert(error.getMessage.contains("none"))
    assert(ahead.source(parts(2)).identity.length === 2)
  }

  test("a later file that cannot be asked for is no fault of the first one") {
    val elsewhere = PartitionedFile(
      InternalRow.empty,
      SparkPath.fromPathString("nostore:/a"),
      0,
      1)
    val first = part(file("c0"))
    val ahead = new FilesAhead(Array(first, elsewhere), conf)
    assert(ahead.source(first).identity.length === 2)
    intercept[IOException](ahead.source(elsewhere))
  }

  test("a file that could not be asked for is asked again for its next part") {
    val path = file("d0")
    val parts = Array(part(path), part(path, 1))
    val ahead = new FilesAhead(parts, conf)
    WatchedFileSystem.beforeStatuses(_ => throw new IOException("not now")) {
      assert(intercept[IOException](ahead.source(parts(0))).getMessage === "not now")
    }
    assert(ahead.source(parts(1)).identity.length === 2)
  }

  test("threads that are busy with a slow store hold up nobody else") {
    val slow = (0 until 9).map(i => part(file(s"slow$i"))).toArray
    val quick = part(file("quick"))
    val begun = new CountDownLatch(slow.length)
    val end = new CountDownLatch(1)
    val ended = new AtomicInteger
    WatchedFileSystem.beforeStatuses { path =>
      if (path.getName.startsWith("slow")) {
        begun.countDown()
        try assert(end.await(20, TimeUnit.SECONDS))
        finally ended.incrementAndGet(): Unit
      }
    } {
      val waiting = new Thread(() => new FilesAhead(slow, conf).source(slow.head): Unit)
      waiting.start()
      assert(begun.await(20, TimeUnit.SECONDS))
      try {
        assert(new FilesAhead(Array(quick), conf).source(quick).identity.length === 5)
        assert(end.getCount === 1 && ended.get === 0)
      } finally end.countDown()
      waiting.join(20000)
      assert(!waiting.isAlive && ended.get > 0)
    }
  }
}
