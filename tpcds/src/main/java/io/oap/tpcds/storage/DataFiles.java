package io.oap.tpcds.storage;

import java.io.File;
import java.util.Set;

/**
 * The files of tables that hold rows. Iceberg and Delta keep other files beside them: logs, lists
 * of files, and deletion vectors. Iceberg's delete files in Parquet are read as data files are.
 */
public final class DataFiles {
  private static final Set<String> FOLDERS_OF_LOGS = Set.of("metadata", "_delta_log");

  private DataFiles() {}

  /** Whether a file is one of them, judged by its name and its folders. */
  public static boolean contain(File file) {
    String name = file.getName();
    if (name.endsWith(".puffin") || name.startsWith("deletion_vector_")) {
      return false;
    }
    // Delta's log has folders for what is too large for one file.
    File folder = file.getParentFile();
    for (int up = 0; up < 2 && folder != null; up++) {
      if (FOLDERS_OF_LOGS.contains(folder.getName())) {
        return false;
      }
      folder = folder.getParentFile();
    }
    return true;
  }
}
