package io.oap.spark

import scala.language.implicitConversions
import scala.reflect.ClassTag

import org.apache.spark.rdd.RDD

/** What `import io.oap.spark.rdd._` adds to RDDs: `persistInPool`. */
package object rdd {
  implicit def toPooledRDDs[T: ClassTag](all: RDD[T]): PooledRDDs[T] = new PooledRDDs(all)
}
