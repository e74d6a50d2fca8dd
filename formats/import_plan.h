/*
 * Between the two steps of planning an import. Private to formats/import_*.c.
 */
#ifndef KVR_IMPORT_PLAN_H
#define KVR_IMPORT_PLAN_H

#include "formats/import.h"

/*
 * Fills in what the arrays and options leave open (heads, lengths, positions of the rows) and
 * checks that the arrays of a sample, whose layers are sorted, fit together.
 */
enum kvr_status kvr_import_settle(struct kvr_import_sample *sample,
                                  const struct kvr_import_options *options, struct kvr_error *err);

#endif
