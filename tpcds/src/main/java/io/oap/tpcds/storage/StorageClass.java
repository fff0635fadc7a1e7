package io.oap.tpcds.storage;

import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The kinds of storage that one machine can stand in for. Each is a URI scheme over local files:
 * {@code hdd:///data} is the folder {@code /data} read at the speed of {@link #HDD}.
 *
 * <p>The speed is per core (task slot) of a JVM, because what makes a cluster's storage slow is
 * bandwidth shared by many cores: a node with 112 cores that reads 250 to 450 MB/s gives each core
 * about 4 MB/s.
 */
public enum StorageClass {
  /** Disks of a data node: 4 MB/s per core. */
  HDD(4e6, 0, false),
  /**
   * An object store: 60 MB/s per core, and 20 ms before each answer. As Hadoop's S3A has it, a
   * status has the version's ETag, and who has a status opens without a request.
   */
  S3(60e6, TimeUnit.MILLISECONDS.toNanos(20), true),
  /** As fast as the machine is; reads are only counted. */
  LOCAL(0, 0, false);

  private final double bytesPerSecondPerCore;
  private final long requestNanos;
  private final boolean tagsVersions;

  StorageClass(double bytesPerSecondPerCore, long requestNanos, boolean tagsVersions) {
    this.bytesPerSecondPerCore = bytesPerSecondPerCore;
    this.requestNanos = requestNanos;
    this.tagsVersions = tagsVersions;
  }

  /** URI scheme and option value: the name in lower case. */
  public String scheme() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Bytes per second for each core; 0 means no limit. */
  public double bytesPerSecondPerCore() {
    return bytesPerSecondPerCore;
  }

  /** How long each request takes before its first byte arrives, in nanoseconds. */
  public long requestNanos() {
    return requestNanos;
  }

  /** Whether a file's status has an ETag, by which it is opened in that version. */
  public boolean tagsVersions() {
    return tagsVersions;
  }

  /**
   * @throws IllegalArgumentException when there is none of this scheme
   */
  public static StorageClass ofScheme(String scheme) {
    return valueOf(scheme.toUpperCase(Locale.ROOT));
  }
}
