package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.oap.cache.pool.CapacityEstimates;
import java.io.Serializable;
import java.util.Map;

/**
 * The pool of a process, while it is open.
 *
 * @param medium see {@code spark.oap.pool.medium}
 * @param paths directories or devices it lies in, with commas
 * @param bytesOnNodes bytes on each memory node, about
 * @param capacityBytes bytes for chunks
 * @param usedBytes bytes that belong to chunks
 * @param pinnedBytes bytes of chunks that are in use
 * @param chunks column chunks held
 * @param evictions chunks that had to leave since it was opened
 * @param nativeVersion version of the native library
 * @param estimates what other capacities would hit; null where that is not known
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record PoolReport(
    String medium,
    String paths,
    Map<Integer, Long> bytesOnNodes,
    long capacityBytes,
    long usedBytes,
    long pinnedBytes,
    long chunks,
    long evictions,
    String nativeVersion,
    CapacityEstimates estimates)
    implements Serializable {}
