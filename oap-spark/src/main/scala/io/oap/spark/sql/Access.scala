package io.oap.spark.sql

import org.apache.spark.sql.SparkSession

import io.oap.spark.internals.SparkUsers

/**
 * What Spark's access lists (`spark.acls.enable`) say of the user of the active session, as for the
 * pages of Spark's UI. Everything is allowed while they are off.
 */
private object Access {

  /**
   * For what changes the cache.
   *
   * @param what a statement, for the error
   * @throws org.apache.spark.sql.AnalysisException when the user may not
   */
  def requireModify(what: String): Unit = if (SparkUsers.hasAccessLists) {
    val user = currentUser
    if (!SparkUsers.mayModify(user)) {
      throw StatusException.accessDenied(user, what, "modify", "spark.modify.acls")
    }
  }

  /**
   * For what tells of the cache.
   *
   * @param what a table, for the error
   * @throws org.apache.spark.sql.AnalysisException when the user may not
   */
  def requireView(what: String): Unit = if (SparkUsers.hasAccessLists) {
    val user = currentUser
    if (!SparkUsers.mayView(user)) {
      throw StatusException.accessDenied(user, what, "view", "spark.ui.view.acls")
    }
  }

  private def currentUser: String = SparkUsers.userOf(SparkSession.active)
}
