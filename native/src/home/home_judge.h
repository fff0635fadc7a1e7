/* Whether a home can be taken over: what its .meta file says, and whether the disk gives it. */
#ifndef OAP_HOME_JUDGE_H
#define OAP_HOME_JUDGE_H

#include "home.h"

/* Length of the .meta file of a pool of that shape. */
uint64_t oap_home_meta_bytes(const oap_home_shape *shape);

/* Writes the format and the sum into a header whose shape is set. */
void oap_home_sign(oap_home_header *header);

/* Why a home cannot be taken over, by its header; NULL: it can. */
const char *oap_home_judge(int meta, const oap_home_shape *shape);

/* As oap_home_judge, of the slots and sketches, which are read once: later they are read where they
 * are mapped, and there a failing disk ends in SIGBUS. */
const char *oap_home_judge_table(int meta, const oap_home_shape *shape);

#endif
