/* The inner check of space: see space_check.h. */
#include "space_check.h"

static const char *validate_bin(const oap_space *space, unsigned bin, uint64_t *units,
                                uint32_t *count) {
  uint32_t previous = 0;
  for (uint32_t e = space->bins[bin]; e != 0; e = space->extents[e].bin_next) {
    if (e > space->top || space->extents[e].owner != 0 ||
        oap_space_bin_of(space->extents[e].units) != bin) {
      return "space: extent in a bin that is not its own";
    }
    if (space->extents[e].bin_previous != previous) {
      return "space: bin chain broken";
    }
    previous = e;
    *units += space->extents[e].units;
    if (++*count > space->top) {
      return "space: bin chain is a loop";
    }
  }
  bool marked = (space->bitmap[bin / 64] >> (bin % 64) & 1) != 0;
  return marked == (space->bins[bin] != 0) ? NULL : "space: bitmap disagrees with bin";
}

const char *oap_space_validate(const oap_space *space) {
  uint64_t units = 0;
  uint32_t in_bins = 0;
  for (unsigned bin = 0; bin < OAP_BINS; bin++) {
    const char *fault = validate_bin(space, bin, &units, &in_bins);
    if (fault != NULL) {
      return fault;
    }
  }
  if (units != space->free_units) {
    return "space: free units miscounted";
  }
  uint32_t described = 0;
  uint32_t free = 0;
  uint64_t away_units = 0;
  for (uint32_t e = 1; e <= space->top; e++) {
    const oap_extent *extent = &space->extents[e];
    if (extent->units == 0) {
      continue; /* not in use */
    }
    described++;
    free += extent->owner == 0;
    away_units += extent->owner == OAP_AWAY ? extent->units : 0;
    if (extent->next != 0) {
      const oap_extent *next = &space->extents[extent->next];
      if (next->previous != e || next->position != oap_extent_end(extent)) {
        return "space: extents do not tile their region";
      }
      if (extent->owner == next->owner && (extent->owner == 0 || extent->owner == OAP_AWAY)) {
        return "space: neighbours that nobody owns are not joined";
      }
    }
  }
  if (free != in_bins) {
    return "space: free extent in no bin";
  }
  if (away_units != space->away_units) {
    return "space: what is away is miscounted";
  }
  return described + space->spare == space->limit - 1 ? NULL : "space: descriptions miscounted";
}
