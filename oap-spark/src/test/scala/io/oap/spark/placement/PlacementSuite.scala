package io.oap.spark.placement

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Where single pieces go, and why. */
final class PlacementSuite extends AnyFunSuite {
  private val MB = 1L << 20
  private val seed: Long = java.lang.Long.getLong("oap.seed", 1)

  private def executors(count: Int): Array[LiveExecutor] =
    Array.tabulate(count)(e => LiveExecutor(e.toString, s"host$e", 4, 10000 * MB, 5000 * MB))

  private def piece(
      file: Long,
      wanted: Long = 8 * MB,
      home: Int = -1,
      hosts: Seq[String] = Nil,
      holdings: Seq[Holding] = Nil): PlacementUnit =
    PlacementUnit(file, 4, wanted, holdings.toArray, home, hosts.toArray)

  private def place(
      executors: Array[LiveExecutor],
      rules: PlacementRules,
      pieces: PlacementUnit*): Seq[(Int, Boolean)] = {
    val placed = Placement.place(pieces.toArray, executors, rules)
    placed.executors.toSeq.zip(placed.isGuest)
  }

  private def alternatives(
      executors: Array[LiveExecutor],
      rules: PlacementRules,
      pieces: PlacementUnit*): Seq[Seq[Int]] =
    Placement.place(pieces.toArray, executors, rules).alternatives.toSeq

  private def executorOf(executors: Array[LiveExecutor], piece: PlacementUnit): Int =
    place(executors, PlacementRules(), piece).head._1

  /** A file whose piece, being cold, does not go to that executor. */
  private def notOf(executor: Int, of: Array[LiveExecutor]): Long =
    Iterator.from(1).map(_.toLong).find(f => executorOf(of, piece(f)) != executor).get

  test("a piece goes to the executor that holds most of its wanted bytes") {
    val holdings = Seq(Holding(0, 2 * MB, 9 * MB), Holding(2, 6 * MB, 6 * MB))
    for (home <- -1 to 2)
      assert(executorOf(executors(3), piece(1, holdings = holdings, home = home)) == 2)
  }

  test("of those that hold about as much, to the one that holds most of all columns") {
    val holdings = Seq(Holding(0, 4 * MB, 9 * MB), Holding(2, 6 * MB, 6 * MB))
    assert(executorOf(executors(3), piece(1, holdings = holdings)) == 0)
    val equal = Seq(Holding(0, 6 * MB, 6 * MB), Holding(2, 6 * MB, 6 * MB))
    assert(executorOf(executors(3), piece(1, holdings = equal, home = 2)) == 2)
    assert(Set(0, 2)(executorOf(executors(3), piece(1, holdings = equal, home = 1))))
  }

  test("a home that turns out to have no pool is none, also where the others are full") {
    val full = executors(3).map(_.copy(usedBytes = 10000 * MB))
    val withoutPool = full.updated(1, full(1).copy(capacityBytes = 0, usedBytes = 0))
    assert(executorOf(full, piece(1, home = 1)) == 1)
    assert(Set(0, 2)(executorOf(withoutPool, piece(1, home = 1))))
  }

