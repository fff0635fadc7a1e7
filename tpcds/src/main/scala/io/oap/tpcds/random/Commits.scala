package io.oap.tpcds.random

/**
 * What changes a table.
 *
 * @param kind what people call it
 * @param table what it changes
 * @param statements the last one makes a new version
 */
final case class Commit(kind: String, table: String, statements: Seq[String]) {

  /** Whether undoing the last statement undoes all of it. */
  def isOne: Boolean = statements.size == 1
}

/**
 * Random commits into the tables of a star, one after the other, all from one seed. Rows stay apart
 * by their numbers, keys keep their meaning. For one thread.
 */
final class Commits(star: Star) {
  private val choices = new Choices(star.seed * 7919 + 1)
  private var now = star.tables
  private var rows = star.tables.map(table => table.name -> table.rows).toMap
  private var names = 0

  /** The tables as they are after all commits so far. */
  def tables: Seq[StarTable] = now

  def next(): Commit = {
    val table = if (choices.chance(75)) choices.oneOf(now.take(2): _*) else choices.oneOf(now: _*)
    choices.below(16) match {
      case 0 | 1 | 2 => delete(table)
      case 3 | 4 | 5 => update(table)
      case 6 | 7 | 8 if table.isFact => merge(table)
      case 9 => compact(table)
      case 10 => add(table)
      case 11 if star.letsColumnsGo(table.name) => rename(table)
      case 12 if star.letsColumnsGo(table.name) => drop(table)
      case 13 => widen(table).getOrElse(insert(table))
      case 14 => divide(table).getOrElse(insert(table))
      case _ => insert(table)
    }
  }

  private def delete(table: StarTable): Commit =
    Commit("DELETE", table.name, Seq(s"DELETE FROM ${table.name} WHERE ${few(table)}"))

  private def update(table: StarTable): Commit = {
    val number = s"pmod(xxhash64(${table.columns.head.name}), ${choices.between(2, 40)})"
    val set = choices.some(choices.between(1, 3), changeable(table)).map { column =>
      s"${column.name} = ${if (choices.chance(20)) "NULL" else column.kind.value(number)}"
    }
    val sql = s"UPDATE ${table.name} SET ${set.mkString(", ")} WHERE ${few(table)}"
    Commit("UPDATE", table.name, Seq(sql))
  }

  /** Rows that are there and rows that are new, by their numbers. */
  private def merge(table: StarTable): Commit = {
    val last = rows(table.name)
    val first = math.max(0, last - choices.between(50, 1500))
    val until = last + choices.between(1, 200)
    rows += table.name -> until
    val id = table.columns.head.name
    val step = choices.between(1, 4)
    val values = table.all.map(column => s"${column.value} AS ${column.name}").mkString(", ")
    val set = choices.some(choices.between(1, 4), changeable(table))
      .map(column => s"${column.name} = s.${column.name}").mkString(", ")
    val deletes = if (choices.chance(60)) s"WHEN MATCHED AND s.$id % 5 = 0 THEN DELETE " else ""
    val sql = s"MERGE INTO ${table.name} AS t USING " +
      s"(SELECT $values FROM range($first, $until, $step, 1)) AS s ON t.$id = s.$id " +
      s"${deletes}WHEN MATCHED THEN UPDATE SET $set WHEN NOT MATCHED THEN INSERT " +
      s"(${table.all.map(_.name).mkString(", ")}) " +
      s"VALUES (${table.all.map(column => s"s.${column.name}").mkString(", ")})"
    Commit("MERGE", table.name, Seq(sql))
  }

  private def insert(table: StarTable): Commit = Commit("INSERT", table.name, Seq(inserting(table)))

  private def inserting(table: StarTable): String = {
    val from = rows(table.name)
    val until = from + (if (table.isFact) choices.between(1, 800) else choices.between(1, 20))
    rows += table.name -> until
    s"INSERT INTO ${table.name} (${table.all.map(_.name).mkString(", ")}) SELECT " +
      s"${table.all.map(_.value).mkString(", ")} FROM range($from, $until, 1, ${choices.between(1, 2)})"
  }

  private def compact(table: StarTable): Commit = {
    val sql = choices.oneOf(star.form.compactions(star.database, table): _*)
    Commit("compaction", table.name, Seq(sql))
  }

