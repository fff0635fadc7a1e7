package io.oap.tpcds.scale

import io.oap.tpcds.result.Plan

/**
 * What dev/tpcds run, pairs, scenario and matrix hand to the job.
 *
 * @param out where the result goes; one that is there is continued, but by pairs
 * @param minutes after which no more round begins; 0: all are run
 * @param trace empty, or a folder for recordings of the chunks that were asked for
 * @param command as it was typed, for the report
 * @param revision of the sources, for the report
 */
final case class RunRequest(
    plan: Plan,
    out: String,
    minutes: Int,
    trace: String,
    command: String,
    revision: String)
