/*
 * Every row of a dataset, one after the other, in bounded memory.
 *
 * A row is the last axis: [N] of an attention row, [D] of a key. Blocks follow the stored chunks,
 * so that none is decoded more often than it must be.
 */
#ifndef KVR_ROW_STREAM_H
#define KVR_ROW_STREAM_H

#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace.h"

/*
 * Takes one row: `values` has shape[rank - 1] doubles and lasts until the call returns. Datasets
 * of rank 2 have row 0 only.
 */
typedef enum kvr_status kvr_row_visitor(void *context, uint64_t head, uint64_t row,
                                        const double *values, struct kvr_error *err);

/*
 * Visits every row of the dataset. Heads may alternate, but each head's rows come in ascending
 * order. Stops at the first status other than KVR_OK and returns it. Needs about 4 MiB, or the
 * room of one row if that is more.
 */
enum kvr_status kvr_visit_rows(struct kvr_trace *trace, const struct kvr_dataset *dataset,
                               kvr_row_visitor *visit, void *context, struct kvr_error *err);

#endif
