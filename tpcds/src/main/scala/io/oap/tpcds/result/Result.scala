package io.oap.tpcds.result

import java.nio.file.{Files, Path, StandardCopyOption}

import com.fasterxml.jackson.annotation.JsonProperty

import io.oap.tpcds.{Circumstances, Json, Options}

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
    rounds: Seq[Round],
    times: Seq[Times],
    comparisons: Seq[Compared]) {

  /** What the scenarios have to reach, as far as this says something about it. */
  @JsonProperty(access = JsonProperty.Access.READ_ONLY)
  def bars: Seq[Judged] = Bars.judge(this)

  /** For the report, which says what has fewer. */
  @JsonProperty(access = JsonProperty.Access.READ_ONLY)
  def roundsForAClaim: Int = Bars.RoundsForAClaim

  def of(system: MeasuredSystem): Seq[Round] = rounds.filter(_.system == system.name)

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
