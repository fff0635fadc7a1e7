package io.oap.spark.placement

/** A mix of 64 bits in which every bit depends on every other: the finalizer of MurmurHash3. */
private[spark] object Hash64 {
  def mix(value: Long): Long = {
    var mixed = value
    mixed = (mixed ^ (mixed >>> 33)) * 0xff51afd7ed558ccdL
    mixed = (mixed ^ (mixed >>> 33)) * 0xc4ceb9fe1a85ec53L
    mixed ^ (mixed >>> 33)
  }

  /** What a piece is known by: one number for its file and its first byte. */
  def pieceKey(file: Long, position: Long): Long = mix(file ^ mix(position + 1))
}
