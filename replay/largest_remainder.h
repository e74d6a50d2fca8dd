/*
 * Sharing out whole units in given proportions: the largest remainder method (Hamilton).
 *
 * Every share is the floor of its exact part, or one more; what the floors leave goes to the
 * largest fractional parts, ties to the lower index. All arithmetic is exact.
 */
#ifndef KVR_LARGEST_REMAINDER_H
#define KVR_LARGEST_REMAINDER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/*
 * shares[i] = about total * weights[i] / sum of weights, so that the shares sum to `total`.
 * weights NULL: equal weights, and the first `total mod count` shares are the larger ones.
 * A weight of 0 gets nothing. KVR_BAD_ARGUMENT if count is 0, all weights are 0, or their sum does
 * not fit 64 bits.
 */
enum kvr_status kvr_largest_remainder(const uint64_t *weights, size_t count, uint64_t total,
                                      uint64_t *shares, struct kvr_error *err);

#endif
