/*
 * What a cell lacks of its rows and column sums, from query and key.
 *
 * Recorded rows and sums come first: only what is not recorded is computed.
 */
#ifndef KVR_RECOMPUTE_H
#define KVR_RECOMPUTE_H

#include "formats/base/status.h"
#include "replay/cell.h"

/*
 * Sets cell->attention where the layer's rows come from query and key, and cell->column_sums where
 * a score of the cell needs sums that do. The cell's candidates and scores are known.
 */
enum kvr_status kvr_recompute_load(struct kvr_cell *cell, struct kvr_error *err);

/* cell->column_sums = the sums of these query rows, head by head; each column in ascending order of
   the rows. At least one row. */
enum kvr_status kvr_recompute_columns(struct kvr_cell *cell, struct kvr_attention *attention,
                                      struct kvr_row_range rows, struct kvr_error *err);

#endif
