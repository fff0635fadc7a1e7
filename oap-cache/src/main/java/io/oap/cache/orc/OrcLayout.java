package io.oap.cache.orc;

import io.oap.cache.file.FileRanges.Range;
import io.oap.cache.file.FileStream;
import io.oap.cache.layout.LayoutReader;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.orc.CompressionCodec;
import org.apache.orc.CompressionKind;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto.Footer;
import org.apache.orc.OrcProto.PostScript;
import org.apache.orc.OrcProto.StripeFooter;
import org.apache.orc.OrcProto.StripeInformation;
import org.apache.orc.OrcUtils;
import org.apache.orc.TypeDescription;
import org.apache.orc.impl.BufferChunk;
import org.apache.orc.impl.InStream;
import org.apache.orc.impl.OrcCodecPool;
import org.apache.orc.impl.ReaderImpl;
import org.apache.orc.protobuf.ByteString;
import org.apache.orc.protobuf.CodedInputStream;

/**
 * Finds the columns of stripes by the footers of an ORC file. One request for the file's tail, one
 * for the footers of all stripes. Files with very many stripes and columns have no layout. See the
 * ORC specification, version 1.
 */
public final class OrcLayout {
  /** ORC's reader reads that much of the end at once, whatever the footer needs. */
  private static final int TAIL_BYTES = 16 << 10;

  /** Layouts of ORC files; refuses files with encrypted columns, and those that take too much. */
  public static final LayoutReader READER = OrcLayout::read;

  private OrcLayout() {}

  private static OrcFileLayout read(FileStream file, FileIdentity identity, long mostBytes)
      throws IOException {
    ByteBuffer tail = end(file, identity.length(), Math.min(identity.length(), TAIL_BYTES));
    int postscriptBytes = tail.get(tail.limit() - 1) & 0xff;
    PostScript postscript =
        PostScript.parseFrom(
            ByteString.copyFrom(tail.slice(tail.limit() - 1 - postscriptBytes, postscriptBytes)));
    long footerBytes = postscriptBytes + 1 + postscript.getFooterLength();
    if (!postscript.getMagic().equals(OrcFile.MAGIC) || footerBytes > identity.length()) {
      throw new IllegalArgumentException("no ORC file");
    }
    if (footerBytes > tail.limit()) {
      tail = end(file, identity.length(), footerBytes);
    }
    CompressionKind kind = CompressionKind.valueOf(postscript.getCompression().name());
    CompressionCodec codec = OrcCodecPool.getCodec(kind);
    try {
      InStream.StreamOptions options =
          InStream.options()
              .withCodec(codec)
              .withBufferSize(ReaderImpl.getCompressionBlockSize(postscript));
      int footerAt = Math.toIntExact(tail.limit() - footerBytes);
      Footer footer =
          Footer.parseFrom(
              coded(tail.slice(footerAt, Math.toIntExact(postscript.getFooterLength())), options));
      requireNotAbove(mostBytes, footer);
      long metadata = postscript.getMetadataLength() + postscript.getStripeStatisticsLength();
      long kept = Math.max(TAIL_BYTES, footerBytes + metadata);
      return layout(file, identity, footer, Math.max(0, identity.length() - kept), options);
    } finally {
      OrcCodecPool.returnCodec(kind, codec);
    }
  }

  /**
   * Refuses a file whose layout would not stay: each reader of one stripe would read the footers of
   * all.
   */
  private static void requireNotAbove(long mostBytes, Footer footer) {
    long footers =
        footer.getStripesList().stream().mapToLong(StripeInformation::getFooterLength).sum();
    int columns = footer.getTypesCount();
    long bytes =
        OrcFileLayout.heapBytes(footers, (long) footer.getStripesCount() * columns, columns);
    if (bytes > mostBytes) {
      throw new IllegalArgumentException(
          "its layout takes %d bytes of the heap; spark.oap.cache.footerSize has %d for it"
              .formatted(bytes, mostBytes));
    }
  }

  private static OrcFileLayout layout(
      FileStream file,
      FileIdentity identity,
      Footer footer,
      long footerStart,
      InStream.StreamOptions options)
      throws IOException {
    if (footer.hasEncryption()) {
      throw new IllegalArgumentException("columns are encrypted");
    }
    List<Range> ranges = new ArrayList<>();
    for (StripeInformation stripe : footer.getStripesList()) {
      long start = stripe.getOffset() + stripe.getIndexLength() + stripe.getDataLength();
      ranges.add(new Range(start, Math.toIntExact(stripe.getFooterLength())));
    }
    List<ByteBuffer> footers = ranges.isEmpty() ? List.of() : file.read(ranges);
    TypeDescription schema = OrcUtils.convertTypeFromProtobuf(footer.getTypesList(), 0);
    OrcFileLayout layout = new OrcFileLayout(identity.id(), schema, footerStart);
    for (int i = 0; i < footers.size(); i++) {
      byte[] bytes = new byte[ranges.get(i).length()];
      footers.get(i).get(bytes);
      StripeFooter streams = StripeFooter.parseFrom(coded(ByteBuffer.wrap(bytes), options));
      layout.add(footer.getStripes(i), ranges.get(i), bytes, streams);
    }
    return layout;
  }

  private static ByteBuffer end(FileStream file, long length, long bytes) throws IOException {
    return file.read(List.of(new Range(length - bytes, Math.toIntExact(bytes)))).get(0).slice();
  }

  private static CodedInputStream coded(ByteBuffer message, InStream.StreamOptions options)
      throws IOException {
    // The name is for errors only.
    return InStream.createCodedInputStream(
        InStream.create("footer", new BufferChunk(message, 0), 0, message.limit(), options));
  }
}