  test("what several hold is divided among them, and any of three may read it") {
    def copies(of: Int*) = of.map(Holding(_, 8 * MB, 8 * MB))
    val everywhere = Seq.tabulate(400)(n => piece(n, holdings = copies(0, 1, 2, 3)))
    assert(shares(executors(4), everywhere).forall(n => n >= 80 && n <= 120))
    def pairs(executors: Array[LiveExecutor], pieces: Seq[PlacementUnit]): Seq[(Int, Seq[Int])] =
      place(executors, PlacementRules(), pieces: _*).map(_._1)
        .zip(alternatives(executors, PlacementRules(), pieces: _*))
    assert(pairs(
      executors(4),
      everywhere).toSet == Set(0 -> Seq(1, 2), 1 -> Seq(2, 3), 2 -> Seq(3, 0), 3 -> Seq(0, 1)))
    val excluded =
      executors(4).map(e => if (e.id == "2") e.copy(waitSeconds = Double.PositiveInfinity) else e)
    assert(pairs(excluded, everywhere).toSet == Set(0 -> Seq(1, 3), 1 -> Seq(3, 0), 3 -> Seq(0, 1)))
    val two = piece(1, home = 3, holdings = copies(1, 3))
    val parts = piece(2, home = 1, holdings = copies(1) :+ Holding(2, 7 * MB, 7 * MB))
    val nothing = piece(3, home = 0, holdings = Seq(Holding(1, 0, 9 * MB), Holding(2, 0, 9 * MB)))
    assert(pairs(executors(4), Seq(two, parts, nothing)) == Seq(3 -> Seq(1), 1 -> Nil, 0 -> Nil))
    val hashOnly = PlacementRules(usesResidency = false)
    assert(alternatives(executors(4), hashOnly, everywhere: _*).forall(_.isEmpty))
  }

  test("an executor that joined late may read what others hold, as far as that is sooner done") {
    val three = executors(3).map(_.copy(cores = 1, usedBytes = 3000 * MB))
    val late = LiveExecutor("3", "host3", 1, 10000 * MB, 0, isLate = true)
    val warm = Seq.tabulate(60)(n => piece(n, holdings = Seq(Holding(n % 3, 8 * MB, 8 * MB))))
    def sharedWith(
        newcomer: LiveExecutor,
        others: Array[LiveExecutor] = three,
        rules: PlacementRules = PlacementRules(),
        pieces: Seq[PlacementUnit] = warm): Seq[Int] = {
      val all = others :+ newcomer
      assert(place(all, rules, pieces: _*).map(_._1).forall(_ < 3))
      val shared = alternatives(all, rules, pieces: _*)
      assert(shared.flatten.forall(_ == 3))
      pieces.indices.filter(shared(_).nonEmpty)
    }
    // Work of 52 ms with the chunk, of 94 ms without: 9 or 10 pieces there, 17 with each other.
    val shared = sharedWith(late)
    assert(shared.size >= 8 && shared.size <= 11, shared)
    assert((0 to 2).forall(e => shared.count(_ % 3 == e) >= 2), shared)
    // What it has read meanwhile, it reads again, and more.
    val copy = Holding(3, 8 * MB, 8 * MB)
    val again = warm.zipWithIndex.map { case (p, n) =>
      if (shared.contains(n)) p.copy(home = n % 3, holdings = p.holdings :+ copy) else p
    }
    val more = sharedWith(late.copy(usedBytes = 500 * MB), pieces = again)
    assert(shared.forall(more.contains) && more.size > shared.size, more)
    assert(sharedWith(late.copy(isLate = false)).isEmpty)
    assert(sharedWith(late.copy(waitSeconds = 0.1)).isEmpty)
    assert(sharedWith(late.copy(usedBytes = 4000 * MB)).isEmpty)
    assert(sharedWith(late, three.map(_.copy(usedBytes = 8000 * MB))).isEmpty)
    assert(sharedWith(late, rules = PlacementRules(loadBytesPerSecond = 4e6)).isEmpty)
    assert(sharedWith(late, pieces = warm.take(3)).isEmpty)
    assert(alternatives(
      three :+ late,
      PlacementRules(usesResidency = false),
      warm: _*).forall(_.isEmpty))
    // Two get as much as each other; some of it is moved there, because three have too much then.
    val five = three :+ late :+ late.copy(id = "4")
    val got = place(five, PlacementRules(), warm: _*).map(_._1) ++
      alternatives(five, PlacementRules(), warm: _*).flatten
    assert(Seq(3, 4).map(e => got.count(_ == e)).forall(n => n >= 6 && n <= 9), got)
  }

