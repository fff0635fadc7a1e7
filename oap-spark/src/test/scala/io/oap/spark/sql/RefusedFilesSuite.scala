package io.oap.spark.sql

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{AccessDeniedException, Files, Path => LocalPath}

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, Row}

import io.oap.spark.{CacheControl, CacheSuite, WatchedFileSystem}

/** What procedures say of files that a user may not read, and of folders without Parquet. */
class RefusedFilesSuite extends CacheSuite {

  override protected def settings: Map[String, String] =
    super.settings ++ WatchedFileSystem.settings

  private def sql(text: String): DataFrame = spark.sql(text)

  private def watched(name: String): String = s"${WatchedFileSystem.Scheme}://${path(name)}"

  private def chunks: Long = CacheControl.localPool().get.chunks()

  /** Fails with this condition and these words, and leaves the pool as it was. */
  private def assertRefused(text: String, condition: String, words: String*): Unit = {
    def state = (CacheControl.localPool().get.publishes(), chunks)
    val before = state
    val e = intercept[Exception with SparkThrowable](sql(text).collect())
    assert(e.getCondition === condition, e)
    words.foreach(word => assert(e.getMessage.contains(word), e.getMessage))
    assert(state === before, text)
  }

  private def cleared(path: String): Row = {
    val rows = sql(s"CALL oap.system.clear(path => '$path')").collect()
    assert(rows.length === 1)
    rows.head
  }

  private def write(name: String): String = {
    spark.range(0, 1000, 1, 2).selectExpr("id", "id * 2 AS v").write.parquet(path(name))
    watched(name)
  }

  private def folderOf(name: String, files: (String, String)*): LocalPath = {
    val made = Files.createDirectories(LocalPath.of(path(name)))
    files.foreach { case (file, text) => Files.writeString(made.resolve(file), text) }
    made
  }

  private val denials = Seq[(String, Path => IOException)](
    "a Hadoop file system" -> (file => new AccessControlException(s"user=eve, inode=$file")),
    "a Java file system" -> (file => new AccessDeniedException(s"user=eve, inode=$file")),
    "the local file system" -> (file => new FileNotFoundException(s"user=eve, inode=$file"))
  )

  for ((store, denial) <- denials) {
    test(s"warm of a table of which $store lets the user not read one file") {
      val name = s"t${denials.indexWhere(_._1 == store)}"
      sql(s"CREATE TABLE $name (id BIGINT, v BIGINT) USING parquet LOCATION '${write(name)}'")
      sql(s"SELECT id FROM $name").collect()
      val secret = new Path(sql(s"SELECT * FROM $name").inputFiles.max).getName
      def denied(file: Path): Unit =
        if (file.getName == secret) throw denial(file)
      WatchedFileSystem.beforeOpens(denied) {
        for (text <- Seq(s"CALL oap.system.warm('$name')", s"CACHE SELECT v FROM $name")) {
          assertRefused(text, "OAP_NO_PERMISSION", secret, "user=eve", "Grant", userName)
        }
      }
      assert(sql(s"CACHE SELECT v FROM $name").head().getAs[Long]("loaded_chunks") === 2)
    }
  }

  private def userName: String = System.getProperty("user.name")

  for ((store, denial) <- denials.take(2)) {
    test(s"folders that $store does not list for the user") {
      val at = write(s"folder${denials.indexWhere(_._1 == store)}")
      spark.read.parquet(at).collect()
      assert(chunks > 0)
      WatchedFileSystem.beforeLists(file => throw denial(file)) {
        for (call <- Seq(
            s"clear(path => '$at')",
            s"clear(path => '$at/none')",
            s"clear(table => 'parquet.`$at`')",
            s"warm('parquet.`$at`')",
            s"pin('parquet.`$at`')")) {
          assertRefused(s"CALL oap.system.$call", "OAP_NO_PERMISSION", at, "user=eve", userName)
        }
        assertRefused(s"CACHE SELECT id FROM parquet.`$at`", "OAP_NO_PERMISSION", at)
      }
      assert(cleared(at).getLong(1) > 0)
    }
  }

  test("warm of what has no Parquet files") {
    CacheControl.clear(spark)
    folderOf("empty")
    folderOf("hidden", "_SUCCESS" -> "", ".part-0.crc" -> "crc")
    val text = folderOf("text", "a.txt" -> "hello, world", "b.txt" -> "x")
    for (name <- Seq("empty", "hidden")) {
      val table = s"parquet.`${path(name)}`"
      assertRefused(s"CALL oap.system.warm('$table')", "OAP_NO_DATA_FILES", path(name))
      assertRefused(s"CACHE SELECT * FROM $table", "OAP_NO_DATA_FILES", path(name))
    }
    assertRefused(
      s"CALL oap.system.warm('parquet.`${path("nothing")}`')",
      "PATH_NOT_FOUND",
      path("nothing"))
    assertRefused(s"CALL oap.system.warm('parquet.`$text`')", "OAP_NO_DATA_FILES", path("text"))
    sql(s"CREATE TABLE words (id BIGINT) USING parquet LOCATION '$text'")
    assertRefused("CALL oap.system.warm('words')", "OAP_NO_DATA_FILES", s"$text/")
    assertRefused("CACHE SELECT id FROM words", "OAP_NO_DATA_FILES", s"$text/")
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
      sql("CALL oap.system.warm('words')").collect()
      assert(chunks === 0)
    }
    sql("CREATE TABLE later (id BIGINT) USING parquet")
    assert(sql("CALL oap.system.warm('later')").collect().isEmpty, "an empty table is no error")
  }

  test("clear of a path without Parquet files") {
    for ((name, file) <- Seq("no" -> "", "few" -> "x", "some" -> "hello, world")) {
      val folder = folderOf(s"$name-parquet/deep", "_SUCCESS" -> "", "words" -> file)
      for (at <- Seq(folder.getParent, folder, folder.resolve("words"))) {
        assertRefused(
          s"CALL oap.system.clear(path => '$at')",
          "OAP_NO_DATA_FILES",
          at.toString)
      }
    }
  }

  test("clear of a path whose Parquet files are not cached") {
    write("uncached")
    assert(cleared(path("uncached")).getLong(1) === 0)
    val file = Files.list(LocalPath.of(path("uncached"))).toArray(new Array[LocalPath](_))
      .filter(_.toString.endsWith(".parquet")).head
    Files.copy(file, folderOf("hive").resolve("000000_0"))
    assert(cleared(path("hive")).getLong(1) === 0)
    assert(cleared(path("hive/000000_0")).getLong(1) === 0)
  }

  test("clear of a path whose files are removed") {
    for (isFolderLeft <- Seq(true, false)) {
      val name = s"removed-$isFolderLeft"
      write(name)
      spark.read.parquet(path(name)).collect()
      val held = chunks
      Files.list(LocalPath.of(path(name))).forEach(Files.delete(_))
      if (!isFolderLeft) Files.delete(LocalPath.of(path(name)))
      assert(cleared(path(name)).getLong(1) === 4)
      assert(chunks === held - 4)
      val condition = if (isFolderLeft) "OAP_NO_DATA_FILES" else "PATH_NOT_FOUND"
      assertRefused(s"CALL oap.system.clear(path => '${path(name)}')", condition, path(name))
    }
  }
}
