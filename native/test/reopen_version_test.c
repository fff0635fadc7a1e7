/* A sound pool that another version of the library has left is not taken over, and stays where it
 * is: an encoder or a hash may have been mended since. */
#include "base/arithmetic.h"
#include "home.h"
#include "home/home.h"

#include <fcntl.h>
#include <unistd.h>

/* What the sum of a header is of, and the sum. */
typedef struct signed_head {
  uint64_t format;
  oap_home_shape shape;
  uint64_t sum;
} signed_head;

/* Has the library of another version made the pool with this header, as its own sum says. */
static void make_older(const char *meta) {
  signed_head head;
  int file = open(meta, O_RDWR | O_CLOEXEC);
  CHECK(file >= 0 && pread(file, &head, sizeof(head), 0) == (ssize_t)sizeof(head));
  CHECK(strcmp(head.shape.library, oap_pool_version()) == 0);
  snprintf(head.shape.library, sizeof(head.shape.library), "0.0.1");
  head.sum = 0;
  for (size_t i = 0; i < offsetof(signed_head, sum); i++) {
    head.sum = oap_mix(head.sum ^ ((const unsigned char *)&head)[i]);
  }
  CHECK(pwrite(file, &head, sizeof(head), 0) == (ssize_t)sizeof(head));
  CHECK(close(file) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  CHECK(offsetof(signed_head, sum) == offsetof(oap_home_header, sum));
  oap_options options = home_options(UINT64_C(1) << 20);
  oap_key key = key_numbered(1, 1, 1);
  oap_pool *pool;
  char meta[600];
  home_clear();
  CHECK(!home_open(&options, &pool));
  CHECK(chunk_put(pool, &key, 30000) == 0);
  snprintf(meta, sizeof(meta), "%s", home_file(pool, ".meta"));
  pool_close(pool);
  CHECK(home_open(&options, &pool)); /* by this version it is */
  pool_close(pool);

  make_older(meta);
  CHECK(!home_open(&options, &pool));
  CHECK(strstr(oap_pool_origin(pool)->unusable, "another version") != NULL);
  CHECK(!oap_pool_is_held(pool, &key));
  pool_close(pool);
  CHECK(home_count(".meta") == 2);
  home_clear();
  return 0;
}
