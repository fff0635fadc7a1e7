package io.oap.cache.quota;

import io.oap.common.PoolShare;
import java.io.Serializable;
import java.util.List;

/**
 * What a user has said of the room of a table in each pool.
 *
 * @param kind whether it has no more than that, or no less
 * @param account what has that room: of the same account, the last version counts
 * @param folders where its files lie, fully qualified, without a slash at the end. A file belongs
 *     to the nearest folder above it of those that the limits of that kind name
 * @param share how much; null: no more is said of it than of other tables
 * @param version grows with each change
 */
public record QuotaRule(
    Kind kind, String account, List<String> folders, PoolShare share, long version)
    implements Serializable {

  /** Which limit it is. */
  public enum Kind {
    /** Its chunks never have more. */
    QUOTA,
    /** What was read of it stays, up to this. */
    MINIMUM
  }

  public QuotaRule {
    folders = List.copyOf(folders);
  }
}
