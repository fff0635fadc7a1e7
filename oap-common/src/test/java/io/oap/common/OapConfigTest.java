package io.oap.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What each key accepts, and that what it refuses is explained. */
class OapConfigTest {

  static Stream<ConfigEntry<?>> entries() {
    return OapConfig.ALL.stream();
  }

  @Test
  void all_always_holdsEveryEntryOnce() throws IllegalAccessException {
    List<ConfigEntry<?>> declared = new ArrayList<>();
    for (Field field : OapConfig.class.getFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == ConfigEntry.class) {
        declared.add((ConfigEntry<?>) field.get(null));
      }
    }
    assertFalse(declared.isEmpty());
    assertEquals(declared, OapConfig.ALL);
    assertEquals(declared.size(), entries().map(ConfigEntry::key).distinct().count());
  }

  @ParameterizedTest
  @MethodSource("entries")
  void entry_always_isDescribed(ConfigEntry<?> entry) {
    assertTrue(entry.key().matches("spark\\.oap(\\.[a-z][a-zA-Z]+)+"), entry.key());
    assertTrue(entry.key().startsWith(OapConfig.PREFIX), entry.key());
    assertTrue(entry.meaning().endsWith("."), entry.meaning());
    assertFalse(entry.allowed().endsWith("."), entry.allowed());
    assertTrue(entry.since().matches("\\d+\\.\\d+\\.\\d+"), entry.since());
    assertFalse(entry.type().isEmpty());
  }

  @ParameterizedTest
  @MethodSource("entries")
  void get_notSet_isTheDefault(ConfigEntry<?> entry) {
    assertEquals(entry.get(Map.of(entry.key(), entry.defaultText())::get), entry.get(key -> null));
  }

  @Test
  void get_defaults_areTheseValues() {
    assertEquals(true, OapConfig.CACHE_ENABLED.get(key -> null));
    assertEquals(
        List.of("parquet", "iceberg", "delta", "orc"), OapConfig.CACHE_FORMATS.get(key -> null));
    assertEquals(30_000, OapConfig.CACHE_LOAD_TIMEOUT.get(key -> null));
    assertEquals(64L << 20, OapConfig.CACHE_FOOTER_SIZE.get(key -> null));
    assertEquals(1L << 30, OapConfig.POOL_SIZE.get(key -> null));
    assertEquals("", OapConfig.POOL_PATH.get(key -> null));
    assertEquals("auto", OapConfig.POOL_MEDIUM.get(key -> null));
    assertEquals("", OapConfig.POOL_NODES.get(key -> null));
    assertEquals(false, OapConfig.POOL_ERASE.get(key -> null));
    assertEquals("s3fifo", OapConfig.POOL_POLICY.get(key -> null));
  }

  @ParameterizedTest
  @CsvSource({
    "1048576, 1048576",
    "1048576b, 1048576",
    "1024k, 1048576",
    "1024 KB, 1048576",
    "'  2m ', 2097152",
    "3MB, 3145728",
    "3g, 3221225472",
    "3gb, 3221225472",
    "4T, 4398046511104",
    "4tb, 4398046511104",
    "8191p, 9222246136947933184",
    "8191pb, 9222246136947933184",
    "9223372036854775807, 9223372036854775807"
  })
  void size_numberWithUnit_isBytes(String text, long bytes) {
    assertEquals(bytes, get(OapConfig.POOL_SIZE, text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "g",
        "-1g",
        "1.5g",
        "1e3m",
        "1gib",
        "1 g b",
        "0x10m",
        "8192p",
        "9223372036854775808",
        "99999999999999999999t",
        "1048575",
        "0",
        "1023k",
        "١g"
      })
  void size_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.POOL_SIZE, text);
  }

  @ParameterizedTest
  @CsvSource({"60%, 600", "0.5 %, 5", "100%, 1000", "512, 512", "1k, 1000", "2g, 1000"})
  void share_percentOrSize_isPartOfThePool(String text, long bytes) {
    assertEquals(bytes, PoolShare.parse(" " + text + " ").of(1000));
    assertEquals(text, PoolShare.parse(text).toString());
  }

  @Test
  void replicas_shareOrNothing_isOptional() {
    assertEquals(Optional.empty(), get(OapConfig.CACHE_REPLICAS, " "));
    assertEquals(100, get(OapConfig.CACHE_REPLICAS, "10%").orElseThrow().of(1000));
    assertRefused(OapConfig.CACHE_REPLICAS, "0.1x");
    assertRefused(OapConfig.CACHE_REPLICAS, "0%");
  }

  @Test
  void tiers_memoryAndAFolder_arePartedByTheLastColon() {
    assertEquals(
        new PoolTiers(8L << 30, "/mnt/nvme", 400L << 30),
        get(OapConfig.POOL_TIERS, " dram:8g, file:/mnt/nvme:400g "));
    assertEquals(new PoolTiers(0, "/a:b", 64L << 20), get(OapConfig.POOL_TIERS, "file:/a:b:64m"));
    assertEquals(new PoolTiers(0, "", 0), get(OapConfig.POOL_TIERS, ""));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "dram:8g",
        "file:64m",
        "file::64m",
        "file:/mnt/nvme",
        "file:/mnt/nvme:",
        "file:/mnt/nvme:67108863",
        "file:/mnt/nvme:1g, dram:1g",
        "dram:1g, file:/mnt/nvme:1g, file:/mnt/other:1g",
        "dram:1k, file:/mnt/nvme:1g",
        "dram:1g,",
        "node:1:1g, file:/mnt/nvme:1g"
      })
  void tiers_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.POOL_TIERS, text);
  }

  @Test
  void formats_someOfTheWords_areListed() {
    assertEquals(List.of("iceberg"), get(OapConfig.CACHE_FORMATS, " ICEBERG,"));
    assertEquals(List.of(), get(OapConfig.CACHE_FORMATS, ""));
    assertRefused(OapConfig.CACHE_FORMATS, "parquet,csv");
  }

  @Test
  void shares_ofTables_areListed() {
    assertEquals(
        List.of(
            new TableShare("tpcds.store_sales", PoolShare.parse("60%")),
            new TableShare("/logs/day=1", PoolShare.parse("10g"))),
        get(OapConfig.CACHE_TABLES_QUOTAS, "tpcds.store_sales = 60%, /logs/day=1=10g,"));
    assertEquals(2, get(OapConfig.CACHE_TABLES_MINIMUMS, "a=60%,b=40%,").size());
    assertEquals(2, get(OapConfig.CACHE_TABLES_QUOTAS, "a=60%,b=50%").size());
    assertRefused(OapConfig.CACHE_TABLES_MINIMUMS, "a=60%,b=40.1%");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"a", "a=", "=1g", " =1g", "a=0", "a=0%", "a=101%", "a=-1%", "a=half", "a=1%,b"})
  void shares_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.CACHE_TABLES_QUOTAS, text);
    assertRefused(OapConfig.CACHE_TABLES_MINIMUMS, text);
  }

  @ParameterizedTest
  @CsvSource({
    "0ms, 0",
    "500ms, 500",
    "500 MS, 500",
    "30s, 30000",
    "2m, 120000",
    "2min, 120000",
    "1h, 3600000",
    "9223372036854775807ms, 9223372036854775807",
    "9223372036854775s, 9223372036854775000"
  })
  void duration_numberWithUnit_isMilliseconds(String text, long millis) {
    assertEquals(millis, get(OapConfig.CACHE_LOAD_TIMEOUT, text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "30",
        "s",
        "-1s",
        "1.5s",
        "3d",
        "9223372036854775808ms",
        "9223372036854776s",
        "9223372036854775807s",
        "9223372036854775807m",
        "9223372036854775807h",
        "99999999999999999999h"
      })
  void duration_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.CACHE_LOAD_TIMEOUT, text);
  }

  @ParameterizedTest
  @CsvSource({"true, true", "false, false", "TRUE, true", "' False ', false"})
  void bool_trueOrFalse_isThat(String text, boolean value) {
    assertEquals(value, get(OapConfig.CACHE_ENABLED, text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "yes", "1", "on", "tru"})
  void bool_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.CACHE_ENABLED, text);
  }

  @ParameterizedTest
  @CsvSource({"dram, dram", "FSDAX, fsdax", "' node ', node"})
  void choice_oneOfTheWords_isThatInLowerCase(String text, String word) {
    assertEquals(word, get(OapConfig.POOL_MEDIUM, text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "disk", "dram,node", "dra"})
  void choice_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.POOL_MEDIUM, text);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "63", "2,3", "interleave:0", "interleave:1,2,40"})
  void nodes_numbersBelow64_areKept(String text) {
    assertEquals(text, get(OapConfig.POOL_NODES, text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"64", "-1", "a", "1,", ",1", "1;2", "interleave", "interleave:", "100"})
  void nodes_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.POOL_NODES, text);
  }

  @ParameterizedTest
  @ValueSource(strings = {"off", "AUTO", "0", "63", "2,3"})
  void binding_wordsAndNodes_areKept(String text) {
    assertEquals(text.toLowerCase(Locale.ROOT), get(OapConfig.NUMA_BIND, text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "on", "64", "0,", "auto,1", "interleave:0"})
  void binding_anythingElse_isRefused(String text) {
    assertRefused(OapConfig.NUMA_BIND, text);
  }

  @Test
  void poolPath_text_isTrimmed() {
    assertEquals("/mnt/pmem0", get(OapConfig.POOL_PATH, " /mnt/pmem0 "));
  }

  @Test
  void tables_commas_separateTrimmedItems() {
    assertEquals(List.of(), get(OapConfig.CACHE_TABLES_INCLUDE, " "));
    assertEquals(
        List.of("a", "db.b*", "s3a://c/d"),
        get(OapConfig.CACHE_TABLES_INCLUDE, " a, db.b* ,,s3a://c/d,"));
  }

  private static <T> T get(ConfigEntry<T> entry, String text) {
    assertTrue(entry.allows(text));
    return entry.get(Map.of(entry.key(), text)::get);
  }

  /** The message is all a user sees: it must say which key, which text and what would be right. */
  private static void assertRefused(ConfigEntry<?> entry, String text) {
    assertFalse(entry.allows(text));
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class, () -> entry.get(Map.of(entry.key(), text)::get));
    String expected =
        "Invalid value '" + text + "' for " + entry.key() + ": expected " + entry.allowed() + ".";
    assertEquals(expected, e.getMessage());
  }
}
