package io.oap.tpcds.random

/**
 * Writes conditions: comparisons with values that occur, and subqueries of every kind.
 *
 * @param use is told each kind of SQL that is written
 */
final class Predicates(
    choices: Choices,
    tables: Seq[StarTable],
    names: Names,
    use: String => Unit) {

  /** Empty, or WHERE and a condition; in inner queries seldom, or nothing is left for the outer ones. */
  def where(refs: Seq[Ref], mayNest: Boolean, isInner: Boolean = true): String =
    if (choices.chance(if (isInner) 65 else 20)) ""
    else s" WHERE ${condition(refs, mayNest, if (isInner) 1 else 0)}"

  /** A condition on these columns; where it may nest, with subqueries. */
  def condition(refs: Seq[Ref], mayNest: Boolean, depth: Int): String = {
    def inner = condition(refs, mayNest, depth + 1)
    choices.below(if (depth < 2) 14 else 10) match {
      case 10 => s"($inner AND $inner)"
      case 11 | 12 => s"($inner OR $inner)"
      case 13 => s"NOT ($inner)"
      case 0 if refs.exists(_.domain.name == "row") => ofRows(refs.find(_.domain.name == "row").get)
      case 6 | 7 | 8 | 9 if mayNest =>
        subquery(refs).getOrElse(simple(choices.oneOf(refs: _*), refs))
      case _ => simple(choices.oneOf(refs: _*), refs)
    }
  }

  /** A range of rows as they lie in the files: what rules out row groups and pages. */
  private def ofRows(id: Ref): String = {
    val first = choices.below(id.numbers)
    choices.oneOf(
      s"${id.sql} < $first",
      s"${id.sql} BETWEEN $first AND ${first + 300}",
      s"${id.sql} >= ${id.numbers - first / 4}",
      s"${id.sql} IN ($first, ${first / 2}, ${first / 3})"
    )
  }

  /** A condition on one column, or on two of one type. */
  def simple(ref: Ref, refs: Seq[Ref]): String = {
    val r = ref.sql
    def v = ref.literal(choices)
    def values = Seq.fill(choices.between(1, 12))(v).mkString(", ")
    val same = refs.filter(other => other.kind.sql == ref.kind.sql && other.sql != r)
    ref.kind.family match {
      case Family.Nested => choices.oneOf(s"$r IS NULL", s"$r IS NOT NULL")
      case Family.Bool => choices.oneOf(r, s"NOT $r", s"$r = true", s"$r <=> NULL", s"$r IS NULL")
      case _ if same.nonEmpty && choices.chance(10) =>
        s"$r ${choices.oneOf("=", "<", ">=", "<=>", "<>")} ${choices.oneOf(same: _*).sql}"
      case Family.Text if choices.chance(30) => ofText(r, choices.below(ref.numbers))
      case _ =>
        choices.below(12) match {
          case 0 => s"$r IS NULL"
          case 1 => s"$r IS NOT NULL"
          case 2 => s"$r IN ($values)"
          case 3 => s"$r NOT IN ($values)"
          case 4 => s"$r ${choices.oneOf("", "NOT ")}IN ($values, NULL)"
          // In BETWEEN Spark no longer knows the collation.
          case 5 | 6 if ref.kind.isCollated => s"($r >= $v AND $r <= $v)"
          case 5 | 6 => s"$r BETWEEN least($v, $v) AND greatest($v, $v)"
          case _ => s"$r ${choices.oneOf("=", "<", "<=", "<=", ">", ">=", ">=", "<>", "<=>")} $v"
        }
    }
  }

  private def ofText(r: String, number: Int): String = choices.oneOf(
    s"$r LIKE 's$number%'",
    s"$r LIKE '%$number'",
    s"$r LIKE '%${number % 10}%'",
    s"$r LIKE '_1%'",
    s"startswith($r, 'c${number % 10}')",
    s"length($r) > 3",
    s"upper($r) = 'S$number'",
    s"$r RLIKE '[0-4]$$'"
  )

  /** Each column with this meaning, with its table. */
  private def columnsOf(domain: Domain): Seq[(StarTable, StarColumn)] =
    for (table <- tables; column <- table.all if column.domain == domain) yield table -> column

  /** None where no column joins to any table. */
  private def subquery(refs: Seq[Ref]): Option[String] = {
    val keys = refs.filter(ref => ref.domain.isKey && ref.domain.name != "row")
    if (keys.isEmpty) None
    else {
      val key = choices.oneOf(keys: _*)
      val targets = columnsOf(key.domain).filter { case (table, _) => !table.isFact }
      // Of a fact table only where the condition can be hashed.
      val (table, column) =
        if (targets.isEmpty || choices.chance(20)) choices.oneOf(columnsOf(key.domain): _*)
        else choices.oneOf(targets: _*)
      val inner = names.table(table)
      val other = Ref(s"${inner.alias}.${column.name}", column.kind, column.domain, column.numbers)
      Some(ofTable(key, inner, other, table.isFact))
    }
  }

  private def ofTable(key: Ref, inner: NamedTable, other: Ref, isFact: Boolean): String = {
    val refs = inner.from.refs
    def more = if (choices.chance(60)) s" AND ${condition(refs, mayNest = false, 1)}" else ""
    val from = s"FROM ${inner.from.sql} WHERE ${other.sql} = ${key.sql}"
    val value = choices.oneOf(refs.filterNot(_.kind.isNested): _*)
    choices.below(9) match {
      case 0 | 1 =>
        use("IN (subquery)")
        s"${key.sql} IN (SELECT ${other.sql} FROM ${inner.from.sql}${where(refs, mayNest = false)})"
      case 2 | 3 if !isFact =>
        use("NOT IN (subquery)")
        s"${key.sql} NOT IN (SELECT ${other.sql} FROM ${inner.from.sql}${where(refs, mayNest = false)})"
      case 4 =>
        use("EXISTS")
        s"EXISTS (SELECT 1 $from$more)"
      case 5 =>
        use("NOT EXISTS")
        s"NOT EXISTS (SELECT 1 $from$more)"
      case 6 =>
        use("correlated scalar subquery")
        val compared = s"${choices.oneOf(">", "=", "<=")} ${choices.below(3)}"
        s"(SELECT count(${value.sql}) $from$more) $compared"
      case _ =>
        use("scalar subquery")
        val what = choices.oneOf("min", "max")
        val operator = choices.oneOf("=", ">=", "<", "<=>")
        s"${key.sql} $operator (SELECT $what(${other.sql}) FROM ${inner.from.sql}" +
          s"${where(refs, mayNest = false)})"
    }
  }
}

/** A table under a name of its own within a query. */
final case class NamedTable(alias: String, from: From)

/** Gives tables in one query names that differ. */
final class Names {
  private var last = 0

  def next(): String = {
    last += 1
    s"t$last"
  }

  def table(table: StarTable): NamedTable = {
    val alias = next()
    val refs = table.all.flatMap { column =>
      Ref.all(s"$alias.${column.name}", column.kind, column.domain, column.numbers)
    }
    val unique = refs.find(ref => table.isFact && ref.domain.name == "row")
    NamedTable(alias, From(s"${table.name} AS $alias", refs, table.rows.toDouble, unique))
  }
}
