package io.oap.spark.filter

import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.unsafe.types.UTF8String

import io.oap.cache.vector.{KeySet, NativeBuffer, VectorChunk, ZoneDecision}
import io.oap.spark.filter.RowFilter._
import io.oap.spark.vector.{VectorType, ZoneCopy}

/** A condition of a query on one vector chunk, zone by zone. For one thread. */
private[spark] sealed trait ZoneFilter {

  /** What is known of a zone without touching its values. */
  def decide(zone: Int): ZoneDecision

  /**
   * Which rows of a zone meet the condition.
   *
   * @param rows address of the row numbers to look at, 0 for all of the zone; see [[VectorChunk]]
   * @param count how many they are
   * @param out address that those which meet it are written to; may be that of the rows
   * @return how many they are
   */
  def select(zone: Int, rows: Long, count: Int, out: Long): Int
}

/** A condition with its values as filters look them up. Any number of threads may use it. */
private[spark] final class PreparedFilter(val filter: RowFilter) extends AutoCloseable {

  /** The integers that are wanted. */
  val keys: Option[KeySet] = filter match {
    case OneOf(_, values) => Some(KeySet.of(values: _*))
    case _ => None
  }

  /** The strings or byte sequences that are wanted. */
  lazy val wantedBytes: Set[UTF8String] = valuesOfBytes.map(UTF8String.fromBytes(_)).toSet

  /** What they begin with, as ranges of unsigned numbers: one for each, or one for all of many. */
  lazy val prefixes: Seq[(Long, Long)] = {
    val all = valuesOfBytes.map(InDictionary.prefix).distinct
    if (all.length <= PreparedFilter.MostPrefixes) all.map(one => one -> one).toSeq
    else {
      val ascending = all.sortWith(java.lang.Long.compareUnsigned(_, _) < 0)
      Seq(ascending.head -> ascending.last)
    }
  }

  private def valuesOfBytes: Array[Array[Byte]] = filter match {
    case OneOfBytes(_, values) => values
    case _ => Array.empty
  }

  /** Bytes of the values in all their forms, about. */
  def memory: Long = filter.valueBytes + keys.fold(0L)(_.memory)

  override def close(): Unit = keys.foreach(_.close())
}

private[spark] object PreparedFilter {

  /** To ask a zone about each of more prefixes would cost more than to look at its rows. */
  private val MostPrefixes = 64
}

/**
 * A condition as one task uses it: judged by what it has let pass so far, so that the most
 * selective one goes first. To be closed by the task, before what was prepared for it.
 */
private[spark] final class TaskFilter(prepared: PreparedFilter) extends AutoCloseable {
  private def filter = prepared.filter
  private var rowsSeen = 1L
  private var rowsPassed = 1L
  private var decoded: Option[VectorChunk] = None

  def column: String = filter.column

  def isOnNulls: Boolean = filter.isOnNulls

  /** Whether it is that rows are not null, and no more. */
  def isOnNotNull: Boolean = filter.isInstanceOf[IsNotNull]

  /** The share of rows that met the condition so far. */
  def passRate: Double = rowsPassed.toDouble / rowsSeen

  def note(seen: Int, passed: Int): Unit = {
    rowsSeen += seen
    rowsPassed += passed
  }

  /** The condition on one chunk. */
  def on(chunk: VectorChunk): ZoneFilter = filter match {
    case _: OneOf => new InKeys(chunk, prepared.keys.get)
    case Between(_, low, high) => new InRange(chunk, low, high)
    case range: BetweenDoubles => new InDoubleRange(chunk, range)
    case _: OneOfBytes => new InDictionary(chunk, prepared)
    case IsNull(_) => new Nulls(chunk, wanted = true)
    case IsNotNull(_) => new Nulls(chunk, wanted = false)
  }

  /** The condition on rows of Spark's vectors; good until this is closed. */
  def onDecoded(form: VectorType, copy: ZoneCopy): DecodedValues = filter match {
    case _: OneOfBytes =>
      val wanted = prepared.wantedBytes
      def bytes(vector: ColumnVector, row: Int) =
        if (form.isString) vector.getUTF8String(row)
        else UTF8String.fromBytes(vector.getBinary(row))
      DecodedValues.oneByOne((vector, row) =>
        !vector.isNullAt(row) && wanted.contains(bytes(vector, row)))
    case IsNull(_) => DecodedValues.oneByOne(_.isNullAt(_))
    case IsNotNull(_) => DecodedValues.oneByOne(!_.isNullAt(_))
    case _ =>
      if (decoded.isEmpty) decoded = Some(VectorChunk.ofDecoded(form.kind))
      DecodedValues.ofZone(decoded.get, on(decoded.get), form, copy)
  }

  override def close(): Unit = decoded.foreach(_.close())
}

