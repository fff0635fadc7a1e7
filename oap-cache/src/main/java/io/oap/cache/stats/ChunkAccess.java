package io.oap.cache.stats;

import io.oap.common.ChunkKey;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A task asked for a column chunk: an event for Java Flight Recorder, off unless a recording wants
 * it. The asks of a process in their order are a trace, from which dev/chunk-trace makes what the
 * race of the pool's policies (native/bench/policy_bench.c) runs on.
 */
@Name(ChunkAccess.NAME)
@Label("Column chunk access")
@Description("A task asked the column cache for a chunk")
@Category("OAP")
@Enabled(false)
@StackTrace(false)
public final class ChunkAccess extends Event {

  static final String NAME = "io.oap.ChunkAccess";

  @Label("File (high)")
  private long fileHigh;

  @Label("File (low)")
  private long fileLow;

  @Label("Row group")
  private int rowGroup;

  @Label("Column")
  private int column;

  @Label("Representation")
  private long representation;

  @Label("Length")
  @DataAmount
  private long bytes;

  @Label("Hit")
  @Description("Whether the pool held it")
  private boolean hit;

  private ChunkAccess() {}

  /** Records an ask for a chunk of so many bytes, if anybody wants to know. */
  public static void record(ChunkKey key, long bytes, boolean hit) {
    ChunkAccess access = new ChunkAccess();
    if (access.isEnabled()) {
      access.fileHigh = key.file().high();
      access.fileLow = key.file().low();
      access.rowGroup = key.rowGroup();
      access.column = key.column();
      access.representation = key.representation();
      access.bytes = bytes;
      access.hit = hit;
      access.commit();
    }
  }
}
