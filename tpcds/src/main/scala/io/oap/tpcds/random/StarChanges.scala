package io.oap.tpcds.random

/**
 * A star's tables as commits change them. Some commits run twice: alone and, after the table has been
 * given its former version back, with the cache, which must leave the same rows.
 *
 * @param say is told each statement that has changed something
 */
private final class StarChanges(star: Star, tally: Tally, say: String => Unit) {
  private val commits = new Commits(star)
  private val choices = new Choices(star.seed * 104729 + 3)
  private var current = Map.empty[String, String]

  def tables: Seq[StarTable] = commits.tables

  /** The version that each table has. */
  def versions: Map[String, String] = current

  def begin(worker: Worker): Unit = {
    worker.use(star)
    tables.foreach(table => note(worker, table.name))
  }

  /** Changes a table; gives its name and what differs when the cache changes it to something else. */
  def commit(worker: Worker): Option[(String, String)] = {
    val commit = commits.next()
    worker.forCommits(SessionSettings.of(choices) ++ star.form.settings(choices))
    tally.commit(commit.kind)
    change(worker, commit, isAlone = true)
    val isTwice = commit.isOne && choices.chance(StarChanges.TwicePercent)
    val difference = if (isTwice) again(worker, commit) else None
    note(worker, commit.table)
    difference.map(commit.table -> _)
  }

  private def again(worker: Worker, commit: Commit): Option[String] = {
    val expected = rows(worker, commit.table)
    val restored = star.form.restored(star.database, commit.table, current(commit.table))
    change(worker, commit.copy(statements = Seq(restored)), isAlone = true)
    change(worker, commit, isAlone = false)
    Outcome.difference(expected, rows(worker, commit.table))
      .map(what => s"after ${commit.statements.last}, with the cache: $what")
  }

  private def rows(worker: Worker, table: String): Outcome =
    worker.rows(s"SELECT * FROM $table")

  private def change(worker: Worker, commit: Commit, isAlone: Boolean): Unit =
    commit.statements.foreach { statement =>
      say(s"SET spark.oap.cache.enabled=${!isAlone}")
      say(statement)
      worker.commit(statement, isAlone)
    }

  private def note(worker: Worker, table: String): Unit =
    current += table -> worker.values(star.form.version(star.database, table)).head
}

private object StarChanges {
  private val TwicePercent = 30
}
