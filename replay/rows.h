/*
 * From recorded attention rows to score vectors and to the sums over decode rows.
 */
#ifndef KVR_ROWS_H
#define KVR_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"
#include "replay/cell.h"

/*
 * Fills the vectors of every score of *cell that averages rows, and its future sums. Each recorded
 * row that is needed is read once per head, in ascending order; a score is summed in double in that
 * order, divided in double and rounded once to float (MEASURES §1).
 */
enum kvr_status kvr_rows_load(struct kvr_cell *cell, struct kvr_error *err);

/* Whether sums over rows are finite; a value that is not makes its column's sum so, whatever is
   added after it. */
bool kvr_rows_finite(const double *sums, size_t count);

#endif
