package io.oap.tpcds.random

import scala.collection.mutable

/**
 * A random query of a star.
 *
 * @param kinds the kinds of SQL that it has
 * @param settings what its session is told for it
 */
final case class Query(sql: String, kinds: Set[String], settings: Seq[(String, String)]) {

  /** Returns this query of tables as they were at these versions. */
  def at(versions: Map[String, String]): Query = copy(sql =
    Query.Named.replaceAllIn(sql, m => s"${m.group(1)} VERSION AS OF ${versions(m.group(1))} AS"))
}

object Query {
  private val Named = """\b((?:fact|dim)_\w) AS\b""".r

  /** The query of a seed over these tables: facts first. */
  def of(seed: Long, tables: Seq[StarTable], form: Form = Form.Parquet): Query = {
    val choices = new Choices(seed)
    val writer = new QueryWriter(choices, tables)
    val collated = tables.flatMap(_.all).filter(_.kind.isCollated).map(_.name)
    val settings = SessionSettings.of(choices, collated.exists(writer.sql.contains(_)))
    Query(writer.sql, writer.kinds, settings ++ form.settings(choices))
  }
}

/**
 * Writes a query. Whatever the order of rows and however they are divided among
 * tasks, there is one right result: LIMIT comes after a sort by all columns, sums of floating point
 * numbers do not occur, and strings that are equal but of other bytes are made the same before one
 * of them has to be chosen.
 */
private final class QueryWriter(choices: Choices, tables: Seq[StarTable]) {
  private val used = mutable.LinkedHashSet.empty[String]
  private val names = new Names
  private val predicates = new Predicates(choices, tables, names, used.add(_))
  private val expressions = new Expressions(choices, used.add(_))

  val sql: String = choices.below(10) match {
    case 0 | 1 => limited(block(0, isNormal = true))
    case 2 => limited(setOperation(0))
    case 3 => setOperation(0).sql
    case 4 => withTwice()
    case _ => block(0, isNormal = false).sql
  }

  /** The kinds of SQL that it has. */
  val kinds: Set[String] = used.toSet

