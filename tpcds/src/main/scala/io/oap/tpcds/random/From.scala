package io.oap.tpcds.random

/**
 * A column that a query can name.
 *
 * @param sql how it does
 * @param numbers so many values of its kind occur
 */
final case class Ref(sql: String, kind: Kind, domain: Domain, numbers: Int) {

  /** Returns this reference such that equal values have equal bytes. */
  def normal: Ref =
    if (kind.normal(sql) == sql) this
    else Ref(kind.normal(sql), kind.normalKind, Domain.None, numbers)

  /** SQL of one of its values, or of one that does not occur. */
  def literal(choices: Choices): String = kind.value(s"${choices.below(numbers + 2)}L")
}

object Ref {

  /** The column, and the fields of a struct. */
  def all(sql: String, kind: Kind, domain: Domain, numbers: Int): Seq[Ref] =
    Ref(sql, kind, domain, numbers) +:
      kind.parts.map { case (part, of) => Ref(s"$sql.$part", of, Domain.None, numbers) }
}

/**
 * What stands behind FROM.
 *
 * @param rows about how many there are
 * @param unique a column that tells rows apart, where there is one
 */
final case class From(sql: String, refs: Seq[Ref], rows: Double, unique: Option[Ref] = None)

/**
 * A query without ORDER BY. Its columns are c0, c1 and so on.
 *
 * @param rows about how many there are
 */
final case class Block(sql: String, columns: Seq[Ref], rows: Double) {

  /** It as a table of that name in another query. */
  def as(alias: String): From = From(s"($sql) AS $alias", refs(alias), rows)

  def refs(alias: String): Seq[Ref] = columns.zipWithIndex.flatMap { case (column, i) =>
    Ref.all(s"$alias.c$i", column.kind, column.domain, column.numbers)
  }
}
