package io.oap.tpcds.storage

import java.io.{EOFException, File, FileNotFoundException}
import java.net.URI
import java.nio.ByteBuffer
import java.nio.file.{Files, Path => JPath}
import java.util.concurrent.ExecutionException

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{EtagSource, FileRange, FileSystem, FSDataInputStream, Path}
import org.scalatest.funsuite.AnyFunSuite

/** Every way to read a byte gives the right one and counts it. */
class PacedFileSystemSuite extends AnyFunSuite {
  private val Length = 100000

  private val conf = {
    val conf = new Configuration
    conf.set("fs.local.impl", classOf[PacedFileSystem].getName)
    conf
  }

  private def contentAt(position: Long): Byte = (position * 31 + position / 256).toByte

  private def withFile(body: (FileSystem, Path) => Unit): Unit = {
    val folder = Files.createTempDirectory("paced")
    val file = folder.resolve("some data")
    try {
      Files.write(file, Array.tabulate(Length)(i => contentAt(i.toLong)))
      val path = new Path(s"local://$file")
      body(path.getFileSystem(conf), path)
    } finally {
      Seq[JPath](file, folder).foreach(Files.deleteIfExists(_))
    }
  }

  /** Bytes read and requests sent, in the JVM's counts and in Hadoop's statistics. */
  private def counted(body: => Unit): (Long, Long) = {
    def statistics = FileSystem.getGlobalStorageStatistics.get("local").getLong("bytesRead")
    val (before, hadoop) = (Pace.readsOfThisJvm(), statistics)
    body
    val reads = Pace.readsOfThisJvm().minus(before)
    assert(statistics - hadoop == reads.bytes)
    (reads.bytes, reads.requests)
  }

  private def check(bytes: Array[Byte], from: Long): Unit =
    bytes.indices.foreach(i => assert(bytes(i) == contentAt(from + i)))

  private def withStream(body: FSDataInputStream => Unit): Unit = withFile { (fs, path) =>
    val stream = fs.open(path)
    try body(stream)
    finally stream.close()
  }

  test("sequential reads are one request, a seek begins another") {
    withStream { stream =>
      val bytes = new Array[Byte](1000)
      assert(counted { stream.readFully(bytes); check(bytes, 0) } == ((1000, 1)))
      assert(counted { stream.readFully(bytes); check(bytes, 1000) } == ((1000, 0)))
      assert(counted { assert(stream.read() == (contentAt(2000) & 0xff)) } == ((1, 0)))
      assert(counted { stream.seek(50000); stream.readFully(bytes) } == ((1000, 1)))
      check(bytes, 50000)
    }
  }

  test("positioned reads count, and leave the position alone") {
    withStream { stream =>
      val bytes = new Array[Byte](1000)
      assert(counted { stream.readFully(7000, bytes); check(bytes, 7000) } == ((1000, 1)))
      assert(counted { assert(stream.read(9000, bytes, 10, 90) == 90) } == ((90, 1)))
      check(bytes.slice(10, 100), 9000)
      assert(stream.getPos == 0)
    }
  }

  test("reads into direct and heap buffers count") {
    withStream { stream =>
      for (buffer <- Seq(ByteBuffer.allocate(500), ByteBuffer.allocateDirect(500))) {
        val from = stream.getPos
        assert(counted(assert(stream.read(buffer) == 500))._1 == 500)
        val bytes = new Array[Byte](500)
        buffer.flip().get(bytes)
        check(bytes, from)
      }
    }
  }

  test("vectored reads count each range, and give each its bytes") {
    withStream { stream =>
      val ranges = Seq((90000L, 5000), (10L, 100), (40000L, 1)).map { case (offset, length) =>
        FileRange.createFileRange(offset, length)
      }
      val reads = counted(stream.readVectored(ranges.asJava, ByteBuffer.allocateDirect(_)))
      assert(reads == ((5101, 3)))
      for (range <- ranges) {
        val buffer = range.getData.get()
        val bytes = new Array[Byte](buffer.remaining())
        buffer.get(bytes)
        assert(bytes.length == range.getLength)
        check(bytes, range.getOffset)
      }
    }
  }

  test("the end of the file is the end") {
    withStream { stream =>
      stream.seek(Length.toLong)
      assert(stream.read() == -1)
      assert(stream.read(new Array[Byte](10)) == -1)
      intercept[EOFException](stream.readFully(Length - 5L, new Array[Byte](10)))
      intercept[EOFException](stream.seek(Length + 1L))
      val beyond = Seq(FileRange.createFileRange(Length - 5L, 10)).asJava
      intercept[EOFException](stream.readVectored(beyond, ByteBuffer.allocate(_)))
    }
  }

