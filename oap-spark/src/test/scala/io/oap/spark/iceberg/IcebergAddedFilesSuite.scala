package io.oap.spark.iceberg

/** Files that are added from elsewhere, written anew there, and added again. */
class IcebergAddedFilesSuite extends IcebergSuite with AddedFiles {

  for ((reader, withIds) <- Seq("Iceberg's reader" -> false, "our own readers" -> true))
    test(s"a file of equal length that is added again is another file to $reader") {
      val table = s"again_${if (withIds) "flat" else "iceberg"}"
      createForAdded(table)
      def query = sql(s"SELECT brand, name, day FROM ice.db.$table")
      for (names <- Seq("id * 3", "id * 7", "id * 11")) {
        addAnew(table, names, withIds)
        val expected = alone(rows(query))
        assert(expected.size === 100)
        for (run <- Seq("cold", "promoted")) assertRows(rows(query), expected, s"$names, $run")
        val (warm, counters) = counting(rows(query))
        assertRows(warm, expected, s"$names, warm")
        assert(counters.chunksHit > 0 && counters.bytesFromFile === 0, names)
      }
    }

  test("files keep their chunks while manifests are rewritten and other files come and go") {
    createForAdded("kept")
    def query = sql("SELECT brand, name FROM ice.db.kept WHERE day = 1")
    addAnew("kept", "id * 3", withIds = true)
    for (_ <- 1 to 3) rows(query)
    for (change <- Seq(
        "INSERT INTO ice.db.kept SELECT brand, 5, 2 FROM ice.db.kept",
        "CALL ice.system.rewrite_manifests(table => 'ice.db.kept')",
        "MERGE INTO ice.db.kept t USING (SELECT 7 AS brand, 2 AS day) s " +
          "ON t.brand = s.brand AND t.day = s.day WHEN MATCHED THEN DELETE",
        "DELETE FROM ice.db.kept WHERE day = 2",
        "ALTER TABLE ice.db.kept CREATE BRANCH other"
      )) {
      sql(change).collect()
      assert(counting(rows(query))._2.bytesFromFile === 0, change)
    }
    assert(
      counting(rows(sql(
        "SELECT brand, name FROM ice.db.kept.branch_other WHERE day = 1")))._2.bytesFromFile === 0)
  }

  test("files of the first format version keep their chunks when the table has a later one") {
    createForAdded("first", version = 1)
    def query = sql("SELECT brand, name FROM ice.db.first")
    addAnew("first", "id * 3", withIds = true)
    val expected = alone(rows(query))
    for (_ <- 1 to 3) assertRows(rows(query), expected, "version 1")
    sql("ALTER TABLE ice.db.first SET TBLPROPERTIES ('format-version' = '2')")
    val (later, counters) = counting(rows(query))
    assertRows(later, expected, "version 2")
    assert(counters.chunksHit > 0 && counters.bytesFromFile === 0)
  }
}