  private def limited(block: Block): String = {
    used += "LIMIT with a full order"
    val order = block.columns.indices.map { i =>
      s"c$i" + choices.oneOf("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
    }
    val offset = if (choices.chance(20)) s" OFFSET ${choices.below(9)}" else ""
    s"SELECT * FROM (${block.sql}) ORDER BY ${order.mkString(", ")} " +
      s"LIMIT ${choices.oneOf(1, 10, 100, 1000)}$offset"
  }

  private def withTwice(): String = {
    used += "CTE used twice"
    val body = block(1, isNormal = true)
    val name = names.next()
    def use(): From = {
      val alias = names.next()
      From(s"$name AS $alias", body.refs(alias), body.rows)
    }
    val rest = join(use(), use()) match {
      case Some(from) => over(from, 1, isNormal = false)
      case None =>
        val all = body.columns.indices.map(i => s"c$i").mkString(", ")
        Block(s"SELECT $all FROM $name UNION ALL SELECT $all FROM $name", Nil, 0)
    }
    s"WITH $name AS (${body.sql}) ${rest.sql}"
  }

  /** UNION, INTERSECT or EXCEPT of queries whose columns have the same types. */
  private def setOperation(depth: Int): Block = {
    val first = block(depth + 1, isNormal = true)
    val operator = choices.oneOf(
      "UNION ALL",
      "UNION ALL",
      "UNION",
      "INTERSECT",
      "INTERSECT ALL",
      "EXCEPT",
      "EXCEPT ALL")
    used += operator
    val from = this.from(depth + 1)
    val columns = first.columns.zipWithIndex.map { case (column, i) =>
      val same = from.refs.map(_.normal).filter(_.kind.sql == column.kind.sql)
      val value =
        if (same.nonEmpty) choices.oneOf(same: _*).sql
        else if (choices.chance(30)) s"CAST(NULL AS ${column.kind.castName})"
        else column.literal(choices)
      s"$value AS c$i"
    }
    val second = s"SELECT ${columns.mkString(", ")} FROM ${from.sql}" +
      predicates.where(from.refs, mayNest = false)
    val rows = first.rows + from.rows
    Block(s"${first.sql} $operator $second", first.columns.map(_.copy(domain = Domain.None)), rows)
  }

  private def block(depth: Int, isNormal: Boolean): Block = over(from(depth), depth, isNormal)

  /** A query of these rows; few columns where there are many rows. */
  private def over(from: From, depth: Int, isNormal: Boolean): Block = {
    val where = predicates.where(from.refs, mayNest = depth < 2, isInner = depth > 0)
    val isLarge = from.rows > 3000
    choices.below(10) match {
      case 0 | 1 | 2 => grouped(from, where)
      case 3 => single(from, where)
      case 4 => distinct(from, where)
      case 5 if from.rows < 20000 => windowed(from, where, isNormal)
      case _ if isLarge && depth == 0 && choices.chance(80) => grouped(from, where)
      case _ => projected(from, where, isNormal)
    }
  }

  private def select(
      what: String,
      columns: Seq[Ref],
      from: From,
      where: String,
      rest: String,
      rows: Double): Block = {
    val list = columns.zipWithIndex.map { case (column, i) => s"${column.sql} AS c$i" }
    val sql = s"SELECT $what${list.mkString(", ")} FROM ${from.sql}$where$rest"
    Block(sql, columns, rows)
  }

  private def projected(from: From, where: String, isNormal: Boolean): Block = {
    val keys = choices.some(choices.below(3), from.refs.filter(_.domain.isKey))
    val others =
      Seq.fill(choices.between(1, 4))(expressions.any(from.refs, mayBeNested = !isNormal))
    val columns = keys ++ others
    select("", if (isNormal) columns.map(normal) else columns, from, where, "", from.rows)
  }

  /** Collations and floating point numbers keep no key's meaning; what does not change keeps it. */
  private def normal(ref: Ref): Ref = ref.normal

  private def distinct(from: From, where: String): Block = {
    used += "DISTINCT"
    val columns = Seq
      .fill(choices.between(1, 3))(expressions.any(from.refs, mayBeNested = false))
      .map(normal)
    select("DISTINCT ", columns, from, where, "", math.min(from.rows, 1000))
  }

  private def grouped(from: From, where: String): Block = {
    val keys = Seq.fill(choices.between(1, 3))(
      choices.oneOf(from.refs.filterNot(_.kind.isNested): _*)).distinctBy(_.sql)
    val by = keys.map(_.sql).mkString(", ")
    val (kind, clause) = choices.below(8) match {
      case 0 => "ROLLUP" -> s"ROLLUP ($by)"
      case 1 => "CUBE" -> s"CUBE ($by)"
      case 2 => "GROUPING SETS" -> s"GROUPING SETS (($by), (${keys.head.sql}), ())"
      case _ => "GROUP BY" -> by
    }
    used += kind
    val having =
      if (choices.chance(20)) {
        used += "HAVING"
        s" HAVING count(*) ${choices.oneOf(">", "<", "<=")} ${choices.between(1, 9)}"
      } else ""
    val aggregates = Seq.fill(choices.between(1, 3))(expressions.aggregate(from.refs, predicates))
    // Grouping sets make keys null, so that none of them keeps its meaning.
    val named = keys.map(normal).map(key => if (kind == "GROUP BY") key else noKey(key))
    select(
      "",
      named ++ aggregates,
      from,
      where,
      s" GROUP BY $clause$having",
      math.min(from.rows, 1000))
  }

  private def noKey(ref: Ref): Ref = ref.copy(domain = Domain.None)

  private def single(from: From, where: String): Block = {
    used += "aggregate without GROUP BY"
    val aggregates = Seq.fill(choices.between(1, 5))(expressions.aggregate(from.refs, predicates))
    select("", aggregates, from, where, "", 1)
  }

  private def windowed(from: From, where: String, isNormal: Boolean): Block = {
    used += "window"
    val windows = Seq.fill(choices.between(1, 2))(expressions.window(from))
    val others =
      Seq.fill(choices.between(1, 3))(expressions.any(from.refs, mayBeNested = !isNormal))
    val all = (from.unique.toSeq ++ others).map(c => if (isNormal) normal(c) else c) ++ windows
    select("", all, from, where, "", from.rows)
  }

  private def from(depth: Int): From = choices.below(if (depth < 2) 10 else 4) match {
    case 0 | 1 | 2 | 3 => table()
    case 4 if depth > 0 =>
      used += "derived table"
      block(depth + 1, isNormal = true).as(names.next())
    case 5 =>
      used += "set operation in FROM"
      setOperation(depth + 1).as(names.next())
    case _ =>
      val left = from(depth + 1)
      join(left, from(depth + 1)).getOrElse(left)
  }

  private def table(): From =
    if (choices.chance(70)) names.table(choices.oneOf(tables.take(2): _*)).from
    else names.table(choices.oneOf(tables.drop(2): _*)).from

  /** None when they have nothing in common and are too large to be joined without. */
  private def join(left: From, right: From): Option[From] = {
    val pairs = for {
      l <- left.refs if l.domain.isKey
      r <- right.refs if r.domain == l.domain
    } yield (l, r, left.rows * right.rows / math.max(l.numbers, r.numbers))
    val few = pairs.filter(_._3 < QueryWriter.MostRows)
    if (few.nonEmpty) Some(new Joins(choices, predicates, used.add(_)).keyed(
      left,
      right,
      choices.oneOf(few: _*)))
    else if (left.rows * right.rows < QueryWriter.MostPairs)
      Some(new Joins(choices, predicates, used.add(_)).crossed(left, right))
    else None
  }
}

private object QueryWriter {
  private val MostRows = 30000
  private val MostPairs = 100000
}
