package io.oap.cache.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.oap.cache.file.FileReplacedException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a store with version tags says in its own words of a file that was replaced. */
class RefusedVersionTest {
  @TempDir Path directory;
  private ReadingFixture reading;

  @BeforeEach
  void open() throws IOException {
    reading = new ReadingFixture(directory, "16m");
    reading.write(2000, writer -> writer);
    reading.fs.etag = "v1";
  }

  @AfterEach
  void nothingIsLeftBehind() {
    reading.close();
  }

  private IOException refused(String now) {
    reading.fs.beforeRead =
        () -> {
          reading.fs.etag = now;
          throw new IOException("412");
        };
    return assertThrows(
        IOException.class, () -> reading.cached(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA));
  }

  @Test
  void anotherVersion_isAReplacedFile() throws IOException {
    IOException error = refused("v2");
    assertEquals(FileReplacedException.class, error.getClass(), error.toString());
    assertEquals("412", error.getSuppressed()[0].getMessage());
    reading.fs.beforeRead = () -> {};
    assertEquals(
        reading.plain(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA),
        reading.cached(ReadingFixture.AS_IT_IS, SampleFile.SCHEMA));
  }

  @Test
  void theSameVersion_isTheErrorOfTheStore() {
    assertEquals("412", refused("v1").getMessage());
  }
}
