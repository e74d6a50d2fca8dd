/*
 * Agreement of heads by the Jaccard index of their top sets.
 */
#include "replay/gate.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"

/* The `*kept` highest of vector[0 … count-1] as rising indices, counted from `offset`. */
static enum kvr_status top_of(const float *vector, size_t count, uint32_t offset, uint32_t *top,
                              size_t *kept, struct kvr_select_scratch *scratch,
                              struct kvr_error *err)
{
    size_t words = kvr_bitmap_words(count);
    uint64_t quota = count < KVR_GATE_TOP ? count : KVR_GATE_TOP;
    uint64_t *set = kvr_alloc(words, sizeof *set, err);
    if (set == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_select_top(vector, count, &quota, 1, &set, scratch, err);
    *kept = 0;
    for (size_t word = 0; status == KVR_OK && word < words; word++)
        for (uint64_t bits = set[word]; bits != 0; bits &= bits - 1)
            top[(*kept)++] = offset + (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
    free(set);
    return status;
}

enum kvr_status kvr_gate_head_of(const float *vector, size_t count, size_t sinks,
                                 struct kvr_select_scratch *scratch, struct kvr_gate_head *head,
                                 struct kvr_error *err)
{
    enum kvr_status status = top_of(vector, count, 0, head->top, &head->count, scratch, err);
    if (status == KVR_OK)
        status = top_of(vector + sinks, count - sinks, (uint32_t)sinks, head->isolated,
                        &head->count_isolated, scratch, err);
    return status;
}

static double jaccard(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
    size_t both = 0;
    for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
        both += a[i] == b[j];
        uint32_t x = a[i], y = b[j];
        i += x <= y;
        j += y <= x;
    }
    return (double)both / (double)(a_count + b_count - both);
}

double kvr_gate_agreement(const struct kvr_gate_head *heads, size_t count, bool isolated)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            sum += isolated ? jaccard(heads[i].isolated, heads[i].count_isolated, heads[j].isolated,
                                      heads[j].count_isolated)
                            : jaccard(heads[i].top, heads[i].count, heads[j].top, heads[j].count);
    return sum / ((double)count * (double)(count - 1) / 2);
}

double kvr_gate_difference(const double *agreements, size_t layers)
{
    if (layers == 0)
        return NAN;
    size_t third = layers / 3 > 1 ? layers / 3 : 1;
    double first = 0, last = 0;
    for (size_t i = 0; i < third; i++) {
        first += agreements[i];
        last += agreements[layers - third + i];
    }
    return first / (double)third - last / (double)third;
}