  test("what nobody holds goes to its home, then to where other columns are held") {
    val file = notOf(1, executors(3))
    assert(executorOf(executors(3), piece(file, home = 1)) == 1)
    val others = Seq(Holding(1, 0, 9 * MB))
    assert(executorOf(executors(3), piece(file, holdings = others)) == 1)
    val third = (0 to 2).find(e => e != 1 && executorOf(executors(3), piece(file)) != e).get
    assert(executorOf(executors(3), piece(file, holdings = others, home = third)) == third)
  }

  test("a piece is shared when it may have to wait for longer than it takes to load it") {
    def withWait(seconds: Double) =
      executors(3).map(e => if (e.id == "1") e.copy(waitSeconds = seconds) else e)
    val warm = piece(1, wanted = 100000000, holdings = Seq(Holding(1, 100000000, 100000000)))
    def shared(seconds: Double, rules: PlacementRules = PlacementRules()): Option[Int] = {
      assert(place(withWait(seconds), rules, warm) == Seq((1, false)))
      alternatives(withWait(seconds), rules, warm).flatten.headOption
    }
    // Loading takes half a second, or one; the work a second.
    val slow = PlacementRules(loadBytesPerSecond = 100e6)
    assert(shared(1.49).isEmpty && shared(1.54).exists(_ != 1))
    assert(shared(1.99, slow).isEmpty && shared(2.04, slow).exists(_ != 1))
    val excluded = place(withWait(Double.PositiveInfinity), PlacementRules(), warm).head
    assert(excluded._1 != 1 && excluded._1 >= 0 && !excluded._2)
    val home = piece(notOf(1, executors(3)), home = 1)
    assert(executorOf(executors(3), home) == 1 && executorOf(withWait(0.2), home) == 1)
    assert(alternatives(withWait(0.2), PlacementRules(), home).flatten.exists(_ != 1))
  }

  test("of a busy executor's pieces as many are shared as others could do while it is busy") {
    def sharedOnes(seconds: Double, count: Int): Int = {
      val busy = executors(3).map(e => if (e.id == "1") e.copy(waitSeconds = seconds) else e)
      val held = Seq.tabulate(count)(n => piece(n, holdings = Seq(Holding(n % 3, 8 * MB, 8 * MB))))
      assert(place(busy, PlacementRules(), held: _*) == Seq.tabulate(count)(n => (n % 3, false)))
      val shared = alternatives(busy, PlacementRules(), held: _*)
      assert(shared.indices.forall(n => if (n % 3 == 1) shared(n) != Seq(1) else shared(n).isEmpty))
      val ones = shared.flatten
      assert(math.abs(ones.count(_ == 0) - ones.count(_ == 2)) <= 1)
      ones.size
    }
    assert(sharedOnes(0.2, 300) == 0)
    assert(sharedOnes(0.2, 3) == 1)
    assert(sharedOnes(60, 300) == 100)
    val (some, more) = (sharedOnes(1.5, 300), sharedOnes(2.2, 300))
    assert(0 < some && some < more && more < 100)
  }

  test("without executors, hash or pools there is no preference") {
    val warm = piece(2, holdings = Seq(Holding(1, MB, MB)))
    assert(place(Array.empty, PlacementRules(), piece(1)) == Seq((-1, false)))
    val residencyOnly = PlacementRules(usesHash = false)
    assert(place(executors(2), residencyOnly, piece(1), warm) == Seq((-1, false), (1, false)))
    val withoutPool = executors(2).map(_.copy(capacityBytes = 0, usedBytes = 0))
    assert(place(withoutPool, PlacementRules(), piece(1)) == Seq((-1, false)))
    val off = executors(2).map(_.copy(waitSeconds = Double.PositiveInfinity))
    assert(place(off, PlacementRules(), piece(1)) == Seq((-1, false)))
  }

  test("executors that have not reported yet get their share") {
    val unknown = executors(4).map(_.copy(capacityBytes = -1, usedBytes = 0))
    assert(shares(unknown, pieces(400)).forall(n => n >= 85 && n <= 115))
    val one = executors(4).updated(2, unknown(2))
    assert(shares(one, pieces(400))(2) >= 85)
  }

