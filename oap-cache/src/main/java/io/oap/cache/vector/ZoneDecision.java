package io.oap.cache.vector;

/** What minimum, maximum and null count of a zone say about a filter. */
public enum ZoneDecision {
  /** No row matches: pass over the zone. */
  NONE,
  /** Every row matches: the filter need not run. */
  ALL,
  /** To be seen row by row. */
  SOME;

  private static final ZoneDecision[] DECISIONS = values();

  static ZoneDecision of(int number) {
    return DECISIONS[number];
  }
}
