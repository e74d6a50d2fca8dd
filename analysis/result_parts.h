/*
 * The results of a replay as parts: one file per unit, written while the units are replayed, and
 * taken up again into the tables, by the same or another process.
 *
 * What a part hands over is what the unit's cells would have: the same rows, and the same facts in
 * the same order. So tables and summary are those of one run, to the last bit.
 */
#ifndef KVR_RESULT_PARTS_H
#define KVR_RESULT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/result_tables.h"
#include "formats/part_file.h"
#include "replay/engine.h"
#include "replay/units.h"

/* The observers of a replay that writes parts. Fill the first members, then open. */
struct kvr_part_recorder {
    const char *folder; /* of the tables to be */
    uint64_t run;       /* for the stamps */
    const struct kvr_units *units;
    const bool *todo; /* [units->count] those to be replayed */

    struct kvr_results results; /* from here on private */
    struct kvr_observer observers[KVR_RESULT_TABLES + 1];
    const struct kvr_trace *trace;
    size_t trace_index, unit;
    struct kvr_part_writer *part;
};

void kvr_part_recorder_open(struct kvr_part_recorder *recorder, const struct kvr_plan *plan);

/* The number of cells of a trace that are to be replayed. */
size_t kvr_part_recorder_cells(struct kvr_part_recorder *recorder, const struct kvr_plan *plan,
                               const struct kvr_trace *trace, size_t trace_index);

/* Replays the units of a trace that are to be done; each is a file once it is. */
enum kvr_status kvr_part_recorder_run(struct kvr_part_recorder *recorder,
                                      const struct kvr_plan *plan, struct kvr_trace *trace,
                                      size_t trace_index, const struct kvr_progress *progress,
                                      struct kvr_error *err);

/* What is half-written is removed. */
void kvr_part_recorder_close(struct kvr_part_recorder *recorder);

/* Whether the part of a unit is there, whole and of this run. */
bool kvr_part_is_good(const char *folder, const struct kvr_part_stamp *stamp);

/* Adds a part's rows to the tables and its facts to their summary. `sample` is NULL where there is
   no summary. */
enum kvr_status kvr_results_take_part(struct kvr_results *results, const char *folder,
                                      const struct kvr_part_stamp *stamp,
                                      const struct kvr_sample *sample, struct kvr_error *err);

#endif
