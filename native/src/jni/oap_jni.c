/*
 * The pool for Java: the natives of io.oap.cache.pool.NativePool, registered when the library is
 * loaded. Nothing here decides anything. A pool is its address as a long; results are 0 or -errno,
 * which Java turns into its one exception; a chunk travels as an oap_chunk in memory that Java
 * lends (a direct buffer per thread), so that a hit allocates nothing here.
 */
#include "oap_jni.h"

#include "oap_pool.h"

#include <errno.h>
#include <string.h>

/* What ending a reservation or a pin needs of a chunk. */
static oap_chunk chunk_of(jlong slot_and_generation, jint shard, jlong bytes) {
  return (oap_chunk){
      .bytes = (uint64_t)bytes,
      .slot = (uint32_t)((uint64_t)slot_and_generation & UINT32_MAX),
      .generation = (uint32_t)((uint64_t)slot_and_generation >> 32),
      .shard = (uint32_t)shard,
  };
}

static jstring native_version(JNIEnv *env, jclass class) {
  return (*env)->NewStringUTF(env, oap_pool_version());
}

static jstring native_error_text(JNIEnv *env, jclass class, jint error) {
  return (*env)->NewStringUTF(env, strerror(error));
}

static jlong native_address(JNIEnv *env, jclass class, jobject buffer) {
  return oap_address((*env)->GetDirectBufferAddress(env, buffer));
}

/* paths is file names as bytes, because Java's strings are not, each ended by 0. On success the
 * pool's address stands in out[0]. */
static jint native_open(JNIEnv *env, jclass class, jlong capacity, jint medium, jbyteArray paths,
                        jint path_count, jlong nodes, jboolean interleave, jboolean prefault,
                        jboolean erase, jint keep_seconds, jboolean shared, jstring policy,
                        jint shards, jlongArray out) {
  if (path_count > OAP_MAX_PATHS) {
    return -EINVAL;
  }
  const char *path[OAP_MAX_PATHS];
  oap_options options = {
      .capacity = (uint64_t)capacity,
      .medium = (enum oap_medium)medium,
      .paths = path,
      .path_count = (uint32_t)path_count,
      .interleave = interleave,
      .nodes = (uint64_t)nodes,
      .prefault = prefault,
      .erase = erase,
      .reopen = keep_seconds > 0,
      .keep_seconds = (uint32_t)keep_seconds,
      .shared = shared,
      .shards = (uint32_t)shards,
  };
  jint result = -ENOMEM; /* if the JVM cannot lend its bytes; an exception is pending */
  jbyte *path_bytes = (*env)->GetByteArrayElements(env, paths, NULL);
  const char *policy_text =
      path_bytes == NULL || policy == NULL ? NULL : (*env)->GetStringUTFChars(env, policy, NULL);
  if (path_bytes != NULL && (policy == NULL || policy_text != NULL)) {
    const char *next = (const char *)path_bytes;
    for (int i = 0; i < path_count; i++) {
      path[i] = next;
      next += strlen(next) + 1;
    }
    options.policy = policy_text;
    oap_pool *pool;
    result = oap_pool_open(&options, &pool);
    if (result == 0) {
      jlong address = oap_address(pool);
      (*env)->SetLongArrayRegion(env, out, 0, 1, &address);
    }
  }
  if (path_bytes != NULL) {
    (*env)->ReleaseByteArrayElements(env, paths, path_bytes, JNI_ABORT);
  }
  if (policy_text != NULL) {
    (*env)->ReleaseStringUTFChars(env, policy, policy_text);
  }
  return result;
}

/* Numbers and texts of oap_origin, in their order; the texts as bytes, for they may have a path. */
static jbyteArray native_origin(JNIEnv *env, jclass class, jlong pool, jlongArray out,
                                jboolean home) {
  const oap_origin *origin = oap_pool_origin(oap_at(pool));
  const jlong numbers[] = {origin->is_reopened,   origin->is_joined,    origin->member,
                           (jlong)origin->chunks, (jlong)origin->bytes, (jlong)origin->refused};
  const char *text = home ? origin->home : origin->unusable;
  (*env)->SetLongArrayRegion(env, out, 0, 6, numbers);
  jsize length = text == NULL ? 0 : (jsize)strlen(text);
  jbyteArray bytes = (*env)->NewByteArray(env, length);
  if (bytes != NULL && length > 0) {
    (*env)->SetByteArrayRegion(env, bytes, 0, length, (const jbyte *)text);
  }
  return bytes;
}

static jint native_members(JNIEnv *env, jclass class, jlong pool) {
  return (jint)oap_pool_members(oap_at(pool));
}

