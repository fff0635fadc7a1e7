package io.oap.cache.parquet;

import io.oap.cache.file.FileStream;
import io.oap.cache.layout.LayoutReader;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;

/** Finds column chunks, dictionary pages, bloom filters and page indexes by a Parquet footer. */
public final class ParquetLayout {

  /**
   * Parquet's defaults, for files that no Hadoop configuration is about. Without one of these
   * Parquet looks for Hadoop's configuration files on the class path, each time anew.
   */
  public static final ParquetReadOptions DEFAULTS =
      ParquetReadOptions.builder(new PlainParquetConfiguration()).build();

  /** Layouts of Parquet files. An encrypted footer cannot be read; other readers have the keys. */
  public static final LayoutReader READER =
      (file, identity, mostBytes) -> read(file, identity, DEFAULTS, new CacheCounters());

  private ParquetLayout() {}

  static CachedFooter read(
      FileStream file, FileIdentity identity, ParquetReadOptions options, CacheCounters counters)
      throws IOException {
    // Not closed: the file is the caller's.
    FooterStream stream = new FooterStream(file, counters);
    ParquetMetadata footer = ParquetFileReader.readFooter(inputFile(identity), options, stream);
    return new CachedFooter(
        identity.id(), identity.length(), footer, new RowGroupMiddles(stream.last));
  }

  /** Keeps the bytes that Parquet has read last, which are those of the footer. */
  private static final class FooterStream extends ParquetFileStream {
    private byte[] last = {};

    FooterStream(FileStream file, CacheCounters counters) {
      super(file, counters);
    }

    @Override
    public void readFully(ByteBuffer into) throws IOException {
      int start = into.position();
      super.readFully(into);
      last = new byte[into.position() - start];
      into.get(start, last);
    }
  }

  /** What Parquet wants to know of a file whose bytes it has from a stream. */
  static InputFile inputFile(FileIdentity identity) {
    return new InputFile() {
      @Override
      public long getLength() {
        return identity.length();
      }

      @Override
      public SeekableInputStream newStream() {
        throw new UnsupportedOperationException("The stream is handed over with the file.");
      }

      @Override
      public String toString() {
        return identity.path();
      }
    };
  }
}
