/* Capacity models for Java: the natives of io.oap.cache.model.NativeCapacityModel. Nothing here
 * decides anything. A model is its address as a long; a column chunk is three longs. */
#include "oap_capacity_model.h"

#include "oap_jni.h"

#include <errno.h>

static oap_column_chunk chunk_of(jlong high, jlong low, jlong group_and_column) {
  return (oap_column_chunk){
      .file_high = (uint64_t)high,
      .file_low = (uint64_t)low,
      .row_group = (uint32_t)((uint64_t)group_and_column >> 32),
      .column = (uint32_t)(uint64_t)group_and_column,
  };
}

/* 0 or -errno; on success the model's address stands in out[0]. */
static jint model_open(JNIEnv *env, jclass class, jstring policy, jlong capacity, jlongArray out) {
  const char *policy_text = policy == NULL ? NULL : (*env)->GetStringUTFChars(env, policy, NULL);
  if (policy != NULL && policy_text == NULL) {
    return -ENOMEM; /* an exception is pending */
  }
  oap_capacity_model *model;
  jint result = oap_capacity_model_open(policy_text, (uint64_t)capacity, &model);
  if (result == 0) {
    jlong address = oap_address(model);
    (*env)->SetLongArrayRegion(env, out, 0, 1, &address);
  }
  if (policy_text != NULL) {
    (*env)->ReleaseStringUTFChars(env, policy, policy_text);
  }
  return result;
}

static void model_stop(JNIEnv *env, jclass class, jlong model) {
  oap_capacity_model_stop(oap_at(model));
}

static void model_close(JNIEnv *env, jclass class, jlong model) {
  oap_capacity_model_close(oap_at(model));
}

static void model_ask(JNIEnv *env, jclass class, jlong model, jlong high, jlong low,
                      jlong group_and_column, jlong bytes, jlong weight, jboolean was_held,
                      jint admission) {
  oap_column_chunk chunk = chunk_of(high, low, group_and_column);
  oap_capacity_model_ask(oap_at(model), &chunk, (uint64_t)bytes, (uint64_t)weight, was_held,
                         (enum oap_admission)admission);
}

static void model_put(JNIEnv *env, jclass class, jlong model, jlong high, jlong low,
                      jlong group_and_column, jlong bytes) {
  oap_column_chunk chunk = chunk_of(high, low, group_and_column);
  oap_capacity_model_put(oap_at(model), &chunk, (uint64_t)bytes);
}

static void model_drop(JNIEnv *env, jclass class, jlong model, jlong high, jlong low,
                       jlong group_and_column) {
  oap_column_chunk chunk = chunk_of(high, low, group_and_column);
  oap_capacity_model_drop(oap_at(model), &chunk);
}

static void model_drop_file(JNIEnv *env, jclass class, jlong model, jlong high, jlong low) {
  oap_capacity_model_drop_file(oap_at(model), (uint64_t)high, (uint64_t)low);
}

static void model_resize(JNIEnv *env, jclass class, jlong model, jlong capacity) {
  oap_capacity_model_resize(oap_at(model), (uint64_t)capacity);
}

static void model_clear(JNIEnv *env, jclass class, jlong model) {
  oap_capacity_model_clear(oap_at(model));
}

/* The bytes asked for, then those hit by capacity. */
static void model_estimate(JNIEnv *env, jclass class, jlong model, jlongArray out) {
  oap_capacity_estimates estimates;
  oap_capacity_model_estimate(oap_at(model), &estimates);
  jlong asked = (jlong)estimates.asked_bytes;
  (*env)->SetLongArrayRegion(env, out, 0, 1, &asked);
  (*env)->SetLongArrayRegion(env, out, 1, OAP_CAPACITIES, (const jlong *)estimates.hit_bytes);
}

static const JNINativeMethod methods[] = {
    {"open", "(Ljava/lang/String;J[J)I", (void *)model_open},
    {"stop", "(J)V", (void *)model_stop},
    {"close", "(J)V", (void *)model_close},
    {"ask", "(JJJJJJZI)V", (void *)model_ask},
    {"put", "(JJJJJ)V", (void *)model_put},
    {"drop", "(JJJJ)V", (void *)model_drop},
    {"dropFile", "(JJJ)V", (void *)model_drop_file},
    {"resize", "(JJ)V", (void *)model_resize},
    {"clear", "(J)V", (void *)model_clear},
    {"estimate", "(J[J)V", (void *)model_estimate},
};

const oap_natives oap_capacity_natives =
    OAP_NATIVES("io/oap/cache/model/NativeCapacityModel", methods);
