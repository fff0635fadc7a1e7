package io.oap.spark.delta

import scala.util.Random

import io.oap.spark.ExtendedTest

/** Tables of Delta that change while they are read. */
@ExtendedTest
class DeltaChangeSuite extends DeltaScanSuite {

  private def table(name: String, properties: String): String = {
    val where = s"delta.`${watched(name)}`"
    sql(s"CREATE TABLE $where (id BIGINT, k INT, s STRING) USING delta TBLPROPERTIES ($properties)")
    sql(s"INSERT INTO $where SELECT id, CAST(id % 5 AS INT), concat('s', id) FROM range(3000)")
    where
  }

  private val seed = Option(System.getProperty("oap.seed")).fold(Random.nextLong())(_.toLong)

  for ((name, properties) <- Seq(
      "vectors" -> "'delta.enableDeletionVectors' = 'true'",
      "rewritten" -> "'delta.enableDeletionVectors' = 'false'"))
    test(s"merges, updates and deletes between reads, $name, seed $seed") {
      val random = new Random(seed)
      val t = table(name, properties)
      for (_ <- 1 to 5) {
        val (of, is) = (random.nextInt(8) + 2, random.nextInt(2))
        random.nextInt(4) match {
          case 0 => sql(s"DELETE FROM $t WHERE id % $of = $is AND k < 2")
          case 1 => sql(s"UPDATE $t SET s = concat(s, 'u'), k = k + 1 WHERE id % $of = $is")
          case 2 => sql(
              s"MERGE INTO $t a USING (SELECT id * $of AS id FROM range(${random.nextInt(900)})) b " +
                "ON a.id = b.id WHEN MATCHED AND a.k > 2 THEN DELETE " +
                "WHEN MATCHED THEN UPDATE SET s = 'm' " +
                "WHEN NOT MATCHED THEN INSERT (id, k, s) VALUES (b.id, 9, 'i')")
          case _ => sql(s"INSERT INTO $t SELECT id, 1, 'x' FROM range(${random.nextInt(500) + 1})")
        }
        // Without clearing: chunks of all former versions are there.
        val query = s"SELECT id, k, s FROM $t"
        val expected = alone(rows(sql(query)))
        for (run <- Seq("first", "second")) assertRows(rows(sql(query)), expected, run)
      }
      assertServedByFiles(sql(s"SELECT * FROM $t"))
    }

  test("former versions") {
    val t = table("versions", "'delta.enableDeletionVectors' = 'true'")
    sql(s"DELETE FROM $t WHERE id < 1000")
    sql(s"UPDATE $t SET s = 'u' WHERE id < 2000")
    for (version <- Seq(1, 2)) assertServedByFiles(sql(s"SELECT * FROM $t VERSION AS OF $version"))
    assert(sql(s"SELECT * FROM $t VERSION AS OF 1").count() === 3000)
    assert(sql(s"SELECT * FROM $t").count() === 2000)
    sql(s"RESTORE TABLE $t TO VERSION AS OF 1")
    assertServedByFiles(sql(s"SELECT * FROM $t"))
  }

  test("files that are joined, and files that are removed") {
    val t = table("optimized", "'delta.enableDeletionVectors' = 'true'")
    sql(s"INSERT INTO $t SELECT id, 1, concat('s', id) FROM range(3000, 9000)")
    sql(s"DELETE FROM $t WHERE id % 3 = 0")
    assertServedByFiles(sql(s"SELECT * FROM $t"))
    sql(s"OPTIMIZE $t")
    sql(s"OPTIMIZE $t ZORDER BY (k, id)")
    assertServedByFiles(sql(s"SELECT s FROM $t WHERE id BETWEEN 100 AND 900"))
    withConf("spark.databricks.delta.retentionDurationCheck.enabled" -> "false") {
      sql(s"VACUUM $t RETAIN 0 HOURS")
    }
    assertServedByFiles(sql(s"SELECT * FROM $t"))
    assert(sql(s"SELECT * FROM $t").count() === (0 until 9000).count(_ % 3 != 0))
  }
}
