package io.oap.tpcds.lake

import scala.util.Random

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * A copy of store_sales that MERGE, UPDATE and DELETE change, each in a small range of orders, as a
 * stream of corrections does. For one thread that changes and any that ask for the version.
 *
 * @param sessions that change it, by chance
 */
final class ChangingLakeTable(
    form: LakeForm,
    rows: DataFrame,
    folder: Path,
    sessions: Seq[SparkSession],
    random: Random) {
  import ChangingLakeTable._

  private val name = form.make(rows, folder, None)
  private val orders = rows.selectExpr("max(ss_ticket_number)").head().getInt(0)

  @volatile private var last = readVersion()

  /** The newest version that is known. */
  def version: String = last

  /** Has a session read a version under the name of the table. */
  def show(session: SparkSession, version: String): Unit = {
    form.refresh(session, name)
    session.sql(
      s"CREATE OR REPLACE TEMP VIEW store_sales AS SELECT * FROM $name VERSION AS OF $version"): Unit
  }

  /** Changes some rows; returns how. */
  def change(): String = {
    val session = sessions(random.nextInt(sessions.length))
    val from = 1 + random.nextInt(orders)
    val those = s"ss_ticket_number BETWEEN $from AND ${from + Width}"
    val (kind, statement) = random.nextInt(4) match {
      case 0 => "DELETE" -> s"DELETE FROM $name WHERE $those AND ss_quantity < 30"
      case 1 => "UPDATE" -> (s"UPDATE $name SET ss_quantity = ss_quantity + 1, " +
          s"ss_ext_sales_price = ss_ext_sales_price + 1 WHERE $those")
      case _ => "MERGE" -> merge(those)
    }
    form.refresh(session, name)
    session.sql(statement)
    last = readVersion()
    s"$kind of orders from $from: version $last"
  }

  /** Half of the rows are there and change, the others are new or from an earlier merge. */
  private def merge(those: String): String = {
    val columns = rows.columns.map {
      case "ss_ticket_number" =>
        s"ss_ticket_number + IF(ss_item_sk % 2 = 0, 0, $NewOrders) AS ss_ticket_number"
      case "ss_quantity" => "ss_quantity + 1 AS ss_quantity"
      case column => column
    }
    s"""MERGE INTO $name t USING (SELECT ${columns.mkString(", ")} FROM $name WHERE $those) s
       |ON t.ss_ticket_number = s.ss_ticket_number AND t.ss_item_sk = s.ss_item_sk
       |WHEN MATCHED AND s.ss_quantity > 90 THEN DELETE
       |WHEN MATCHED THEN UPDATE SET ss_quantity = s.ss_quantity
       |WHEN NOT MATCHED THEN INSERT *""".stripMargin
  }

  private def readVersion(): String = form.version(sessions.head, name)
}

private object ChangingLakeTable {

  /** Orders that a change is about. */
  private val Width = 200

  private val NewOrders = 100000000
}
