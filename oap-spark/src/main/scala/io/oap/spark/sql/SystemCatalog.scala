package io.oap.spark.sql

import java.util.{Collections, Map => JavaMap}

import org.apache.spark.sql.catalyst.analysis.{NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The catalog `oap`: what the column cache is and does, as tables in the namespace `system`, and
 * what it can be told to do, as procedures there. Nothing in it can be created, changed or dropped.
 */
class SystemCatalog extends TableCatalog with SupportsNamespaces with ProcedureCatalog {
  import SystemCatalog._

  private var catalogName = Name

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit =
    catalogName = name

  override def name(): String = catalogName

  override def defaultNamespace(): Array[String] = Array(Namespace)

  override def listTables(namespace: Array[String]): Array[Identifier] = {
    loadNamespaceMetadata(namespace)
    SystemTables.all.map(table => Identifier.of(Array(Namespace), table.shortName)).toArray
  }

  override def loadTable(identifier: Identifier): Table =
    SystemTables.all
      .find(table => isSystem(identifier.namespace) && isSame(table.shortName, identifier.name))
      .getOrElse(throw new NoSuchTableException(catalogName +: identifier.namespace.toSeq :+
        identifier.name))

  override def listProcedures(namespace: Array[String]): Array[Identifier] = {
    loadNamespaceMetadata(namespace)
    SystemProcedures.all.map(one => Identifier.of(Array(Namespace), one.name)).toArray
  }

  override def loadProcedure(identifier: Identifier): UnboundProcedure =
    SystemProcedures.all
      .find(one => isSystem(identifier.namespace) && isSame(one.name, identifier.name))
      .getOrElse {
        val parts = catalogName +: identifier.namespace.toSeq :+ identifier.name
        throw StatusException.routineNotFound(parts.map(part => s"`$part`").mkString("."))
      }

  override def listNamespaces(): Array[Array[String]] = Array(Array(Namespace))

  override def listNamespaces(namespace: Array[String]): Array[Array[String]] =
    if (namespace.isEmpty) {
      listNamespaces()
    } else {
      loadNamespaceMetadata(namespace)
      Array.empty
    }

  override def loadNamespaceMetadata(namespace: Array[String]): JavaMap[String, String] =
    if (isSystem(namespace)) {
      Collections.singletonMap(SupportsNamespaces.PROP_COMMENT, "The state of the column cache")
    } else {
      throw new NoSuchNamespaceException(catalogName +: namespace)
    }

  override def createTable(identifier: Identifier, table: TableInfo): Table = refuse()

  override def alterTable(identifier: Identifier, changes: TableChange*): Table = refuse()

  override def dropTable(identifier: Identifier): Boolean = refuse()

  override def renameTable(from: Identifier, to: Identifier): Unit = refuse()

  override def createNamespace(
      namespace: Array[String],
      metadata: JavaMap[String, String]): Unit = refuse()

  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit = refuse()

  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean = refuse()

  private def refuse(): Nothing = throw StatusException.readOnly(catalogName)
}

private[spark] object SystemCatalog {
  val Name = "oap"
  val Namespace = "system"

  /** The key of Spark that names the catalog's class. */
  val Key = s"spark.sql.catalog.$Name"

  private def isSame(name: String, asked: String): Boolean = name.equalsIgnoreCase(asked)

  private def isSystem(namespace: Array[String]): Boolean =
    namespace.length == 1 && isSame(Namespace, namespace(0))
}
