package io.oap.tpcds.random

import scala.util.Random

/** Random choices, all of which follow from one seed. For one thread. */
final class Choices(seed: Long) {
  private val random = new Random(seed)

  def below(bound: Int): Int = random.nextInt(bound)

  /** From the least to the most, both included. */
  def between(least: Int, most: Int): Int = least + random.nextInt(most - least + 1)

  /** True so many times of a hundred. */
  def chance(percent: Int): Boolean = random.nextInt(100) < percent

  def oneOf[T](choices: T*): T = choices(random.nextInt(choices.size))

  /** So many of them, none twice, or all when there are fewer. */
  def some[T](number: Int, of: Seq[T]): Seq[T] = random.shuffle(of).take(number)

  def shuffled[T](of: Seq[T]): Seq[T] = random.shuffle(of)

  def seed(): Long = random.nextLong()
}
