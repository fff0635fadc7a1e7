package io.oap.spark.sql

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.CurrentUserContext

import io.oap.spark.{CacheControl, CacheSuite}

/** With Spark's access lists on, what the catalog `oap` does and shows asks Spark's own rights. */
class AccessSuite extends CacheSuite {

  override protected def settings: Map[String, String] = super.settings ++ Map(
    "spark.acls.enable" -> "true",
    "spark.admin.acls" -> "ada",
    "spark.modify.acls" -> "mia",
    "spark.ui.view.acls" -> "vic"
  )

  private val calls = Map(
    "clear" -> "clear()",
    "resize" -> "resize(67108864)",
    "warm" -> "warm('t')",
    "pin" -> "pin('t')",
    "unpin" -> "unpin('t')",
    "verify" -> "verify()"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(0, 1000, 1, 1).write.saveAsTable("t")
    spark.table("t").collect()
  }

  /** As the Thrift server runs statements: it says whose they are, of all users in one process. */
  private def as[T](user: String)(body: => T): T = {
    CurrentUserContext.CURRENT_USER.set(user)
    try body
    finally CurrentUserContext.CURRENT_USER.remove()
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  private def assertRefused(user: String, text: String)(words: String*): Unit = {
    val held = CacheControl.localPool().get.chunks()
    val e = intercept[Exception with SparkThrowable](as(user)(sql(text).collect()))
    assert(e.getCondition === "OAP_ACCESS_DENIED", s"$user: $text")
    assert(e.getSqlState === "42501")
    (words :+ user :+ "spark.admin.acls").foreach(word => assert(e.getMessage.contains(word)))
    assert(CacheControl.localPool().get.chunks() === held)
  }

  test("each procedure asks the right to modify") {
    assert(SystemProcedures.all.map(_.name).toSet === calls.keySet)
    for ((name, call) <- calls) {
      for (user <- Seq("eve", "vic")) {
        assertRefused(user, s"CALL oap.system.$call")(
          s"CALL oap.system.$name",
          "spark.modify.acls",
          "spark.modify.acls.groups")
      }
      for (user <- Seq("mia", "ada")) {
        as(user)(sql(s"CALL oap.system.$call").collect())
      }
      // Without a user of its own, the statement is the application's.
      sql(s"CALL oap.system.$call").collect()
    }
  }

  test("CACHE SELECT asks the right to modify") {
    assertRefused("eve", "CACHE SELECT id FROM t")("CACHE SELECT", "spark.modify.acls")
    as("mia")(sql("CACHE SELECT id FROM t").collect())
  }

  test("tables ask the right to view, their names and columns do not") {
    for (table <- SystemTables.all) {
      val read = s"SELECT count(*) FROM oap.system.${table.shortName}"
      for (user <- Seq("eve", "mia")) {
        assertRefused(user, read)(table.name, "spark.ui.view.acls", "spark.ui.view.acls.groups")
      }
      for (user <- Seq("vic", "ada")) as(user)(sql(read).collect())
      sql(read).collect()
      as("eve")(sql(s"DESCRIBE oap.system.${table.shortName}").collect())
    }
    as("eve") {
      assert(sql("SHOW TABLES IN oap.system").count() === SystemTables.all.size)
      assert(sql("SHOW PROCEDURES IN oap.system").count() === SystemProcedures.all.size)
    }
  }

  test("queries ask no right") {
    assert(as("eve")(spark.table("t").count()) === 1000)
  }

  test("rights are the user's of the session, not of the one who made it") {
    val other = spark.newSession()
    val before = SparkSession.getActiveSession
    try {
      SparkSession.setActiveSession(other)
      intercept[Exception with SparkThrowable](as("eve")(other.sql("CALL oap.system.clear()")))
      as("mia")(other.sql("CALL oap.system.clear()").collect())
    } finally before.foreach(SparkSession.setActiveSession)
  }
}
