/*
 * Cells in memory. It knows what a loaded cell holds, not what a test looks for.
 */
#include "tests/made_cell.h"

#include <check.h>
#include <stdlib.h>

static void *take(struct made_cell *made, size_t count, size_t size)
{
    void *piece = kvr_room_take_zeroed(&made->room, count, size, NULL);
    ck_assert_ptr_nonnull(piece);
    return piece;
}

void made_cell_start(struct made_cell *made, size_t heads, size_t count, size_t sinks)
{
    *made = (struct made_cell){.plan = kvr_plan_default()};
    made->sample = (struct kvr_sample){
        .name = "made",
        .context_length = count,
        .prompt_length = count,
        .query_heads = (uint32_t)heads,
        .kv_heads = 1,
        .needles = made->needles,
    };
    made->layer = (struct kvr_layer){.query_heads = (uint32_t)heads, .kv_heads = 1};
    made->plan.sinks = sinks;
    made->scored = (struct kvr_scored){
        .heads = heads,
        .vectors = take(made, heads * count, sizeof(float)),
        .totals = take(made, heads, sizeof(double)),
        .entropies = take(made, heads, sizeof(double)),
        .weights = take(made, heads, sizeof(double)),
    };
    made->cell = (struct kvr_cell){
        .key = {.sample = &made->sample, .layer = &made->layer, .ratio = (uint32_t)heads},
        .plan = &made->plan,
        .candidates = {.first = 0, .count = count, .sinks = sinks},
        .scored_count = 1,
        .scored = &made->scored,
        .room = &made->room,
    };
}

float *made_cell_head(struct made_cell *made, size_t head)
{
    return made->scored.vectors + head * made->cell.candidates.count;
}

void made_cell_finish(struct made_cell *made)
{
    size_t count = made->cell.candidates.count;
    for (size_t h = 0; h < made->scored.heads; h++) {
        const float *vector = made_cell_head(made, h);
        double total = 0;
        for (size_t t = 0; t < count; t++)
            total += (double)vector[t];
        made->scored.totals[h] = total;
        made->scored.entropies[h] =
            kvr_entropy_isolated(&made->plan.entropy, vector, count, made->cell.candidates.sinks);
    }
    kvr_entropy_weights(made->scored.entropies, made->scored.heads, made->plan.tau,
                        made->scored.weights);
}

void made_cell_free(struct made_cell *made)
{
    kvr_room_free(&made->room);
}
