package io.oap.tpcds.result

/** What dev/tpcds pairs measured, as a page of Markdown. */
final class PairsTable(result: Result) {
  private val pairs = new Pairs(result)
  private val others = pairs.others.map(_.name)

  def markdown: String = {
    val parts = Seq(
      s"# ${pairs.base} and OAP in turn: scale ${number(result.plan.scale)}, ${pairs.layout}",
      s"    ${result.commands.mkString("\n    ")}",
      how,
      table(header, pairs.queries.map(line) :+ means),
      bars,
      otherPlans
    )
    parts.filter(_.nonEmpty).mkString("", "\n\n", "\n")
  }

  private def how: String = {
    val plan = result.plan
    val facts = result.circumstances
    def option(name: String): String = facts.options.getOrElse(name, "unknown").toString
    val settings = for (system <- plan.systems if system.settings.nonEmpty)
      yield s" ${system.name} has ${system.settings.map { case (k, v) => s"$k=$v" }.mkString(", ")}."
    s"One application on ${facts.machine.getOrElse("taskSlots", "?")} task slots, ${facts.time}, " +
      s"revision ${option("revision")}. Rounds of each query: ${plan.rounds} after " +
      s"${plan.warmUps} to warm up, systems in turn, order swapped. Load of the machine " +
      s"${option("loadBefore")} before and ${option("loadAfter")} after." + settings.mkString +
      " Ratios are of medians, in parentheses the least and the greatest of pairs of one round; " +
      "*first* is of the first runs."
  }

  private def header: Seq[String] =
    Seq("query", s"${pairs.base}, s") ++
      others.map(name => s"${pairs.base} / $name") ++ others.map(name => s"first, $name")

  private def line(query: String): Seq[String] = {
    val warm = others.map { other =>
      pairs.warm(query, other).fold("") { ratio =>
        val each = pairs.ofRounds(query, other)
        f"$ratio%.2f (${each.min}%.2f to ${each.max}%.2f)"
      }
    }
    Seq(query, pairs.median(query, pairs.base).fold("")(s => f"$s%.3f")) ++ warm ++
      others.map(other => text(pairs.first(query, other)))
  }

  private def means: Seq[String] =
    Seq("geometric mean", "") ++ others.map(other => text(pairs.mean(pairs.warm(_, other)))) ++
      others.map(other => text(pairs.mean(pairs.first(_, other))))

  private def bars: String = {
    val judged = result.bars
    if (judged.isEmpty) ""
    else table(
      Seq("bar", "", "measured", "verdict"),
      judged.map(bar => Seq(bar.what, bar.bar, bar.measured, bar.verdict)))
  }

  private def otherPlans: String = {
    val lines = for {
      query <- pairs.queries
      other <- others
      steps = pairs.otherSteps(query, other) if steps.nonEmpty
    } yield Seq(query, other, steps)
    if (lines.isEmpty) "" else table(Seq("other plan", "", s"steps beside ${pairs.base}"), lines)
  }

  private def text(ratio: Option[Double]): String = ratio.fold("")(value => f"$value%.2f")

  private def number(value: Double): String =
    BigDecimal(value).bigDecimal.stripTrailingZeros.toPlainString

  private def table(header: Seq[String], lines: Seq[Seq[String]]): String = {
    val all = header +: Seq.fill(header.size)("---") +: lines
    all.map(cells => s"| ${cells.mkString(" | ")} |").mkString("\n")
  }
}
