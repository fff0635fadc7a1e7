package io.oap.tpcds.random

/**
 * What of several tables means the same: they are joined by such columns.
 *
 * @param name empty for columns that stand for themselves
 * @param distinct how many values there are
 */
final case class Domain(name: String, distinct: Int) {
  def isKey: Boolean = name.nonEmpty
}

object Domain {
  val None: Domain = Domain("", 1)
}

/**
 * A column of a table.
 *
 * @param value SQL of its values, where `id` is the number of the row
 * @param default SQL of its default, where it has been added to the table after the first files
 * @param numbers so many of its kind's values occur
 */
final case class StarColumn(
    name: String,
    kind: Kind,
    domain: Domain,
    value: String,
    numbers: Int,
    default: Option[String] = None)

/** A table: its columns, those it is partitioned by last. */
final case class StarTable(
    name: String,
    rows: Int,
    columns: Seq[StarColumn],
    partitions: Seq[StarColumn]) {
  def all: Seq[StarColumn] = columns ++ partitions

  def isFact: Boolean = name.startsWith("fact")
}

/**
 * Two fact tables and three dimensions in a database of their own, as SQL: types, values, partitions
 * and the settings that files are written with are random.
 *
 * @param folder where the database lies, which its catalog may know by itself
 */
final class Star(val seed: Long, folder: String, val form: Form = Form.Parquet) {
  private val choices = new Choices(seed)
  val database: String = form.database(Star.name(seed))

  private val dimensionRows = Seq("x", "y", "z").map(_ -> choices.between(30, 250))

  /** Fact tables are partitioned by keys of the first dimension. */
  private val keys = dimensionRows.zipWithIndex.map { case ((name, rows), i) =>
    (Domain(name, rows), kind(if (i == 0) Kinds.partitionKey else Kinds.key))
  }
  private val rowDomain = Domain("row", 5000)
  private val sharedDomain = Domain("shared", 200)

  val tables: Seq[StarTable] =
    Seq(fact("a"), fact("b")) ++
      dimensionRows.zip(keys).map { case ((name, rows), (domain, kind)) =>
        dimension(name, rows, domain, kind)
      }

  private val properties: Map[String, Seq[(String, String)]] =
    tables.map(_.name -> form.properties(choices)).toMap

  /** Whether columns of a table can be renamed and dropped. */
  def letsColumnsGo(table: String): Boolean = form.letsColumnsGo(properties(table))

  private def fact(name: String): StarTable = {
    val rows = choices.between(2500, 6000)
    val foreign = keys.zipWithIndex.map { case ((domain, kind), i) =>
      val numbers = domain.distinct + 10
      StarColumn(s"${name}_f$i", kind, domain, nulls(3, kind.value(number(rows, numbers))), numbers)
    }
    val own = Seq(
      StarColumn(s"${name}_id", Kinds.Row, rowDomain, "id", rows),
      StarColumn(
        s"${name}_k",
        Kinds.Int,
        sharedDomain,
        nulls(2, Kinds.Int.value(number(rows, 200))),
        200)
    )
    val measures = Seq.tabulate(choices.between(6, 11))(i => column(s"${name}_c$i", rows))
    // What two columns like this take, the smallest pool does not hold.
    val wide = Seq.tabulate(2) { i =>
      StarColumn(
        s"${name}_w$i",
        Kinds.Wide,
        Domain.None,
        nulls(anyShare, Kinds.Wide.value(number(rows, 5000))),
        5000)
    }
    val later = Seq.tabulate(choices.between(0, 2))(i => added(s"${name}_n$i", rows))
    val (domain, kind) = keys.head
    val partitions = choices.oneOf(0, 0, 1, 1, 2) match {
      case 0 => Nil
      case 1 => Seq(partition(s"${name}_p0", kind, domain))
      case _ => Seq(partition(s"${name}_p0", kind, domain), anyPartition(s"${name}_p1"))
    }
    StarTable(s"fact_$name", rows, own ++ foreign ++ measures ++ wide ++ later, partitions)
  }

  private def dimension(name: String, rows: Int, domain: Domain, kind: Kind): StarTable = {
    val key = StarColumn(s"${name}_key", kind, domain, nulls(2, kind.value("id")), rows)
    val others = Seq.tabulate(choices.between(3, 6))(i => column(s"${name}_c$i", rows))
    val later = Seq.tabulate(choices.between(0, 1))(i => added(s"${name}_n$i", rows))
    val partitions = if (choices.chance(15)) Seq(anyPartition(s"${name}_p0")) else Nil
    StarTable(s"dim_$name", rows, key +: (others ++ later), partitions)
  }

  private def column(name: String, rows: Int): StarColumn = {
    val kind = this.kind(Kinds.any)
    val numbers = choices.oneOf(1, 5, 30, 300, 5000)
    StarColumn(name, kind, Domain.None, nulls(anyShare, kind.value(number(rows, numbers))), numbers)
  }

  private def added(name: String, rows: Int): StarColumn = {
    val kind = this.kind(Kinds.flat)
    // Spark's vectorized reader fails on defaults of these types.
    val hasNone = kind.family match {
      case Family.Binary => true
      case Family.Decimal(precision) => precision > 18
      case _ => false
    }
    val default =
      if (!hasNone && choices.chance(85) && !form.hasVersions)
        kind.value(choices.below(9).toString)
      else "NULL"
    StarColumn(
      name,
      kind,
      Domain.None,
      nulls(anyShare, kind.value(number(rows, 30))),
      30,
      Some(default))
  }

