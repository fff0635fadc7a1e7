package io.oap.spark.dataframe

import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningExpression, Expression}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.execution.InSubqueryExec

import io.oap.spark.filter.{PreparedFilters, RowFilter, SentFilters, TaskFilter}

/**
 * Conditions of a query on the rows of a cached DataFrame, on their way to tasks. The columns that
 * they are about are named by their places in the batches.
 */
private[dataframe] final class BatchConditions(sent: SentFilters) extends Serializable {

  /** Has the batches of a partition tell the conditions to whoever reads them, in the same task. */
  def on(batches: Iterator[CachedBatch]): Iterator[CachedBatch] = {
    val conditions = new TaskConditions(sent)
    TaskContext.get().addTaskCompletionListener[Unit](_ => conditions.close())
    batches.map {
      case vectors: VectorBatch => new FilteredBatch(vectors, conditions)
      case other => other
    }
  }
}

private[dataframe] object BatchConditions {

  /** What of a query's conditions drops rows; none where nothing does. */
  def of(
      conditions: Seq[Expression],
      cached: Seq[Attribute],
      context: SparkContext): Option[BatchConditions] = {
    val places = cached.map(_.exprId).zipWithIndex.toMap.view.mapValues(_.toString)
    val filters = RowFilter.needed(conditions.flatMap {
      case DynamicPruningExpression(in @ InSubqueryExec(column: Attribute, _, _, _, _, _)) =>
        // Not as a set, which would hold an object for each of them.
        in.values().flatMap(keys =>
          RowFilter.oneOf(places(column.exprId), column.dataType, keys.toSeq))
      case other =>
        RowFilter.of(Seq(other.transform {
          case column: Attribute if places.contains(column.exprId) =>
            column.withName(places(column.exprId))
        }))
    })
    Option.when(filters.nonEmpty)(new BatchConditions(SentFilters.of(filters, context)))
  }
}

/** Conditions as one task uses them, on its own thread. */
private[dataframe] final class TaskConditions(sent: SentFilters) extends AutoCloseable {

  /** None where they cannot be prepared: Spark's own operators repeat them. */
  private lazy val prepared: Option[PreparedFilters] =
    try Some(sent.prepare())
    catch {
      case NonFatal(_) | _: LinkageError | _: OutOfMemoryError => None // of memory outside the heap
    }

  private var arePrepared = false

  /** The conditions, and the place of the column that each is about. */
  lazy val filters: Seq[(TaskFilter, Int)] = {
    arePrepared = true
    prepared.toSeq.flatMap(_.all).map(one => new TaskFilter(one) -> one.filter.column.toInt)
  }

  override def close(): Unit = if (arePrepared) {
    filters.foreach(_._1.close())
    prepared.foreach(_.close())
  }
}

/** A batch on its way to its reader, which is to drop rows. */
private[dataframe] final class FilteredBatch(
    val vectors: VectorBatch,
    val conditions: TaskConditions)
    extends CachedBatch {
  override def numRows: Int = vectors.numRows
  override def sizeInBytes: Long = vectors.sizeInBytes
}
