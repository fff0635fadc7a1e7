package io.oap.cache.model;

import java.io.Serializable;
import java.util.List;

/**
 * What a pool would hit with more or less room.
 *
 * @param askedBytes bytes that readers asked for lately, about 16 to 32 times the capacity; all of
 *     them while there are fewer
 * @param hitBytes what of them a pool would have of each capacity of {@link #PERCENTS}; at 100,
 *     what the pool had
 */
public record CapacityEstimates(long askedBytes, List<Long> hitBytes) implements Serializable {

  /** The capacities, in percent of the pool's; as OAP_CAPACITY_PERCENTS in native/. */
  public static final List<Integer> PERCENTS = List.of(25, 50, 75, 100, 125, 150, 200, 300, 400);
}
