/*
 * Cutting a replay and dealing the pieces. It must not know who takes them or what for.
 */
#include "replay/units.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/trace_names.h"
#include "replay/survey.h"

/* With so many units a taker, the fullest one has at most about an eighth more than its share. */
enum { UNITS_PER_TAKER = 8 };

static uint64_t bytes_of_dataset(const struct kvr_dataset *dataset)
{
    if (dataset == NULL)
        return 0;
    uint64_t bytes = kvr_element_size(dataset->type.kind);
    for (unsigned d = 0; d < dataset->rank; d++)
        bytes *= dataset->shape[d]; /* the reader has checked the product */
    return bytes;
}

static uint64_t bytes_of_layer(const struct kvr_layer *layer)
{
    uint64_t bytes = 0;
    for (unsigned m = 0; m < KVR_MEMBERS; m++)
        bytes += bytes_of_dataset(kvr_layer_member(layer, (enum kvr_member)m));
    for (size_t c = 0; c < layer->column_count; c++)
        bytes += bytes_of_dataset(&layer->columns[c].data);
    return bytes;
}

static size_t count_samples(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                            size_t trace_count)
{
    size_t count = 0;
    for (size_t t = 0; t < trace_count; t++)
        for (size_t s = 0; s < traces[t]->sample_count; s++)
            count += kvr_plan_wants_sample(plan, &traces[t]->samples[s]);
    return count;
}

/* Into how many units at most a sample is cut. */
static size_t choose_cuts(const struct kvr_plan *plan, size_t samples, size_t takers)
{
    size_t wished = takers * UNITS_PER_TAKER;
    if (kvr_survey_needed(plan) || samples == 0)
        return 1;
    return wished / samples + (wished % samples > 0);
}

static enum kvr_status append(struct kvr_units *units, size_t *capacity,
                              const struct kvr_unit *unit, struct kvr_error *err)
{
    void *all = units->all;
    if (kvr_reserve(&all, capacity, units->count + 1, sizeof *units->all, err) != KVR_OK)
        return KVR_NO_MEMORY;
    units->all = all;
    units->all[units->count++] = *unit;
    return KVR_OK;
}

/* Appends the units of a sample, at most `cuts`, with as equal numbers of wanted layers as can be.
   A sample without such layers is none. */
static enum kvr_status add_sample(struct kvr_units *units, size_t *capacity,
                                  const struct kvr_plan *plan, const struct kvr_sample *sample,
                                  struct kvr_unit unit, size_t cuts, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    size_t wanted = 0, passed = 0, cut = 0;
    for (size_t l = 0; l < sample->layer_count; l++)
        wanted += kvr_plan_wants_layer(plan, &sample->layers[l]);
    if (cuts > wanted)
        cuts = wanted;
    for (size_t l = 0; status == KVR_OK && cut < cuts; l++) {
        const struct kvr_layer *layer = &sample->layers[l];
        if (!kvr_plan_wants_layer(plan, layer))
            continue;
        if (passed++ == cut * wanted / cuts) {
            unit.layer_begin = l;
            unit.bytes = 0;
        }
        unit.bytes += bytes_of_layer(layer);
        if (passed == (cut + 1) * wanted / cuts) {
            unit.layer_end = l + 1;
            status = append(units, capacity, &unit, err);
            cut++;
        }
    }
    return status;
}

/* Falling bytes, then rising order: units stand in one array, so addresses tell the order. */
static int compare_sizes(const void *a, const void *b)
{
    const struct kvr_unit *left = *(struct kvr_unit *const *)a;
    const struct kvr_unit *right = *(struct kvr_unit *const *)b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    return (left > right) - (left < right);
}

static enum kvr_status deal(struct kvr_units *units, size_t takers, struct kvr_error *err)
{
    struct kvr_unit **sorted = kvr_alloc(units->count, sizeof *sorted, err);
    uint64_t *loads = kvr_alloc(takers, sizeof *loads, err);
    enum kvr_status status = sorted != NULL && loads != NULL ? KVR_OK : KVR_NO_MEMORY;
    if (status == KVR_OK) {
        for (size_t i = 0; i < units->count; i++)
            sorted[i] = &units->all[i];
        qsort(sorted, units->count, sizeof(struct kvr_unit *), compare_sizes);
        for (size_t i = 0; i < units->count; i++) {
            size_t least = 0;
            for (size_t t = 1; t < takers; t++)
                if (loads[t] < loads[least])
                    least = t;
            sorted[i]->owner = least;
            loads[least] += sorted[i]->bytes;
        }
    }
    free(sorted);
    free(loads);
    return status;
}

enum kvr_status kvr_units_make(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                               size_t trace_count, size_t takers, struct kvr_units *units,
                               struct kvr_error *err)
{
    size_t capacity = 0;
    size_t cuts = choose_cuts(plan, count_samples(plan, traces, trace_count), takers);
    enum kvr_status status = KVR_OK;
    *units = (struct kvr_units){0};
    for (size_t t = 0; t < trace_count; t++)
        for (size_t s = 0; status == KVR_OK && s < traces[t]->sample_count; s++)
            if (kvr_plan_wants_sample(plan, &traces[t]->samples[s]))
                status = add_sample(units, &capacity, plan, &traces[t]->samples[s],
                                    (struct kvr_unit){.trace = t, .sample = s}, cuts, err);
    return status == KVR_OK ? deal(units, takers, err) : status;
}

/* -1, 0 or 1: the layer lies before, in or after the unit. */
static int compare_place(const struct kvr_unit *unit, size_t trace, size_t sample, size_t layer)
{
    if (trace != unit->trace)
        return trace < unit->trace ? -1 : 1;
    if (sample != unit->sample)
        return sample < unit->sample ? -1 : 1;
    return layer < unit->layer_begin ? -1 : layer >= unit->layer_end;
}

size_t kvr_units_find(const struct kvr_units *units, size_t trace, size_t sample, size_t layer)
{
    size_t low = 0, high = units->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int side = compare_place(&units->all[middle], trace, sample, layer);
        if (side == 0)
            return middle;
        if (side < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return units->count;
}

void kvr_units_free(struct kvr_units *units)
{
    free(units->all);
    *units = (struct kvr_units){0};
}
