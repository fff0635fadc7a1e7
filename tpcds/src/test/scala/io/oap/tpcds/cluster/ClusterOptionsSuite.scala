package io.oap.tpcds.cluster

import com.fasterxml.jackson.core.JacksonException
import org.scalatest.funsuite.AnyFunSuite

/** What dev/cluster tells the job. */
class ClusterOptionsSuite extends AnyFunSuite {
  private val json =
    """{"command": "loss", "data": "/d", "scale": 0.5, "queries": ["q52", "q68"],
    "storage": "hdd", "store": "", "rounds": 4, "losses": 3, "placements": ["spark", "auto"],
    "pool": "512m", "poolShare": 0.0, "minutes": 0, "randomQueries": 9, "seed": 77, "executors": 3, "cores": 2,
    "control": ["dev/cluster"], "work": "/w"}"""

  test("all of it is read") {
    assert(ClusterOptions.of(json) == ClusterOptions(
      command = "loss",
      data = "/d",
      scale = 0.5,
      queries = Seq("q52", "q68"),
      storage = "hdd",
      store = "",
      rounds = 4,
      losses = 3,
      placements = Seq("spark", "auto"),
      pool = "512m",
      poolShare = 0,
      minutes = 0,
      randomQueries = 9,
      seed = 77,
      executors = 3,
      cores = 2,
      control = Seq("dev/cluster"),
      work =
        "/w"
    ))
  }

  test("nothing may be missing or unknown") {
    assertThrows[JacksonException](ClusterOptions.of(json.replace(""""seed": 77,""", "")))
    assertThrows[JacksonException](ClusterOptions.of(json.replace(""""data": "/d",""", "")))
    assertThrows[JacksonException](ClusterOptions.of(json.replace("\"seed\"", "\"seeds\"")))
    assertThrows[JacksonException](ClusterOptions.of(json.replace(
      "\"cores\": 2",
      "\"cores\": 2, \"x\": 1")))
  }
}
