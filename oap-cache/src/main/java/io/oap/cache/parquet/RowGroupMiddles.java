package io.oap.cache.parquet;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;

/**
 * The positions by which Parquet's own reader tells to which split a row group belongs, as its
 * {@code ParquetMetadataConverter.filterFileMetaDataByMidpoint} computes them. It goes by fields
 * that a parsed footer does not have, and believes them. Thread-safe.
 */
final class RowGroupMiddles {
  private byte[] footer;
  private long[] middles;

  /**
   * @param footer as it stands in the file; parsed once more when a part of the file is asked for
   */
  RowGroupMiddles(byte[] footer) {
    this.footer = footer;
  }

  /** Bytes of the footer. */
  int bytes() {
    return footer == null ? 0 : footer.length;
  }

  /** The middle of a row group, by its place in the footer. */
  synchronized long of(int rowGroup) {
    if (middles == null) {
      try {
        middles =
            Util.readFileMetaData(new ByteArrayInputStream(footer)).getRow_groups().stream()
                .mapToLong(RowGroupMiddles::middle)
                .toArray();
      } catch (IOException e) {
        throw new UncheckedIOException(e); // Parquet has read it
      }
      footer = null;
    }
    return middles[rowGroup];
  }

  private static long middle(RowGroup rowGroup) {
    ColumnMetaData first = rowGroup.getColumns().get(0).getMeta_data();
    long start = first.getData_page_offset();
    if (first.isSetDictionary_page_offset()) {
      start = Math.min(start, first.getDictionary_page_offset());
    }
    long size =
        rowGroup.isSetTotal_compressed_size()
            ? rowGroup.getTotal_compressed_size()
            : rowGroup.getColumns().stream()
                .map(ColumnChunk::getMeta_data)
                .mapToLong(ColumnMetaData::getTotal_compressed_size)
                .sum();
    return start + size / 2;
  }
}
