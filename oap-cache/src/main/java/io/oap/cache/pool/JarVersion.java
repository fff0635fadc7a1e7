package io.oap.cache.pool;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The version of the jar that this process runs. */
public final class JarVersion {

  /** As Maven calls it, such as {@code 0.1.0}. */
  public static final String TEXT = read();

  private JarVersion() {}

  private static String read() {
    Properties properties = new Properties();
    try (InputStream version = JarVersion.class.getResourceAsStream("version.properties")) {
      properties.load(version);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty("version");
  }
}
