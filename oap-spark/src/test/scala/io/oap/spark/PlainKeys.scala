package io.oap.spark

import java.util.Base64

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.KmsClient

/** A key service for tests: what it wraps, anybody can unwrap. */
class PlainKeys extends KmsClient {
  override def initialize(
      configuration: Configuration,
      instance: String,
      url: String,
      token: String): Unit = ()

  override def wrapKey(key: Array[Byte], master: String): String =
    s"$master:${Base64.getEncoder.encodeToString(key)}"

  override def unwrapKey(wrapped: String, master: String): Array[Byte] =
    Base64.getDecoder.decode(wrapped.stripPrefix(s"$master:"))
}
