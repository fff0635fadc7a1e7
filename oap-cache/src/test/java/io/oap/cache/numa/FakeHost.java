package io.oap.cache.numa;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What kernels tell of a host with some nodes, in files of a directory. */
record FakeHost(Path folder, Path status) {

  /**
   * Writes the files.
   *
   * @param processors of each node, as a list of the kernel's
   * @param withMemory numbers of nodes with memory
   * @param mayRunOn processors that the process may use
   * @param mayLieOn nodes that it may have memory on
   */
  static FakeHost in(
      Path folder, String withMemory, String mayRunOn, String mayLieOn, String... processors)
      throws IOException {
    Files.writeString(
        folder.resolve("online"), processors.length == 1 ? "0\n" : "0-" + (processors.length - 1));
    Files.writeString(folder.resolve("has_memory"), withMemory + "\n");
    for (int node = 0; node < processors.length; node++) {
      Path directory = Files.createDirectories(folder.resolve("node" + node));
      Files.writeString(directory.resolve("cpulist"), processors[node] + "\n");
    }
    Path status = folder.resolve("status");
    Files.writeString(
        status,
        "Name:\tjava\nCpus_allowed:\tff\nCpus_allowed_list:\t"
            + mayRunOn
            + "\nMems_allowed:\t3\nMems_allowed_list:\t"
            + mayLieOn
            + "\n");
    return new FakeHost(folder, status);
  }

  HostNodes read() throws IOException {
    return HostNodes.read(folder, status);
  }
}