private final class InKeys(chunk: VectorChunk, keys: KeySet) extends ZoneFilter {
  override def decide(zone: Int): ZoneDecision = chunk.decideIn(zone, keys)

  override def select(zone: Int, rows: Long, count: Int, out: Long): Int =
    chunk.selectIn(zone, keys, rows, count, out)
}

private final class InRange(chunk: VectorChunk, low: Long, high: Long) extends ZoneFilter {
  override def decide(zone: Int): ZoneDecision = chunk.decideRange(zone, low, high)

  override def select(zone: Int, rows: Long, count: Int, out: Long): Int =
    chunk.selectRange(zone, low, high, rows, count, out)
}

private final class InDoubleRange(chunk: VectorChunk, range: BetweenDoubles) extends ZoneFilter {
  import range._

  override def decide(zone: Int): ZoneDecision =
    chunk.decideDoubles(zone, low, aboveLow, high, belowHigh)

  override def select(zone: Int, rows: Long, count: Int, out: Long): Int =
    chunk.selectDoubles(zone, low, aboveLow, high, belowHigh, rows, count, out)
}

private[spark] final class Nulls(chunk: VectorChunk, wanted: Boolean) extends ZoneFilter {
  override def decide(zone: Int): ZoneDecision = {
    val nulls = chunk.nulls(zone)
    if (nulls == (if (wanted) chunk.rows(zone) else 0)) ZoneDecision.ALL
    else if (nulls == (if (wanted) 0 else chunk.rows(zone))) ZoneDecision.NONE
    else ZoneDecision.SOME
  }

  override def select(zone: Int, rows: Long, count: Int, out: Long): Int =
    chunk.selectNull(zone, wanted, rows, count, out)
}

/**
 * Strings or byte sequences that are one of some: looked up once for each entry of the chunk's
 * dictionary. Zones without codes are told by their first 8 bytes only.
 */
private final class InDictionary(chunk: VectorChunk, prepared: PreparedFilter)
    extends ZoneFilter {
  private def wanted = prepared.wantedBytes

  /** A byte for each entry of the dictionary: whether it is wanted. */
  private lazy val matches: NativeBuffer = {
    val entries = chunk.dictionaryEntries
    val addresses = new NativeBuffer(entries * 8)
    val lengths = new NativeBuffer(entries * 4)
    chunk.dictionaryBytes(addresses.address, lengths.address)
    val found = new NativeBuffer(entries)
    for (i <- 0 until entries) {
      val entry = UTF8String.fromAddress(
        null,
        addresses.buffer.getLong(8 * i),
        lengths.buffer.getInt(4 * i))
      found.buffer.put(i, if (wanted.contains(entry)) 1: Byte else 0: Byte)
    }
    found
  }

  override def decide(zone: Int): ZoneDecision =
    if (isRuledOut(zone)) ZoneDecision.NONE
    else if (chunk.hasCodes(zone)) ZoneDecision.SOME
    else ZoneDecision.ALL

  override def select(zone: Int, rows: Long, count: Int, out: Long): Int =
    chunk.selectCodes(zone, matches.address, rows, count, out)

  private def isRuledOut(zone: Int): Boolean = prepared.prefixes.forall { case (low, high) =>
    chunk.decidePrefix(zone, low, high) == ZoneDecision.NONE
  }
}

private object InDictionary {

  /** The first 8 bytes, padded with zeros, as an unsigned big-endian number. */
  def prefix(value: Array[Byte]): Long =
    (0 until 8).foldLeft(0L) { (number, i) =>
      number << 8 | (if (i < value.length) value(i) & 0xffL else 0L)
    }
}
