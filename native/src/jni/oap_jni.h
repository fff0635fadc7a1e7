/* What the files of the JNI library share. */
#ifndef OAP_JNI_H
#define OAP_JNI_H

#include "oap_pool.h"

#include <jni.h>
#include <stdint.h>

/* The natives of one Java class. */
typedef struct oap_natives {
  const char *class;
  const JNINativeMethod *methods;
  jint count;
} oap_natives;

extern const oap_natives oap_capacity_natives;
extern const oap_natives oap_numa_natives;
extern const oap_natives oap_tier_natives;
extern const oap_natives oap_vector_natives;

#define OAP_NATIVES(name, methods)                                                                 \
  { name, methods, sizeof(methods) / sizeof((methods)[0]) }

/* Java's long as a pointer of whatever type it is given to, and back. */
static inline void *oap_at(jlong address) { return (void *)(uintptr_t)address; }
static inline jlong oap_address(const void *pointer) { return (jlong)(uintptr_t)pointer; }

/* A key travels as four longs. */
static inline oap_key oap_key_of(jlong high, jlong low, jlong group_and_column,
                                 jlong representation) {
  return (oap_key){
      .file_high = (uint64_t)high,
      .file_low = (uint64_t)low,
      .row_group = (uint32_t)((uint64_t)group_and_column >> 32),
      .column = (uint32_t)(uint64_t)group_and_column,
      .representation = (uint64_t)representation,
  };
}

#endif
