package io.oap.spark.sql

import org.apache.spark.sql.AnalysisException

import io.oap.common.OapConfig
import io.oap.spark.table.TableSelector

/** What a user of the catalog `oap` did wrong, in the form of Spark's own errors. */
private object StatusException {

  def readOnly(catalog: String): AnalysisException = make(
    "OAP_READ_ONLY_CATALOG",
    "0A000",
    "Nothing in the catalog <catalog> can be created, changed or dropped.",
    "catalog" -> catalog)

  def routineNotFound(name: String): AnalysisException =
    new AnalysisException("ROUTINE_NOT_FOUND", Map("routineName" -> name))

  def pathNotFound(path: String): AnalysisException =
    new AnalysisException("PATH_NOT_FOUND", Map("path" -> path))

  /**
   * @param where a table or path as the user named it, or the file that was refused
   * @param reason what the file system said
   */
  def noPermission(where: String, user: String, reason: String): AnalysisException = make(
    "OAP_NO_PERMISSION",
    "42501",
    "The user <user> may not read <where>: <reason>. Grant this user the permission to list the " +
      "folder and to read its files, or name what he may read.",
    "user" -> user,
    "where" -> where,
    "reason" -> reason
  )

  /**
   * Spark's access lists keep a user from something.
   *
   * @param what a statement or a table
   * @param right as Spark names it
   * @param key of the configuration that lists the users who have the right
   */
  def accessDenied(user: String, what: String, right: String, key: String): AnalysisException =
    make(
      "OAP_ACCESS_DENIED",
      "42501",
      "<what> needs the right to <right> this application, which the user <user> does not have. " +
        "Start the application with this user in <key> or spark.admin.acls, or one of his groups " +
        "in <key>.groups or spark.admin.acls.groups.",
      "what" -> what,
      "right" -> right,
      "user" -> user,
      "key" -> key
    )

  /** @param where a table, a file or a folder */
  def noDataFiles(where: String): AnalysisException = make(
    "OAP_NO_DATA_FILES",
    "42K03",
    "<where> is no Parquet or ORC file, and no folder with any. Name one.",
    "where" -> where)

  /** @param why the end of a sentence */
  def unsupportedTable(table: String, why: String): AnalysisException = make(
    "OAP_UNSUPPORTED_TABLE",
    "0A000",
    "The table <table> is of a kind that the column cache does not serve: <why>.",
    "table" -> table,
    "why" -> why)

  def notCached(table: String): AnalysisException = notCached(
    table,
    "it is switched off (spark.oap.cache.enabled, spark.oap.cache.tables.exclude and include, or " +
      "the property or option oap.cache), Spark keeps the table in memory itself, or it is of a " +
      "kind that is not cached"
  )

  /** @param format a kind of tables that the session leaves out */
  def formatNotCached(table: String, format: String): AnalysisException =
    notCached(table, s"${OapConfig.CACHE_FORMATS.key} leaves $format out")

  private def notCached(table: String, why: String): AnalysisException = make(
    "OAP_NOT_CACHED",
    "55000",
    "This session does not read the table <table> through the column cache: <why>.",
    "table" -> table,
    "why" -> why)

  def pinnedByProperty(table: String): AnalysisException = make(
    "OAP_PINNED_BY_PROPERTY",
    "55000",
    "The property <key> of the table <table> says that it is pinned: change that first, with " +
      "ALTER TABLE <table> SET TBLPROPERTIES ('<key>' = 'on').",
    "table" -> table,
    "key" -> TableSelector.Key
  )

  /** A `CACHE SELECT` of more than columns of one table. */
  def unsupportedCacheSelect(): AnalysisException = make(
    "OAP_UNSUPPORTED_CACHE_SELECT",
    "0A000",
    "CACHE SELECT takes columns of one table, and a WHERE clause without subqueries.")

  /** @param expected what would have been right, as the end of a sentence */
  def invalidArgument(procedure: String, argument: String, expected: String): AnalysisException =
    make(
      "OAP_INVALID_ARGUMENT",
      "22023",
      "The argument <argument> of <procedure> is not valid: <expected>.",
      "procedure" -> procedure,
      "argument" -> argument,
      "expected" -> expected
    )

  /** No executor could do what was asked of all. */
  def refused(procedure: String, reason: String): AnalysisException = make(
    "OAP_REFUSED",
    "58000",
    "No executor could do <procedure>: <reason>.",
    "procedure" -> procedure,
    "reason" -> reason)

  def tooManyChunks(chunks: Long, most: Long): AnalysisException = make(
    "OAP_TOO_MANY_CHUNKS",
    "54000",
    "The executors hold <chunks> column chunks, and oap.system.chunks lists <most> at most. Ask " +
      "oap.system.files, oap.system.columns or oap.system.tables, which sum them up.",
    "chunks" -> chunks.toString,
    "most" -> most.toString
  )

  private def make(
      condition: String,
      sqlState: String,
      template: String,
      parameters: (String, String)*): AnalysisException =
    new AnalysisException(condition, sqlState, template, parameters.toMap, None, None)
}
