package io.oap.spark.internals;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Fields that Spark has for itself. */
final class PrivateFields {
  private PrivateFields() {}

  /** Returns a field of a class; null where this Spark has it under another name or type. */
  static VarHandle find(Class<?> owner, String name, Class<?> type) {
    try {
      return MethodHandles.privateLookupIn(owner, MethodHandles.lookup())
          .findVarHandle(owner, name, type);
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null;
    }
  }
}