static jint native_retire(JNIEnv *env, jclass class, jlong pool) {
  return oap_pool_retire(oap_at(pool));
}

static jint native_close(JNIEnv *env, jclass class, jlong pool) {
  return oap_pool_close(oap_at(pool));
}

static jint native_resize(JNIEnv *env, jclass class, jlong pool, jlong capacity) {
  return oap_pool_resize(oap_at(pool), (uint64_t)capacity);
}

static jobject native_window(JNIEnv *env, jclass class, jlong pool, jint i) {
  unsigned char *data;
  uint64_t bytes;
  if (!oap_pool_window(oap_at(pool), (uint64_t)i, &data, &bytes)) {
    return NULL;
  }
  return (*env)->NewDirectByteBuffer(env, data, (jlong)bytes);
}

static jint native_reserve(JNIEnv *env, jclass class, jlong pool, jlong high, jlong low,
                           jlong group_and_column, jlong representation, jlong bytes,
                           jboolean may_evict, jint asks, jlong out) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  if (may_evict) {
    return oap_pool_reserve(oap_at(pool), &key, (uint64_t)bytes, oap_at(out));
  }
  return asks > 0 ? oap_pool_reserve_handed(oap_at(pool), &key, (uint64_t)bytes, (unsigned)asks,
                                            oap_at(out))
                  : oap_pool_reserve_free(oap_at(pool), &key, (uint64_t)bytes, oap_at(out));
}

static jint native_publish(JNIEnv *env, jclass class, jlong pool, jlong slot_and_generation,
                           jint shard, jlong bytes) {
  oap_chunk chunk = chunk_of(slot_and_generation, shard, bytes);
  return oap_pool_publish(oap_at(pool), &chunk);
}

static jint native_set_note(JNIEnv *env, jclass class, jlong pool, jlong slot_and_generation,
                            jint shard, jlong note) {
  oap_chunk chunk = chunk_of(slot_and_generation, shard, 0);
  return oap_pool_set_note(oap_at(pool), &chunk, (uint64_t)note);
}

/* 0 where there is none, or the chunk is not pinned. */
static jlong native_note(JNIEnv *env, jclass class, jlong pool, jlong slot_and_generation,
                         jint shard) {
  oap_chunk chunk = chunk_of(slot_and_generation, shard, 0);
  uint64_t note = 0;
  oap_pool_note(oap_at(pool), &chunk, &note);
  return (jlong)note;
}

static jint native_is_readable(JNIEnv *env, jclass class, jlong pool, jlong slot_and_generation,
                               jint shard) {
  oap_chunk chunk = chunk_of(slot_and_generation, shard, 0);
  return oap_pool_is_readable(oap_at(pool), &chunk);
}

static jint native_abandon(JNIEnv *env, jclass class, jlong pool, jlong slot_and_generation,
                           jint shard, jlong bytes) {
  oap_chunk chunk = chunk_of(slot_and_generation, shard, bytes);
  return oap_pool_abandon(oap_at(pool), &chunk);
}

static jint native_pin(JNIEnv *env, jclass class, jlong pool, jlong high, jlong low,
                       jlong group_and_column, jlong representation, jboolean is_use, jlong out) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  return (is_use ? oap_pool_pin : oap_pool_pin_unused)(oap_at(pool), &key, oap_at(out));
}

static jint native_unpin(JNIEnv *env, jclass class, jlong pool, jlong slot_and_generation,
                         jint shard, jlong bytes) {
  oap_chunk chunk = chunk_of(slot_and_generation, shard, bytes);
  return oap_pool_unpin(oap_at(pool), &chunk);
}

static jint native_await(JNIEnv *env, jclass class, jlong pool, jlong high, jlong low,
                         jlong group_and_column, jlong representation, jint milliseconds) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  return oap_pool_await(oap_at(pool), &key, (unsigned)milliseconds);
}

static jboolean native_is_held(JNIEnv *env, jclass class, jlong pool, jlong high, jlong low,
                               jlong group_and_column, jlong representation) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  return oap_pool_is_held(oap_at(pool), &key);
}

static jint native_drop(JNIEnv *env, jclass class, jlong pool, jlong high, jlong low,
                        jlong group_and_column, jlong representation) {
  oap_key key = oap_key_of(high, low, group_and_column, representation);
  return oap_pool_drop(oap_at(pool), &key);
}

static jlong native_drop_file(JNIEnv *env, jclass class, jlong pool, jlong high, jlong low) {
  return (jlong)oap_pool_drop_file(oap_at(pool), (uint64_t)high, (uint64_t)low);
}

