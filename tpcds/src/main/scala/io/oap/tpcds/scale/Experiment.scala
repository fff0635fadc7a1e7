package io.oap.tpcds.scale

import java.nio.file.Path
import java.util.concurrent.TimeUnit

import scala.collection.concurrent.TrieMap
import scala.util.Random

import org.apache.spark.sql.Row

import io.oap.tpcds.Progress
import io.oap.tpcds.result.{MeasuredSystem, Plan, Result, ResultFile}

/**
 * Carries out a plan: application after application, each system once in each repeat, in an order
 * that chance gave. What the result has already is not run again; warm-up rounds are.
 */
final class Experiment(request: RunRequest, progress: Progress) {
  private val plan = request.plan
  private val file = new ResultFile(Path.of(request.out))
  private val expected = TrieMap.empty[String, Seq[Row]]
  private val begun = System.nanoTime()
  private var ran = 0

  private def isLate: Boolean =
    request.minutes > 0 && System.nanoTime() - begun > TimeUnit.MINUTES.toNanos(request.minutes)

  /** @return what there is at the end, all of it or what the time allowed */
  def run(): Result = {
    var result = file.read(plan, request.revision).getOrElse(begin())
    result = result.copy(commands = (result.commands :+ request.command).distinct)
    for (repeat <- 1 to plan.repeats; system <- Experiment.order(plan, result.systems, repeat)) {
      val missing = (1 to plan.rounds).filterNot(Experiment.hasRun(result, system, repeat, _))
      if (missing.nonEmpty && !isLate) result = application(result, system, repeat, missing)
    }
    result
  }

  /** Rounds that are still to be run. */
  def missing(result: Result): Int =
    plan.repeats * plan.rounds * result.systems.size - result.rounds.count(_.number > 0)

  private def begin(): Result =
    if (plan.scenario.isEmpty && plan.matrix.isEmpty) begin(plan.systems, 0, plan.systems.head)
    else {
      val (needed, executors, slots) = if (plan.needed > 0) asSaid() else measured()
      progress.say(f"The queries need ${needed / 1e6}%.1f MB in the pools of $executors executors.")
      val systems = plan.matrix match {
        case Some(matrix) =>
          matrix.systems(plan.systems, needed, executors, slots, plan.representation)
        case None =>
          Scenario.named(plan.scenario).systems(needed, executors, plan.representation)
      }
      begin(systems, needed, systems.head)
    }

  /** Bytes that the queries need, executors and task slots. */
  private def asSaid(): (Long, Int, Int) = use(Experiment.Alone) { application =>
    (plan.needed, application.executors, application.slots)
  }

  private def measured(): (Long, Int, Int) = {
    val all = roomForAll()
    use(all) { application =>
      application.round(0, 0, show("measuring what the queries need", all, _))
      val needed = application.neededBytes
      if (needed == 0) throw new IllegalStateException("no pool held anything after all queries")
      (needed, application.executors, application.slots)
    }
  }

  private def roomForAll(): MeasuredSystem = {
    val files = use(Experiment.Alone)(_.fileBytes)
    // A chunk in its vector form may take more than in its file.
    val chunks = if (plan.representation == "vector") files / 2 * 3 else files
    val bytes = chunks + Experiment.LeastPool
    Experiment.Alone.copy(
      name = "room-for-all",
      kind = "oap",
      settings = Map(
        MeasuredSystem.PoolSize -> bytes.toString,
        MeasuredSystem.Representation -> plan.representation))
  }

  private def begin(
      systems: Seq[MeasuredSystem],
      needed: Long,
      first: MeasuredSystem): Result = use(first) { application =>
    val facts = application.circumstances(request.revision)
    val result = Result(plan, Nil, facts, needed, systems, Nil, Nil, Nil)
    file.write(result)
    result
  }

  private def use[T](system: MeasuredSystem)(body: SystemApplication => T): T = {
    val application = new SystemApplication(plan, system, expected, progress)
    try body(application)
    finally application.close()
  }

  private def application(
      before: Result,
      system: MeasuredSystem,
      repeat: Int,
      missing: Seq[Int]): Result = use(system) { application =>
    def rounds(): Result =
      ((1 - plan.warmUps to 0) ++ missing).foldLeft(before) { (result, number) =>
        if (isLate) result else round(application, result, system, repeat, number)
      }
    // What an earlier run of a continued repeat recorded stays.
    val from = if (missing.size < plan.rounds) s"-from-${missing.head}" else ""
    if (request.trace.isEmpty) rounds()
    else application.recording(Path.of(request.trace, s"${system.name}-$repeat$from.jfr"))(rounds())
  }

  private def round(
      application: SystemApplication,
      before: Result,
      system: MeasuredSystem,
      repeat: Int,
      number: Int): Result = {
    val what = if (number > 0) s"round $number of ${plan.rounds}" else s"warm-up ${1 - number}"
    val step = s"${system.name}, repeat $repeat of ${plan.repeats}, $what"
    val record = application.round(repeat, number, show(step, system, _))
    val result = before.copy(rounds = before.rounds :+ record).summedUp
    file.write(result)
    val said = if (record.counts || number <= 0) "" else ", FAILED"
    ran += 1
    progress.say(f"$step: ${record.seconds}%.2f s$said${left(result)}")
    result
  }

  /** How long the rest will take, when it goes on as until now. */
  private def left(result: Result): String = missing(result) match {
    case 0 => ""
    case rounds =>
      val all = rounds.toDouble * (plan.warmUps + plan.rounds) / plan.rounds
      val minutes = all * (System.nanoTime() - begun) / ran / TimeUnit.MINUTES.toNanos(1)
      f"; $rounds rounds left, about ${math.ceil(minutes)}%.0f min"
  }

  private def show(step: String, system: MeasuredSystem, done: Long): Unit = {
    val its = plan.of(system)
    val total = if (plan.deal) its.queries.size else its.queries.size * its.tenants
    synchronized(progress.show(step, done, total, "queries"))
  }
}

object Experiment {
  private val LeastPool = 64L << 20
  private val Alone = MeasuredSystem("alone", "spark", Map.empty, 1, "", 0, None)

  /** The systems of one repeat, in the order in which they run. */
  def order(plan: Plan, systems: Seq[MeasuredSystem], repeat: Int): Seq[MeasuredSystem] =
    new Random(Seq(plan.seed, repeat).hashCode).shuffle(systems)

  private def hasRun(
      result: Result,
      system: MeasuredSystem,
      repeat: Int,
      number: Int): Boolean =
    result.of(system).exists(round => round.repeat == repeat && round.number == number)
}
