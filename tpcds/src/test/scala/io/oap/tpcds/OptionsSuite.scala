package io.oap.tpcds

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.Options.Command.{COMMITS, COMPARE, QUICKSTART}

/** What the command line means, and what it answers to mistakes. */
class OptionsSuite extends AnyFunSuite {
  private def parse(command: Options.Command, arguments: String*): Options =
    Options.parse(command, arguments.asJava)

  private def rejected(command: Options.Command, arguments: String*): String =
    intercept[Options.Rejected](parse(command, arguments: _*)).getMessage

  test("without options: the nine queries at scale 1 on local storage") {
    val options = parse(QUICKSTART)
    assert(options.scale == 1)
    assert(options.queries.asScala.mkString(" ") == "q19 q42 q43 q52 q55 q63 q68 q73 q98")
    assert(options.master == "local[*]")
    assert(options.storage == "local")
    assert(!options.partitioned)
  }

  test("compare without queries means all of them") {
    assert(parse(COMPARE).queries.isEmpty)
    assert(Queries.named(Nil).length == 103)
  }

  test("values stand after a space or an equals sign, and the last one counts") {
    val options = parse(
      QUICKSTART,
      "--scale",
      "3",
      "--scale=0.5",
      "--queries",
      "q52,q14a",
      "--partitioned",
      "--storage=hdd",
      "--master=local[3]",
      "--pool-size",
      "512m",
      "--iterations",
      "7",
      "--report=x.json",
      "--data",
      "some folder"
    )
    assert(options.scale == 0.5)
    assert(options.queries.asScala == Seq("q52", "q14a"))
    assert(options.partitioned)
    assert(options.storage == "hdd")
    assert(options.iterations == 7)
    assert(options.data == "some folder")
    assert(options.report == "x.json")
    assert(
      options.submitArguments.asScala ==
        Seq("--master", "local[3]", "--conf", "spark.oap.pool.size=512m"))
  }

  test("mistakes are answered in one line that names the option") {
    assert(rejected(QUICKSTART, "--scal", "1") == "unknown option --scal")
    assert(rejected(QUICKSTART, "q52") == "unknown option q52")
    assert(rejected(COMPARE, "--storage", "hdd") == "unknown option --storage")
    assert(rejected(QUICKSTART, "--scale") == "--scale needs a value")
    assert(rejected(QUICKSTART, "--scale", "--partitioned") == "--scale needs a value")
    assert(rejected(QUICKSTART, "--partitioned=yes") == "--partitioned takes no value")
    val wrong = Seq(
      "--scale=0",
      "--scale=NaN",
      "--scale=many",
      "--iterations=0",
      "--iterations=2.5",
      "--storage=tape",
      "--pool-size=0",
      "--pool-size=2q",
      "--queries=52",
      "--queries=q52,,q53",
      "--form=avro",
      "--data=hdfs://host/data"
    )
    for (argument <- wrong) {
      val message = rejected(QUICKSTART, argument)
      assert(message.startsWith(argument.takeWhile(_ != '=')) && !message.contains("\n"))
    }
  }

  test("forms and layouts") {
    assert(parse(QUICKSTART).form == "parquet")
    assert(parse(COMPARE, "--form", "delta-deletes").form == "delta-deletes")
    assert(parse(COMPARE).layouts.asScala == Seq("plain", "partitioned"))
    assert(parse(COMPARE, "--layouts=plain").layouts.asScala == Seq("plain"))
    assert(rejected(COMPARE, "--layouts=plain,") ==
      "--layouts wants some of plain,partitioned, not ''")
    for (command <- Options.Command.values(); form <- Seq("iceberg-vectors", "delta-deletes")) {
      assert(command.usage.contains(form))
    }
    val commits = parse(COMMITS, "--minutes", "7")
    assert((commits.form, commits.minutes, commits.every) == (("iceberg", 7, 3)))
    assert(rejected(COMMITS, "--every=0").startsWith("--every wants a whole number"))
  }

  test("the usage names every option that is understood") {
    for (command <- Options.Command.values(); name <- Seq("--scale", "--form", "--pool-size")) {
      assert(command.usage.contains(name))
    }
    assert("--[a-z-]+".r.findAllIn(QUICKSTART.usage).toSet.size == 11)
  }

  test("a query that TPC-DS does not have is rejected") {
    assert(intercept[Options.Rejected](Queries.named(Seq("q52", "q14"))).getMessage.contains("q14"))
  }
}
