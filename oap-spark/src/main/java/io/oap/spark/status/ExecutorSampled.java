package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * The column cache of an executor has changed or was used. Posted on Spark's listener bus, and so
 * in the event log, seconds apart for each executor.
 *
 * @param atMillis when the driver heard of it, since the epoch
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ExecutorSampled(long atMillis, ExecutorReport report) implements SparkListenerEvent {}
