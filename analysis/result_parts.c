/*
 * Parts of results. It must not know who replays which unit.
 */
#include "analysis/result_parts.h"

#include <stdlib.h>

#include "formats/part_folder.h"

/* ------------------------------------------------------------------------------ recording */

static struct kvr_part_stamp stamp_of(const struct kvr_part_recorder *recorder, size_t unit)
{
    return (struct kvr_part_stamp){recorder->run, unit, recorder->units->count};
}

static enum kvr_status end_part(struct kvr_part_recorder *recorder, struct kvr_error *err)
{
    struct kvr_part_writer *part = recorder->part;
    recorder->part = NULL;
    return part != NULL ? kvr_part_commit(part, err) : KVR_OK;
}

static enum kvr_status start_part(struct kvr_part_recorder *recorder, size_t unit,
                                  struct kvr_error *err)
{
    const struct kvr_part_stamp stamp = stamp_of(recorder, unit);
    char *path = kvr_part_folder_unit(recorder->folder, unit, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_part_start(path, &stamp, &recorder->part, err);
    recorder->unit = unit;
    free(path);
    return status;
}

/* Cells come in order: the first one of a unit ends the part of the unit before. */
static enum kvr_status turn_to(struct kvr_part_recorder *recorder, const struct kvr_cell_key *key,
                               struct kvr_error *err)
{
    size_t sample = (size_t)(key->sample - recorder->trace->samples);
    size_t layer = (size_t)(key->layer - key->sample->layers);
    size_t unit = kvr_units_find(recorder->units, recorder->trace_index, sample, layer);
    if (recorder->part != NULL && recorder->unit == unit)
        return KVR_OK;
    enum kvr_status status = end_part(recorder, err);
    return status == KVR_OK ? start_part(recorder, unit, err) : status;
}

static enum kvr_status turn_before_survey(void *recorder, const struct kvr_survey *survey,
                                          struct kvr_error *err)
{
    return turn_to(recorder, &survey->cells[0], err);
}

static enum kvr_status turn_before_cell(void *recorder, const struct kvr_cell_key *key,
                                        void *record, struct kvr_error *err)
{
    (void)record;
    return turn_to(recorder, key, err);
}

static void discard_nothing(void *recorder, void *record)
{
    (void)recorder;
    (void)record;
}

/* The observer that turns to the next part comes first, so that the tables' find it. */
void kvr_part_recorder_open(struct kvr_part_recorder *recorder, const struct kvr_plan *plan)
{
    recorder->part = NULL;
    kvr_results_open_part(&recorder->results, plan, &recorder->part);
    recorder->observers[0] = (struct kvr_observer){
        .state = recorder,
        .surveyed = turn_before_survey,
        .commit = turn_before_cell,
        .discard = discard_nothing,
    };
    for (size_t i = 0; i < recorder->results.count; i++)
        recorder->observers[i + 1] = recorder->results.observers[i];
}

static bool takes(const void *state, size_t sample, size_t layer)
{
    const struct kvr_part_recorder *recorder = state;
    size_t unit = kvr_units_find(recorder->units, recorder->trace_index, sample, layer);
    return unit < recorder->units->count && recorder->todo[unit];
}

size_t kvr_part_recorder_cells(struct kvr_part_recorder *recorder, const struct kvr_plan *plan,
                               const struct kvr_trace *trace, size_t trace_index)
{
    const struct kvr_replay_choice choice = {takes, recorder};
    recorder->trace_index = trace_index;
    return kvr_replay_chosen_cells(plan, trace, &choice);
}

enum kvr_status kvr_part_recorder_run(struct kvr_part_recorder *recorder,
                                      const struct kvr_plan *plan, struct kvr_trace *trace,
                                      size_t trace_index, const struct kvr_progress *progress,
                                      struct kvr_error *err)
{
    const struct kvr_replay_choice choice = {takes, recorder};
    recorder->trace = trace;
    recorder->trace_index = trace_index;
    enum kvr_status status = kvr_replay_chosen(plan, trace, &choice, recorder->observers,
                                               recorder->results.count + 1, progress, err);
    return status == KVR_OK ? end_part(recorder, err) : status;
}

void kvr_part_recorder_close(struct kvr_part_recorder *recorder)
{
    kvr_part_abandon(recorder->part);
    recorder->part = NULL;
    kvr_results_free(&recorder->results);
}

/* --------------------------------------------------------------------------------- taking */

bool kvr_part_is_good(const char *folder, const struct kvr_part_stamp *stamp)
{
    char *path = kvr_part_folder_unit(folder, stamp->unit, NULL);
    bool good = path != NULL && kvr_part_read(path, stamp, NULL, NULL) == KVR_OK;
    free(path);
    return good;
}

struct taking {
    const char *path; /* of the part, for messages */
    struct kvr_results *results;
    struct kvr_cell_key key;
};

static enum kvr_status take_block(void *state, enum kvr_part_kind kind, uint32_t table,
                                  const void *bytes, size_t length, struct kvr_error *err)
{
    const struct taking *taking = state;
    const struct kvr_results *results = taking->results;
    size_t i = 0;
    while (i < results->count && results->sinks[i].table != table)
        i++;
    if (i == results->count)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "\"%s\": a block is of a table that this run does not have", taking->path);
    const struct kvr_rows_sink *sink = &results->sinks[i];
    if (kind == KVR_PART_ROWS)
        return kvr_outfile_write(sink->file, bytes, length, err);
    enum kvr_status status = kvr_rows_sum_facts(sink, &taking->key, bytes, length, err);
    if (status == KVR_BAD_INPUT)
        kvr_at(err, "\"%s\"", taking->path);
    return status;
}

enum kvr_status kvr_results_take_part(struct kvr_results *results, const char *folder,
                                      const struct kvr_part_stamp *stamp,
                                      const struct kvr_sample *sample, struct kvr_error *err)
{
    struct taking taking = {.results = results, .key = {.sample = sample}};
    const struct kvr_part_visitor visitor = {take_block, &taking};
    char *path = kvr_part_folder_unit(folder, stamp->unit, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    taking.path = path;
    enum kvr_status status = kvr_part_read(path, stamp, &visitor, err);
    free(path);
    return status;
}
