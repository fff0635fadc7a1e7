package io.oap.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.oap.cache.pool.Medium;
import io.oap.cache.pool.PoolOptions;
import java.io.IOException;
import java.io.Reader;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.k8s.KubernetesConf;
import org.apache.spark.deploy.k8s.KubernetesExecutorConf;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.internal.config.package$;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;

/** The pods that Spark makes of the files in conf/kubernetes, without a cluster. */
class KubernetesPodsTest {
  private static final Path ROOT = Path.of("..");
  private static final Path FOLDER = ROOT.resolve("conf/kubernetes");
  private static final long HEAP = 4L << 30;
  private static final long LEAST_OVERHEAD = 384L << 20;
  private static final String TEMPLATE = "spark.kubernetes.executor.podTemplateFile";
  private static final long USER_OF_SPARKS_IMAGES = 185;

  private static SparkConf conf(String file) throws IOException {
    Properties settings = new Properties();
    try (Reader reader = Files.newBufferedReader(FOLDER.resolve(file))) {
      settings.load(reader);
    }
    SparkConf conf = new SparkConf(false);
    settings.forEach((key, value) -> conf.set((String) key, (String) value));
    if (conf.contains(TEMPLATE)) {
      conf.set(TEMPLATE, ROOT.resolve(conf.get(TEMPLATE)).toString());
    }
    return conf.set("spark.app.name", "pods")
        .set("spark.driver.host", "driver")
        .set("spark.driver.port", "7078")
        .set("spark.executor.memory", (HEAP >> 20) + "m")
        .set("spark.kubernetes.container.image", "spark");
  }

  private static SparkPod pod(SparkConf conf) {
    Config nowhere = Config.empty();
    nowhere.setMasterUrl("http://localhost:1");
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(nowhere).build()) {
      KubernetesExecutorConf executor =
          KubernetesConf.createExecutorConf(
              conf,
              "1",
              "spark-1",
              Option.empty(),
              ResourceProfile$.MODULE$.DEFAULT_RESOURCE_PROFILE_ID());
      return new KubernetesExecutorBuilder()
          .buildFromFeatures(
              executor,
              new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE()),
              client,
              ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf))
          .pod();
    } finally {
      // Else the next one would be of this configuration.
      ResourceProfile$.MODULE$.clearDefaultProfile();
    }
  }

  private static long limit(Container container, String resource) {
    Map<String, Quantity> limits = container.getResources().getLimits();
    Quantity limit = limits.getOrDefault(resource, new Quantity("0"));
    return limit.getNumericalAmount().longValueExact();
  }

  /** The volume that a directory of the container lies on. */
  private static Volume volumeOf(Path directory, SparkPod made) {
    VolumeMount mount =
        made.container().getVolumeMounts().stream()
            .filter(one -> directory.startsWith(one.getMountPath()) && !isTrue(one.getReadOnly()))
            .findFirst()
            .orElseThrow();
    return made.pod().getSpec().getVolumes().stream()
        .filter(one -> one.getName().equals(mount.getName()))
        .findFirst()
        .orElseThrow();
  }

  private static boolean isTrue(Boolean flag) {
    return Boolean.TRUE.equals(flag);
  }

  @ParameterizedTest
  @CsvSource({"memory, FILE", "hugepages, DRAM", "nvme, FILE", "pmem, FSDAX"})
  void aPod_hasWhatItsPoolNeeds(String name, Medium medium) throws IOException {
    SparkConf conf = conf(name + ".conf");
    PoolOptions pool = PoolOptions.of(key -> conf.get(key, null));
    assertEquals(medium, pool.medium());
    SparkPod made = pod(conf);
    assertEquals("spark", made.container().getImage());
    long hugePages = limit(made.container(), "hugepages-2Mi");
    long memory = limit(made.container(), "memory");
    List<Volume> volumes = pool.paths().stream().map(path -> volumeOf(path, made)).toList();
    boolean isMemory = medium == Medium.DRAM && hugePages == 0;
    for (Volume volume : volumes) {
      if (volume.getEmptyDir() != null) {
        assertEquals("Memory", volume.getEmptyDir().getMedium());
        BigDecimal most = volume.getEmptyDir().getSizeLimit().getNumericalAmount();
        assertTrue(most.longValueExact() > pool.capacityBytes(), "room for the pool's files");
        isMemory = true;
      } else {
        assertEquals("Directory", volume.getHostPath().getType());
        assertIsOfSparksUser(made);
      }
    }
    long overhead = memory - HEAP;
    assertTrue(overhead >= (isMemory ? pool.capacityBytes() : 0) + LEAST_OVERHEAD, "overhead");
    assertTrue(hugePages == 0 || hugePages >= pool.capacityBytes(), "huge pages");
  }

  private static void assertIsOfSparksUser(SparkPod made) {
    assertEquals(USER_OF_SPARKS_IMAGES, made.pod().getSpec().getSecurityContext().getRunAsUser());
    assertTrue(made.pod().getSpec().getSecurityContext().getRunAsNonRoot());
    assertEquals(List.of("ALL"), made.container().getSecurityContext().getCapabilities().getDrop());
  }

  /** Kubernetes ignores a field that it does not know, or refuses the pod. */
  @Test
  void templates_haveNoFieldThatPodsDoNot() throws IOException {
    YAMLMapper strict = new YAMLMapper();
    strict.setAnnotationIntrospector(
        new JacksonAnnotationIntrospector() {
          @Override
          public Boolean hasAnySetter(Annotated member) {
            return false;
          }
        });
    try (Stream<Path> files = Files.list(FOLDER)) {
      List<Path> templates = files.filter(file -> file.toString().endsWith(".yaml")).toList();
      assertEquals(2, templates.size());
      for (Path template : templates) {
        Pod pod = strict.readValue(template.toFile(), Pod.class);
        assertEquals("executor", pod.getSpec().getContainers().get(0).getName());
      }
    }
  }
}