static jlong native_clear(JNIEnv *env, jclass class, jlong pool) {
  return (jlong)oap_pool_clear(oap_at(pool));
}

/* The figures of oap_stats in their order. */
static void native_stats(JNIEnv *env, jclass class, jlong pool, jlongArray out) {
  union {
    oap_stats stats;
    jlong numbers[sizeof(oap_stats) / sizeof(jlong)];
  } figures;
  oap_pool_stats(oap_at(pool), &figures.stats);
  (*env)->SetLongArrayRegion(env, out, 0, sizeof(oap_stats) / sizeof(jlong), figures.numbers);
}

static jboolean native_has_lost_writes(JNIEnv *env, jclass class, jlong pool) {
  return oap_pool_has_lost_writes(oap_at(pool));
}

/* out takes OAP_MOST_NODES numbers. */
static jint native_nodes(JNIEnv *env, jclass class, jlong pool, jlongArray out) {
  uint64_t bytes[OAP_MOST_NODES];
  jint result = oap_pool_nodes(oap_at(pool), bytes);
  if (result == 0) {
    (*env)->SetLongArrayRegion(env, out, 0, OAP_MOST_NODES, (const jlong *)bytes);
  }
  return result;
}

static jlong native_content_version(JNIEnv *env, jclass class, jlong pool) {
  return (jlong)oap_pool_content_version(oap_at(pool));
}

/* out is where room structures oap_held fit, version where a number fits. */
static jlong native_snapshot(JNIEnv *env, jclass class, jlong pool, jlong out, jlong room,
                             jlong version) {
  return (jlong)oap_pool_snapshot(oap_at(pool), oap_at(out), (uint64_t)room, oap_at(version));
}

static jstring native_validate(JNIEnv *env, jclass class, jlong pool) {
  const char *fault = oap_pool_validate(oap_at(pool));
  return fault == NULL ? NULL : (*env)->NewStringUTF(env, fault);
}

static const JNINativeMethod methods[] = {
    {"version", "()Ljava/lang/String;", (void *)native_version},
    {"errorText", "(I)Ljava/lang/String;", (void *)native_error_text},
    {"address", "(Ljava/nio/ByteBuffer;)J", (void *)native_address},
    {"open", "(JI[BIJZZZIZLjava/lang/String;I[J)I", (void *)native_open},
    {"origin", "(J[JZ)[B", (void *)native_origin},
    {"members", "(J)I", (void *)native_members},
    {"retire", "(J)I", (void *)native_retire},
    {"close", "(J)I", (void *)native_close},
    {"resize", "(JJ)I", (void *)native_resize},
    {"window", "(JI)Ljava/nio/ByteBuffer;", (void *)native_window},
    {"reserve", "(JJJJJJZIJ)I", (void *)native_reserve},
    {"publish", "(JJIJ)I", (void *)native_publish},
    {"setNote", "(JJIJ)I", (void *)native_set_note},
    {"note", "(JJI)J", (void *)native_note},
    {"isReadable", "(JJI)I", (void *)native_is_readable},
    {"abandon", "(JJIJ)I", (void *)native_abandon},
    {"pin", "(JJJJJZJ)I", (void *)native_pin},
    {"unpin", "(JJIJ)I", (void *)native_unpin},
    {"await", "(JJJJJI)I", (void *)native_await},
    {"isHeld", "(JJJJJ)Z", (void *)native_is_held},
    {"drop", "(JJJJJ)I", (void *)native_drop},
    {"dropFile", "(JJJ)J", (void *)native_drop_file},
    {"clear", "(J)J", (void *)native_clear},
    {"stats", "(J[J)V", (void *)native_stats},
    {"hasLostWrites", "(J)Z", (void *)native_has_lost_writes},
    {"nodes", "(J[J)I", (void *)native_nodes},
    {"contentVersion", "(J)J", (void *)native_content_version},
    {"snapshot", "(JJJJ)J", (void *)native_snapshot},
    {"validate", "(J)Ljava/lang/String;", (void *)native_validate},
};

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
  JNIEnv *env;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) {
    return JNI_ERR;
  }
  const oap_natives all[] = {OAP_NATIVES("io/oap/cache/pool/NativePool", methods),
                             oap_capacity_natives, oap_numa_natives, oap_tier_natives,
                             oap_vector_natives};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    jclass class = (*env)->FindClass(env, all[i].class);
    if (class == NULL || (*env)->RegisterNatives(env, class, all[i].methods, all[i].count) != 0) {
      return JNI_ERR;
    }
  }
  return JNI_VERSION_1_8;
}
