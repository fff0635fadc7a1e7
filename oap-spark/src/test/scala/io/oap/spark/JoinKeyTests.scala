package io.oap.spark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike

/**
 * Join keys in scans of other libraries' tables: which columns get them, what they pass, and that rows
 * stay right. The tables are one of facts and two of dimensions.
 */
private[spark] trait JoinKeyTests { this: CacheSuite =>

  protected def facts: String

  /** Has a null among its keys. */
  protected def days: String

  protected def items: String

  /** Runs a query; gives the columns whose join keys its scans have, in order. */
  protected def keys(query: DataFrame): Seq[String]

  /** Asserts rows as alone, and that our own readers have read them. */
  protected def assertRead(query: => DataFrame): Unit

  protected def star(of: String = facts): DataFrame = spark.sql(
    s"""SELECT /*+ BROADCAST(d, i) */ d.day, i.name, sum(f.price) FROM $of f
       |JOIN $days d ON f.day_sk = d.day_sk JOIN $items i ON f.item_sk = i.item_sk
       |WHERE d.month = 2 AND i.class = 3 GROUP BY d.day, i.name""".stripMargin)

  test(
    "keys are shown; there are none in plans that are not adaptive, nor without dynamic pruning") {
    assertRead(star())
    assert(keys(star()) === Seq("day_sk", "item_sk"))
    val ran = star()
    ran.collect()
    val explained = ran.queryExecution.explainString(ExplainMode.fromString("formatted"))
    assert("joinkeys#".r.findAllIn(explained).size >= 2, explained)
    for (conf <- Seq(
        "spark.sql.adaptive.enabled" -> "false",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false"))
      withConf(conf) {
        assertRead(star())
        assert(keys(star()) === Nil)
      }
  }

  test("keys of all types") {
    for ((on, key) <- Seq(
        "f.name = i.name" -> Some("name"),
        "f.price = i.price" -> Some("price"),
        "f.t = i.t" -> Some("t"),
        "f.item_sk = i.item_sk AND f.name = i.name" -> Some("item_sk"),
        // Two zeros join that are not the same bytes.
        "f.ratio = i.ratio" -> None,
        "f.day_sk = i.item_sk" -> None
      )) {
      def query = spark.sql("SELECT /*+ BROADCAST(i) */ f.item_sk, f.name, i.class " +
        s"FROM $facts f JOIN $items i ON $on WHERE i.class IN (1, 2) AND i.item_sk < 1000")
      assertRead(query)
      assert(keys(query).headOption === key, on)
    }
  }

  test("joins that keep rows without a partner get no keys of it") {
    val some = s"(SELECT * FROM $days WHERE month = 1)"
    for {
      join <-
        Seq("JOIN", "LEFT SEMI JOIN", "LEFT JOIN", "LEFT ANTI JOIN", "RIGHT JOIN", "FULL JOIN")
      hint <- Seq("d", "f")
    } {
      def query = spark.sql(s"SELECT /*+ BROADCAST($hint) */ f.item_sk, f.day_sk FROM $facts f " +
        s"$join $some d ON f.day_sk = d.day_sk")
      assertSameRows(query)
      if (hint == "d")
        assert((keys(query) == Seq("day_sk")) === Set("JOIN", "LEFT SEMI JOIN")(join), join)
    }
    for (condition <- Seq(
        s"day_sk IN (SELECT day_sk FROM $some)",
        s"day_sk NOT IN (SELECT day_sk FROM $days WHERE day_sk < 100)",
        s"EXISTS (SELECT 1 FROM $some d WHERE d.day_sk = f.day_sk) OR item_sk = 5"
      ))
      assertSameRows(spark.sql(s"SELECT item_sk, day_sk FROM $facts f WHERE $condition"))
    assertSameRows(spark.sql(s"SELECT /*+ BROADCAST(d) */ f.item_sk FROM $facts f JOIN $days d " +
      "ON f.day_sk = d.day_sk WHERE d.month = 1000"))
  }

  test("keys do not pass what counts rows, nor exchanges") {
    for ((all, more) <- Seq(
        s"SELECT *, monotonically_increasing_id() AS n FROM $facts" -> "n",
        s"SELECT *, rand(7) AS n FROM $facts" -> "n",
        s"SELECT * FROM $facts WHERE rand(3) < 0.5" -> "item_sk",
        s"SELECT /*+ REPARTITION(3) */ * FROM $facts" -> "item_sk",
        s"SELECT * FROM $facts LIMIT 5000" -> "1",
        s"SELECT day_sk, max(item_sk) AS n FROM $facts GROUP BY day_sk" -> "n"
      )) {
      def query = spark.sql(s"SELECT /*+ BROADCAST(d) */ f.day_sk, $more FROM ($all) f " +
        s"JOIN $days d ON f.day_sk = d.day_sk WHERE d.month = 3")
      if (more != "1") assertSameRows(query)
      assert(keys(query) === Nil, all)
    }
    def renamed = spark.sql("SELECT /*+ BROADCAST(d) */ g.x, g.y + 1 FROM (SELECT day_sk AS x, " +
      s"item_sk AS y FROM $facts WHERE item_sk > 3) g JOIN $days d ON g.x = d.day_sk " +
      "WHERE d.month = 3")
    assertRead(renamed)
    assert(keys(renamed) === Seq("day_sk"))
  }

  test("a query and its subquery make an equal exchange once") {
    def query = spark.sql(
      s"""WITH s AS (SELECT /*+ BROADCAST(d) */ f.name, sum(f.price) AS p FROM $facts f
         |JOIN $days d ON f.day_sk = d.day_sk WHERE d.month = 2 GROUP BY f.name)
         |SELECT * FROM s WHERE p > (SELECT avg(p) FROM s)""".stripMargin)
    def exchanges =
      collectWithSubqueries(executed(query)) { case made: ShuffleExchangeLike => made }.size
    assertRead(query)
    assert(keys(query) === Seq("day_sk"))
    assert(exchanges === alone(exchanges))
  }
}
