package io.oap.cache.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.Util;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** Parquet files for tests: rows that follow from their number, written in whatever way. */
final class SampleFile {
  static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          """
          message sample {
            required int64 id;
            optional binary city (STRING);
            optional double price;
            optional binary text (STRING);
            required boolean flag;
            optional group tags (LIST) {
              repeated group list {
                optional int32 element;
              }
            }
          }
          """);

  /** The cities are every other one of these: the others are absent, but within min and max. */
  static final int CITIES = 20;

  private SampleFile() {}

  /** How to write: see ParquetWriter. */
  interface Settings extends UnaryOperator<ExampleParquetWriter.Builder> {}

  /** Row groups of 1000 rows, pages of 100. */
  static void write(Path path, Configuration conf, int rows, long seed, Settings settings)
      throws IOException {
    ExampleParquetWriter.Builder builder =
        ExampleParquetWriter.builder(path)
            .withConf(conf)
            .withType(SCHEMA)
            .withWriteMode(ParquetFileWriter.Mode.OVERWRITE)
            .withRowGroupRowCountLimit(1000)
            .withPageRowCountLimit(100);
    try (ParquetWriter<Group> writer = settings.apply(builder).build()) {
      for (int i = 0; i < rows; i++) {
        writer.write(row(i, seed));
      }
    }
  }

  /** The id ascends by two with the row, all else is random and sometimes missing. */
  private static Group row(int number, long seed) {
    Random random = new Random(seed * 1_000_003 + number);
    Group row = new SimpleGroup(SCHEMA);
    row.add("id", 2L * number);
    if (random.nextInt(10) > 0) {
      row.add("city", city(2 * random.nextInt(CITIES)));
    }
    if (random.nextInt(10) > 0) {
      row.add("price", random.nextDouble());
    }
    byte[] text = new byte[random.nextInt(30)];
    random.nextBytes(text);
    row.add("text", Binary.fromConstantByteArray(text));
    row.add("flag", random.nextBoolean());
    Group tags = row.addGroup("tags");
    for (int t = random.nextInt(4); t > 0; t--) {
      tags.addGroup("list").add("element", random.nextInt(1000));
    }
    return row;
  }

  static String city(int number) {
    return String.format("city-%03d", number);
  }

  /** Writes the footer of a local file anew, as another writer might have written it. */
  static void rewriteFooter(java.nio.file.Path file, Consumer<FileMetaData> change)
      throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    ByteBuffer tail = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int length = tail.getInt(bytes.length - 8);
    int start = bytes.length - 8 - length;
    FileMetaData footer =
        Util.readFileMetaData(
            new ByteArrayInputStream(Arrays.copyOfRange(bytes, start, start + length)));
    change.accept(footer);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(bytes, 0, start);
    Util.writeFileMetaData(footer, out);
    ByteBuffer end = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    end.putInt(out.size() - start).put("PAR1".getBytes(StandardCharsets.US_ASCII));
    out.write(end.array());
    Files.write(file, out.toByteArray());
  }
}
