package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The files in conf/ ask for the pools that their names promise. */
class ReadyMadeConfigurationsTest {

  @Test
  void poolOptions_eachFile_areOfItsMedium() throws IOException {
    TreeMap<String, String> found = new TreeMap<>();
    try (Stream<Path> files = Files.list(Path.of("..", "conf"))) {
      for (Path file : files.filter(name -> name.toString().endsWith(".conf")).toList()) {
        // The format of spark-defaults.conf is that of Java properties; Spark reads it as such.
        Properties settings = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
          settings.load(reader);
        }
        PoolOptions options = PoolOptions.of(settings::getProperty);
        found.put(
            file.getFileName().toString(),
            options.medium() + " " + options.paths() + " " + Long.toBinaryString(options.nodes()));
      }
    }
    TreeMap<String, String> expected = new TreeMap<>();
    expected.put("oap-devdax.conf", "DEVDAX [/dev/dax0.0, /dev/dax1.0] 0");
    expected.put("oap-dram.conf", "DRAM [] 0");
    expected.put("oap-fsdax.conf", "FSDAX [/mnt/pmem0/oap] 0");
    expected.put("oap-node.conf", "NODE [] 1100");
    expected.put("oap-nvme.conf", "FILE [/mnt/nvme0/oap] 0");
    expected.put("oap-shared.conf", "FILE [/dev/shm] 0");
    expected.put("oap-tiers.conf", "DRAM [] 0");
    assertEquals(expected, found);
  }
}
