/* Sets of keys at the ends of what numbers there are, and with values that a set's table cannot
 * tell from none. vector_select_test asks sets of random keys. */
#include "check.h"
#include "oap_vector.h"

static void check_sets(void) {
  static const int64_t ends[] = {INT64_MAX, INT64_MIN, 0};
  oap_key_set *set;
  CHECK(oap_key_set_open(ends, 3, &set) == 0);
  CHECK(oap_key_set_size(set) == 3);
  CHECK(oap_key_set_minimum(set) == INT64_MIN && oap_key_set_maximum(set) == INT64_MAX);
  CHECK(oap_key_set_meets(set, 0, 0) && !oap_key_set_meets(set, 1, 1) &&
        !oap_key_set_meets(set, -1, -1));
  CHECK(!oap_key_set_meets(set, 1, INT64_MAX - 1) && oap_key_set_meets(set, -5, 5));
  oap_key_set_close(set);
  CHECK(oap_key_set_open(NULL, 0, &set) == 0);
  CHECK(oap_key_set_size(set) == 0 && !oap_key_set_meets(set, INT64_MIN, INT64_MAX));
  oap_key_set_close(set);
}

/* A value that is no key, but stands for none in the set's table, and that the sieve lets pass. */
static void check_vacant(void) {
  static const int64_t keys[] = {INT64_MIN, 1293}, values[] = {INT64_MIN + 1, 1293, 5000};
  oap_key_set *set;
  oap_vector *v;
  uint16_t found[3];
  CHECK(oap_key_set_open(keys, 2, &set) == 0 && oap_vector_open_decoded(OAP_I64, &v) == 0);
  CHECK(oap_vector_set_decoded(v, values, NULL, 3) == 0);
  CHECK(oap_vector_select_in(v, 0, set, NULL, 0, found) == 1 && found[0] == 1);
  oap_vector_close(v);
  oap_key_set_close(set);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  check_sets();
  check_vacant();
  return 0;
}