  test("files of logs and deletion vectors are counted by themselves") {
    val all = Map(
      "t/data/p=1/00000-0.parquet" -> true,
      "t/part-0.snappy.orc" -> true,
      "t/metadata/v1.metadata.json" -> false,
      "t/metadata/snap-1.avro" -> false,
      "t/data/00000-0-deletes.puffin" -> false,
      "t/_delta_log/00000.checkpoint.parquet" -> false,
      "t/_delta_log/_sidecars/1.parquet" -> false,
      "t/deletion_vector_1.bin" -> false
    )
    for ((name, isData) <- all) {
      assert(DataFiles.contain(new File(s"/data/$name")) == isData, name)
    }
    val folder = Files.createTempDirectory("paced")
    val log = Files.createDirectory(folder.resolve("_delta_log")).resolve("0.json")
    Files.write(log, Array.fill(70)(1.toByte))
    val before = Pace.readsOfThisJvm()
    val path = new Path(s"local://$log")
    val stream = path.getFileSystem(conf).open(path)
    try stream.readFully(new Array[Byte](70))
    finally stream.close()
    val reads = Pace.readsOfThisJvm().minus(before)
    assert((reads.bytes, reads.logBytes) == ((0, 70)))
    Seq(log, log.getParent, folder).foreach(Files.delete(_))
  }

  test("the scheme of tables that keep URLs is as fast as the configuration says") {
    val of = new Configuration(conf)
    of.set(PacedFileSystem.STORAGE_KEY, "s3")
    val fs = new PacedFileSystem
    fs.initialize(URI.create(s"${PacedFileSystem.SCHEME}:///"), of)
    assert(fs.getUri == URI.create("paced:///"))
    withFile { (_, path) =>
      val begun = System.nanoTime()
      val status = fs.getFileStatus(new Path(s"paced://${path.toUri.getPath}"))
      assert(status.getPath.toUri.getScheme == "paced" && status.getLen == Length)
      assert(System.nanoTime() - begun >= StorageClass.S3.requestNanos)
    }
  }

  test("a store with ETags opens the version of a status without a request, and no other version") {
    val of = new Configuration
    of.set("fs.s3.impl", classOf[PacedFileSystem].getName)
    withFile { (_, local) =>
      val path = new Path(s"s3://${local.toUri.getPath}")
      val fs = path.getFileSystem(of)
      def status = fs.getFileStatus(path)
      def tag = status.asInstanceOf[EtagSource].getEtag
      val known = status
      def open() = fs.openFile(path).withFileStatus(known).build().get()
      assert(Seq.fill(2)(tag).distinct.size == 1 && known.getPath == path)
      val before = Pace.readsOfThisJvm()
      val stream = open()
      assert(Pace.readsOfThisJvm().minus(before).requests == 0)
      try assert(stream.read() == (contentAt(0) & 0xff))
      finally stream.close()
      assert(Pace.readsOfThisJvm().minus(before) == new Pace.Reads(1, 0, 1))
      Files.write(JPath.of(local.toUri.getPath), Array[Byte](7))
      assert(tag != known.asInstanceOf[EtagSource].getEtag)
      intercept[ExecutionException](open())
    }
  }

  test("no way of opening goes past the count") {
    withFile { (fs, path) =>
      val bytes = new Array[Byte](100)
      assert(counted {
        val stream = fs.openFile(path).build().get()
        stream.readFully(bytes)
        stream.close()
      }._1 == 100)
    }
  }

  test("listing and status are requests, and the paths they return keep the scheme") {
    withFile { (fs, path) =>
      assert(counted { assert(fs.getFileStatus(path).getLen == Length) } == ((0, 1)))
      assert(counted { fs.listStatus(path.getParent) } == ((0, 1)))
      assert(fs.getFileStatus(path).getPath == path)
      assert(fs.listStatus(path.getParent).map(_.getPath).toSeq == Seq(path))
      assert(counted { fs.open(path).close() } == ((0, 1)))
    }
  }

  test("missing files and folders are not opened") {
    withFile { (fs, path) =>
      intercept[FileNotFoundException](fs.open(path.suffix(".missing")))
      intercept[FileNotFoundException](fs.open(path.getParent))
      intercept[FileNotFoundException](fs.getFileStatus(path.suffix(".missing")))
    }
  }
}
