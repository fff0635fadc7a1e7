package io.oap.spark.cluster

import scala.collection.mutable.ArrayBuffer
import scala.concurrent.duration._

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.executor.{ExecutorRequest, HeldFile, ListChunks, Part}

/** Executors that are asked for parts of what they hold. */
class InPartsSuite extends AnyFunSuite {
  private val AtATime = 8

  private val taken = ArrayBuffer.empty[(String, String)]
  private var sent = 0

  private def fileOf(part: Part): HeldFile =
    HeldFile(part.toString, 0, 0, "", Array.empty, Array.empty, Array.empty, 0, 0)

  private def answer(executor: String, request: ExecutorRequest[_]): Answer[_] = request match {
    case ListChunks(Part(number, _)) if executor == "5" && number > 0 =>
      Answer(executor, None, Some("silent"))
    case ListChunks(part) => Answer(executor, Some(Seq(fileOf(part))))
    case other => fail(s"$other")
  }

  /** Executor 5 answers about its first part only; the others with what they are asked for. */
  private val inParts = new InParts(new InParts.Send {
    override def apply[A](
        requests: Seq[(String, ExecutorRequest[A])],
        time: FiniteDuration): Seq[Answer[A]] = {
      assert(requests.size <= AtATime)
      val answers = requests.map { case (executor, request) =>
        answer(executor, request).asInstanceOf[Answer[A]]
      }
      assert(sent === taken.size, "all before is passed on")
      sent += answers.count(_.value.isDefined)
      answers
    }
  })

  test("some are asked at a time, and each answer is passed on before the next are asked") {
    val counts = (1 to 20).map(i => Answer(i.toString, Some(if (i % 2 == 0) 2 else 3))) :+
      Answer[Int]("21", None, Some("no figures"))
    val answers = inParts.ask(counts, AtATime, 1.second)(ListChunks(_)) { (executor, files) =>
      taken ++= files.map(executor -> _.path)
    }
    assert(answers.flatMap(one => one.why.map(one.executor -> _)) ===
      Seq("5" -> "silent", "21" -> "no figures"))
    val expected = for {
      one <- counts
      count <- one.value.toSeq
      number <- 0 until count
      if one.executor != "5" || number == 0
    } yield one.executor -> Part(number, count).toString
    assert(taken.sorted === expected.sorted)
  }
}
