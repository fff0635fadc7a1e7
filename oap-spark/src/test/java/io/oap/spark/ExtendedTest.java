package io.oap.spark;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.scalatest.TagAnnotation;

/**
 * Marks a suite that takes a minute or more and goes deeper into what other suites test, too.
 * {@code dev/check} leaves it out, {@code dev/check --extended} and {@code dev/test} run it.
 */
@TagAnnotation
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface ExtendedTest {}
