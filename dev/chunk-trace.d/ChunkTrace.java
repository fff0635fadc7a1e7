import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** Prints the accesses to column chunks in flight recordings as a trace; see dev/chunk-trace. */
public final class ChunkTrace {

  /** One ask: when, in nanoseconds since the first of its recording, and for what. */
  private record Access(long at, String file, int rowGroup, int column, long bytes) {}

  private ChunkTrace() {}

  public static void main(String[] recordings) {
    List<Access> all = new ArrayList<>();
    for (int tenant = 0; tenant < recordings.length; tenant++) {
      String problem = "nobody asked for a chunk, or io.oap.ChunkAccess was not enabled";
      int before = all.size();
      try {
        all.addAll(read(Path.of(recordings[tenant]), tenant));
      } catch (IOException e) {
        problem = e.getMessage();
      }
      if (all.size() == before) {
        System.err.println("dev/chunk-trace: no trace of " + recordings[tenant] + ": " + problem);
        System.exit(1);
      }
    }
    print(all);
  }

  private static void print(List<Access> all) {
    all.sort(Comparator.comparingLong(Access::at));
    Map<String, Integer> files = new HashMap<>();
    try (PrintWriter out =
        new PrintWriter(
            new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII)))) {
      for (Access a : all) {
        int file = files.computeIfAbsent(a.file, f -> files.size() + 1);
        out.println(file + " " + a.rowGroup + " " + a.column + " " + a.bytes);
      }
    }
  }

  private static List<Access> read(Path recording, int tenant) throws IOException {
    List<RecordedEvent> events = new ArrayList<>();
    try (RecordingFile file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        RecordedEvent event = file.readEvent();
        if (event.getEventType().getName().equals("io.oap.ChunkAccess")) {
          events.add(event);
        }
      }
    }
    events.sort(Comparator.comparing(RecordedEvent::getStartTime));
    List<Access> accesses = new ArrayList<>();
    for (RecordedEvent event : events) {
      // What differs in representation is another chunk, as if it lay in another file.
      String name =
          tenant
              + "/"
              + event.getLong("fileHigh")
              + "/"
              + event.getLong("fileLow")
              + "/"
              + event.getLong("representation");
      accesses.add(
          new Access(
              java.time.Duration.between(events.get(0).getStartTime(), event.getStartTime())
                  .toNanos(),
              name,
              event.getInt("rowGroup"),
              event.getInt("column"),
              event.getLong("bytes")));
    }
    return accesses;
  }
}
