package io.oap.cache.stats;

import java.util.Collection;
import java.util.Iterator;
import java.util.Map;

/** Maps, lists, texts and numbers as JSON for people, a line for each. */
final class JsonText {
  private final StringBuilder text = new StringBuilder();

  private JsonText() {}

  static String of(Object value) {
    JsonText json = new JsonText();
    json.append(value, "\n");
    return json.text.toString();
  }

  private void append(Object value, String line) {
    if (value instanceof Map<?, ?> object) {
      appendAll(object.entrySet(), "{", "}", line);
    } else if (value instanceof Collection<?> list) {
      appendAll(list, "[", "]", line);
    } else if (value instanceof Map.Entry<?, ?> field) {
      append(field.getKey(), line);
      text.append(": ");
      append(field.getValue(), line);
    } else if (value instanceof String string) {
      text.append('"').append(string.replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
    } else {
      text.append(value);
    }
  }

  private void appendAll(Collection<?> elements, String begin, String end, String line) {
    text.append(begin);
    Iterator<?> rest = elements.iterator();
    while (rest.hasNext()) {
      text.append(line).append("  ");
      append(rest.next(), line + "  ");
      text.append(rest.hasNext() ? "," : line);
    }
    text.append(end);
  }
}
