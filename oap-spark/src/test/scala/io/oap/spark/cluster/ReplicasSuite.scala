package io.oap.spark.cluster

import scala.concurrent.duration._

import org.apache.spark.SparkConf
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.PoolShare
import io.oap.spark.directory.{Directory, DirectoryReports}
import io.oap.spark.placement.{Placement, PlacementRules, PlacementUnit}
import io.oap.spark.rpc.ResidencyDelta

/** What the driver has executors copy for a loss, and what plans see of it. */
final class ReplicasSuite extends AnyFunSuite with DirectoryReports {

  private def replicas(
      directory: Directory,
      executors: HotExecutors,
      nanoTime: () => Long = () => 0): Replicas =
    new Replicas(
      directory,
      PoolShare.parse("50%"),
      new HandOvers(executors),
      executors,
      _ => true,
      nanoTime)

  /** Executor 1 holds both row groups of file 7, 2 one of file 8; pools of the others are empty. */
  private def twoHolders(): (Directory, HotExecutors) = {
    val directory = withExecutors("1", "2", "3")
    report(directory, "1", 0, added(7, 0, 1, 3))
    report(directory, "2", 0, added(8, 4))
    report(directory, "3", 0)
    val executors = new HotExecutors
    executors.tells("1", 7L -> 0, 7L -> 1)
    executors.tells("2", 8L -> 1)
    executors.tells("3")
    (directory, executors)
  }

  /** Executors that hold something of the first row group of file 7, as a plan sees it. */
  private def holders(directory: Directory): Set[String] = {
    val scan = directory.scan(Seq("a", "B"), isCaseSensitive = false)
    scan.rowGroups(7).get.head.holdings.map(h => scan.executors(h.executor).id).toSet
  }

  test("without a share there is nothing that could ask executors") {
    assert(Replicas.share(new SparkConf(false)) === None)
    val some = new SparkConf(false).set("spark.oap.cache.replicas", "10%")
    assert(Replicas.share(some).map(_.text) === Some("10%"))
  }

  test("what one executor holds alone is copied to another, once") {
    val (directory, executors) = twoHolders()
    val replicas = this.replicas(directory, executors)
    assert(replicas.round() === 30)
    val deal = executors.dealt()
    assert(deal.keySet === Set((7L, 0), (7L, 1), (8L, 1)))
    assert(deal.values.forall { case (from, to) => from != to })
    assert(deal.map(_._2._1).toSet === Set("1", "2"))
    for (keeper <- Seq("1", "2", "3")) {
      val copies = deal.toSeq.collect { case ((file, rowGroup), (_, `keeper`)) =>
        added(file, (if (file == 8) Seq(4) else if (rowGroup == 0) Seq(0, 1) else Seq(3)): _*)
      }
      report(directory, keeper, 1, copies: _*)
    }
    assert(replicas.round() === 0 && executors.dealt().isEmpty)
  }

  test("what two hold already is not copied") {
    val (directory, executors) = twoHolders()
    report(directory, "3", 1, added(7, 0, 1, 3))
    assert(replicas(directory, executors).round() === 10)
    assert(executors.dealt().keySet === Set((8L, 1)))
  }

  test("plans see a copy only when the other one is gone, or has less of what they want") {
    val (directory, executors) = twoHolders()
    replicas(directory, executors).round()
    val (_, keeper) = executors.dealt()((7L, 0))
    report(directory, keeper, 1, added(7, 0, 1))
    assert(holders(directory) === Set("1"))
    report(directory, "1", 1, evicted(7, 1))
    assert(holders(directory) === Set("1", keeper))
    report(directory, "1", 2, added(7, 1))
    assert(holders(directory) === Set("1"))
    directory.executorLost("1")
    assert(holders(directory) === Set(keeper))
  }

  test("full pools do not give copies up, and no task is sent to them") {
    val (directory, executors) = twoHolders()
    replicas(directory, executors).round()
    val (_, keeper) = executors.dealt()((7L, 0))
    val full = ResidencyDelta(keeper, 1, 2, Seq(added(7, 0, 1)), 1000, 990)
    directory.accept(full)
    val scan = directory.scan(Seq("a", "B"), isCaseSensitive = false)
    val view = scan.rowGroups(7).get.head
    val pieces =
      Array(PlacementUnit(7, 0, view.wantedBytes, view.holdings, scan.home(7, 0), Array.empty))
    val placed = Placement.place(pieces, scan.executors, PlacementRules())
    assert(scan.executors(placed.executors(0)).id === "1" && placed.alternatives(0).isEmpty)
    assert(scan.uselessCopies(pieces, placed) === Map.empty)
  }

