package io.oap.spark.dataframe

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.types._
import org.apache.spark.storage.StorageLevel
import org.apache.spark.unsafe.types.UTF8String

/** DataFrames with columns of several values each, which are kept as the bytes that they have in rows. */
class NestedFramesSuite extends FramesInPool {

  private val Nested =
    """SELECT id, if(id % 5 = 0, null, struct(id, concat('n', id) AS name, null AS nothing)) pair,
    transform(sequence(0, id % 9), x -> if(x = 3, null, x * id / 7)) doubles,
    if(id % 4 = 0, null, map(concat('k', id % 3), array(id, null))) map,
    array(struct(cast(id AS decimal(30, 2)) d, array('a', null) s)) deep, array() empty,
    named_struct('i', make_interval(0, 1, 0, cast(id AS int))) interval, id % 100 AS k"""

  private def nested(rows: Int): DataFrame = spark.sql(s"$Nested FROM range(0, $rows, 1, 3)")

  private def points(rows: Int): DataFrame = {
    val session = spark
    import session.implicits._
    spark.range(0, rows, 1, 3).as[Long].map { id =>
      Placed(id, if (id % 7 == 0) null else new Spot(Array.tabulate((id % 5).toInt)(_ + id / 2.0)))
    }.withColumn("name", udf((id: Long) => new Name(s"n$id")).apply(col("id")))
  }

  test("types_nested_giveTheSameRows") {
    assertCached(nested(30000))
    assertCached(nested(0))
  }

  test("types_thatUsersDefine_giveTheSameRows") {
    assertCached(points(20000))
    assertCached(points(20000).selectExpr("array(spot, null) spots", "map(id, spot) m"))
  }

  test("columns_someOfThem_giveTheSameRows") {
    val queries = Seq(
      "SELECT pair.name, k FROM t",
      "SELECT count(*) FROM t",
      "SELECT size(doubles), map['k1'][0], deep[0].d FROM t WHERE k < 10",
      "SELECT k, count(pair), sum(get(doubles, 1)) FROM t GROUP BY k",
      "SELECT id FROM t WHERE pair IS NULL AND map IS NOT NULL",
      "SELECT id FROM t WHERE pair.id = 17 OR pair.name = 'n18'",
      "SELECT id FROM t WHERE pair = named_struct('id', 17L, 'name', 'n17', 'nothing', null)",
      "SELECT id FROM t WHERE doubles = array(0.0D) OR doubles IN (array(0.0D, 1 / 7D))",
      "SELECT a.id, b.pair FROM t a JOIN t b ON a.pair = b.pair AND a.doubles = b.doubles",
      "SELECT explode(doubles) FROM t",
      "SELECT deep, count(*) FROM t GROUP BY deep"
    )
    nested(9000).createOrReplaceTempView("t")
    val expected = queries.map(query => rows(spark.sql(query)))
    cached(nested(9000)) { _ =>
      for ((query, plain) <- queries.zip(expected)) {
        assertRows(rows(spark.sql(query)), plain, query)
        assertRows(rows(spark.sql(query)), plain, query)
      }
      assert(poolBytes > 0)
    }
  }

  test("levels_all_giveTheSameRows") {
    val plain = rows(nested(3000))
    import StorageLevel._
    for (level <- Seq(MEMORY_ONLY, DISK_ONLY, MEMORY_ONLY_SER, MEMORY_AND_DISK_2)) {
      val frame = nested(3000).persist(level)
      try for (_ <- 1 to 2) assertRows(rows(frame), plain, level.description)
      finally frame.unpersist(blocking = true): Unit
    }
  }

  test("files_thatGiveColumns_areCachedByRows") {
    nested(9000).drop("interval", "empty").write.parquet(path("nested"))
    assertCached(spark.read.parquet(path("nested")))
  }

  test("session_switchedWhileAFrameStays_givesTheSameRows") {
    val plain = rows(nested(5000))
    for (isOn <- Seq(true, false))
      withConf("spark.oap.cache.dataframes" -> isOn.toString) {
        cached(nested(5000)) { frame =>
          frame.count()
          assert(poolBytes > 0 === isOn)
          withConf("spark.oap.cache.dataframes" -> (!isOn).toString)(
            assertRows(rows(nested(5000)), plain, s"filled by one that is on: $isOn"))
        }
      }
  }

  test("values_longerThanABatch_giveTheSameRows") {
    def frame = spark.sql("SELECT id, transform(sequence(1, 3000000 + id), x -> x * id) longs " +
      "FROM range(0, 3, 1, 1)")
    def told(frame: DataFrame) = rows(frame.selectExpr("id", "size(longs)", "hash(longs)"))
    val plain = told(frame)
    cached(frame)(frame => for (_ <- 1 to 2) assertRows(told(frame), plain, "long"))
  }

  test("statistics_areThoseOfSpark") {
    def size(isOn: Boolean): (BigInt, Option[BigInt]) =
      withConf("spark.oap.cache.dataframes" -> isOn.toString) {
        cached(nested(20000)) { frame =>
          frame.count()
          val statistics = nested(20000).queryExecution.optimizedPlan.stats
          (statistics.sizeInBytes, statistics.rowCount)
        }
      }
    assert(size(isOn = true) === size(isOn = false))
  }
}

/** A value that a user defines, made of an array, as vectors of MLlib are. */
@SQLUserDefinedType(udt = classOf[SpotType])
private final class Spot(val places: Array[Double]) extends Serializable {
  override def equals(other: Any): Boolean = other match {
    case spot: Spot => places.sameElements(spot.places)
    case _ => false
  }
  override def hashCode: Int = places.toSeq.hashCode
  override def toString: String = places.mkString("spot(", " ", ")")
}

private final class SpotType extends UserDefinedType[Spot] {
  override def sqlType: DataType =
    new StructType().add(
      "size",
      IntegerType).add("places", ArrayType(DoubleType, containsNull = false))
  override def userClass: Class[Spot] = classOf[Spot]
  override def serialize(spot: Spot): InternalRow =
    InternalRow(spot.places.length, UnsafeArrayData.fromPrimitiveArray(spot.places))
  override def deserialize(datum: Any): Spot =
    new Spot(datum.asInstanceOf[InternalRow].getArray(1).toDoubleArray())
}

private final case class Placed(id: Long, spot: Spot)

/** A value that a user defines, made of a flat one. */
@SQLUserDefinedType(udt = classOf[NameType])
private final class Name(val text: String) extends Serializable {
  override def equals(other: Any): Boolean = other match {
    case name: Name => text == name.text
    case _ => false
  }
  override def hashCode: Int = text.hashCode
  override def toString: String = s"name $text"
}

private final class NameType extends UserDefinedType[Name] {
  override def sqlType: DataType = StringType
  override def userClass: Class[Name] = classOf[Name]
  override def serialize(name: Name): UTF8String = UTF8String.fromString(name.text)
  override def deserialize(datum: Any): Name = new Name(datum.toString)
}
