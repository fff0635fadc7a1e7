package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.cache.quota.TablePins;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import io.oap.common.PoolShare;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A table never has more of the pool than its quota, and others never push it below its minimum.
 */
class QuotaEnforcerTest extends QuotaFixture {

  @Test
  void tableAtItsQuota_displacesItsOwnChunksOnly() throws IOException {
    limit(Kind.QUOTA, 0, "25%");
    read(Admission.EVICTING, 2, columns(0, 40));
    read(Admission.EVICTING, 0, columns(0, 100));
    assertEquals(CAPACITY / 4, held(0));
    assertEquals(40 * PART, held(1));
    assertEquals(84, counters.chunks(MissCause.NOT_ADMITTED));
    CacheCounters before = new CacheCounters();
    before.add(counters);
    read(Admission.EVICTING, 0, columns(0, 100));
    assertEquals(16, counters.minus(before).chunksHit(), "a loop hits what fits in");
  }

  @Test
  void chunkThatIsWantedAgain_isAdmitted_andAQuestionIsNoWish() throws IOException {
    limit(Kind.QUOTA, 0, "32k");
    read(Admission.EVICTING, 0, columns(0, 40));
    ReadContext context = new ReadContext(counters);
    ChunkKey asked = chunk(0, 50, PART).key();
    ChunkKey wanted = chunk(0, 51, PART).key();
    for (int times = 1; times <= 2; times++) {
      assertFalse(ChunkLoad.wouldBeAdmitted(cache, asked, PART, context));
      assertEquals(times == 2, ChunkLoad.isAdmitted(cache, wanted, PART, context));
    }
  }

  @Test
  void quotaThatChanges_countsForWhatIsThere() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 20));
    read(Admission.EVICTING, 1, columns(0, 20));
    limit(Kind.QUOTA, 0, "32k");
    assertEquals(8 * PART, held(0));
    limit(Kind.QUOTA, 0, null);
    read(Admission.EVICTING, 0, columns(0, 30));
    assertTrue(held(0) >= 30 * PART);
    cache.limit(
        List.of(
            new QuotaRule(
                Kind.QUOTA, folder(0), List.of(folder(0)), PoolShare.parse("1k"), version - 1)));
    assertTrue(held(0) >= 30 * PART, "an older version counts no more");
  }

  @Test
  void minimum_staysWhileOthersAreRead_andIsTheirsUntilItIsUsed() throws IOException {
    limit(Kind.MINIMUM, 0, "25%");
    read(Admission.EVICTING, 2, columns(0, 64));
    assertEquals(CAPACITY, held(1), "nothing is set aside");
    read(Admission.EVICTING, 0, columns(0, 16));
    read(Admission.EVICTING, 2, columns(64, 300));
    assertEquals(CAPACITY / 4, held(0));
    limit(Kind.MINIMUM, 0, null);
    read(Admission.EVICTING, 2, columns(300, 600));
    assertEquals(0, held(0));
    assertEquals(0, counters.chunksBypassed());
  }

  @Test
  void minimumThatComesLater_countsForWhatIsThere() throws IOException {
    read(Admission.EVICTING, 0, columns(0, 16));
    limit(Kind.MINIMUM, 0, "25%");
    read(Admission.EVICTING, 2, columns(0, 300));
    assertEquals(CAPACITY / 4, held(0));
    cache.dropAll();
    assertEquals(0, pool.stats().usedBytes());
  }

  @Test
  void fourFifthsStayAtMost_andTheRestIsThereForOthers() throws IOException {
    limit(Kind.MINIMUM, 0, "100%");
    read(Admission.EVICTING, 0, columns(0, 64));
    assertEquals(CAPACITY, held(0));
    read(Admission.EVICTING, 2, columns(0, 64));
    assertEquals(CAPACITY / 5 * 4 / PART * PART, held(0));
    assertEquals(0, counters.chunksBypassed());
    assertEquals(TablePins.Outcome.TOO_MUCH, cache.kept.keep(chunk(2, 63, PART).key()));
  }

  @Test
  void foldersWithinFolders_countToTheNearest() throws IOException {
    limit(Kind.QUOTA, "file:/lake", "16k");
    limit(Kind.QUOTA, 1, "32k");
    for (int number = 0; number < 6; number++) {
      read(Admission.EVICTING, number, columns(0, 20));
    }
    assertEquals(4 * PART, held(0) + held(2));
    assertEquals(8 * PART, held(1));
    limit(Kind.QUOTA, 1, null);
    assertEquals(4 * PART, held(0) + held(1) + held(2));
  }

  @Test
  void guests_takeRoomWithinTheQuota_andAreSureOfNothing() throws IOException {
    limit(Kind.QUOTA, 0, "32k");
    limit(Kind.MINIMUM, 1, "32k");
    read(Admission.IF_FREE, 0, columns(0, 20));
    read(Admission.IF_FREE, 2, columns(0, 4));
    assertEquals(8 * PART, held(0));
    read(Admission.EVICTING, 4, columns(0, 200));
    assertEquals(0, held(1));
  }

  @Test
  void loadThatFails_countsToNobody() throws IOException {
    limit(Kind.QUOTA, 0, "16k");
    SyntheticFile broken =
        new SyntheticFile(
            0,
            ranges -> {
              throw new IOException("broken");
            });
    for (int column = 0; column < 10; column++) {
      List<ChunkRequest> requests = List.of(chunk(0, column, PART));
      try {
        cache.get(requests, broken, new ReadContext(counters)).close();
      } catch (IOException e) {
        assertEquals("broken", e.getMessage());
      }
    }
    read(Admission.EVICTING, 0, columns(10, 14));
    assertEquals(4 * PART, held(0));
  }
}
