package io.oap.common;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Which bytes a path stood for: a file that is written again is another file.
 *
 * <p>Path, length and modification time come from the file system's status of the file; {@code
 * etag} is the object store's version tag, or the empty string where the store has none. Of a file
 * that is not asked for its status, {@code etag} is what its table tells of the version. Two
 * identities are equal only when all four parts are.
 *
 * @param path fully qualified path, with scheme and authority
 * @param length bytes
 * @param modificationTime milliseconds since the epoch, as the file system gives it
 * @param etag version tag of the store or of the table, never null
 */
public record FileIdentity(String path, long length, long modificationTime, String etag)
    implements Serializable {

  public FileIdentity {
    Objects.requireNonNull(path, "path");
    Objects.requireNonNull(etag, "etag");
  }

  /**
   * The 128 bits under which the pool knows this file: the first half of a SHA-256 over all four
   * parts. A cryptographic hash, because a collision would serve one file's bytes for another's.
   */
  public FileId id() {
    byte[] pathBytes = path.getBytes(StandardCharsets.UTF_8);
    byte[] etagBytes = etag.getBytes(StandardCharsets.UTF_8);
    Hasher hasher = Hashing.sha256().newHasher();
    // Lengths go in before the bytes, so that no two different identities feed the same sequence.
    hasher.putInt(pathBytes.length).putBytes(pathBytes);
    hasher.putInt(etagBytes.length).putBytes(etagBytes);
    HashCode hash = hasher.putLong(length).putLong(modificationTime).hash();
    ByteBuffer bits = ByteBuffer.wrap(hash.asBytes()).order(ByteOrder.LITTLE_ENDIAN);
    return new FileId(bits.getLong(), bits.getLong());
  }

  /**
   * 64 bits by which driver and executors name a file to each other when they talk of where its
   * chunks are. The driver has them from a listing, which does not tell ETags, and some object
   * stores tell milliseconds in a listing where their status of one object tells seconds: whole
   * seconds count. Two files with the same number cost a good placement, nothing else: chunks are
   * found by {@link #id}.
   *
   * @param path fully qualified path, with scheme and authority
   * @param length bytes
   * @param modificationTime milliseconds since the epoch
   */
  public static long placementKey(String path, long length, long modificationTime) {
    return Hashing.murmur3_128()
        .newHasher()
        .putUnencodedChars(path)
        .putLong(length)
        .putLong(Math.floorDiv(modificationTime, 1000L))
        .hash()
        .asLong();
  }

  /** {@link #placementKey(String, long, long)} of this file. */
  public long placementKey() {
    return placementKey(path, length, modificationTime);
  }
}
