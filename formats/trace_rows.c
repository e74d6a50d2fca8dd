/*
 * What a layer's attributes and members say about its attention rows: whether they can be had, and
 * what they see. No values are read.
 */
#include <math.h>

#include "formats/trace.h"

bool kvr_sample_has_prefill(const struct kvr_sample *sample)
{
    uint64_t next = sample->pad;
    for (size_t q = 0; q < sample->query_count; q++)
        if (sample->query_positions[q] == next)
            next++;
    return next > sample->pad && next >= sample->prompt_length;
}

static bool is_recomputable(const struct kvr_layer *layer)
{
    return layer->query != NULL && layer->key != NULL && !layer->sink_logits;
}

enum kvr_origin kvr_layer_rows(const struct kvr_layer *layer)
{
    if (layer->attention != NULL)
        return KVR_RECORDED;
    return is_recomputable(layer) ? KVR_RECOMPUTED : KVR_MISSING;
}

enum kvr_origin kvr_layer_column_sums(const struct kvr_sample *sample,
                                      const struct kvr_layer *layer)
{
    if (layer->accumulated != NULL)
        return KVR_RECORDED;
    bool recomputable = is_recomputable(layer) && kvr_sample_has_prefill(sample);
    return recomputable ? KVR_RECOMPUTED : KVR_MISSING;
}

uint64_t kvr_layer_first_seen(const struct kvr_sample *sample, const struct kvr_layer *layer,
                              uint64_t position)
{
    uint64_t window = layer->sliding_window, first = 0;
    if (window > 0 && position + 1 > window)
        first = position + 1 - window;
    return first > sample->pad ? first : sample->pad;
}

double kvr_layer_scale(const struct kvr_layer *layer)
{
    return isnan(layer->scale) ? 1 / sqrt((double)layer->key->shape[2]) : layer->scale;
}
