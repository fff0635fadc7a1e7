/* The time, for waits that are bounded. */
#ifndef OAP_CLOCK_H
#define OAP_CLOCK_H

#include <stdint.h>

/* Milliseconds of a clock that no one sets, to within a few. */
uint64_t oap_milliseconds(void);

#endif
