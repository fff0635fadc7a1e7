/* The inner check of space, for tests. */
#ifndef OAP_SPACE_CHECK_H
#define OAP_SPACE_CHECK_H

#include "space.h"

/* NULL, or what is wrong with bins, bitmap or extents. */
const char *oap_space_validate(const oap_space *space);

#endif
