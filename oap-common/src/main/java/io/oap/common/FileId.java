package io.oap.common;

/**
 * A {@link FileIdentity} as a number, for use in keys.
 *
 * @param high first 64 bits
 * @param low last 64 bits
 */
public record FileId(long high, long low) {}
