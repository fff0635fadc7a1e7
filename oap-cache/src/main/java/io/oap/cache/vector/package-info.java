/**
 * The vector representation of a column chunk, made with {@link io.oap.cache.vector.VectorEncoder}
 * and read, filtered and unpacked in place with {@link io.oap.cache.vector.VectorChunk}. The format
 * is specified in native/VECTOR-CHUNK.md. Native calls are per zone and column, never per row.
 */
package io.oap.cache.vector;
