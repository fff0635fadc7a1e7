package io.oap.tpcds

import com.fasterxml.jackson.databind.{
  DeserializationFeature,
  MapperFeature,
  ObjectMapper,
  SerializationFeature
}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.module.scala.DefaultScalaModule

/** Case classes as JSON: what scripts tell the jobs, and what jobs tell people and programs. */
object Json {
  private val mapper: ObjectMapper = JsonMapper
    .builder()
    .addModule(DefaultScalaModule)
    // Only what the constructor takes is data.
    .disable(MapperFeature.AUTO_DETECT_IS_GETTERS)
    .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
    .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
    .enable(SerializationFeature.INDENT_OUTPUT)
    .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
    .build()

  def write(value: Any): String = mapper.writeValueAsString(value)

  /** @throws com.fasterxml.jackson.core.JacksonException when a value is missing or unknown */
  def read[T](json: String, kind: Class[T]): T = mapper.readValue(json, kind)
}