  test("executors that have one pool hold it alone, and keep no copy for each other") {
    val directory = withExecutors("1", "2", "3")
    Seq("1", "2").foreach(sharing(directory, _, "/p", added(7, 0, 1)))
    val executors = new HotExecutors
    Seq("1", "2").foreach(executors.tells(_, 7L -> 0))
    val replicas = this.replicas(directory, executors)
    replicas.round()
    assert(executors.dealt() === Map.empty, "3 has no pool yet")
    report(directory, "3", 0)
    replicas.round()
    assert(executors.dealt() === Map((7L, 0) -> ("1" -> "3")))
    assert(executors.times === 3, "one of those that have the pool is asked, and 3")
    report(directory, "3", 1, added(7, 0, 1))
    directory.executorLost("1")
    replicas.round()
    assert(executors.dealt() === Map.empty, "2 holds it, and 3 has the copy")
  }

  test("after a loss what was the copy is copied itself") {
    val (directory, executors) = twoHolders()
    val replicas = this.replicas(directory, executors)
    replicas.round()
    val (_, keeper) = executors.dealt()((7L, 0))
    report(directory, keeper, 1, added(7, 0, 1))
    executors.tells(keeper, 7L -> 0)
    executors.hottest -= "1"
    directory.executorLost("1")
    replicas.round()
    val last = (Set("2", "3") - keeper).head
    assert(executors.dealt()((7L, 0)) === ((keeper, last)))
    assert(holders(directory) === Set(keeper))
  }

  test("an executor that does not answer keeps the copies of what it told of before") {
    val (directory, executors) = twoHolders()
    val replicas = this.replicas(directory, executors)
    replicas.round()
    val (_, keeper) = executors.dealt()((7L, 0))
    report(directory, keeper, 1, added(7, 0, 1))
    executors.hottest -= "1"
    replicas.round()
    assert(holders(directory) === Set("1"))
  }

  test("rounds come seldom where there is nothing to copy, and soon when one has come or gone") {
    val (directory, executors) = twoHolders()
    for (one <- Seq("1", "2", "3")) executors.tells(one)
    @volatile var now = 0L
    val replicas = this.replicas(directory, executors, () => now)
    def roundsAfter(time: FiniteDuration): Int = {
      val before = executors.times
      now += time.toNanos
      work(replicas)
      executors.times - before
    }
    assert(roundsAfter(0.seconds) === 3)
    assert(roundsAfter(1.second) === 0)
    for (_ <- 1 to 10) roundsAfter(5.minutes)
    assert(roundsAfter(4.minutes) === 0 && roundsAfter(1.minute) === 3)
    directory.executorJoined("4", "host4", 4)
    assert(roundsAfter(10.seconds) === 0, "it has no pool yet")
    report(directory, "4", 0)
    executors.tells("4")
    assert(roundsAfter(1.second) === 0 && roundsAfter(10.seconds) === 4)
    for (_ <- 1 to 10) roundsAfter(5.minutes)
    directory.executorLost("4")
    assert(roundsAfter(1.second) === 0 && roundsAfter(1.minute) === 3)
  }

  /** Has a row group copied, and its holder lost; returns who keeps the copy. */
  private def loseHolder(
      directory: Directory,
      executors: HotExecutors,
      replicas: Replicas): String = {
    work(replicas)
    val (_, keeper) = executors.dealt()((7L, 0))
    report(directory, keeper, 1, added(7, 0, 1))
    directory.executorLost("1")
    keeper
  }

  test("what takes the place of a lost executor copies what others keep of it, and they keep it") {
    val (directory, executors) = twoHolders()
    @volatile var now = 0L
    val replicas = this.replicas(directory, executors, () => now)
    val keeper = loseHolder(directory, executors, replicas)
    work(replicas)
    now += 30.seconds.toNanos
    work(replicas)
    assert(executors.dealt().isEmpty, "who has copies is not chosen anew for some time")
    directory.executorJoined("4", "host4", 4)
    directory.executorJoined("5", "host5", 4)
    report(directory, "4", 0)
    work(replicas)
    assert(executors.dealt()((7L, 0)) === ((keeper, "4")))
    report(directory, "5", 0)
    work(replicas)
    assert(executors.dealt().isEmpty, "4 has taken its place")
    assert(holders(directory) === Set(keeper))
    report(directory, "4", 1, added(7, 0, 1))
    assert(holders(directory) === Set("4"), "plans do not see the copy again")
    executors.tells("4", 7L -> 0)
    now += 10.seconds.toNanos
    work(replicas)
    assert(holders(directory) === Set("4") && !executors.dealt().contains((7L, 0)))
  }

