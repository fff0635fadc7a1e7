package io.oap.spark.status;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import org.apache.spark.scheduler.SparkListenerEvent;

/** A cached scan has ended. Posted on Spark's listener bus, and so in the event log. */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ScanEnded(ScanReport scan) implements SparkListenerEvent {}
