/*
 * Counting layers and groups over samples. It must not know what is measured on them.
 */
#include "analysis/coverage.h"

#include <stdlib.h>

#include "formats/base/memory.h"

/* A layer of some sample; of one number, the one with the most groups counts. */
struct seen_layer {
    uint32_t number, kv_heads;
    bool wanted;
};

static int by_number(const void *one, const void *other)
{
    const struct seen_layer *a = one, *b = other;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->wanted != b->wanted)
        return a->wanted ? -1 : 1;
    return a->kv_heads > b->kv_heads ? -1 : a->kv_heads < b->kv_heads;
}

static size_t count_layers(const struct kvr_trace *trace)
{
    size_t count = 0;
    for (size_t s = 0; s < trace->sample_count; s++)
        count += trace->samples[s].layer_count;
    return count;
}

static void list_layers(const struct kvr_plan *plan, const struct kvr_trace *trace,
                        struct seen_layer *seen, struct kvr_coverage *coverage)
{
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        bool sample_wanted = kvr_plan_wants_sample(plan, sample);
        coverage->samples += sample_wanted;
        for (size_t l = 0; l < sample->layer_count; l++) {
            const struct kvr_layer *layer = &sample->layers[l];
            bool wanted = sample_wanted && kvr_plan_wants_layer(plan, layer);
            *seen++ = (struct seen_layer){layer->number, layer->kv_heads, wanted};
            coverage->groups += wanted ? layer->kv_heads : 0;
        }
    }
}

enum kvr_status kvr_coverage_of(const struct kvr_plan *plan, const struct kvr_trace *trace,
                                uint64_t model_layers, struct kvr_coverage *coverage,
                                struct kvr_error *err)
{
    size_t count = count_layers(trace);
    struct seen_layer *seen = kvr_alloc(count, sizeof *seen, err);
    if (seen == NULL)
        return KVR_NO_MEMORY;
    *coverage = (struct kvr_coverage){0};
    list_layers(plan, trace, seen, coverage);
    qsort(seen, count, sizeof *seen, by_number);
    uint64_t different = 0, highest = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && seen[i].number == seen[i - 1].number)
            continue;
        different++;
        highest = seen[i].number;
        coverage->model_pairs += seen[i].kv_heads;
        coverage->pairs += seen[i].wanted ? seen[i].kv_heads : 0;
        coverage->layers += seen[i].wanted;
    }
    free(seen);
    uint64_t least = count > 0 ? highest + 1 : 0;
    coverage->model_layers = model_layers > least ? model_layers : least;
    if (trace->sample_count > 0)
        coverage->model_pairs += (coverage->model_layers - different) * trace->samples[0].kv_heads;
    return KVR_OK;
}
