/*
 * Recency and random scores.
 */
#include "replay/score_positions.h"

#include "formats/base/random.h"

enum kvr_status kvr_score_recency(struct kvr_cell *cell, struct kvr_scored *scored,
                                  struct kvr_error *err)
{
    (void)err;
    for (size_t t = 0; t < cell->candidates.count; t++)
        scored->vectors[t] = (float)t; /* exact up to 2^24 tokens */
    return KVR_OK;
}

/* FNV-1a of the sample's name and the layer's number. */
static uint64_t cell_number(const struct kvr_cell_key *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = key->sample->name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return (hash ^ key->layer->number) * UINT64_C(0x100000001b3);
}

enum kvr_status kvr_score_random(struct kvr_cell *cell, struct kvr_scored *scored,
                                 struct kvr_error *err)
{
    (void)err;
    struct kvr_random random = kvr_random_stream(scored->score->number, cell_number(&cell->key));
    for (size_t t = 0; t < cell->candidates.count; t++)
        scored->vectors[t] = (float)(kvr_random_bits(&random) >> 40) * 0x1p-24f;
    return KVR_OK;
}
