/* Failures of the tier's file. */
#include "tier.h"

/* A failure counts for so many successes. So many failures in a row, or a little more than one of
 * so many for long, switch the tier off. */
#define FAILURE 16
#define TOO_MUCH (16 * FAILURE)

void oap_tier_forget_all(oap_tier *tier) {
  for (uint32_t s = 0; s < tier->segment_count; s++) {
    for (uint32_t i = 0; i < tier->segments[s].entries; i++) {
      oap_tier_index_remove(&tier->index, oap_tier_first_of(s) + i);
    }
  }
  for (uint32_t i = 0; i < tier->staged_count; i++) {
    tier->staged[i].is_dropped = true;
  }
}

static void note(oap_tier *tier, unsigned *trouble, bool has_failed) {
  if (!has_failed) {
    *trouble -= *trouble > 0;
    return;
  }
  tier->counted.errors++;
  *trouble += FAILURE;
  if (*trouble >= TOO_MUCH && !tier->is_off) {
    tier->is_off = true;
    tier->counted.is_off = 1;
    oap_tier_forget_all(tier);
  }
}

void oap_tier_note_read(oap_tier *tier, bool has_failed) {
  note(tier, &tier->read_trouble, has_failed);
}

void oap_tier_note_write(oap_tier *tier, bool has_failed) {
  note(tier, &tier->write_trouble, has_failed);
}
