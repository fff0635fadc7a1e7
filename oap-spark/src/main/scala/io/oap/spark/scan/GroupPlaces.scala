package io.oap.spark.scan

import scala.collection.{mutable, IndexedSeqView}
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

import io.oap.spark.cluster.Cluster
import io.oap.spark.directory.{Directory, DirectoryScan}
import io.oap.spark.executor.{ExecutorRequest, ReportAnew}
import io.oap.spark.placement.{Holding, Placement, PlacementRules, PlacementUnit}

/**
 * Where the partitions of a scan that keeps them as they are should run, found out when the first of
 * them is asked about: a plan that is only shown settles nothing. Each is placed as one, with all it
 * reads.
 *
 * @param waitSeconds how much longer than on the executor that is free first a task is expected to
 *     wait on the one of this id
 * @param tell sends a request to the executor of this id; must not block
 * @param columns top-level columns the scan reads, by all names that files may have for them
 * @param groups what each partition reads through the cache
 * @param hosts of each partition, where any are known
 */
private[spark] final class GroupPlaces(
    directory: Directory,
    waitSeconds: String => Double,
    tell: (String, ExecutorRequest[_]) => Unit,
    rules: PlacementRules,
    columns: => Seq[String],
    isCaseSensitive: Boolean,
    groups: IndexedSeqView[Seq[FilePart]],
    hosts: Int => Array[String])
    extends Logging {

  private lazy val places: IndexedSeq[Place] =
    try placed()
    catch {
      case NonFatal(e) =>
        logDebug("The partitions of a scan have no place", e)
        IndexedSeq.fill(groups.size)(Place.Anywhere)
    }

  private var locationOf = Map.empty[String, String]

  def apply(partition: Int): Place = synchronized(places(partition))

  /** The locations of a place for Spark's scheduler; none where it is better not to wait. */
  def locations(place: Place): Array[String] = synchronized {
    val named = (place.executors ++ place.alternatives).toArray
    if (named.exists(id => waitSeconds(id) <= place.bearableWaitSeconds))
      named.flatMap(locationOf.get)
    else Array.empty
  }

  private def placed(): IndexedSeq[Place] = {
    val scan = directory.scan(columns, isCaseSensitive)
    val executors = scan.executors.map(_.waiting(waitSeconds))
    locationOf = executors.flatMap(_.members).map(one => one.id -> one.location).toMap
    val pieces = groups.indices.map(i => piece(scan, groups(i), hosts(i))).toArray
    val assigned = Placement.place(pieces, executors, rules, scan.expectedRoomBytes)
    if (rules.usesResidency) {
      scan.settle(pieces, assigned)
      scan.snapshotsToAsk().foreach(tell(_, ReportAnew))
    }
    pieces.indices.map { i =>
      Place(
        executors.lift(assigned.executors(i)).toSeq.flatMap(_.members).map(_.id),
        assigned.alternatives(i).flatMap(executors(_).members).map(_.id),
        assigned.isGuest(i),
        pieces(i).holdings.isEmpty,
        math.max(pieces(i).wantedBytes / rules.loadBytesPerSecond, assigned.bearableWaitSeconds)
      )
    }
  }

  private def piece(
      scan: DirectoryScan,
      parts: Seq[FilePart],
      hosts: Array[String]): PlacementUnit = {
    var wanted = 0L
    val held = mutable.SortedMap.empty[Int, Holding]
    parts.foreach { part =>
      scan.rowGroups(part.file) match {
        case Some(groups) =>
          for (group <- groups) {
            val middle = group.start + (group.end - group.start) / 2
            if (part.start <= middle && middle < part.start + part.length) {
              wanted += group.wantedBytes
              group.holdings.foreach { one =>
                val sum = held.getOrElse(one.executor, Holding(one.executor, 0, 0))
                held(one.executor) = Holding(
                  one.executor,
                  sum.wantedBytes + one.wantedBytes,
                  sum.anyBytes + one.anyBytes)
              }
            }
          }
        case None => wanted += part.length
      }
    }
    val file = parts.headOption.fold(0L)(_.file)
    val position = parts.headOption.fold(0L)(_.start)
    PlacementUnit(file, position, wanted, held.values.toArray, scan.home(file, position), hosts)
  }
}

private[spark] object GroupPlaces {

  /** Places on the executors of an application, as the constructor takes the rest. */
  def of(
      context: SparkContext,
      rules: PlacementRules,
      columns: => Seq[String],
      isCaseSensitive: Boolean,
      groups: IndexedSeqView[Seq[FilePart]],
      hosts: Int => Array[String]): GroupPlaces = {
    val cluster = Cluster.of(context)
    new GroupPlaces(
      cluster.directory,
      cluster.load.expectedWaitSeconds,
      cluster.tell,
      cluster.directory.measured(rules),
      columns,
      isCaseSensitive,
      groups,
      hosts)
  }
}

/**
 * A part of a file.
 *
 * @param file its `FileIdentity.placementKey`
 */
private[spark] final case class FilePart(file: Long, start: Long, length: Long)

/**
 * Where a partition belongs.
 *
 * @param executors ids of those that have the pool; none where any is as good
 * @param alternatives ids of others that may run it
 * @param isGuest whether what it reads belongs elsewhere
 * @param isCold whether no pool holds anything of it
 * @param bearableWaitSeconds for how long these executors may be waited for
 */
private[spark] final case class Place(
    executors: Seq[String],
    alternatives: Seq[String],
    isGuest: Boolean,
    isCold: Boolean,
    bearableWaitSeconds: Double)

private[spark] object Place {
  val Anywhere: Place = Place(Nil, Nil, isGuest = false, isCold = true, 0)
}
