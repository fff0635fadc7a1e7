package io.oap.spark;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Dependencies run one way: oap-spark knows oap-cache, which knows oap-common. */
class ArchitectureTest {
  private static final JavaClasses OURS =
      new ClassFileImporter()
          .importPaths(
              List.of(
                  Path.of("..", "oap-common", "target", "classes"),
                  Path.of("..", "oap-cache", "target", "classes"),
                  Path.of("target", "classes")));

  @Test
  void modules_all_areSeen() {
    for (String name :
        List.of(
            "io.oap.common.ChunkKey",
            "io.oap.cache.pool.ColumnPool",
            "io.oap.spark.OapExtensions")) {
      assertTrue(OURS.contain(name), name);
    }
  }

  @Test
  void classes_all_lieInOurPackages() {
    classes()
        .should()
        .resideInAnyPackage("io.oap.common..", "io.oap.cache..", "io.oap.spark..")
        .check(OURS);
  }

  @Test
  void common_knowsNeitherTheCacheNorSpark() {
    noClasses()
        .that()
        .resideInAPackage("io.oap.common..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.oap.cache..", "io.oap.spark..", "org.apache..", "scala..")
        .check(OURS);
  }

  @Test
  void cache_doesNotKnowSpark() {
    noClasses()
        .that()
        .resideInAPackage("io.oap.cache..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.oap.spark..", "org.apache.spark..", "scala..")
        .check(OURS);
  }

  /** The pool holds bytes; what they mean is above it. */
  @Test
  void pool_knowsNoFileFormat() {
    noClasses()
        .that()
        .resideInAPackage("io.oap.cache.pool..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.oap.cache", "io.oap.cache.parquet..", "org.apache..")
        .check(OURS);
  }

  @Test
  void nothing_knowsTpcds() {
    noClasses().should().dependOnClassesThat().resideInAPackage("io.oap.tpcds..").check(OURS);
  }
}
