package io.oap.cache.file;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.FileIdentity;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A known file as bytes, for another process; what readers have asked for of it is left out. */
public final class FileRecord {
  private FileRecord() {}

  /**
   * Writes a file down.
   *
   * @throws IOException when a name of it takes more than 65535 bytes
   */
  public static byte[] encode(KnownFile file) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream data = new DataOutputStream(bytes);
    data.writeUTF(file.identity().path());
    data.writeLong(file.identity().length());
    data.writeLong(file.identity().modificationTime());
    data.writeUTF(file.identity().etag());
    data.writeInt(file.columns().size());
    for (String column : file.columns()) {
      data.writeUTF(column);
    }
    data.writeInt(file.starts().length);
    for (long start : file.starts()) {
      data.writeLong(start);
    }
    data.writeInt(file.chunkBytes().length);
    for (int length : file.chunkBytes()) {
      data.writeInt(length);
    }
    return bytes.toByteArray();
  }

  /**
   * Reads what {@link #encode} wrote, from a buffer on the heap.
   *
   * @throws IOException when it is not that
   */
  public static KnownFile decode(ByteBuffer record) throws IOException {
    DataInputStream data =
        new DataInputStream(
            new ByteArrayInputStream(
                record.array(), record.arrayOffset() + record.position(), record.remaining()));
    FileIdentity identity =
        new FileIdentity(data.readUTF(), data.readLong(), data.readLong(), data.readUTF());
    List<String> columns = new ArrayList<>();
    for (int left = data.readInt(); left > 0; left--) {
      columns.add(data.readUTF());
    }
    long[] starts = new long[data.readInt()];
    for (int i = 0; i < starts.length; i++) {
      starts[i] = data.readLong();
    }
    int[] chunkBytes = new int[data.readInt()];
    for (int i = 0; i < chunkBytes.length; i++) {
      chunkBytes[i] = data.readInt();
    }
    return new KnownFile(identity, List.copyOf(columns), starts, chunkBytes);
  }
}
