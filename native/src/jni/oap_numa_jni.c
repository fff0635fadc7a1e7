/* Memory nodes for Java: the natives of io.oap.cache.numa.NativeNuma. Nothing here decides
 * anything. Results are those of oap_numa.h. */
#include "oap_numa.h"

#include "oap_jni.h"

#include <errno.h>
#include <unistd.h>

static jint numa_run_on(JNIEnv *env, jclass class, jlongArray processors) {
  jlong *words = (*env)->GetLongArrayElements(env, processors, NULL);
  if (words == NULL) {
    return -ENOMEM; /* an exception is pending */
  }
  jint result =
      oap_numa_run_on((const uint64_t *)words, (uint32_t)(*env)->GetArrayLength(env, processors));
  (*env)->ReleaseLongArrayElements(env, processors, words, JNI_ABORT);
  return result;
}

static jint numa_allocate_on(JNIEnv *env, jclass class, jlong nodes) {
  return oap_numa_allocate_on((uint64_t)nodes);
}

static jint numa_take_name(JNIEnv *env, jclass class, jstring name) {
  const char *text = (*env)->GetStringUTFChars(env, name, NULL);
  if (text == NULL) {
    return -ENOMEM; /* an exception is pending */
  }
  jint result = oap_numa_take_name(text);
  (*env)->ReleaseStringUTFChars(env, name, text);
  return result;
}

static void numa_give_back(JNIEnv *env, jclass class, jint file) { close(file); }

static const JNINativeMethod methods[] = {
    {"runOn", "([J)I", (void *)numa_run_on},
    {"allocateOn", "(J)I", (void *)numa_allocate_on},
    {"takeName", "(Ljava/lang/String;)I", (void *)numa_take_name},
    {"giveBack", "(I)V", (void *)numa_give_back},
};

const oap_natives oap_numa_natives = OAP_NATIVES("io/oap/cache/numa/NativeNuma", methods);
