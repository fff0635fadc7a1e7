package io.oap.spark.internals;

import java.lang.invoke.VarHandle;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import scala.Option;

/**
 * The lists of files that Spark's index of a catalog table has cached, by folder; a refresh of the
 * table or of the index empties them. Where this Spark keeps them in another way they are not
 * readable here. Thread-safe.
 */
public final class CachedLists {
  private static final VarHandle LISTS =
      PrivateFields.find(CatalogFileIndex.class, "fileStatusCache", FileStatusCache.class);

  private CachedLists() {}

  /** The lists of an index, where this Spark lets them be read. */
  public static Option<FileStatusCache> of(CatalogFileIndex index) {
    return LISTS == null ? Option.empty() : Option.apply((FileStatusCache) LISTS.get(index));
  }
}
