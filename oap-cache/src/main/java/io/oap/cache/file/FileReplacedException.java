package io.oap.cache.file;

import java.io.IOException;

/** A path has another file than the one whose status a reader was given. */
public final class FileReplacedException extends IOException {

  private static final long serialVersionUID = 1;

  public FileReplacedException(String path) {
    super(
        "File was replaced while it was being read: "
            + path
            + ". Run the query again; REFRESH TABLE makes a table see its new files.");
  }
}
