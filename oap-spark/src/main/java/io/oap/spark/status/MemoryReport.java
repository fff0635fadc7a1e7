package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.io.Serializable;
import java.util.Map;

/**
 * How the memory of an executor beside its pool lies on memory nodes.
 *
 * @param keepsTo numbers of the nodes that {@code spark.oap.numa.bind} has given it, with commas;
 *     empty without any
 * @param heapOnNodes bytes of its Java heap, by node
 * @param restOnNodes bytes of its other memory, by node; files that are mapped do not count
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record MemoryReport(
    String keepsTo, Map<Integer, Long> heapOnNodes, Map<Integer, Long> restOnNodes)
    implements Serializable {}
