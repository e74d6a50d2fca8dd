/*
 * The record of an observer that writes rows of one table: text that is appended in order.
 */
#ifndef KVR_ROWS_RECORD_H
#define KVR_ROWS_RECORD_H

#include "formats/base/outfile.h"
#include "formats/base/text.h"
#include "formats/table.h"
#include "replay/observer.h"

/* An observer with begin, commit and discard set: its record is a struct kvr_text of rows for
   `file`. The table sets the other functions. */
struct kvr_observer kvr_rows_observer(struct kvr_outfile *file);

/* Starts a row: trace, sample, layer, group, scorer. */
void kvr_rows_start(struct kvr_text *rows, const struct kvr_cell *cell,
                    const struct kvr_score *score);

/* Starts a row: the above, policy, page_size, budget. */
void kvr_rows_start_kept(struct kvr_text *rows, const struct kvr_cell *cell,
                         const struct kvr_selection *selection, size_t budget);

#endif
