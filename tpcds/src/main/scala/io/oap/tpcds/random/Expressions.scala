package io.oap.tpcds.random

/** Writes what stands between SELECT and FROM: expressions, aggregates and window functions. */
final class Expressions(choices: Choices, use: String => Unit) {

  /** A column, or something made of one. */
  def any(refs: Seq[Ref], mayBeNested: Boolean): Ref = {
    val ref = choices.oneOf(refs.filter(r => mayBeNested || !r.kind.isNested): _*)
    if (choices.chance(60)) ref
    else if (choices.chance(15)) conditional(ref)
    else made(ref)
  }

  private def conditional(ref: Ref): Ref = {
    val sql =
      if (ref.kind.isNested) s"${ref.sql} IS NULL"
      else s"CASE WHEN ${ref.sql} = ${ref.literal(choices)} THEN true ELSE ${ref.sql} IS NULL END"
    of(sql, Kinds.Boolean, ref)
  }

  private def of(sql: String, kind: Kind, ref: Ref): Ref = Ref(sql, kind, Domain.None, ref.numbers)

  private def made(ref: Ref): Ref = {
    val r = ref.sql
    ref.kind.family match {
      case Family.Integral =>
        choices.below(20) match {
          case 0 => of(s"CAST($r + 1 AS BIGINT)", Kinds.Long, ref)
          case 1 => of(s"CAST(100 div $r AS BIGINT)", Kinds.Long, ref)
          case _ => of(s"CAST($r % 7 AS BIGINT)", Kinds.Long, ref)
        }
      case Family.Text =>
        choices.oneOf(
          of(s"upper($r)", Kinds.Text, ref),
          of(s"substr($r, 2, 3)", Kinds.Text, ref),
          of(s"concat($r, '|')", Kinds.Text, ref),
          of(s"length($r)", Kinds.Int, ref),
          of(s"coalesce($r, 'none')", Kinds.Text, ref)
        )
      case _: Family.Collated => of(s"length($r)", Kinds.Int, ref)
      case Family.Date =>
        choices.oneOf(
          of(s"year($r)", Kinds.Int, ref),
          of(s"date_add($r, 40)", Kinds.Date, ref),
          of(s"CAST($r AS STRING)", Kinds.Text, ref))
      case Family.Timestamp =>
        choices.oneOf(
          of(s"CAST($r AS DATE)", Kinds.Date, ref),
          of(s"hour($r)", Kinds.Int, ref),
          of(s"CAST($r AS STRING)", Kinds.Text, ref))
      case Family.Binary => of(s"hex($r)", Kinds.Text, ref)
      case _: Family.Decimal | Family.Interval => of(s"CAST($r AS STRING)", Kinds.Text, ref)
      case Family.Floating => of(s"isnan($r)", Kinds.Boolean, ref)
      case Family.Bool => of(s"coalesce($r, false)", Kinds.Boolean, ref)
      case Family.Nested => of(s"$r IS NOT NULL", Kinds.Boolean, ref)
    }
  }

  /** An aggregate that does not depend on the order of rows. */
  def aggregate(refs: Seq[Ref], predicates: Predicates): Ref = {
    val ref = choices.oneOf(refs.filterNot(_.kind.isNested): _*)
    val filter =
      if (choices.chance(12)) {
        use("aggregate with FILTER")
        s" FILTER (WHERE ${predicates.simple(choices.oneOf(refs: _*), refs)})"
      } else ""
    choices.below(8) match {
      case 0 => of(s"count(*)$filter", Kinds.Long, ref)
      case 1 => of(s"count(${ref.sql})$filter", Kinds.Long, ref)
      case 2 =>
        use("aggregate with DISTINCT")
        of(s"count(DISTINCT ${ref.sql})$filter", Kinds.Long, ref)
      case 3 | 4 => sum(ref, filter)
      case _ =>
        val normal = ref.normal
        of(s"${choices.oneOf("min", "max")}(${normal.sql})$filter", normal.kind, ref)
    }
  }

  private def sum(ref: Ref, filter: String): Ref = ref.kind.family match {
    case Family.Integral =>
      val distinct = choices.oneOf("", "DISTINCT ")
      of(s"sum(${distinct}CAST(${ref.sql} % 1000 AS BIGINT))$filter", Kinds.Long, ref)
    // Wider ones may overflow in one order of rows and not in another.
    case Family.Decimal(precision) if precision <= 20 =>
      of(s"CAST(${choices.oneOf("sum", "avg")}(${ref.sql})$filter AS STRING)", Kinds.Text, ref)
    case Family.Interval => of(s"CAST(sum(${ref.sql})$filter AS STRING)", Kinds.Text, ref)
    case Family.Bool => of(s"count_if(${ref.sql})$filter", Kinds.Long, ref)
    case _ => of(s"sum(length(string(${ref.normal.sql})))$filter", Kinds.Long, ref)
  }

  /** A window function of these rows that does not depend on the order of rows. */
  def window(from: From): Ref = {
    val flat = from.refs.filterNot(_.kind.isNested)
    val ref = choices.oneOf(flat: _*)
    val by = if (choices.chance(80)) s"PARTITION BY ${choices.oneOf(flat: _*).sql} " else ""
    val order = choices.oneOf(flat: _*).sql + choices.oneOf("", " DESC", " NULLS LAST")
    from.unique match {
      case Some(unique) if choices.chance(50) =>
        val over = s"OVER (${by}ORDER BY $order, ${unique.sql}"
        val value = ref.normal
        choices.oneOf(
          of(s"row_number() $over)", Kinds.Int, ref),
          of(s"lag(${value.sql}, 2) $over)", value.kind, ref),
          of(s"max(${value.sql}) $over ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)", value.kind, ref),
          of(s"ntile(5) $over)", Kinds.Int, ref)
        )
      case _ =>
        val over = s"OVER (${by}ORDER BY $order)"
        choices.oneOf(
          of(s"rank() $over", Kinds.Int, ref),
          of(s"dense_rank() $over", Kinds.Int, ref),
          of(s"count(${ref.sql}) $over", Kinds.Long, ref),
          of(s"min(${ref.normal.sql}) $over", ref.normal.kind, ref)
        )
    }
  }
}
