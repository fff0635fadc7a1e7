package io.oap.tpcds.result

import com.fasterxml.jackson.databind.annotation.JsonDeserialize

/**
 * Where a system stands in a [[Matrix]].
 *
 * @param pool capacity of all pools over the bytes that the queries need
 * @param load queries in flight over task slots, on average
 * @param size share of the queries that each tenant runs
 * @param busy share of its time in which a tenant has a query in flight; the rest it pauses
 * @param tenants that make the load between them
 */
final case class Cell(pool: Double, load: Double, size: Double, busy: Double, tenants: Int) {

  /** What each tenant runs: the same for all, so that one that takes longer was served worse. */
  def queriesOf(all: Seq[String]): Seq[String] =
    all.take(math.max(1, math.round(size * all.size).toInt))
}

/**
 * Systems measured under pressure: each in every combination of memory, load and kinds of tenants.
 *
 * @param kind `memory` or `load`, the name of it
 * @param pools each of them for [[Cell.pool]]; the next three likewise
 */
final case class Matrix(
    kind: String,
    @JsonDeserialize(contentAs = classOf[java.lang.Double]) pools: Seq[Double],
    @JsonDeserialize(contentAs = classOf[java.lang.Double]) loads: Seq[Double],
    @JsonDeserialize(contentAs = classOf[java.lang.Double]) sizes: Seq[Double],
    @JsonDeserialize(contentAs = classOf[java.lang.Double]) busy: Seq[Double]) {

  /** All cells, for so many task slots. */
  def cells(slots: Int): Seq[Cell] = for {
    pool <- pools
    size <- sizes
    share <- busy
    load <- loads
  } yield Cell(pool, load, size, share, math.max(1, math.round(load * slots / share).toInt))

  /**
   * Each system in each cell.
   *
   * @param needed bytes that the queries need
   * @param executors that divide a pool among them
   * @param representation how pools keep chunks, as they did when it was measured what is needed
   */
  def systems(
      measured: Seq[MeasuredSystem],
      needed: Long,
      executors: Int,
      slots: Int,
      representation: String): Seq[MeasuredSystem] = for {
    cell <- cells(slots)
    system <- measured
  } yield {
    val bytes = MeasuredSystem.fitting(needed, cell.pool / executors)
    val pool =
      if (system.kind == "oap")
        Map(
          MeasuredSystem.Representation -> representation,
          MeasuredSystem.PoolSize -> bytes.toString)
      else Map.empty[String, String]
    system.copy(
      name = s"${system.name} ${label(cell)}",
      settings = system.settings ++ pool,
      cell = Some(cell))
  }

  /** What tells a cell from the others. */
  private def label(cell: Cell): String = Seq(
    ("pool", pools, cell.pool),
    ("size", sizes, cell.size),
    ("busy", busy, cell.busy),
    ("load", loads, cell.load)).collect {
    case (what, all, value) if all.size > 1 || what == "load" => f"$what $value%.2f"
  }.mkString(", ")
}
