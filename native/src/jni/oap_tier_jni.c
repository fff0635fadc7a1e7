/* File tiers for Java: the natives of io.oap.cache.tier.NativeTier. Nothing here decides anything.
 * A tier is its address as a long; results are those of oap_tier.h, or a negative errno. */
#include "oap_tier.h"

#include "oap_jni.h"

#include <errno.h>

/* path is a file name as bytes, ended by 0. On success the tier's address stands in out[0]. */
static jint tier_open(JNIEnv *env, jclass class, jbyteArray path, jlong capacity, jlongArray out) {
  jbyte *path_bytes = (*env)->GetByteArrayElements(env, path, NULL);
  if (path_bytes == NULL) {
    return -ENOMEM; /* an exception is pending */
  }
  oap_tier_options options = {.path = (const char *)path_bytes, .capacity = (uint64_t)capacity};
  oap_tier *tier;
  jint result = oap_tier_open(&options, &tier);
  if (result == 0) {
    jlong address = oap_address(tier);
    (*env)->SetLongArrayRegion(env, out, 0, 1, &address);
  }
  (*env)->ReleaseByteArrayElements(env, path, path_bytes, JNI_ABORT);
  return result;
}

static jint tier_follow(JNIEnv *env, jclass class, jlong tier, jlong pool) {
  return oap_tier_follow(oap_at(tier), oap_at(pool));
}

static void tier_came(JNIEnv *env, jclass class, jlong tier, jlong high, jlong low,
                      jlong group_and_column, jlong representation) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  oap_tier_came(oap_at(tier), &key);
}

static void tier_wake(JNIEnv *env, jclass class, jlong tier) { oap_tier_wake(oap_at(tier)); }

/* The chunk's length, or a negative errno. */
static jlong tier_find(JNIEnv *env, jclass class, jlong tier, jlong high, jlong low,
                       jlong group_and_column, jlong representation) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  uint64_t bytes;
  int result = oap_tier_find(oap_at(tier), &key, &bytes);
  return result != 0 ? result : (jlong)bytes;
}

/* into is direct buffers, one for each piece of a reservation; the note stands in note[0]. */
static jint tier_read(JNIEnv *env, jclass class, jlong tier, jlong high, jlong low,
                      jlong group_and_column, jlong representation, jobjectArray into,
                      jlongArray note) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  oap_chunk chunk = {.pieces = (uint32_t)(*env)->GetArrayLength(env, into)};
  if (chunk.pieces > OAP_MAX_PIECES) {
    return -EINVAL;
  }
  for (uint32_t i = 0; i < chunk.pieces; i++) {
    jobject piece = (*env)->GetObjectArrayElement(env, into, (jsize)i);
    chunk.piece[i].data = (*env)->GetDirectBufferAddress(env, piece);
    chunk.piece[i].bytes = (uint64_t)(*env)->GetDirectBufferCapacity(env, piece);
    chunk.bytes += chunk.piece[i].bytes;
  }
  uint64_t found;
  jint result = oap_tier_read(oap_at(tier), &key, &chunk, &found);
  if (result == 0) {
    jlong number = (jlong)found;
    (*env)->SetLongArrayRegion(env, note, 0, 1, &number);
  }
  return result;
}

static jint tier_drop(JNIEnv *env, jclass class, jlong tier, jlong high, jlong low,
                      jlong group_and_column, jlong representation) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  return oap_tier_drop(oap_at(tier), &key);
}

static void tier_drop_file(JNIEnv *env, jclass class, jlong tier, jlong high, jlong low) {
  oap_tier_drop_file(oap_at(tier), (uint64_t)high, (uint64_t)low);
}

static void tier_clear(JNIEnv *env, jclass class, jlong tier) { oap_tier_clear(oap_at(tier)); }

/* The figures of oap_tier_stats in their order. */
static void tier_stats(JNIEnv *env, jclass class, jlong tier, jlongArray out) {
  union {
    oap_tier_stats stats;
    jlong numbers[sizeof(oap_tier_stats) / sizeof(jlong)];
  } figures;
  oap_tier_stats_of(oap_at(tier), &figures.stats);
  (*env)->SetLongArrayRegion(env, out, 0, sizeof(oap_tier_stats) / sizeof(jlong), figures.numbers);
}

static void tier_stop(JNIEnv *env, jclass class, jlong tier) { oap_tier_stop(oap_at(tier)); }

static void tier_close(JNIEnv *env, jclass class, jlong tier) { oap_tier_close(oap_at(tier)); }

static const JNINativeMethod methods[] = {
    {"open", "([BJ[J)I", (void *)tier_open},
    {"follow", "(JJ)I", (void *)tier_follow},
    {"came", "(JJJJJ)V", (void *)tier_came},
    {"wake", "(J)V", (void *)tier_wake},
    {"find", "(JJJJJ)J", (void *)tier_find},
    {"read", "(JJJJJ[Ljava/nio/ByteBuffer;[J)I", (void *)tier_read},
    {"drop", "(JJJJJ)I", (void *)tier_drop},
    {"dropFile", "(JJJ)V", (void *)tier_drop_file},
    {"clear", "(J)V", (void *)tier_clear},
    {"stats", "(J[J)V", (void *)tier_stats},
    {"stop", "(J)V", (void *)tier_stop},
    {"close", "(J)V", (void *)tier_close},
};

const oap_natives oap_tier_natives = OAP_NATIVES("io/oap/cache/tier/NativeTier", methods);
