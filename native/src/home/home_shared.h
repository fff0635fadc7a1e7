/* Homes that processes share: who comes in, who is there, who is gone. See home.h. */
#ifndef OAP_HOME_SHARED_H
#define OAP_HOME_SHARED_H

#include "home.h"

/* Has a home of that shape be one that processes share, with so many bytes of each stripe. */
void oap_home_set_shared(oap_home_shape *shape, uint64_t part);

/* Waits until no other process is opening a home in a directory, and has others wait from then on.
 * 0 or -errno. */
int oap_home_wait_at_door(oap_home *home, int directory);
void oap_home_leave_door(oap_home *home);

/* Makes this process a member of a home that was found or made. 0 or -errno. */
int oap_home_enter(oap_home *home);

/* Ends that: there is nothing to be swept. */
void oap_home_leave(oap_home *home);

#endif
