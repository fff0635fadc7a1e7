package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonAnySetter;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.oap.cache.model.CapacityEstimates;
import java.io.Serializable;
import java.util.Map;

/**
 * The pool of a process, while it is open. In JSON its figures stand beside the other fields.
 *
 * @param name tells a pool that several processes have from others; null where it is one's own
 * @param medium see {@code spark.oap.pool.medium}
 * @param paths directories or devices it lies in, with commas
 * @param bytesOnNodes bytes on each memory node, about
 * @param figures those of the pool
 * @param nativeVersion version of the native library
 * @param estimates what other capacities would hit; null where that is not known
 */
public record PoolReport(
    String name,
    String medium,
    String paths,
    Map<Integer, Long> bytesOnNodes,
    @JsonIgnore Figures figures,
    String nativeVersion,
    CapacityEstimates estimates)
    implements Serializable {

  @JsonCreator
  static PoolReport ofJson(
      @JsonProperty("name") String name,
      @JsonProperty("medium") String medium,
      @JsonProperty("paths") String paths,
      @JsonProperty("bytesOnNodes") Map<Integer, Long> bytesOnNodes,
      @JsonProperty("nativeVersion") String nativeVersion,
      @JsonProperty("estimates") CapacityEstimates estimates,
      @JsonAnySetter Map<String, Object> others) {
    return new PoolReport(
        name, medium, paths, bytesOnNodes, Figures.ofJson(others), nativeVersion, estimates);
  }

  @JsonAnyGetter
  Map<String, Long> fields() {
    return figures.pool();
  }
}
