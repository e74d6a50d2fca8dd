/*
 * Doubles as decimal digits, fast and exact: what "%.17g" and its kin print, at a tenth of the
 * cost.
 *
 * Tables hold millions of ratios. Within a range that those never leave, a double times a power of
 * ten fits 128 bits, so its digits come from one product, correctly rounded. It knows no table.
 */
#ifndef KVR_SHORTEST_H
#define KVR_SHORTEST_H

#include <stddef.h>

/* Room that every function here needs. */
enum { KVR_SHORTEST_ROOM = 32 };

/*
 * Writes the shortest of "%.15g", "%.16g" and "%.17g" that reads back as value, without a final
 * NUL, and returns its length; 0, and nothing is written, outside of 0 and [0.001, 10^8).
 */
size_t kvr_write_shortest(double value, char out[KVR_SHORTEST_ROOM]);

/* The same for what "%.9g" prints. */
size_t kvr_write_figure(double value, char out[KVR_SHORTEST_ROOM]);

#endif
