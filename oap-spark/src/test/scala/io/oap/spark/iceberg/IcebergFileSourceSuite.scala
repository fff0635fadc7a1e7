package io.oap.spark.iceberg

import java.io.EOFException
import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.io.{InputFile, RangeReadable, SeekableInputStream}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.file.FileRanges.Range

/** Files of Iceberg's own stores, with and without reads of ranges, as the cache reads them. */
class IcebergFileSourceSuite extends AnyFunSuite {
  private val bytes = Array.tabulate[Byte](10000)(i => (i * 31 + i / 256).toByte)
  private val opened = new AtomicInteger

  /** A stream that gives a few bytes at a time. */
  private class Slow extends SeekableInputStream {
    protected var position = 0L

    override def getPos: Long = position

    override def seek(to: Long): Unit = position = to

    override def read(): Int = throw new AssertionError("byte by byte")

    override def read(into: Array[Byte], offset: Int, length: Int): Int =
      if (position >= bytes.length) -1
      else {
        val count = Seq(length, 100, bytes.length - position.toInt).min
        System.arraycopy(bytes, position.toInt, into, offset, count)
        position += count
        count
      }
  }

  private class OfRanges extends Slow with RangeReadable {
    override def readFully(from: Long, into: Array[Byte], offset: Int, length: Int): Unit =
      System.arraycopy(bytes, from.toInt, into, offset, length)

    override def readTail(into: Array[Byte], offset: Int, length: Int): Int =
      throw new AssertionError("the tail")
  }

  private def source(stream: () => SeekableInputStream) = new IcebergFileSource(
    new InputFile {
      override def getLength: Long = throw new AssertionError("a status")
      override def newStream(): SeekableInputStream = {
        opened.incrementAndGet()
        stream()
      }
      override def location(): String = "mem://f"
      override def exists(): Boolean = throw new AssertionError("a status")
    },
    bytes.length,
    "table:3"
  )

  for ((name, stream) <- Seq[(String, () => SeekableInputStream)](
      "a stream of ranges" -> (() => new OfRanges),
      "a stream without ranges" -> (() => new Slow)))
    test(s"$name gives the bytes of the file, and is opened by the first read") {
      opened.set(0)
      Using.resource(source(stream).open()) { file =>
        assert(opened.get === 0)
        val ranges = Seq(new Range(4, 700), new Range(704, 1), new Range(9000, 1000))
        val read = file.read(ranges.asJava).asScala
        for ((range, found) <- ranges.zip(read)) {
          val copy = new Array[Byte](found.remaining)
          found.get(copy)
          assert(copy.toSeq === bytes.slice(range.offset.toInt, range.end.toInt).toSeq)
        }
        for (into <- Seq(ByteBuffer.allocate(50), ByteBuffer.allocateDirect(50))) {
          assert(file.read(17, into) === 50)
          assert(into.flip().get(49) === bytes(66))
        }
        assert(file.read(bytes.length, ByteBuffer.allocate(1)) === -1)
      }
      assert(opened.get === 1)
    }

  test("a file that is shorter than the manifest says fails the read") {
    Using.resource(source(() => new Slow).open()) { file =>
      intercept[EOFException](file.read(java.util.List.of(new Range(9990, 20))))
    }
  }

  test("location, length and the version that the table tells are the identity") {
    val identity = source(() => new Slow).identity
    assert((identity.path, identity.length) === ("mem://f", bytes.length))
    assert((identity.modificationTime, identity.etag) === (0, "table:3"))
    assert(identity.placementKey === IcebergFileSource.placementKey("mem://f", bytes.length))
  }
}
