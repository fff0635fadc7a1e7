package io.oap.tpcds

import java.nio.file.{Files, Path}

import org.apache.spark.SPARK_VERSION

import io.oap.tpcds.data.DataStorage

/** Which facts are recorded of this machine, of a configuration, and of what data lies on. */
class CircumstancesSuite extends SparkContextSuite {
  // As spark-submit hands over what it was given.
  private val settings = Map(
    "spark.memory.fraction" -> "0.55",
    "spark.scheduler.mode" -> "FAIR",
    "spark.driver.extraJavaOptions" -> "-Dlog4j2.configurationFile=x -Da=1  -Db=2",
    "spark.hadoop.fs.s3a.connection.maximum" -> "7",
    "spark.hadoop.fs.s3a.access.key" -> "AKIA",
    "spark.hadoop.fs.azure.account.key.a.b" -> "AKIA",
    "spark.hadoop.fs.azure.sas.a.b" -> "AKIA",
    "spark.hadoop.x" -> "-Dx.trustStorePassword=AKIA"
  )

  override def beforeAll(): Unit = {
    settings.foreach { case (key, value) => System.setProperty(key, value) }
    super.beforeAll()
  }

  override def afterAll(): Unit =
    try settings.keys.foreach(System.clearProperty(_))
    finally super.afterAll()

  private def now = Circumstances.now(spark, Map("scale" -> 1.0), root.toString)

  test("machine and versions are those of this machine") {
    val (machine, versions) = (now.machine, now.versions)
    assert(machine("processors") == Runtime.getRuntime.availableProcessors())
    assert(machine("memoryBytes").asInstanceOf[Long] >= Runtime.getRuntime.totalMemory())
    assert(
      machine("kernel") == s"${System.getProperty("os.name")} ${System.getProperty("os.version")}")
    assert(machine("memoryNodes").asInstanceOf[Int] >= 1)
    assert(machine("taskSlots") == 2)
    val processors = Path.of("/proc/cpuinfo")
    if (Files.exists(processors) && Files.readString(processors).contains("model name")) {
      assert(Files.readString(processors).contains(s": ${machine("processor")}\n"))
    }
    assert(versions("spark") == SPARK_VERSION)
    assert(versions("java") == System.getProperty("java.vm.version"))
    assert(now.options == Map("scale" -> 1.0))
  }

  test("what was configured is recorded") {
    val found = now.configuration
    assert(found("spark.memory.fraction") == "0.55")
    assert(found("spark.scheduler.mode") == "FAIR")
    assert(found("spark.hadoop.fs.s3a.connection.maximum") == "7")
    assert(found("spark.master") == "local[2]")
    assert(found("spark.oap.pool.size") == "64m")
    assert(found("spark.sql.shuffle.partitions") == "2")
  }

  test("what only this process has is not recorded, and of Java options those that were given") {
    val found = now.configuration
    assert(found("spark.driver.extraJavaOptions") == "-Da=1 -Db=2")
    // Spark adds to these, too, in each context.
    assert(spark.conf.get("spark.executor.extraJavaOptions").contains("--add-opens"))
    assert(!found.contains("spark.executor.extraJavaOptions"))
    for (key <- Seq("spark.app.id", "spark.driver.port", "spark.sql.warehouse.dir")) {
      assert(spark.conf.getAll.contains(key))
      assert(!found.contains(key))
    }
  }

  test("no secret is recorded, but that there is one") {
    val secrets = settings.filter(_._2.contains("AKIA")).keys
    assert(secrets.map(now.configuration).toSet == Set("(not shown)"))
  }

  test("what the data lies on is recorded among the facts of the machine") {
    val store = Files.getFileStore(root)
    assert(now.machine("dataFileSystem") == store.`type`)
    assert(now.machine("dataDevice") == store.name)
    val disk = Path.of("/sys/class/block", Path.of(store.name).getFileName.toString)
    val expected =
      if (Files.exists(disk.resolve("queue"))) Set("yes", "no") else Set("yes", "no", "unknown")
    assert(expected.contains(now.machine("dataDeviceIsRotational").toString))
  }

  private def number: String =
    DataStorage.number(Files.getAttribute(root, "unix:dev").asInstanceOf[Long])

  /** Shows a disk, with a partition or without one, at one of the kernel's places. */
  private def shown(place: String, isPartition: Boolean, rotational: String): Any = {
    val kernel = Files.createTempDirectory(root, "sys")
    val disk = Files.createDirectories(kernel.resolve("devices/disk/queue")).getParent
    if (rotational.nonEmpty) Files.writeString(disk.resolve("queue/rotational"), s"$rotational\n")
    val device = if (isPartition) Files.createDirectory(disk.resolve("disk1")) else disk
    if (isPartition) Files.writeString(device.resolve("partition"), "1\n")
    val link = kernel.resolve(place)
    Files.createDirectories(link.getParent)
    Files.createSymbolicLink(link, device)
    new DataStorage(kernel).facts(root.toString)("dataDeviceIsRotational")
  }

  test("a disk is rotational, of a partition the whole disk, or nobody knows") {
    val name = Path.of(Files.getFileStore(root).name).toFile.getCanonicalFile.getName
    for {
      place <- Seq(s"dev/block/$number", s"class/block/$name")
      isPartition <- Seq(true, false)
    } {
      assert(shown(place, isPartition, "1") == "yes", place)
      assert(shown(place, isPartition, "0") == "no", place)
      assert(shown(place, isPartition, "") == "unknown", place)
    }
    assert(shown("class/block/another", isPartition = false, "1") == "unknown")
  }

  test("of data elsewhere the scheme is what is known") {
    val elsewhere = DataStorage().facts("hdfs://host/data")
    assert(elsewhere == Map("dataFileSystem" -> "hdfs"))
  }

  test("numbers of devices are taken apart as the C library packs them") {
    assert(DataStorage.number(0x801L) == "8:1")
    assert(DataStorage.number(0xfe00L) == "254:0")
    // makedev(0x12345, 0x6789a)
    assert(DataStorage.number(0x120006783459aL) == s"${0x12345}:${0x6789a}")
  }
}