  private def add(table: StarTable): Commit = {
    names += 1
    val kind = Iterator.continually(Kinds.any(choices)).find(star.form.takes).get
    val value = kind.value(s"pmod(xxhash64(id, $names), 30)")
    val column = StarColumn(s"${table.name.last}_m$names", kind, Domain.None, value, 30)
    val place = if (choices.chance(30)) s" AFTER ${choices.oneOf(table.columns: _*).name}" else ""
    val sql = s"ALTER TABLE ${table.name} ADD COLUMNS (${column.name} ${kind.sql}$place)"
    altered("ADD COLUMN", table, table.copy(columns = table.columns :+ column), sql)
  }

  private def rename(table: StarTable): Commit = {
    names += 1
    val column = choices.oneOf(table.columns.tail: _*)
    val name = s"${table.name.last}_r$names"
    val columns = table.columns.map(c => if (c == column) c.copy(name = name) else c)
    val sql = s"ALTER TABLE ${table.name} RENAME COLUMN ${column.name} TO $name"
    altered("RENAME COLUMN", table, table.copy(columns = columns), sql)
  }

  private def drop(table: StarTable): Commit = {
    val plain = table.columns.tail.filterNot(_.domain.isKey)
    if (plain.size < 3) insert(table)
    else {
      val column = choices.oneOf(plain: _*)
      val sql = s"ALTER TABLE ${table.name} DROP COLUMN ${column.name}"
      altered("DROP COLUMN", table, table.copy(columns = table.columns.filter(_ != column)), sql)
    }
  }

  private def widen(table: StarTable): Option[Commit] = {
    val all = for {
      column <- table.columns.tail if column.domain == Domain.None
      kind <- star.form.wider(column.kind)
    } yield (column, kind)
    if (all.isEmpty) None
    else {
      val (column, kind) = choices.oneOf(all: _*)
      val columns = table.columns.map(c => if (c == column) c.copy(kind = kind) else c)
      val sql = s"ALTER TABLE ${table.name} ALTER COLUMN ${column.name} TYPE ${kind.sql}"
      Some(altered("ALTER COLUMN TYPE", table, table.copy(columns = columns), sql))
    }
  }

  private def divide(table: StarTable): Option[Commit] = {
    val fields = table.columns.filter(_.domain.isKey).flatMap(star.form.partitionField)
    if (fields.isEmpty || divided.contains(table.name)) None
    else {
      divided += table.name
      val sql = s"ALTER TABLE ${table.name} ADD PARTITION FIELD ${choices.oneOf(fields: _*)}"
      Some(altered("ADD PARTITION FIELD", table, table, sql))
    }
  }

  /** Tables that have one more. */
  private var divided = Set.empty[String]

  /** An INSERT follows, because a version has the columns that there were when its files were written. */
  private def altered(kind: String, before: StarTable, after: StarTable, sql: String): Commit = {
    now = now.map(table => if (table == before) after else table)
    Commit(kind, after.name, Seq(sql, inserting(after)))
  }

  /** What has no meaning to others, and what a table is partitioned by. */
  private def changeable(table: StarTable): Seq[StarColumn] =
    table.all.tail.filterNot(_.domain.name == "row")

  /** A condition that a part of the rows meets, at times a whole partition. */
  private def few(table: StarTable): String = {
    val refs = table.columns.flatMap(c => Ref.all(c.name, c.kind, c.domain, c.numbers))
    val simple = new Predicates(choices, now, new Names, _ => ())
      .simple(choices.oneOf(refs: _*), refs)
    val first = table.columns.head.name
    val part = choices.between(2, 12)
    val some = s"pmod(xxhash64($first), $part) = ${choices.below(part)}"
    if (table.partitions.nonEmpty && choices.chance(10)) {
      val column = table.partitions.head
      s"${column.name} = ${Ref(column.name, column.kind, column.domain, column.numbers).literal(choices)}"
    } else if (choices.chance(50) && table.isFact) {
      val from = choices.below(rows(table.name))
      s"$first BETWEEN $from AND ${from + choices.between(1, 400)}"
    } else s"($simple) AND $some"
  }
}
