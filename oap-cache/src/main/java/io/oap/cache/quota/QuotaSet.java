package io.oap.cache.quota;

import io.oap.cache.pool.Admission;
import io.oap.common.ChunkKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Which chunks of a table belong into its part of the pool: never more than so many bytes. Holds
 * keys, not chunks.
 *
 * <p>While there is room, whoever is loaded belongs to it. Then a newcomer takes the place of a
 * chunk that has not been used for long, if it comes again after at most half that time; else it
 * stays out. So a scan of a table much larger than its part, again and again, goes on hitting what
 * belongs to it: whoever else it reads comes again only after a whole round. What is read often now
 * comes in when it is read for the third time or so, whatever was read often before (the idea of
 * LIRS, Jiang and Zhang, SIGMETRICS 2002: what counts is the time between two uses).
 *
 * <p>Thread-safe. {@link #use}, which hits call, takes no lock.
 */
final class QuotaSet {

  /** Of so many chunks the one that was not used for the longest time has to go. */
  private static final int SAMPLE = 8;

  private final ConcurrentMap<ChunkKey, QuotaEntry> entries = new ConcurrentHashMap<>();
  private final List<QuotaEntry> list = new ArrayList<>();
  private final ReuseDistances misses = new ReuseDistances();
  private final Consumer<ChunkKey> out;

  /** Have to go, but not before the lock is released: whoever is told may want another part's. */
  private final Queue<ChunkKey> leaving = new ConcurrentLinkedQueue<>();

  private final Predicate<ChunkKey> isHeld;
  private long budget;
  private long bytes;
  private int hand;
  private int entered;

  /** Counts misses: time stands still while all is hit. Read without a lock. */
  private int now;

  /**
   * @param budget bytes of chunks at most
   * @param out told of each chunk that has to go for another one
   * @param isHeld whether the pool holds a chunk; those that it has evicted by itself take no part
   */
  QuotaSet(long budget, Consumer<ChunkKey> out, Predicate<ChunkKey> isHeld) {
    this.budget = budget;
    this.out = out;
    this.isHeld = isHeld;
  }

  synchronized long bytes() {
    return bytes;
  }

  /** The chunks that belong to it now. */
  List<ChunkKey> keys() {
    return List.copyOf(entries.keySet());
  }

  /** Whether a chunk belongs to it. */
  boolean has(ChunkKey key) {
    return entries.containsKey(key);
  }

  /** Notes a use of a chunk; returns whether it belongs to this part. */
  boolean use(ChunkKey key) {
    QuotaEntry entry = entries.get(key);
    if (entry != null && entry.lastUse != now) {
      entry.lastUse = now;
    }
    return entry != null;
  }

  /**
   * Takes in a chunk that is to be loaded; it counts from now on. Must be followed by {@link
   * #onLoaded} or {@link #abandon}.
   *
   * @param admission EVICTING: others may have to go for it
   * @return whether it belongs to this part now
   */
  boolean enter(ChunkKey key, long length, Admission admission) {
    return change(() -> takeIn(key, length, admission));
  }

  /** Whether a chunk would belong to this part if it were loaded now. A question is no miss. */
  synchronized boolean wouldEnter(ChunkKey key, long length, Admission admission) {
    if (has(key) || admission != Admission.EVICTING) {
      return has(key) || bytes + length <= budget;
    }
    int from = hand;
    // The miss would be one later than now.
    List<QuotaEntry> victims = victims(length, 2L * misses.ago(key, now + 1) - 1);
    hand = from; // whoever is loaded after the question is compared with the same ones
    if (victims != null) {
      stay(victims);
    }
    return victims != null;
  }

  /** Changes something under the lock, then tells of those that have to go for it. */
  private boolean change(BooleanSupplier step) {
    boolean result;
    synchronized (this) {
      result = step.getAsBoolean();
    }
    for (ChunkKey key = leaving.poll(); key != null; key = leaving.poll()) {
      out.accept(key);
    }
    return result;
  }

  private boolean takeIn(ChunkKey key, long length, Admission admission) {
    QuotaEntry entry = entries.get(key);
    if (entry != null) {
      use(key);
      entry.isLoading = true;
      return true;
    }
    forgetUnheld();
    now++;
    int away = misses.miss(key, now, list.size());
    if (!hasRoom(length, 2L * away, admission)) {
      return false;
    }
    QuotaEntry fresh = new QuotaEntry(key, length, now);
    fresh.isLoading = true;
    add(fresh);
    return true;
  }

  /**
   * A chunk was found in the pool that does not belong to this part, because nobody knew whose it
   * is when it was loaded.
   *
   * @return whether it may stay
   */
  boolean adopt(ChunkKey key, long length) {
    return change(() -> takeInHeld(key, length));
  }

  private boolean takeInHeld(ChunkKey key, long length) {
    // Another thread may have had it go meanwhile.
    boolean stays = !isHeld.test(key) || takeIn(key, length, Admission.EVICTING);
    endLoad(key);
    return stays;
  }

  /** Counts a chunk as held, that was to be loaded. */
  void onLoaded(ChunkKey key) {
    change(() -> endLoad(key));
  }

  private boolean endLoad(ChunkKey key) {
    QuotaEntry entry = entries.get(key);
    if (entry != null) {
      entry.isLoading = false;
      shrink(); // if there is less room by now
    }
    return entry != null;
  }

  /**
   * Gives a chunk's place to another one, which is to be loaded and stands for it. Where the first
   * does not belong to this part, neither does the other.
   *
   * @return whether it belongs to this part now; if not, all is as before
   */
  boolean replace(ChunkKey old, ChunkKey with, long length, Admission admission) {
    return change(() -> putInPlace(old, with, length, admission));
  }

  private boolean putInPlace(ChunkKey old, ChunkKey with, long length, Admission admission) {
    QuotaEntry entry = entries.get(old);
    if (entry == null || entries.containsKey(with)) {
      return false;
    }
    boolean wasLoading = entry.isLoading;
    entry.isLoading = true;
    long growth = length - entry.bytes;
    if (!hasRoom(growth, 0, admission)) {
      entry.isLoading = wasLoading;
      return false;
    }
    remove(entry);
    entry.key = with;
    entry.bytes = length;
    add(entry);
    return true;
  }

  /**
   * Takes back a chunk that did not get into the pool; does nothing to others.
   *
   * @param insteadOf the chunk that {@link #replace} was given, or null: it counts again, if the
   *     pool still holds it
   */
  void abandon(ChunkKey key, ChunkKey insteadOf, long insteadOfLength) {
    change(
        () -> {
          QuotaEntry entry = entries.get(key);
          if (entry == null || !entry.isLoading) {
            return false;
          }
          remove(entry);
          return insteadOf != null && takeInHeld(insteadOf, insteadOfLength);
        });
  }

  /** A chunk is no longer in the pool. */
  synchronized void leave(ChunkKey key) {
    QuotaEntry entry = entries.get(key);
    if (entry != null) {
      remove(entry);
    }
  }

  /** A chunk was dropped from the pool. It may have come back meanwhile, and belongs here then. */
  synchronized void leaveIfGone(ChunkKey key) {
    if (!isHeld.test(key)) {
      leave(key);
    }
  }

  /** From now on there are so many bytes; chunks that are too much have to go. */
  void resize(long to) {
    change(
        () -> {
          budget = to;
          return shrink();
        });
  }

  /** Returns whether there is enough room now. */
  private boolean shrink() {
    while (bytes > budget) {
      QuotaEntry victim = victim(0);
      if (victim == null) { // among those that were looked at
        victim = list.stream().filter(entry -> !entry.isLoading).findFirst().orElse(null);
      }
      if (victim == null) {
        return false;
      }
      remove(victim);
      leaving.add(victim.key);
    }
    return true;
  }

  /** Now and then, which costs each newcomer a look or two. */
  private void forgetUnheld() {
    if (++entered > list.size()) {
      entered = 0;
      for (QuotaEntry entry : List.copyOf(list)) {
        if (!entry.isLoading && !isHeld.test(entry.key)) {
          remove(entry);
        }
      }
    }
  }

  private boolean hasRoom(long length, long idle, Admission admission) {
    return admission == Admission.EVICTING ? makeRoom(length, idle) : bytes + length <= budget;
  }

  /** Has others go until there is room; none, if there are too few to go. */
  private boolean makeRoom(long length, long idle) {
    List<QuotaEntry> victims = victims(length, idle);
    if (victims == null) {
      return false;
    }
    for (QuotaEntry victim : victims) {
      remove(victim);
      leaving.add(victim.key);
    }
    return true;
  }

  /**
   * Chooses who has to go until there is room, and marks them lest they be chosen again.
   *
   * @param idle who has to go was not used for so long
   * @return null, and none is marked, if there are too few to go
   */
  private List<QuotaEntry> victims(long length, long idle) {
    List<QuotaEntry> victims = new ArrayList<>();
    long left = bytes + length;
    while (left > budget) {
      QuotaEntry victim = victim(idle);
      if (victim == null) {
        stay(victims);
        return null;
      }
      victim.isLoading = true;
      victims.add(victim);
      left -= victim.bytes;
    }
    return victims;
  }

  private static void stay(List<QuotaEntry> victims) {
    victims.forEach(entry -> entry.isLoading = false);
  }

  /** Of some, spread evenly, the one that was not used for the longest time, if that is so long. */
  private QuotaEntry victim(long idle) {
    QuotaEntry oldest = null;
    int step = Math.max(1, list.size() / SAMPLE);
    for (int looks = Math.min(SAMPLE, list.size()); looks > 0; looks--) {
      hand = (hand + step) % list.size();
      QuotaEntry entry = list.get(hand);
      if (!entry.isLoading && (oldest == null || now - entry.lastUse > now - oldest.lastUse)) {
        oldest = entry;
      }
    }
    hand++;
    return oldest != null && now - oldest.lastUse >= idle ? oldest : null;
  }

  private void add(QuotaEntry entry) {
    entry.place = list.size();
    list.add(entry);
    entries.put(entry.key, entry);
    bytes += entry.bytes;
  }

  private void remove(QuotaEntry entry) {
    QuotaEntry last = list.remove(list.size() - 1);
    if (last != entry) {
      last.place = entry.place;
      list.set(entry.place, last);
    }
    entries.remove(entry.key);
    bytes -= entry.bytes;
  }
}
