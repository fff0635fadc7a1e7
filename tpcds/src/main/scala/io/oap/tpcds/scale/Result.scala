package io.oap.tpcds.scale

import java.nio.file.{Files, Path, StandardCopyOption}

import io.oap.tpcds.{Circumstances, Json, Options, Statistics}

/**
 * One query of one tenant.
 *
 * @param begun seconds since the round began
 * @param seconds from the SQL text to the collected rows
 * @param fromPool bytes, as the scans' own metrics say; with the next four, 0 for Spark alone
 * @param difference how the rows differ from those that another system gave; empty when they do not
 * @param error why the query failed; empty when it did not
 */
final case class QueryTime(
    query: String,
    tenant: Int,
    begun: Double,
    seconds: Double,
    fromPool: Long,
    fromFile: Long,
    chunksHit: Long,
    chunksMissed: Long,
    chunksBypassed: Long,
    rows: Int,
    difference: String,
    error: String) {
  def ended: Double = begun + seconds
}

/** Bytes read since the round began, so many seconds after that. */
final case class Sample(second: Double, fromFile: Long, fromPool: Long)

/**
 * All queries of all tenants once.
 *
 * @param number from 1; of warm-up rounds 0 and below, the last one being 0
 * @param process when the process began that ran it: rounds of one process share its compiled code
 * @param seconds from the begin of the first query to the end of the last one; where tables are swept
 *     between the queries, what the queries took
 * @param fileBytes read from data files, as Spark or the file system counted them, sweeps included
 * @param heldBytes in all pools, or in the cached tables of `spark-cache`, at the end of the round
 * @param evictedBytes from all pools since they were opened, at the end of the round
 * @param pageCache `left alone`, `dropped` or, when it could not be, `not dropped`
 */
final case class RoundRecord(
    system: String,
    repeat: Int,
    number: Int,
    process: String,
    time: String,
    seconds: Double,
    fileBytes: Long,
    heldBytes: Long,
    evictedBytes: Long,
    pageCache: String,
    queries: Seq[QueryTime],
    sweeps: Seq[QueryTime],
    samples: Seq[Sample]) {

  def counts: Boolean = number > 0 && !(queries ++ sweeps).exists(_.error.nonEmpty)
  def fromPool: Long = queries.map(_.fromPool).sum

  /** Seconds that the queries of each tenant took; pauses between them do not count. */
  private def tenants: Iterable[Double] =
    queries.groupMapReduce(_.tenant)(_.seconds)(_ + _).values

  /** What the queries of the slowest tenant took over the mean of all tenants. */
  def slowestOverMean: Double = {
    val seconds = tenants
    if (seconds.isEmpty) 1 else seconds.max * seconds.size / seconds.sum
  }

  /**
   * Jain's index of fairness among the tenants' speeds: 1 when all are equal, 1 over their number
   * when one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
   */
  def jain: Double = {
    val speeds = tenants.map(1 / _)
    if (speeds.isEmpty) 1
    else speeds.sum * speeds.sum / (speeds.size * speeds.map(speed => speed * speed).sum)
  }
}

/**
 * Two systems compared by the times of all rounds that count.
 *
 * @param what `round`, or a query
 */
final case class Compared(what: String, base: String, other: String, times: Comparison)

/**
 * The times of one system, of all rounds that count.
 *
 * @param what `round`, or a query
 * @param mean geometric, in seconds
 * @param low lower end of its 95 % confidence interval
 */
final case class Times(
    what: String,
    system: String,
    runs: Int,
    median: Double,
    mean: Double,
    low: Double,
    high: Double)

/**
 * All that is known of a plan so far.
 *
 * @param commands with which it was run
 * @param neededBytes what pools that hold everything hold after all queries; 0 when not measured
 */
final case class Result(
    plan: Plan,
    commands: Seq[String],
    circumstances: Circumstances,
    neededBytes: Long,
    systems: Seq[MeasuredSystem],
    rounds: Seq[RoundRecord],
    times: Seq[Times],
    comparisons: Seq[Compared]) {

  def of(system: MeasuredSystem): Seq[RoundRecord] = rounds.filter(_.system == system.name)

  /**
   * With times and comparisons of the rounds that are there. Compared are systems of one cell of a
   * matrix, and all where there is none.
   */
  def summedUp: Result = {
    val all = systems.map(system => system.name -> secondsOf(system)).toMap
    val whats = "round" +: plan.queries
    val times = for {
      system <- systems
      what <- whats
      seconds <- all(system.name).get(what)
    } yield Comparison.times(what, system.name, seconds)
    val pairs = for {
      (other, i) <- systems.zipWithIndex
      base <- systems.take(i) if base.cell == other.cell
      what <- whats
      ofBase <- all(base.name).get(what)
      ofOther <- all(other.name).get(what)
    } yield Compared(what, base.name, other.name, Comparison.of(ofBase, ofOther))
    copy(times = times, comparisons = pairs)
  }

  /**
   * One time of each round: a query that several tenants ran in it has their geometric mean, because
   * what one of them took says what the others did.
   */
  private def secondsOf(system: MeasuredSystem): Map[String, Seq[Double]] = {
    val counting = of(system).filter(_.counts)
    val rounds = if (counting.isEmpty) Nil else Seq("round" -> counting.map(_.seconds))
    val queries = counting.flatMap { round =>
      val byQuery = round.queries.groupMap(_.query)(_.seconds)
      byQuery.map { case (query, seconds) => query -> Statistics.geometricMean(seconds) }
    }
    queries.groupMap(_._1)(_._2) ++ rounds
  }
}

/** The file in which a result grows, round by round. */
final class ResultFile(path: Path) {

  /**
   * What is there already of a plan.
   *
   * @throws io.oap.tpcds.Options.Rejected when the file holds the result of another plan, or of
   *     other sources: times of two versions would be taken for those of one
   */
  def read(plan: Plan, revision: String): Option[Result] = Option.when(Files.exists(path)) {
    val found =
      try Json.read(Files.readString(path), classOf[Result])
      catch {
        case e: com.fasterxml.jackson.core.JacksonException =>
          throw new Options.Rejected(
            s"$path holds no result of this version: ${e.getOriginalMessage}")
      }
    if (found.plan != plan) {
      throw new Options.Rejected(s"$path is the result of other options; --out names another file")
    }
    val measured = found.circumstances.options.getOrElse("revision", "unknown")
    if (measured != revision) {
      throw new Options.Rejected(
        s"$path was measured with revision $measured, this is $revision; --out names another file")
    }
    found
  }

  /** Puts a result in the place of the former one, so that there is always a whole one. */
  def write(result: Result): Unit = {
    val beside = path.resolveSibling(s"${path.getFileName}.unfinished")
    Files.createDirectories(path.toAbsolutePath.getParent)
    Files.writeString(beside, Json.write(result))
    Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE)
  }
}