  test("copies are chosen anew when nothing has taken the place of a lost executor for a minute") {
    val (directory, executors) = twoHolders()
    @volatile var now = 0L
    val replicas = this.replicas(directory, executors, () => now)
    val keeper = loseHolder(directory, executors, replicas)
    executors.tells(keeper, 7L -> 0)
    work(replicas)
    assert(executors.dealt().isEmpty)
    now += 1.minute.toNanos
    work(replicas)
    assert(executors.dealt()((7L, 0)) === ((keeper, (Set("2", "3") - keeper).head)))
  }

  private def join(directory: Directory): Unit = directory.executorJoined("10", "a", 4)

  private def tell(directory: Directory): Unit =
    sharing(directory, "10", "/p", added(7, 0, 1)): Unit

  for ((what, before, change) <- Seq[(String, Directory => Unit, Directory => Unit)](
      ("one that comes first tells of it", join, tell),
      ("one joins and tells of it", _ => (), d => { join(d); tell(d) }),
      ("the first one dies", d => { join(d); tell(d) }, _.executorLost("10"))
    ))
    test(s"a shared pool is neither lost nor new when $what") {
      val directory = new Directory(limit, () => 0)
      Seq("2" -> "a", "3" -> "b").foreach(one => directory.executorJoined(one._1, one._2, 4))
      sharing(directory, "2", "/p", added(7, 0, 1))
      report(directory, "3", 0)
      before(directory)
      val executors = new HotExecutors
      Seq("2", "10").foreach(executors.tells(_, 7L -> 0))
      executors.tells("3")
      @volatile var now = 0L
      val replicas = this.replicas(directory, executors, () => now)
      work(replicas)
      assert(executors.dealt()((7L, 0))._2 === "3")
      report(directory, "3", 1, added(7, 0, 1))
      change(directory)
      now += 5.seconds.toNanos
      work(replicas)
      assert(executors.dealt() === Map.empty && executors.times === 2)
      val scan = directory.scan(Seq("a"), isCaseSensitive = false)
      assert(scan.home(7, 0) === -1 && scan.executors.forall(_.plannedBytes == 0))
      now += 5.seconds.toNanos
      work(replicas)
      assert(executors.dealt() === Map.empty && executors.times === 4, "the round is not put off")
    }

  /** Executors 3 and 4 have a pool, 2 its own on their host; 1 keeps the copies. */
  private def twoPoolsOfAHost(): (Directory, HotExecutors, Replicas) = {
    val directory = new Directory(limit, () => 0)
    for ((id, host) <- Seq("1" -> "b", "2" -> "a", "3" -> "a", "4" -> "a"))
      directory.executorJoined(id, host, 4)
    report(directory, "1", 0)
    report(directory, "2", 0, added(8, 0))
    Seq("3", "4").foreach(sharing(directory, _, "/p", added(7, 0, 1)))
    val executors = new HotExecutors
    executors.tells("1")
    executors.tells("2", 8L -> 0)
    executors.tells("3", 7L -> 0)
    val replicas = this.replicas(directory, executors)
    work(replicas)
    assert(executors.dealt() === Map((7L, 0) -> ("3" -> "1"), (8L, 0) -> ("2" -> "1")))
    report(directory, "1", 1, added(7, 0, 1), added(8, 0))
    (directory, executors, replicas)
  }

  /** An executor of another host opens its pool. */
  private def come(directory: Directory, id: String): Unit = {
    directory.executorJoined(id, "c", 4)
    report(directory, id, 0): Unit
  }

  test("a newcomer takes the place of what is lost, and not of who spoke for a shared pool") {
    val (directory, executors, replicas) = twoPoolsOfAHost()
    Seq("2", "3").foreach(directory.executorLost)
    come(directory, "5")
    work(replicas)
    assert(executors.dealt() === Map((8L, 0) -> ("1" -> "5")))
  }

  test("a shared pool that was without executors takes nobody's place") {
    val (directory, executors, replicas) = twoPoolsOfAHost()
    Seq("3", "4").foreach(directory.executorLost)
    work(replicas)
    directory.executorLost("2")
    directory.executorJoined("6", "a", 4)
    work(replicas)
    assert(executors.dealt() === Map.empty, "neither its own nor that of 2")
    come(directory, "7")
    work(replicas)
    assert(executors.dealt() === Map((8L, 0) -> ("1" -> "7")))
  }

  /** Has what is due done, and waits until it is. */
  private def work(replicas: Replicas): Unit = {
    replicas.check()
    eventually(timeout(10.seconds), interval(10.millis))(assert(!replicas.isAtWorkNow))
  }
}
