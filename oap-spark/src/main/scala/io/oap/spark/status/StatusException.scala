package io.oap.spark.status

import org.apache.spark.sql.AnalysisException

/** What a user of the catalog `oap` did wrong, in the form of Spark's own errors. */
private[status] object StatusException {

  def readOnly(catalog: String): AnalysisException = make(
    "OAP_READ_ONLY_CATALOG",
    "0A000",
    "Nothing in the catalog <catalog> can be created, changed or dropped.",
    "catalog" -> catalog)

  private def make(
      condition: String,
      sqlState: String,
      template: String,
      parameters: (String, String)*): AnalysisException =
    new AnalysisException(condition, sqlState, template, parameters.toMap, None, None)
}
