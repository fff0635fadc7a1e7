package io.oap.spark;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Dependencies run one way: oap-spark knows oap-cache, which knows oap-common. */
class ArchitectureTest {
  private static final JavaClasses OURS =
      new ClassFileImporter()
          // Other tests than ArchUnit's own option expects lie here when Spark is another one.
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("io.oap");

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
        .resideInAnyPackage(
            "io.oap.cache",
            "io.oap.cache.file..",
            "io.oap.cache.layout..",
            "io.oap.cache.stream..",
            "io.oap.cache.parquet..",
            "io.oap.cache.orc..",
            "org.apache..")
        .check(OURS);
  }

  /** Only the room of a format knows that format. */
  @Test
  void cache_outsideOfARoom_doesNotKnowItsFormat() {
    for (String format : List.of("parquet", "orc")) {
      String room = "io.oap.cache." + format + "..";
      noClasses()
          .that()
          .resideInAPackage("io.oap.cache..")
          .and()
          .resideOutsideOfPackage(room)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(room, "org.apache." + format + "..")
          .check(OURS);
    }
  }

  /** Each package is a slice of its own, also one that has others within it. */
  @Test
  void packages_all_formNoCircle() {
    slices().matching("io.oap.(**)").should().beFreeOfCycles().check(OURS);
  }

  /** Where work goes is computed from numbers alone, so that a simulation can ask it. */
  @Test
  void placement_doesNotKnowSpark() {
    noClasses()
        .that()
        .resideInAPackage("io.oap.spark.placement..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.apache.spark..")
        .check(OURS);
  }

  /** Spark's own parts that are not public are used in few places, which say why. */
  @Test
  void rpcAndUi_ofSpark_areUsedInFewPackages() {
    noClasses()
        .that()
        .resideOutsideOfPackages(
            "io.oap.spark.internals..", "io.oap.spark.rpc..", "io.oap.spark.ui..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("org.apache.spark.rpc..", "org.apache.spark.ui..")
        .check(OURS);
  }

  /**
   * Iceberg need not be there: what knows it is loaded only for an Iceberg table. So what other
   * packages use does not name its classes, but for {@code IcebergFiles}, which is asked of tables
   * that are Iceberg's.
   */
  @Test
  void iceberg_isKnownToItsPackageOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.oap.spark.iceberg..")
        .or(
            DescribedPredicate.describe(
                "are used from there", ArchitectureTest::isUsedFromOutsideOfIceberg))
        .or()
        .haveNameMatching("io\\.oap\\.spark\\.iceberg\\.(CacheIcebergScans|IcebergTables).*")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.apache.iceberg..")
        .check(OURS);
  }

  /** What Iceberg carries of other libraries is its own, and elsewhere in other builds of it. */
  @Test
  void whatIcebergCarries_isNotOurs() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("org.apache.iceberg.shaded..", "org.apache.iceberg.relocated..")
        .check(OURS);
  }

  private static boolean isUsedFromOutsideOfIceberg(JavaClass one) {
    return !one.getName().startsWith("io.oap.spark.iceberg.IcebergFiles")
        && one.getDirectDependenciesToSelf().stream()
            .anyMatch(
                use -> !use.getOriginClass().getPackageName().startsWith("io.oap.spark.iceberg"));
  }

  @Test
  void nothing_knowsTpcds() {
    noClasses().should().dependOnClassesThat().resideInAPackage("io.oap.tpcds..").check(OURS);
  }
}
