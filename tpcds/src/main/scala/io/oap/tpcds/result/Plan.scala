package io.oap.tpcds.result

/**
 * A system that is measured: a Spark application of its own, with executors and a pool of its own.
 *
 * @param name in tables and results
 * @param kind `spark`: Spark alone; `oap`: with the extension; `spark-cache`: Spark alone after
 *     CACHE TABLE of all tables that the queries read
 * @param settings of Spark and of OAP, beside what was submitted
 * @param slowdown 1, or by how much each query is made longer: a known effect to test this tool with
 * @param medium empty, or the [[io.oap.tpcds.storage.ModelledMedium]] on which the pool is thought
 *     to lie
 * @param tenants 0, or how many run queries at the same time here in place of the plan's number
 * @param cell its place in a [[Matrix]], where it belongs to one
 */
final case class MeasuredSystem(
    name: String,
    kind: String,
    settings: Map[String, String],
    slowdown: Double,
    medium: String,
    tenants: Int,
    cell: Option[Cell]) {

  /** Whether it is OAP as it comes. */
  def isOapByDefault: Boolean = kind == "oap" && settings.isEmpty
}

object MeasuredSystem {
  val PoolSize = "spark.oap.pool.size"
  val Representation = "spark.oap.cache.representation"
  private val PoolUnit = 64L << 10

  /** So many bytes for a pool, and no more than its unit above. */
  def fitting(needed: Long, share: Double): Long =
    math.ceil(needed * share / PoolUnit).toLong * PoolUnit
}

/**
 * A scan of all columns of a table, which a pool is not to be swept by.
 *
 * @param every so many queries of a round comes one
 */
final case class Sweep(table: String, every: Int)

/**
 * What is to be measured: all that two runs must have in common for their rounds to go into one
 * result.
 *
 * @param scenario empty, or the name of a [[io.oap.tpcds.scale.Scenario]], which then says the systems,
 *     or [[Pairs.Scenario]]
 * @param storage name of a [[io.oap.tpcds.storage.StorageClass]], or `device:` and the bytes per
 *     second that the kernel lets this process read
 * @param systems in the order of the tables; the first one is what the others are compared with
 * @param state `cold`: pool and page cache emptied before each round; `warm`: they are left alone;
 *     `in turn`: systems take turns in one application, and each says how it finds the pool
 * @param warmUps rounds at the begin of each application that are recorded, but do not count
 * @param rounds rounds of each application that count
 * @param repeats applications of each system
 * @param tenants how many run queries at the same time, each in a FAIR pool of its own
 * @param deal whether the queries of a round are dealt out to the tenants; else each runs them all
 * @param form how tables are kept, a word of [[io.oap.tpcds.lake.TableForm]]
 * @param sweep a table that is read between the queries; its time is no part of theirs
 * @param needed bytes that the queries need, where they are known; 0: a scenario and a matrix measure
 *     them, in a pool that holds all
 * @param representation how the pools of a scenario and of a matrix keep chunks, a value of
 *     spark.oap.cache.representation; empty where each system says it
 * @param matrix in all cells of which the systems are measured; then tenants and pools are its own
 * @param seed of the order of systems and of queries
 */
final case class Plan(
    scenario: String,
    data: String,
    scale: Double,
    queries: Seq[String],
    partitioned: Boolean,
    form: String,
    storage: String,
    systems: Seq[MeasuredSystem],
    state: String,
    warmUps: Int,
    rounds: Int,
    repeats: Int,
    tenants: Int,
    deal: Boolean,
    sweep: Option[Sweep],
    needed: Long,
    representation: String,
    matrix: Option[Matrix],
    seed: Long) {

  def isCold: Boolean = state == "cold"

  /** Whether the kernel limits reads of the device that holds the data. */
  def limitsDevice: Boolean = storage.startsWith("device:")

  /** As one of its systems carries it out. */
  def of(system: MeasuredSystem): Plan = system.cell match {
    case Some(cell) => copy(tenants = cell.tenants, queries = cell.queriesOf(queries))
    case None if system.tenants > 0 => copy(tenants = system.tenants)
    case None => this
  }
}