  private def pieces(count: Int): Seq[PlacementUnit] = {
    val random = new Random(seed)
    Seq.fill(count)(piece(random.nextLong()))
  }

  private def shares(executors: Array[LiveExecutor], pieces: Seq[PlacementUnit]): Seq[Int] = {
    val places = place(executors, PlacementRules(), pieces: _*).map(_._1)
    executors.indices.map(e => places.count(_ == e))
  }

  test("cold pieces are shared out by capacity, as far as the work allows") {
    withClue(s"seed $seed") {
      assert(shares(executors(4), pieces(400)).forall(n => n >= 85 && n <= 111))
      val large = executors(4).map(_.copy(usedBytes = 0))
      val small = large.updated(0, large(0).copy(capacityBytes = 5000 * MB))
      val shared = shares(small, pieces(400))
      assert(shared.head >= 45 && shared.head <= 85 && shared.tail.forall(_ <= 118))
    }
  }

  test("an executor with room takes what others would have to make room for") {
    val full = executors(3).map(_.copy(usedBytes = 10000 * MB))
    val joined = full.updated(1, full(1).copy(usedBytes = 0))
    assert(place(joined, PlacementRules(), pieces(12): _*).forall(_ == ((1, false))))
    // What it holds keeps the others at work, but does not move.
    val warm = Seq.tabulate(40)(n => piece(n, holdings = Seq(Holding(2 * (n % 2), 8 * MB, 9 * MB))))
    val places = place(joined, PlacementRules(), warm ++ pieces(12): _*)
    assert(places.take(40).map(_._1) == Seq.tabulate(40)(_ % 2 * 2))
    assert(places.drop(40).forall(_ == ((1, false))))
  }

  test("with one pool of many empty, the others help to read, and keep what they hold") {
    val full = executors(20).map(_.copy(usedBytes = 10000 * MB))
    val places = place(
      full.updated(1, full(1).copy(usedBytes = 0)),
      PlacementRules(),
      pieces(400): _*)
    val (its, others) = places.partition(_._1 == 1)
    assert(its.size >= 50 && its.size <= 65 && its.forall(!_._2))
    assert(others.forall(_._2))
  }

  test("a piece leaves a full pool that would have to make room for it, if another has room") {
    def filled(e0: Long, e1: Long) =
      Array(e0, e1).zip(executors(2)).map { case (used, e) => e.copy(usedBytes = used * MB) }
    def to(executors: Array[LiveExecutor], held: Long) =
      executorOf(executors, piece(1, holdings = Seq(Holding(0, held * MB, held * MB))))
    assert(to(filled(9800, 5000), 4) == 1)
    assert(to(filled(9000, 5000), 4) == 0)
    assert(to(filled(9800, 9800), 4) == 0)
    assert(to(filled(9800, 5000), 8) == 0)
  }

  test("what is to be released of a nearly full pool is room there") {
    val full = executors(2).map(_.copy(usedBytes = 9800 * MB))
    val partly = piece(1, holdings = Seq(Holding(0, 4 * MB, 4 * MB)))
    def astray(bytes: Long) =
      piece(2, holdings = Seq(Holding(0, 8 * MB, 8 * MB), Holding(1, 7 * MB, bytes)), home = 0)
    def to(bytes: Long) = place(full, PlacementRules(), partly, astray(bytes)).map(_._1)
    assert(to(7 * MB) == Seq(0, 0))
    assert(to(8 * MB) == Seq(1, 0))
  }

  test("copies that are to be released serve nobody") {
    def copies(used: Long) = alternatives(
      executors(2).map(_.copy(usedBytes = used * MB)),
      PlacementRules(),
      piece(1, holdings = Seq(Holding(0, 8 * MB, 8 * MB), Holding(1, 8 * MB, 8 * MB)), home = 0))
    assert(copies(9000) == Seq(Seq(1)))
    assert(copies(9001) == Seq(Nil))
  }

