package io.oap.spark.buildside

import java.nio.file.{Files, Path, StandardCopyOption}
import java.nio.file.attribute.FileTime
import java.util.concurrent.{Callable, CountDownLatch, CyclicBarrier, Executors, FutureTask}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.oap.spark.{CacheControl, CacheSuite}

/** What is kept of tables is not given once they have changed. */
class BuildSideChangeSuite extends CacheSuite with BuildSideTables {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
  }

  private def star(dimension: String) =
    s"SELECT /*+ BROADCAST(d) */ sum(s.id), max(d.name) FROM sales s JOIN $dimension d ON s.item = d.brand"

  /** Writes four brands, from a number on, as the only file of a folder; returns the file. */
  private def write(name: String, first: Int): Path = {
    spark.range(first, first + 4L, 1, 1)
      .selectExpr("CAST(id AS INT) AS brand", "concat('name ', id) AS name")
      .write.parquet(path(name))
    Using.resource(Files.list(Path.of(path(name)))) {
      _.iterator.asScala.find(_.toString.endsWith(".parquet")).get
    }
  }

  private def overwrite(file: Path, other: Path): Unit = {
    Files.copy(other, file, StandardCopyOption.REPLACE_EXISTING)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() + 5000)): Unit
  }

  test("a file that is overwritten in place is another file, whatever the session has listed") {
    val file = write("dimension", 10)
    val other = write("other", 30)
    spark.read.parquet(path("dimension")).createOrReplaceTempView("dimension")
    assertKept(sql(star("dimension")))
    val before = rows(sql(star("dimension")))
    overwrite(file, other)
    val after = alone(rows(sql(star("dimension"))))
    assert(after !== before)
    assertRows(rows(sql(star("dimension"))), after, "after the file was overwritten")
    assertKept(sql(star("dimension")))
  }

  test("a side is kept as of the files that the broadcasts below it were made of") {
    val (file, other) = (write("below", 0), write("below_later", 2))
    spark.read.parquet(path("below")).createOrReplaceTempView("below")
    val query = """SELECT /*+ BROADCAST(x) */ sum(s.id), x.name FROM sales s JOIN
      (SELECT /*+ BROADCAST(b) */ i.item, b.name FROM items i JOIN below b USING (brand)) x
      ON s.item = x.item GROUP BY x.name"""
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val late = sql(query)
      exchanges(late.queryExecution.executedPlan).filter(e => exchanges(e.child).isEmpty) match {
        case Seq(below) => below.executeBroadcast[Any]()
        case others => fail(s"exchanges: $others")
      }
      overwrite(file, other)
      late.collect()
      sides
      assertRows(rows(sql(query)), alone(rows(sql(query))), "after the file was overwritten")
      assertKept(sql(query))
    }
  }

  test("rows that are inserted into a dimension are seen") {
    sql("CREATE TABLE grows USING parquet AS SELECT * FROM brands")
    assertKept(sql(star("grows")))
    sql("INSERT INTO grows VALUES (77, 'last')")
    assert(asked(assertRows(
      rows(sql(star("grows"))),
      alone(rows(sql(star("grows")))),
      "after INSERT")) === ((0, 1)))
    sql("INSERT OVERWRITE grows SELECT brand + 20, name FROM brands")
    assertRows(rows(sql(star("grows"))), alone(rows(sql(star("grows")))), "after INSERT OVERWRITE")
    assertKept(sql(star("grows")))
  }

  test("partitions of a dimension that come and go are seen") {
    sql("CREATE TABLE parts (brand INT, name STRING, p INT) USING parquet PARTITIONED BY (p)")
    sql("INSERT INTO parts SELECT brand, name, brand % 2 FROM brands")
    assertKept(sql(star("parts")))
    assertKept(sql(star("parts") + " WHERE d.p = 1"))
    sql("INSERT INTO parts VALUES (88, 'new', 5)")
    assertRows(rows(sql(star("parts"))), alone(rows(sql(star("parts")))), "after a new partition")
    sql("ALTER TABLE parts DROP PARTITION (p = 1)")
    assertRows(rows(sql(star("parts"))), alone(rows(sql(star("parts")))), "after a drop")
    assertKept(sql(star("parts")))
  }

  test("queries that build one side at the same time all get its rows") {
    val query = star("brands")
    val expected = alone(rows(sql(query)))
    val threads = Executors.newFixedThreadPool(4)
    try {
      for (round <- 1 to 5) {
        CacheControl.clear(spark)
        val together = new CyclicBarrier(4)
        val runs = Seq.fill[Callable[Seq[String]]](4) { () =>
          val session = spark.newSession()
          together.await()
          rows(session.sql(query))
        }
        threads.invokeAll(runs.asJava).asScala.foreach(run =>
          assertRows(run.get, expected, s"round $round"))
        assert(sides.sides === 1)
      }
    } finally threads.shutdownNow()
  }

  test("a side whose files have changed meanwhile is not kept, and who wants it waits for that") {
    val few = new KeptSides[BuildSide]("", 100 << 10, Long.MaxValue, 16 << 10)
    def key(n: Int) = BuildSideKey(PlanShape(Seq(n), Nil), null, Nil, Map.empty)
    val side = BuildSide(spark.sparkContext.broadcast[Any](1), 1, 1)
    for ((n, isSame) <- Seq(1 -> true, 2 -> false)) {
      val (asked, answer) = (new CountDownLatch(1), new CountDownLatch(1))
      few.keepIf(key(n), side) {
        asked.countDown()
        answer.await()
        isSame
      }
      asked.await()
      assert(few.figures.sides === n - 1)
      val finder = new FutureTask(() => few.find(key(n)).isDefined)
      new Thread(finder).start()
      answer.countDown()
      assert(finder.get() === isSame)
    }
    few.keepIf(key(3), side)(throw new IllegalStateException("for the test"))
    assert(few.find(key(3)).isEmpty)
    val answer = new CountDownLatch(1)
    few.keepIf(key(4), side) {
      answer.await()
      true
    }
    few.clear()
    answer.countDown()
    few.keepIf(key(5), side)(true)
    few.settle()
    assert(few.find(key(5)).isDefined && few.find(key(4)).isEmpty, "cleared meanwhile")
  }

  test("what does not fit leaves, the longest unused first") {
    val few = new KeptSides[BuildSide]("", 100 << 10, Long.MaxValue, 16 << 10)
    def key(n: Int) =
      BuildSideKey(PlanShape(Seq(n), Nil), null, Nil, Map.empty)
    def side(bytes: Long) = BuildSide(spark.sparkContext.broadcast[Any](bytes), 1, bytes)
    few.keep(key(1), side(20 << 10))
    few.keep(key(2), side(20 << 10))
    assert(few.find(key(1)).isDefined)
    few.keep(key(3), side(20 << 10))
    assert(few.find(key(2)).isEmpty)
    assert(few.find(key(1)).isDefined && few.find(key(3)).isDefined)
    few.keep(key(4), side(1 << 20))
    assert(few.find(key(4)).isEmpty)
    val figures = few.figures
    assert(figures.bytes <= figures.capacityBytes)
    assert((figures.hits, figures.misses, figures.evictions) === ((3, 2, 2)))
  }
}