  private def anyPartition(name: String): StarColumn =
    partition(name, kind(Kinds.partition), Domain.None)

  private def partition(name: String, kind: Kind, domain: Domain): StarColumn = {
    val numbers = choices.between(2, 3)
    val value = nulls(choices.oneOf(0, 10), kind.value(s"pmod(id div 50, $numbers)"))
    StarColumn(name, kind, domain, value, numbers)
  }

  /** The first type so drawn that the form has. */
  private def kind(draw: Choices => Kind): Kind =
    Iterator.continually(draw(choices)).find(form.takes).get

  private def anyShare: Int = choices.oneOf(0, 0, 0, 2, 2, 30, 30, 97)

  /** SQL of a number below the bound: scattered, or ascending with the row. */
  private def number(rows: Int, bound: Int): String =
    if (choices.chance(30)) s"(id div ${math.max(1, rows / bound)} % $bound)"
    else s"pmod(xxhash64(id, ${choices.below(1000)}), $bound)"

  private def nulls(percent: Int, value: String): String =
    if (percent == 0) value
    else s"if(pmod(xxhash64(id, ${choices.below(1000)}), 100) < $percent, NULL, $value)"

  /** What makes the database, statement by statement. */
  val statements: Seq[String] =
    Seq(
      s"CREATE DATABASE $database${form.location(folder)}",
      s"USE $database",
      "SET spark.sql.session.timeZone=UTC",
      "SET spark.sql.ansi.enabled=false",
      "SET spark.sql.codegen.wholeStage=false"
    ) ++ tables.flatMap(create)

  private def create(table: StarTable): Seq[String] = {
    val (later, first) = table.columns.partition(_.default.isDefined)
    val by =
      if (table.partitions.isEmpty) ""
      else table.partitions.map(_.name).mkString(" PARTITIONED BY (", ", ", ")")
    val declared = (first ++ table.partitions).map(c => s"${c.name} ${c.kind.sql}").mkString(", ")
    val middle = table.rows / 2
    val more = later.map { c =>
      s"${c.name} ${c.kind.sql}${if (form.hasVersions) "" else s" DEFAULT ${c.default.get}"}"
    }.mkString(", ")
    Seq(s"CREATE TABLE ${table.name} ($declared) USING ${form.word}$by${said(table)}") ++
      insert(table, first ++ table.partitions, 0, middle) ++
      (if (later.isEmpty) Nil else Seq(s"ALTER TABLE ${table.name} ADD COLUMNS ($more)")) ++
      insert(table, table.all, middle, table.rows) ++
      (if (choices.chance(30) && !form.hasVersions)
         Seq(s"ANALYZE TABLE ${table.name} COMPUTE STATISTICS")
       else Nil)
  }

  private def said(table: StarTable): String = {
    val pairs = properties(table.name).map { case (key, value) => s"'$key' = '$value'" }
    if (pairs.isEmpty) "" else pairs.mkString(" TBLPROPERTIES (", ", ", ")")
  }

  private def insert(
      table: StarTable,
      columns: Seq[StarColumn],
      from: Int,
      until: Int): Seq[String] = {
    val files = if (table.isFact && table.partitions.isEmpty) choices.between(1, 3) else 1
    writeSettings.map { case (key, value) => s"SET `$key`=$value" } :+
      s"INSERT INTO ${table.name} (${columns.map(_.name).mkString(", ")}) SELECT " +
      columns.map(_.value).mkString(", ") + s" FROM range($from, $until, 1, $files)"
  }

  private def writeSettings: Seq[(String, String)] = {
    val codec = choices.oneOf("none", "none", "snappy", "gzip", "zstd", "lz4_raw")
    // What Parquet's own filter by dictionaries reads of this codec in one go.
    def dictionary(bytes: Int) = if (codec == "lz4_raw") math.min(bytes, 5000) else bytes
    Seq(
      "spark.sql.parquet.compression.codec" -> codec,
      "parquet.enable.dictionary" -> choices.chance(60).toString,
      "parquet.dictionary.page.size" -> dictionary(choices.oneOf(200, 5000, 1048576)).toString,
      "parquet.page.size" -> choices.oneOf("500", "5000", "1048576"),
      "parquet.page.row.count.limit" -> choices.oneOf("50", "500", "20000"),
      "parquet.page.size.row.check.min" -> "10",
      "parquet.block.row.count.limit" -> choices.oneOf("150", "600", "1000000"),
      "parquet.writer.version" -> choices.oneOf("PARQUET_1_0", "PARQUET_2_0"),
      "parquet.page.write-checksum.enabled" -> choices.chance(50).toString,
      "parquet.bloom.filter.enabled" -> choices.chance(20).toString,
      "parquet.bloom.filter.max.bytes" -> "2048",
      "spark.sql.parquet.outputTimestampType" ->
        choices.oneOf("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"),
      "spark.sql.parquet.writeLegacyFormat" -> choices.chance(15).toString
    )
  }
}

object Star {

  /** What its database and its folder are called. */
  def name(seed: Long): String = s"star_$seed"
}