  test("what a lost executor held waits for the one that takes its place") {
    val full = executors(2).map(_.copy(usedBytes = 9799 * MB))
    def guests(expected: Long) =
      Placement.place(pieces(10).toArray, full, PlacementRules(), expected).isGuest.toSeq
    assert(guests(0).count(identity) == 0)
    assert(guests(10000 * MB).count(identity) >= 7)
    val partly = Array(piece(1, wanted = 80 * MB, holdings = Seq(Holding(1, MB, 9 * MB))))
    val placed = Placement.place(partly, full, PlacementRules(), 1000 * MB)
    assert(placed.executors.toSeq == Seq(1) && placed.isGuest.head)
  }

  test("cold pieces go to executors on the hosts that store them, within the bounds") {
    val on = Seq("host1", "host3")
    val few = place(executors(6), PlacementRules(), pieces(30).map(_.copy(hosts = on.toArray)): _*)
    assert(few.count(p => p._1 == 1 || p._1 == 3) >= 10)
    val evenly = pieces(600).zipWithIndex.map { case (p, n) =>
      p.copy(hosts = Array(s"host${n % 6}", s"host${(n + 2) % 6}"))
    }
    val near = place(executors(6), PlacementRules(), evenly: _*).zipWithIndex.count {
      case ((executor, _), n) => executor == n % 6 || executor == (n + 2) % 6
    }
    assert(near >= 570)
    val unknown = pieces(600).map(_.copy(hosts = Array("elsewhere")))
    assert(place(executors(6), PlacementRules(), unknown: _*) ==
      place(executors(6), PlacementRules(), pieces(600): _*))
  }

  test("an overloaded executor gives up work to one that has none") {
    val warm = Seq.tabulate(100)(n => piece(n, holdings = Seq(Holding(0, 8 * MB, 8 * MB))))
    val shared = shares(executors(2), warm)
    assert(shared(1) >= 10 && shared(1) <= 25)
    // As many as it runs at a time wait for nobody.
    assert(shares(executors(2), warm.take(4)) == Seq(4, 0))
    // The same ones are moved when it comes to the same again, and to where they are held by then.
    val places = place(executors(2), PlacementRules(), warm: _*)
    val twice = warm.zip(places).map { case (p, (at, _)) =>
      if (at == 0) p else p.copy(holdings = p.holdings :+ Holding(1, 8 * MB, 8 * MB), home = 1)
    }
    val again = place(executors(2), PlacementRules(), twice: _*).map(_._1)
    assert(places.map(_._1).zip(again).forall { case (a, b) => a <= b })
  }

  test("pieces that are moved to a full pool are guests there") {
    val full = executors(2).map(_.copy(usedBytes = 10000 * MB))
    val warm = Seq.tabulate(100)(n => piece(n, holdings = Seq(Holding(0, 8 * MB, 8 * MB))))
    val places = place(full, PlacementRules(), warm: _*)
    assert(places.exists(_._1 == 1) && places.forall { case (e, isGuest) => isGuest == (e == 1) })
  }

  test("the same input gives the same places") {
    val random = new Random(seed)
    def holdings = (0 until 7).filter(_ => random.nextInt(4) == 0).map { e =>
      Holding(e, random.nextInt(9) * MB, 9 * MB)
    }
    val some = Seq.fill(500)(
      piece(random.nextLong(), home = random.nextInt(8) - 1, holdings = holdings))
    def copy = some.map(p => p.copy(holdings = p.holdings.map(_.copy())))
    assert(place(executors(7), PlacementRules(), copy: _*) ==
      place(executors(7), PlacementRules(), copy: _*))
  }

  test("without residency a loss moves little but what was lost") {
    val rules = PlacementRules(usesResidency = false)
    val all = executors(50)
    val some = pieces(5000)
    val before = place(all, rules, some: _*).map(p => all(p._1).id)
    val without = all.filter(_.id != "17")
    val after = place(without, rules, some: _*).map(p => without(p._1).id)
    val moved = before.zip(after).count { case (a, b) => a != b }
    withClue(s"seed $seed")(assert(moved <= before.count(_ == "17") * 1.5))
  }
}
