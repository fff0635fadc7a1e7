package io.oap.spark.table

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.CatalogTable

/**
 * What tables say of themselves: by a property, or by an option that they were created with, which
 * Spark adds to those of each reader. A property counts more, since it can be changed.
 */
private[spark] object TableProperty extends Logging {

  /** What was warned about. */
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /**
   * A property of a table. One that cannot be read is warned about once, and no reason to fail the
   * queries of others.
   *
   * @param allowed what it may be, as the end of a sentence
   * @param parse its meaning, or nothing when it has none
   */
  def of[A](table: CatalogTable, key: String, allowed: String)(parse: String => Option[A])
      : Option[A] =
    table.properties.get(key).orElse(createdWith(table, key)).flatMap { text =>
      val value = parse(text)
      if (value.isEmpty && warned.add(s"$key ${table.identifier} $text")) {
        logWarning(s"The property $key of ${table.identifier} is $allowed; '$text' is ignored.")
      }
      value
    }

  /** An option of the table itself, in letters of any case. */
  def createdWith(table: CatalogTable, key: String): Option[String] =
    table.storage.properties.collectFirst {
      case (name, text) if name.equalsIgnoreCase(key) => text
    }
}
