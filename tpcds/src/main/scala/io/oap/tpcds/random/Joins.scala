package io.oap.tpcds.random

/** Writes joins of every kind. */
final class Joins(choices: Choices, predicates: Predicates, use: String => Unit) {

  /** A join of two columns of one meaning, which gives about so many rows. */
  def keyed(left: From, right: From, pair: (Ref, Ref, Double)): From = {
    val (l, r, rows) = pair
    val equals = if (choices.chance(15)) "<=>" else "="
    if (equals == "<=>") use("null-safe join")
    val kind = choices.oneOf(Joins.Keyed: _*)
    val more =
      if (choices.chance(20))
        s" AND ${predicates.condition(left.refs ++ right.refs, mayNest = false, 1)}"
      else ""
    if (choices.chance(4)) lateral(left, right, l, r)
    else joined(left, right, kind, s" ON ${l.sql} $equals ${r.sql}$more", rows)
  }

  /** A join without an equality: of small tables. */
  def crossed(left: From, right: From): From = {
    val rows = left.rows * right.rows
    if (choices.chance(30)) joined(left, right, "CROSS", "", rows)
    else {
      use("join without an equality")
      val on = predicates.condition(left.refs ++ right.refs, mayNest = false, 1)
      joined(left, right, choices.oneOf(Joins.Keyed: _*), s" ON $on", rows)
    }
  }

  private def joined(left: From, right: From, kind: String, on: String, rows: Double): From = {
    use(s"$kind JOIN")
    // A join on the right side of another one stands in parentheses.
    val other = if (right.sql.contains(" JOIN ")) s"(${right.sql})" else right.sql
    val sql = s"${left.sql} $kind JOIN $other$on"
    kind match {
      case "LEFT SEMI" | "LEFT ANTI" => From(sql, left.refs, left.rows, left.unique)
      case _ => From(sql, left.refs ++ right.refs, math.max(rows, math.max(left.rows, right.rows)))
    }
  }

  private def lateral(left: From, right: From, l: Ref, r: Ref): From = {
    use("LATERAL")
    val value = choices.oneOf(right.refs.filterNot(_.kind.isNested): _*)
    val alias = s"l${choices.below(1000000)}"
    val inner = s"SELECT count(${value.sql}) AS n FROM ${right.sql} WHERE ${l.sql} = ${r.sql}"
    From(
      s"${left.sql} CROSS JOIN LATERAL ($inner) AS $alias",
      left.refs :+ Ref(s"$alias.n", Kinds.Long, Domain.None, 30),
      left.rows,
      left.unique)
  }
}

private object Joins {
  private val Keyed = Seq(
    "INNER",
    "INNER",
    "INNER",
    "LEFT OUTER",
    "LEFT OUTER",
    "RIGHT OUTER",
    "FULL OUTER",
    "LEFT SEMI",
    "LEFT ANTI")
}
