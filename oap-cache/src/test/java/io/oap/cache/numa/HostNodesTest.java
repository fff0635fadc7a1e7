package io.oap.cache.numa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which nodes a process may use, by what the kernel tells. */
class HostNodesTest {

  @Test
  void numbers_ofTheKernel_areRead() {
    assertEquals("{}", HostNodes.numbers("\n").toString());
    assertEquals("{0}", HostNodes.numbers("0\n").toString());
    assertEquals("{0, 1, 2, 3, 8, 10, 11}", HostNodes.numbers("0-3,8,10-11").toString());
  }

  @Test
  void nodes_withMemoryAndProcessors_areUsable(@TempDir Path folder) throws IOException {
    HostNodes host = FakeHost.in(folder, "0-1", "0-7", "0-1", "0-3", "4-7").read();
    assertEquals("{0, 1}", host.usable().toString());
    assertEquals("{4, 5, 6, 7}", host.processorsOf(HostNodes.numbers("1")).toString());
    assertEquals(8, host.processorsOf(host.usable()).cardinality());
    assertNull(host.refusal(1));
  }

  /** As with numactl --cpunodebind, and in containers with a set of processors. */
  @Test
  void nodes_withoutProcessorsForThisProcess_areNone(@TempDir Path folder) throws IOException {
    HostNodes host = FakeHost.in(folder, "0-1", "1,6-7", "0-1", "0-3", "4-7").read();
    assertEquals("{0, 1}", host.usable().toString());
    assertEquals("{6, 7}", host.processorsOf(HostNodes.numbers("1")).toString());
    host = FakeHost.in(folder, "0-1", "5", "0-1", "0-3", "4-7").read();
    assertEquals("{1}", host.usable().toString());
    assertEquals("has no processor for this process", host.refusal(0));
  }

  @Test
  void nodes_ofAnotherCpuset_areNone(@TempDir Path folder) throws IOException {
    HostNodes host = FakeHost.in(folder, "0-1", "0-7", "0", "0-3", "4-7").read();
    assertEquals("{0}", host.usable().toString());
    assertEquals("has no memory for this process, whose cpuset is another", host.refusal(1));
  }

  /** Memory of CXL has no processors, and a socket may have no memory. */
  @Test
  void nodes_thatLackOne_areNone(@TempDir Path folder) throws IOException {
    HostNodes host = FakeHost.in(folder, "0,2", "0-7", "0-2", "0-3", "4-7", "").read();
    assertEquals("{0}", host.usable().toString());
    assertEquals("has no memory", host.refusal(1));
    assertEquals("has no processor for this process", host.refusal(2));
    assertEquals("does not exist", host.refusal(3));
  }

  @Test
  void kernel_withoutNodes_isAnError(@TempDir Path folder) {
    Path missing = folder.resolve("missing");
    assertThrows(IOException.class, () -> HostNodes.read(missing, missing));
  }
}
